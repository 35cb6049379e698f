"""Random keys of 128 bits, stored as ``complex128``: lowered by halves of 64 bits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core import dtypes
from covector.core.jaxpr import Atom, Equation, Var
from covector.core.types import ArrayType
from covector.lowering.spelling import HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


def halves(ctx: "Lowering", keys: HloValue, type: ArrayType) -> list[HloValue]:
    """The low and the high 64 bits of keys."""
    part, half = type.with_dtype(dtypes.float64), type.with_dtype(dtypes.uint64)
    parts = [ctx.op(f"stablehlo.{p}", [keys], [part]) for p in ("real", "imag")]
    return [ctx.op("stablehlo.bitcast_convert", [p], [half]) for p in parts]


def joined(ctx: "Lowering", halves: Sequence[HloValue], type: ArrayType) -> HloValue:
    """Keys of their low and their high 64 bits."""
    part = [type.with_dtype(dtypes.float64)]
    parts = [ctx.op("stablehlo.bitcast_convert", [h], part) for h in halves]
    return ctx.op("stablehlo.complex", parts, [type])


def lowered_by_halves(
    ctx: "Lowering", equation: Equation, operands: Sequence[HloValue]
) -> list[HloValue]:
    """The equation at hand, lowered for each half of the keys in it."""
    from covector.lowering import hlo  # noqa: PLC0415  it imports MLIR

    inputs = list(map(_half, equation.inputs))
    outputs = [Var(_half(v).type) for v in equation.outputs]
    taken = [
        (x, x) if new is old else halves(ctx, x, old.type)
        for x, old, new in zip(operands, equation.inputs, inputs, strict=True)
    ]
    ctx.equation = Equation(equation.op, inputs, outputs, equation.line)
    low, high = [
        hlo.results(equation.op.lower(ctx, *half)) for half in zip(*taken, strict=True)
    ]
    return [
        joined(ctx, pair, v.type)
        for *pair, v in zip(low, high, equation.outputs, strict=True)
    ]


def _half(atom: Atom) -> Atom:
    """A variable for half of the keys; what holds no keys, itself."""
    wide = dtypes.is_wide_key(atom.type.dtype)
    return Var(atom.type.with_dtype(dtypes.uint64)) if wide else atom
