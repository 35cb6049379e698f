"""The element types of random keys, which NumPy does not have.

A key is one opaque element: it is split and consumed, never computed with. Its type
says which generator it belongs to, so keys of different generators cannot be mixed up.

An element is stored as one number of 32, 64 or 128 bits, and only ever moved. XLA has
one of 128 bits, ``complex128``, and moves it as it is; but it also knows it for a
number: elements that several devices gather are added to zeros, where a NaN, a
subnormal number or −0 may change its bits. So what compares such elements, or moves
them in such ways, takes their halves, integers that nothing changes
(``Primitive.by_halves``).
"""

from typing import Any, NamedTuple, final

import numpy as np

from covector.errors import DTypeError


class extended(np.generic):
    """Abstract class of the element types that NumPy does not know."""


class prng_key(extended):
    """Abstract class of the element types of random keys."""


class Implementation(NamedTuple):
    """Facts about the keys of a generator."""

    #: how they are printed
    tag: str
    #: how many words of 32 bits one has
    words: int


IMPLEMENTATIONS = {
    "threefry2x32": Implementation("fry", 2),
    "rbg": Implementation("rbg", 4),
    "unsafe_rbg": Implementation("urbg", 4),
}
#: the dtypes that hold so many words
STORAGE = {
    1: np.dtype(np.uint32),
    2: np.dtype(np.uint64),
    4: np.dtype(np.complex128),
}
_key_types: dict[str, "KeyType"] = {}


@final
class KeyType:
    """The element type of random keys of one implementation; printed ``key<fry>``.

    There is one object per implementation, so equality is identity.

    >>> KeyType("threefry2x32")
    key<fry>
    >>> KeyType("threefry2x32") is KeyType("threefry2x32")
    True
    >>> KeyType("rbg").words
    4
    """

    __slots__ = ("implementation", "itemsize", "name", "storage", "words")

    implementation: str
    name: str
    #: how many words of 32 bits a key has
    words: int
    itemsize: int
    storage: np.dtype

    type = prng_key

    def __new__(cls, implementation: str) -> "KeyType":
        known = _key_types.get(implementation)
        if known is not None:
            return known
        if implementation not in IMPLEMENTATIONS:
            raise DTypeError(
                f"there are no random keys of {implementation!r}, only of "
                f"{', '.join(IMPLEMENTATIONS)}. covector.random.define_generator adds "
                "a generator, in each process that uses its keys."
            )
        tag, words = IMPLEMENTATIONS[implementation]
        self = object.__new__(cls)
        fields = {
            "implementation": implementation,
            "name": f"key<{tag}>",
            "words": words,
            "itemsize": 4 * words,
            "storage": STORAGE[words],
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        return _key_types.setdefault(implementation, self)

    @property
    def is_wide(self) -> bool:
        """Whether a key has more bits than an integer."""
        return self.words > 2

    @property
    def all_ones(self) -> np.generic:
        """The key all of whose bits are 1, as it is stored."""
        return np.full(self.words, 2**32 - 1, np.uint32).view(self.storage)[0]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self} is a constant: its {name} cannot be set")

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (KeyType, (self.implementation,))
