"""Prefix trees: one entry that stands for a whole subtree.

``in_axes=(0, {"w": 1, "b": None})`` is a prefix of the arguments of a function: each
of its leaves speaks for every leaf below the same node of the full tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from covector.errors import TreeMismatch
from covector.tree.difference import first_difference
from covector.tree.functions import flatten
from covector.tree.registry import LEAF, IsLeaf, PyTreeDef


def is_none(x: Any) -> bool:
    """Whether ``x`` is None: the ``is_leaf`` under which None is a leaf."""
    return x is None


def flatten_prefix(
    prefix: Any,
    tree: Any,
    what: str,
    *,
    of: str = "the argument tree",
    is_leaf: Callable[[Any], bool] | None = is_none,
) -> list[Any]:
    """One entry of the prefix per leaf of the full tree.

    Args:
      tree: the full tree, or its treedef.
      what: the prefix in the error, such as "vmap in_axes"; ``of`` is the full tree.
      is_leaf: of the prefix. By default None is a leaf.

    Raises:
      TreeMismatch: ``prefix`` is not a prefix of ``tree``.

    >>> flatten_prefix((0, None), ({"w": 1.0, "b": 2.0}, 3.0), "vmap in_axes")
    [0, 0, None]
    """
    entries, prefix_treedef = flatten(prefix, is_leaf)
    treedef = tree if isinstance(tree, PyTreeDef) else flatten(tree)[1]
    if prefix_treedef == LEAF:
        return entries * treedef.num_leaves
    try:
        counts = _leaves_below(prefix_treedef, treedef)
    except Exception:  # noqa: BLE001  static data that does not compare: worded below
        counts = None
    if counts is None:
        difference = first_difference(prefix_treedef, tree, prefix=True)
        assert difference, "a prefix that does not fit differs somewhere"
        name = what.rpartition(" ")[2]
        raise TreeMismatch(
            f"{what} must be a prefix of {of}, but {difference.between(name, of)}."
        )
    pairs = zip(entries, counts, strict=True)
    return [entry for entry, count in pairs for _ in range(count)]


def _leaves_below(prefix: PyTreeDef, treedef: PyTreeDef) -> list[int] | None:
    """Per leaf of the prefix, how many leaves it stands for; None if it misfits."""
    counts = []
    stack = [(prefix, treedef)]
    while stack:
        short, full = stack.pop()
        data = short.node_data()
        if data is None:
            counts.append(full.num_leaves)
            continue
        below, full_below = short.children(), full.children()
        if data != full.node_data() or len(below) != len(full_below):
            return None
        stack.extend(zip(reversed(below), reversed(full_below), strict=True))
    return counts


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """The full structure, with at every leaf the entry of the prefix that covers it.

    Args:
      is_leaf: where it returns True, a subtree of ``prefix_tree`` is one entry.

    Raises:
      TreeMismatch: ``prefix_tree`` is not a prefix of ``full_tree``.

    >>> broadcast((1, 2), ("x", {"a": "y", "b": ["z"]}))
    (1, {'a': 2, 'b': [2]})
    """
    treedef = flatten(full_tree)[1]
    entries = flatten_prefix(
        prefix_tree, full_tree, "prefix_tree", of="full_tree", is_leaf=is_leaf
    )
    return treedef.unflatten(entries)
