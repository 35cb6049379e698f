"""``ShapedArray``: the type of an array, as packages of the field make and ask for it.

Each is an ``ArrayType`` of covector, and each ``ArrayType`` is an instance.
"""

from typing import Any

from covector.core.annotations import Shape
from covector.core.types import INVARIANT, ArrayType


class _ArrayTypes(type):
    """The class of classes of which every ``ArrayType`` is an instance."""

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, ArrayType) or super().__instancecheck__(x)


class AbstractValue(metaclass=_ArrayTypes):
    """What is known of a value before it has one."""


class ShapedArray(AbstractValue):
    """Shape and dtype of an array, and whether the dtype is weak.

    A ``sharding`` is accepted, but types of covector have none: arrays have.
    """

    def __new__(  # type: ignore[misc]
        cls,
        shape: Shape,
        dtype: Any,
        weak_type: bool = False,
        *,
        sharding: Any = None,
        vma: frozenset[Any] = INVARIANT,
    ) -> ArrayType:
        return ArrayType(tuple(shape), dtype, weak_type, vma)


def mapped_aval(size: int, axis: int | None, aval: ArrayType) -> ArrayType:
    """The type of one lane of a batch of this type, along ``axis``."""
    if axis is None:
        return aval
    shape = aval.shape
    return aval.with_shape((*shape[:axis], *shape[axis + 1 :]))


def unmapped_aval(
    size: int, axis: int | None, aval: ArrayType, explicit_mesh_axis: Any = None
) -> ArrayType:
    """The type of a batch of values of this type, along ``axis``."""
    if axis is None:
        return aval
    return aval.with_shape((*aval.shape[:axis], size, *aval.shape[axis:]))
