"""``Iota``; constant arrays are broadcast scalars."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray
from covector.core.primitive import Primitive, operation
from covector.core.types import ArrayType, Shape
from covector.core.work import moves
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Iota(Primitive):
    """0, 1, 2, … along axis ``dimension``, the same along all others.

    Integers wrap around where the axis is longer than they can count; floating-point
    numbers are rounded.
    """

    dtype: Any
    shape: Shape
    dimension: int
    work = moves

    def type_rule(self) -> Sequence[ArrayType]:
        if not dtypes.is_numeric(self.dtype):
            raise DTypeError(
                "iota counts in numbers, but was asked for "
                f"{dtypes.short_name(self.dtype)}."
            )
        if not 0 <= self.dimension < len(self.shape):
            raise TypeMismatch(
                f"iota along axis {self.dimension} of the shape {self.shape}: there is "
                "no such axis."
            )
        return (ArrayType(self.shape, self.dtype),)

    def on_host(self) -> HostArray:
        count = np.arange(self.shape[self.dimension]).astype(self.dtype)
        if len(self.shape) == 1:
            return count
        lengths = [1] * len(self.shape)
        lengths[self.dimension] = -1
        out = np.empty(self.shape, self.dtype)
        out[...] = count.reshape(lengths)
        return out

    def lower(self, ctx: "Lowering") -> HloResults:
        return ctx.op("stablehlo.iota", [], iota_dimension=f"{self.dimension} : i64")
