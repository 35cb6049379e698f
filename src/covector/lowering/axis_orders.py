"""Values whose axes lie in another order than those of the arrays they stand for.

XLA:CPU convolves images with their features last. A program that has them elsewhere
would reorder the operand and the result of each convolution, and nothing cancels the
one by the other across a bias and a ``maximum``. So the result of a convolution stays
as it is, a ``Reordered`` value, and operations that do not care for the order of axes
(``Primitive.reordered``) work on it and give another. The rest get the array's order.

    convolution → features last → + bias → maximum → pooling → convolution → … → reshape
    (features last from here on, without a transpose)                       transposed
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from covector.core.jaxpr import Equation, Var, type_of
from covector.core.types import ArrayType
from covector.lowering import hlo
from covector.lowering.spelling import HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

Order: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Reordered:
    """A value of which axis k is axis ``order[k]`` of the array, of type ``type``."""

    value: HloValue
    order: Order
    type: ArrayType


def reordered(value: HloValue, order: Order, type_: ArrayType) -> Any:
    """The value of an array with its axes in this order, perhaps the array's own."""
    return value if order == tuple(sorted(order)) else Reordered(value, order, type_)


def lower(ctx: "Lowering", equation: Equation, values: Sequence[Any]) -> list[Any]:
    """The results of an equation, of operands that may be ``Reordered``."""
    orders = [v.order if type(v) is Reordered else None for v in values]
    op = equation.op
    if not any(orders):
        return list(ctx.lowered(equation, values))
    types = list(map(type_of, equation.inputs))
    rule = op.reordered if len(equation.outputs) == 1 else None
    plan = rule(orders) if rule is not None else None
    if plan is None:
        return list(ctx.lowered(equation, [plain(ctx, v) for v in values]))
    other, wanted, out = plan
    wanted = [w if t.ndim else None for w, t in zip(wanted, types, strict=True)]
    operands = [
        v if order is None else in_order(ctx, v, t, order)
        for v, t, order in zip(values, types, wanted, strict=True)
    ]
    inputs = [
        a if order is None else Var(_type_in_order(t, order))
        for a, t, order in zip(equation.inputs, types, wanted, strict=True)
    ]
    (result,) = equation.outputs
    made = Var(_type_in_order(result.type, out))
    ctx.equation = Equation(other, inputs, [made], equation.line)
    (value,) = hlo.results(other.lower(ctx, *operands))
    if type(value) is Reordered:  # in an order of that order
        order = tuple([out[k] for k in value.order])
        return [reordered(value.value, order, result.type)]
    return [reordered(value, out, result.type)]


def plain(ctx: "Lowering", x: Any) -> HloValue:
    """The value with its axes in the order of the array."""
    if type(x) is not Reordered:
        return x
    back = tuple([x.order.index(k) for k in range(len(x.order))])
    return _transposed(ctx, x.value, back, x.type)


def in_order(ctx: "Lowering", x: Any, type_: ArrayType, order: Order) -> HloValue:
    """The value of an array with its axes in this order."""
    if type(x) is Reordered and x.order == order:
        return x.value
    return _transposed(ctx, plain(ctx, x), order, _type_in_order(type_, order))


def _transposed(
    ctx: "Lowering", x: HloValue, order: Order, type_: ArrayType
) -> HloValue:
    return ctx.op("stablehlo.transpose", [x], [type_], permutation=order)


def _type_in_order(type_: ArrayType, order: Order) -> ArrayType:
    return type_.with_shape(tuple([type_.shape[k] for k in order]))
