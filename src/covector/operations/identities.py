"""Identity operations that change derivatives or compilation, not values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from covector.core.annotations import BatchDims, Batched, LinearMaps, Value, Values
from covector.core.primitive import Operand, Primitive, operation
from covector.core.types import ArrayType
from covector.core.work import costs_nothing, moves
from covector.lowering.spelling import HloResults, HloValue, layouts
from covector.operations.broadcasting import with_axes_in_order
from covector.operations.transposing import by_itself

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Identity(Primitive):
    """The operand, of whatever type."""

    work = costs_nothing

    def reordered(self, orders: Sequence[Any]) -> Any:  # type: ignore[override]
        return with_axes_in_order(self, orders)

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

    work = moves

    def evaluate(self, x: Value) -> Values:
        return (x.copy(),)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return cotangents


class ComputedOnce(Identity):
    """x, which a compiled program computes once for all that read this.

    XLA computes a value again in each kernel that reads it, and may round differently
    there: what compares the value with a result of itself must see the same bits.
    """

    def evaluate(self, x: Value) -> Values:
        return (x,)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [lambda dx: dx]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return cotangents

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return by_itself(ctx, x, ctx.in_types[0])


@operation
class LayoutConstraint(Identity):
    """x, whose elements a compiled program keeps in an order of its own.

    ``major_to_minor`` are the axes, from the one along which neighbours are farthest
    apart. A batch axis comes before them.
    """

    major_to_minor: tuple[int, ...]

    def reordered(self, orders: Sequence[Any]) -> Any:
        return None  # the layout is that of the array's axes

    def evaluate(self, x: Value) -> Values:
        return (x,)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [self(cotangents[0])]

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        (dim,) = dims
        assert dim is not None, "the one operand is batched"
        inner = [axis + (axis >= dim) for axis in self.major_to_minor]
        return (LayoutConstraint((dim, *inner))(args[0]),), dims

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        order = layouts([self.major_to_minor[::-1]])
        return ctx.op(
            "stablehlo.custom_call",
            [x],
            call_target_name='"LayoutConstraint"',
            operand_layouts=order,
            result_layouts=order,
        )


stop_gradient, copy, computed_once = StopGradient(), Copy(), ComputedOnce()
