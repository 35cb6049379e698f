"""Key paths: how a place in a pytree is named.

A path is a tuple of keys from the root to a leaf, one per node on the way:
``SequenceKey.idx``, ``DictKey.key``, ``GetAttrKey.name``, or ``FlattenedIndexKey.key``
where a class did not say what its children are called. A class may supply keys of its
own: any hashable whose ``str`` reads well in a path.
"""

from __future__ import annotations

from covector.tree.registry import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """The path as one would write it in Python, or bare and joined by ``separator``.

    >>> path = (GetAttrKey("layers"), SequenceKey(0), DictKey("w"))
    >>> keystr(path)
    ".layers[0]['w']"
    >>> keystr(path, simple=True, separator="/")
    'layers/0/w'
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
