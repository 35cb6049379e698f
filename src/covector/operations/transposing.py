"""Reordering and regrouping axes: ``Transpose``, ``Reshape``.

Both are their own kind of adjoint: the way back is another of the same.
"""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core.annotations import Batched, HostArray, LinearMaps, Value, Values
from covector.core.primitive import Operand, Primitive, costs_nothing, moves, operation
from covector.core.types import ArrayType, Shape
from covector.errors import (
    TypeMismatch,
    how_many,
)
from covector.lowering.hlo import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Transpose(Primitive):
    """Axis k of the result is axis ``permutation[k]`` of the operand."""

    permutation: tuple[int, ...]
    work = moves

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if sorted(self.permutation) != list(range(x.ndim)):
            raise TypeMismatch(
                f"transpose of {x} needs a permutation of its "
                f"{how_many(x.ndim, 'axis', 'axes')}, but got {self.permutation}."
            )
        return (x.with_shape(tuple([x.shape[p] for p in self.permutation])),)

    def prefers_host(self, types: Sequence[ArrayType], outs: Any) -> bool:
        # At any size where elements stay where they are.
        long = [p for p in self.permutation if types[0].shape[p] != 1]
        return long == sorted(long) or super().prefers_host(types, outs)

    def on_host(self, x: HostArray) -> HostArray:
        return np.transpose(x, self.permutation)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        back = sorted(range(len(self.permutation)), key=self.permutation.__getitem__)
        return [Transpose(tuple(back))(cotangents[0])]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        rest = [p + (p >= dim) for p in self.permutation]
        return (Transpose((dim, *rest))(x),), (0,)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return ctx.op("stablehlo.transpose", [x], permutation=self.permutation)


@operation
class Reshape(Primitive):
    """The same elements in row-major order, in another shape."""

    shape: Shape
    work = costs_nothing

    def prefers_host(self, types: Sequence[ArrayType], outs: Any) -> bool:
        return True  # at any size: a view costs nothing

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        out = x.with_shape(self.shape)
        if out.size != x.size:
            raise TypeMismatch(
                f"reshape of {x} ({how_many(x.size, 'element')}) to the shape "
                f"{self.shape} ({how_many(out.size, 'element')}): the numbers of "
                "elements differ."
            )
        return (out,)

    def on_host(self, x: HostArray) -> HostArray:
        return x.reshape(self.shape)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [Reshape(x.type.shape)(cotangents[0])]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        count = prod(x.type.shape[:dim])
        for position in range(len(self.shape) + 1):
            if prod(self.shape[:position]) == count:
                # No element crosses the batch axis, so it can stay where it is.
                shape = (*self.shape[:position], size, *self.shape[position:])
                return (Reshape(shape)(x),), (position,)
        x = Transpose((dim, *[k for k in range(x.type.ndim) if k != dim]))(x)
        return (Reshape((size, *self.shape))(x),), (0,)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return ctx.op("stablehlo.reshape", [x])
