"""Key paths: names of positions in a pytree.

A path is a tuple of keys from the root to a leaf, one per node on the way:
``SequenceKey.idx``, ``DictKey.key``, ``GetAttrKey.name``, or ``FlattenedIndexKey.key``
where a class did not say what its children are called. A class may supply keys of its
own: any hashable whose ``str`` reads well in a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covector.errors import how_many
from covector.tree.registry import (
    LEAF,
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    PyTreeDef,
    SequenceKey,
    open_node,
    registry,
)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """The path of a leaf as text: as one would write it in Python.

    Args:
      keys: a path, of ``flatten_with_path`` or ``map_with_path``.
      simple: only the names and numbers, joined by ``separator``.
      separator: what stands between two keys.

    >>> path = (GetAttrKey("layers"), SequenceKey(0), DictKey("w"))
    >>> keystr(path)
    ".layers[0]['w']"
    >>> keystr(path, simple=True, separator="/")
    'layers/0/w'

    See also: ``covector.tree.map_with_path``, ``covector.tree.flatten_with_path``.
    """
    return separator.join(_bare(key) if simple else str(key) for key in keys)


def _bare(key: KeyEntry) -> str:
    match key:
        case SequenceKey():
            return str(key.idx)
        case DictKey() | FlattenedIndexKey():
            return str(key.key)
        case GetAttrKey():
            return key.name
        case _:
            return str(key)


def leaf_path(treedef: PyTreeDef, position: int) -> KeyPath:
    """The path of a leaf, given its position in the order of the leaves.

    Raises:
      IndexError: there is no such leaf.

    >>> from covector.tree.functions import structure
    >>> keystr(leaf_path(structure({"b": [0, 0], "a": 0}), 2))
    "['b'][1]"
    """
    if not 0 <= position < treedef.num_leaves:
        leaves = how_many(treedef.num_leaves, "leaf", "leaves")
        raise IndexError(f"leaf {position} of a tree with {leaves}")
    path: KeyPath = ()
    while treedef != LEAF:
        index, children = 0, treedef.children()
        while position >= children[index].num_leaves:
            position -= children[index].num_leaves
            index += 1
        path = (*path, keys_of(treedef)[index])
        treedef = children[index]
    return path


def keys_of(tree: Any) -> Sequence[KeyEntry]:
    """Keys of a node's children; for a treedef, by building its top over placeholders.

    Where a class refuses placeholders, its children are counted instead.
    """
    if not isinstance(tree, PyTreeDef):
        return [key for key, _ in open_node(tree)[0]]
    count = len(tree.children())
    top = PyTreeDef.from_node_data_and_children(
        registry, tree.node_data(), [LEAF] * count
    )
    try:
        keys = [key for key, _ in open_node(top.unflatten(range(count)))[0]]
    except Exception:  # noqa: BLE001  a user's constructor may raise anything
        keys = []
    if len(keys) == count:
        return keys
    return [FlattenedIndexKey(index) for index in range(count)]
