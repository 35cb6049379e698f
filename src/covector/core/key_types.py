"""The element types of random keys, which NumPy does not have.

A key is one opaque element: it is split and consumed, never computed with. Its type
says which generator it belongs to, so keys of different generators cannot be mixed up.
"""

from typing import Any, final

import numpy as np


class extended(np.generic):
    """Abstract class of the element types that NumPy does not know."""


class prng_key(extended):
    """Abstract class of the element types of random keys."""


#: the implementations of keys, and how they are printed
KEY_TAGS = {"threefry2x32": "fry", "rbg": "rbg", "unsafe_rbg": "urbg"}
_key_types: dict[str, "KeyType"] = {}


@final
class KeyType:
    """The element type of random keys of one implementation; printed ``key<fry>``.

    There is one object per implementation, so equality is identity. A key is stored as
    one ``uint64``.

    >>> KeyType("threefry2x32")
    key<fry>
    >>> KeyType("threefry2x32") is KeyType("threefry2x32")
    True
    """

    __slots__ = ("implementation", "name")

    implementation: str
    name: str

    type = prng_key
    itemsize = 8
    storage = np.dtype(np.uint64)

    def __new__(cls, implementation: str) -> "KeyType":
        known = _key_types.get(implementation)
        if known is not None:
            return known
        self = object.__new__(cls)
        tag = KEY_TAGS.get(implementation, implementation)
        object.__setattr__(self, "implementation", implementation)
        object.__setattr__(self, "name", f"key<{tag}>")
        return _key_types.setdefault(implementation, self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self} is a constant: its {name} cannot be set")

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (KeyType, (self.implementation,))
