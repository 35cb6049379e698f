"""Pytrees under their older names, and what makes a class or a treedef.

``tree_map`` is ``covector.tree.map``, and so on. Registering classes, the keys of
paths, and the functions on treedefs are only here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from covector import namespaces, tree
from covector.errors import TreeMismatch
from covector.tree.difference import short
from covector.tree.keys import keystr
from covector.tree.nodes import (
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from covector.tree.partial import Partial
from covector.tree.registry import (
    LEAF,
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    IsLeaf,
    KeyEntry,
    KeyPath,
    PyTreeDef,
    SequenceKey,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
)
from covector.tree.registry import registry as default_registry

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "build_tree",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
__dir__ = namespaces.completions(globals())


tree_all: Final = tree.all
tree_broadcast: Final = tree.broadcast
tree_flatten: Final = tree.flatten
tree_flatten_with_path: Final = tree.flatten_with_path
tree_leaves: Final = tree.leaves
tree_leaves_with_path: Final = tree.leaves_with_path
tree_map: Final = tree.map
tree_map_with_path: Final = tree.map_with_path
tree_reduce: Final = tree.reduce
tree_reduce_associative: Final = tree.reduce_associative
tree_structure: Final = tree.structure
tree_transpose: Final = tree.transpose
tree_unflatten: Final = tree.unflatten


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every element is a leaf; None, a node without children, is not.

    >>> all_leaves([1, "a"]), all_leaves([1, (2,)]), all_leaves([1, None])
    (True, False, False)
    """
    return all(tree_structure(x, is_leaf) == LEAF for x in iterable)


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """The tree of this structure, from nested iterables of the same shape.

    Raises:
      TreeMismatch: ``xs`` is not nested as the structure is.

    >>> build_tree(tree_structure({"a": 0, "b": (0, 0)}), [1, [2, 3]])
    {'a': 1, 'b': (2, 3)}
    """
    try:
        return treedef.from_iterable_tree(xs)
    except (ValueError, TypeError) as error:
        raise TreeMismatch(
            f"build_tree needs iterables nested as {short(str(treedef))}, but got "
            f"{short(repr(xs))} ({error})."
        ) from error


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Structures of the children; none for a leaf.

    >>> treedef_children(tree_structure([1, (2, 3)]))
    [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a single node: a leaf, None or an empty container.

    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees of these structures.

    >>> treedef_tuple([tree_structure(1), tree_structure([2])])
    PyTreeDef((*, [*]))
    """
    return PyTreeDef.from_node_data_and_children(
        default_registry, (tuple, None), list(treedefs)
    )
