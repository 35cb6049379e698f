"""Tree functions with key paths of leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from covector.tree.failures import explain_flatten
from covector.tree.functions import check_function, flatten_rest
from covector.tree.registry import KeyPath, PyTreeDef, registry


def flatten_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Leaves from left to right, each after its path, and the structure.

    A path is a tuple of keys: ``DictKey`` and ``SequenceKey``, ``GetAttrKey`` for
    fields of dataclasses and namedtuples, ``FlattenedIndexKey`` where a class names
    none. ``keystr`` makes text of it.

    Args:
      tree: any nesting of containers.
      is_leaf: where it returns True, a subtree counts as a leaf.
      is_leaf_takes_path: call ``is_leaf(path, subtree)``, not ``is_leaf(subtree)``.

    Returns:
      A list of ``(path, leaf)``, and a ``PyTreeDef``.

    >>> flatten_with_path({"w": (3,)})[0]
    [((DictKey(key='w'), SequenceKey(idx=0)), 3)]

    See also: ``map_with_path``, ``leaves_with_path``, ``flatten``.
    """
    predicate = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        predicate = lambda _, x: is_leaf(x)  # noqa: E731
    try:
        return registry.flatten_with_path(tree, predicate)
    except Exception as error:
        failure = explain_flatten(error, tree, predicate)
        if failure is error:
            raise
        raise failure from error


def leaves_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> list[tuple[KeyPath, Any]]:
    """Leaves from left to right, each after its path.

    Args:
      tree, is_leaf, is_leaf_takes_path: as for ``flatten_with_path``.

    >>> leaves_with_path([5, None])
    [((SequenceKey(idx=0),), 5)]

    See also: ``flatten_with_path``, ``covector.tree_util.keystr``.
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """``f(path, leaf, …)`` of each leaf, in the structure of ``tree``; as ``map``.

    Use it to treat leaves by their names: to leave out biases from weight decay, or to
    give each parameter its sharding.

    Args:
      f: takes a path, a leaf of ``tree``, and one value from each of ``rest``.
      tree: the tree whose structure counts.
      rest: trees that have at least this structure.
      is_leaf: where it returns True, a subtree counts as a leaf.
      is_leaf_takes_path: call ``is_leaf(path, subtree)``, not ``is_leaf(subtree)``.

    Returns:
      A tree of what ``f`` returned, in the structure of ``tree``.

    Raises:
      TreeMismatch: ``tree`` is not a prefix of one of the others.

    >>> from covector.tree.keys import keystr
    >>> map_with_path(lambda path, x: f"{keystr(path)} = {x}", {"a": 1, "b": [2]})
    {'a': "['a'] = 1", 'b': ["['b'][0] = 2"]}

    See also: ``map``, ``leaves_with_path``, ``covector.tree_util.keystr``.
    """
    check_function("map_with_path", f)
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = flatten_rest("map_with_path", treedef, rest)
    rows = zip(pairs, *columns, strict=True)
    return treedef.unflatten([f(path, leaf, *xs) for (path, leaf), *xs in rows])
