"""Identity operations that change derivatives or compilation, not values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core.annotations import BatchDims, Batched, LinearMaps, Value, Values
from covector.core.primitive import Operand, Primitive
from covector.core.types import ArrayType
from covector.lowering.hlo import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Identity(Primitive):
    """The operand, of whatever type."""

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        return (x,)

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        return (self(args[0]),), dims

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return x


class StopGradient(Identity):
    """x as a constant: derivatives do not pass."""

    def evaluate(self, x: Value) -> Values:
        return (x,)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [None]


class Copy(Identity):
    """x in memory of its own."""

    def evaluate(self, x: Value) -> Values:
        return (x.copy(),)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return cotangents


stop_gradient, copy = StopGradient(), Copy()
