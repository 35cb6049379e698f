"""Functions on pytrees: flatten, unflatten, map, fold.

``flatten`` and ``unflatten`` are one call into C++ each; every other function is
written with them. ``map`` and ``all`` here are those of trees, not the builtins.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from covector.errors import ArgumentError, TreeMismatch, how_many
from covector.tree.difference import describe_difference, first_difference, short
from covector.tree.failures import explain_flatten
from covector.tree.registry import IsLeaf, PyTreeDef, registry

if TYPE_CHECKING:
    from covector.core.array_like import Array

Tree = TypeVar("Tree")


class Unspecified:
    """The default of an argument for which None is a value."""

    def __repr__(self) -> str:
        return "<unspecified>"


UNSPECIFIED = Unspecified()

_flatten = registry.flatten


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Leaves from left to right, and the structure they were in.

    ``unflatten`` puts leaves back. None is a node without leaves, so it is part of the
    structure; a dict gives its values in the order of its sorted keys.

    Args:
      tree: any nesting of tuples, lists, dicts, None and registered classes.
      is_leaf: a function of subtrees; where it returns True, the subtree is a leaf.

    Returns:
      A list of the leaves, and a ``PyTreeDef``.

    Raises:
      TreeMismatch: the keys of a dict cannot be sorted.
      RecursionError: the tree contains itself, or is nested too deep.

    >>> flatten({"b": [1, None], "a": (2, 3)})
    ([2, 3, 1], PyTreeDef({'a': (*, *), 'b': [*, None]}))

    See also: ``unflatten``, ``leaves``, ``structure``, ``flatten_with_path``.
    """
    try:
        return _flatten(tree, is_leaf)
    except Exception as error:
        failure = explain_flatten(error, tree, is_leaf and (lambda _, x: is_leaf(x)))
        if failure is error:
            raise
        raise failure from error


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves: the inverse of ``flatten``.

    Args:
      treedef: a structure, of ``flatten`` or ``structure``.
      leaves: as many values as the structure has leaves, from left to right. They may
        be anything, arrays or not.

    Returns:
      A tree of that structure.

    Raises:
      TreeMismatch: there are more or fewer leaves than the structure has.

    >>> unflatten(structure((0, [0])), ["left", "right"])
    ('left', ['right'])

    See also: ``flatten``, ``structure``.
    """
    if not isinstance(leaves, list | tuple):
        leaves = list(leaves)
    try:
        return treedef.unflatten(leaves)
    except ValueError as error:
        if len(leaves) == treedef.num_leaves:
            raise
        raise TreeMismatch(
            f"unflatten needs {how_many(treedef.num_leaves, 'leaf', 'leaves')} for "
            f"{short(str(treedef))}, but got {len(leaves)}."
        ) from error


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Leaves of the tree, from left to right.

    Args:
      tree: any nesting of containers. None has no leaves: to keep each None, use
        ``is_leaf=lambda x: x is None``.
      is_leaf: a function of subtrees; where it returns True, the subtree is a leaf.

    Returns:
      A list.

    Raises:
      TreeMismatch: the keys of a dict cannot be sorted.

    >>> leaves([1, (2, {"k": 3}), None])
    [1, 2, 3]

    See also: ``leaves_with_path``, which also tells where each leaf is.
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """Structure of the tree, without its leaves.

    Structures compare equal if the containers, their lengths, the keys of dicts and the
    static data of registered classes do. The leaves do not matter, nor do their shapes.

    Args:
      tree: any nesting of containers.
      is_leaf: a function of subtrees; where it returns True, the subtree is a leaf.

    Returns:
      A ``PyTreeDef``, which can be compared, hashed and printed.

    Raises:
      TreeMismatch: the keys of a dict cannot be sorted.

    >>> structure([1, (2, None)])
    PyTreeDef([*, (*, None)])

    See also: ``flatten``, ``covector.eval_shape`` for shapes and dtypes of a result.
    """
    return flatten(tree, is_leaf)[1]


# Leaves become arrays in a tree of the same type; what else becomes of them, no type
# of a tree can say.
@overload
def map(
    f: Callable[..., Array], tree: Tree, *rest: Any, is_leaf: IsLeaf = None
) -> Tree: ...
@overload
def map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None
) -> Any: ...
def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """``f`` of each leaf, in the structure of ``tree``.

    With more trees, ``f`` gets what each has at the path of that leaf: a leaf, or a
    whole subtree. This is how optimizers combine parameters with their gradients.

    Args:
      f: a function of a leaf of ``tree``, and of one value from each of ``rest``.
      tree: the tree whose structure counts. ``f`` is not called for None, which has no
        leaves, and the result has None there: for others,
        ``is_leaf=lambda x: x is None``.
      rest: trees that have at least this structure.
      is_leaf: a function of subtrees of ``tree``; where it returns True, the subtree is
        a leaf.

    Returns:
      A tree with the structure of ``tree``. Its containers are new.

    Raises:
      TreeMismatch: ``tree`` is not a prefix of one of the others. The message tells the
        path at which they differ.

    >>> map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}

    See also: ``map_with_path`` for functions that need to know the path of each leaf.
    """
    check_function("map", f)
    first, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in first])
    columns = flatten_rest("map", treedef, rest)
    return treedef.unflatten([f(*xs) for xs in zip(first, *columns, strict=True)])


def check_function(who: str, f: Any) -> None:
    """Raise where ``f`` is not a function: mostly it comes after the tree."""
    if not callable(f):
        raise ArgumentError(
            f"{who} needs a function, and then what it is applied to, but the function "
            f"is {short(repr(f))} of type {type(f).__name__}."
        )


def flatten_rest(
    function: str, treedef: PyTreeDef, rest: Iterable[Any]
) -> list[list[Any]]:
    """Per tree, its subtrees at the leaves of ``treedef``."""
    needs = f"{function} needs every tree to have the structure of the first"
    return [
        _subtrees(treedef, tree, needs, ("the first tree", f"tree {position}"))
        for position, tree in enumerate(rest, 2)
    ]


def _subtrees(
    treedef: PyTreeDef, tree: Any, needs: str, names: tuple[str, str]
) -> list[Any]:
    try:
        return treedef.flatten_up_to(tree)
    except Exception as error:
        flatten(tree)  # if that is what fails, it says so better
        difference = first_difference(treedef, tree, prefix=True)
        if difference is None:
            raise
        raise TreeMismatch(f"{needs}, but {difference.between(*names)}.") from error


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = UNSPECIFIED,
    is_leaf: IsLeaf = None,
) -> Any:
    """The leaves folded from left to right: f(f(initializer, leaf 0), leaf 1), ….

    Args:
      function: takes what there is so far, and a leaf.
      tree: any nesting of containers.
      initializer: what there is before the first leaf. Without one, it is the first
        leaf.
      is_leaf: a function of subtrees; where it returns True, the subtree is a leaf.

    Returns:
      What the last call of ``function`` returned.

    Raises:
      TreeMismatch: there is no leaf and no initializer.

    >>> reduce(lambda total, leaf: total - leaf, [1, (2, 3)], 10)
    4

    See also: ``reduce_associative``, ``leaves``.
    """
    check_function("reduce", function)
    items = leaves(tree, is_leaf)
    if initializer is not UNSPECIFIED:
        return functools.reduce(function, items, initializer)
    if not items:
        raise TreeMismatch(
            "reduce of a tree without leaves needs an initializer, but got none."
        )
    return functools.reduce(function, items)


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = UNSPECIFIED,
    is_leaf: IsLeaf = None,
) -> Any:
    """The leaves folded pairwise, as a balanced tree of depth log₂ n.

    The order of the leaves is kept; ``identity`` is the result if there are none.

    Raises:
      TreeMismatch: there is no leaf and no identity.

    >>> reduce_associative(lambda x, y: f"({x}{y})", [1, (2, 3), 4])
    '((12)(34))'
    """
    check_function("reduce_associative", operation)
    items = leaves(tree, is_leaf)
    if items:
        return _fold_halves(operation, items)
    if identity is UNSPECIFIED:
        raise TreeMismatch(
            "reduce_associative of a tree without leaves needs an identity, but got "
            "none."
        )
    return identity


def _fold_halves(operation: Callable[[Any, Any], Any], items: list[Any]) -> Any:
    if len(items) == 1:
        return items[0]
    middle = len(items) // 2
    return operation(
        _fold_halves(operation, items[:middle]), _fold_halves(operation, items[middle:])
    )


def all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf is true; so True for a tree without leaves.

    Leaves are tested as Python does, so none may be traced, or an array of more than
    one element. Combine arrays with ``reduce(covector.numpy.logical_and, tree)``.

    >>> all({"a": True, "b": [1, 2]}), all([True, (0,)]), all(None)
    (True, False, True)
    """
    return not any(not leaf for leaf in leaves(tree, is_leaf))


