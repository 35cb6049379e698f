"""``ArrayType``: what is known of an array before it has a value.

A type is a shape, an element type, and whether the element type is *weak* (came from a
Python scalar and gives way to others). Types are interned: equal types are one object,
so equality is identity, and a tuple of types is a dictionary key that costs nothing to
hash.
"""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.errors import TypeMismatch

Shape = tuple[int, ...]

_interned: dict[tuple, "ArrayType"] = {}


class ArrayType:
    """Shape, element type and weakness of an array; ``str`` gives ``f32[4,3]``."""

    __slots__ = ("dtype", "ndim", "shape", "size", "weak")

    shape: Shape
    dtype: Any  # np.dtype or dtypes.KeyType
    weak: bool
    ndim: int
    size: int

    def __new__(cls, shape: Shape, dtype: Any, weak: bool = False) -> "ArrayType":
        key = (shape, dtype, weak)
        try:
            return _interned[key]
        except KeyError:
            return _interned.setdefault(key, cls._make(shape, dtype, weak))

    @classmethod
    def _make(cls, shape: Shape, dtype: Any, weak: bool) -> "ArrayType":
        self = object.__new__(cls)
        self.shape = tuple(int(n) for n in shape)
        self.dtype = dtypes.as_dtype(dtype)
        self.weak = weak
        self.ndim = len(self.shape)
        size = 1
        for n in self.shape:
            size *= n
        self.size = size
        if any(n < 0 for n in self.shape):
            raise TypeMismatch(f"an array cannot have the shape {self.shape}")
        # The same type may be asked for with other spellings of its shape and dtype.
        return _interned.setdefault((self.shape, self.dtype, weak), self)

    def with_shape(self, shape: Shape) -> "ArrayType":
        return ArrayType(shape, self.dtype, self.weak)

    def with_dtype(self, dtype: Any, weak: bool = False) -> "ArrayType":
        return ArrayType(self.shape, dtype, weak)

    def strong(self) -> "ArrayType":
        """This type, no longer giving way to others."""
        return ArrayType(self.shape, self.dtype) if self.weak else self

    def tangent(self) -> "ArrayType":
        """The type of derivatives of values of this type (float0 if none exist)."""
        return ArrayType(self.shape, dtypes.tangent_dtype(self.dtype))

    @property
    def storage(self) -> np.dtype:
        """The NumPy dtype that holds the elements."""
        return getattr(self.dtype, "storage", self.dtype)

    # The names by which the ecosystem knows these facts.
    @property
    def weak_type(self) -> bool:
        return self.weak

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self} has no length: it is a scalar")
        return self.shape[0]

    def __str__(self) -> str:
        dims = ",".join(map(str, self.shape))
        return f"{dtypes.short_name(self.dtype)}[{dims}]"

    def __repr__(self) -> str:
        return f"ArrayType({self}{', weak' if self.weak else ''})"

    def __reduce__(self) -> tuple:
        return (ArrayType, (self.shape, self.dtype, self.weak))


def show_types(types: Any) -> str:
    """``f32[4], i32[]``: types as they stand in messages and printed programs."""
    return ", ".join(map(str, types))