def _as_made(treedef: PyTreeDef, items: list[Any]) -> PyTreeDef:
    """The structure of a tree that is made of these leaves: that of another one, where
    a class joins its children with their own, as some mappings do.
    """
    made = len(items) == treedef.num_leaves
    return structure(treedef.unflatten(items)) if made else treedef


def transpose(
    outer_treedef: PyTreeDef,
    inner_treedef: PyTreeDef | None,
    pytree_to_transpose: Any,
) -> Any:
    """A list of dicts as a dict of lists, and the like: two structures change places.

    Args:
      outer_treedef: the structure outside in ``pytree_to_transpose``.
      inner_treedef: the structure of each of its leaves; None takes that of the first.
      pytree_to_transpose: a tree of structure outer of inner.

    Returns:
      A tree of structure inner of outer.

    Raises:
      TreeMismatch: the tree is not outer of inner.

    >>> transpose(structure([0, 0, 0]), structure((0, 0)), [(1, 2), (3, 4), (5, 6)])
    ([1, 3, 5], [2, 4, 6])
    """
    needs = "transpose needs a tree of structure outer_treedef of inner_treedef"
    names = ("the structure", "the tree")
    inner = inner_treedef
    if inner is None:
        subtrees = _subtrees(outer_treedef, pytree_to_transpose, needs, names)
        if not subtrees:
            raise TreeMismatch(
                f"transpose cannot take inner_treedef from {outer_treedef}, which has "
                "no leaves. Give inner_treedef."
            )
        inner = structure(subtrees[0])
    items, treedef = flatten(pytree_to_transpose)
    expected = outer_treedef.compose(inner)
    if treedef != expected and treedef != _as_made(expected, items):
        words = describe_difference(expected, pytree_to_transpose, names)
        raise TreeMismatch(f"{needs}, but {words}.")
    columns = [items[i :: inner.num_leaves] for i in range(inner.num_leaves)]
    return inner.unflatten([outer_treedef.unflatten(column) for column in columns])
