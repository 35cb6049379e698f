"""Floats that CPUs do not compute with, ``bfloat16`` and those of 8 bits, as integers.

XLA:CPU widens what an operation is given to ``float32``, and narrows what it gives.
Where elements are only moved that takes several times as long, and makes other NaN of
NaN; to write one row of an array in a loop, it takes all rows each time. So they are
moved, and carried through loops, as integers of their bits.

A scan that stores 1000 rows of 1000 ``bfloat16``: 1,250 → 1 ms.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import ml_dtypes

from covector.core import dtypes
from covector.core.jaxpr import Atom, Equation, Var
from covector.core.types import ArrayType
from covector.lowering.spelling import HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

_INTEGERS = {8: dtypes.uint8, 16: dtypes.uint16}


def are_in(equation: Equation) -> bool:
    """Whether there are such floats among the results of an equation."""
    return any([bits_of(v.type) is not v.type for v in equation.outputs])


def bits_of(type_: ArrayType) -> ArrayType:
    """The type of integers that hold the bits of such floats; another type, itself."""
    dtype = type_.dtype
    if dtypes.is_of_numpy(dtype) or not dtypes.is_floating(dtype):
        return type_
    integer = _INTEGERS.get(ml_dtypes.finfo(dtype).bits)
    return type_ if integer is None else type_.with_dtype(integer)


def cast(
    ctx: "Lowering",
    values: Iterable[HloValue],
    types: Sequence[ArrayType],
    wanted: Sequence[ArrayType],
) -> list[HloValue]:
    """The bits of values as those of other types, where the types differ."""
    return [
        x if now is then else _cast(ctx, x, now.strong(), then.strong())
        for x, now, then in zip(values, types, wanted, strict=True)
    ]


def _cast(
    ctx: "Lowering", x: HloValue, type_: ArrayType, wanted: ArrayType
) -> HloValue:
    made = ctx.shared.get((x, wanted))
    if made is None:
        made = ctx.op("stablehlo.bitcast_convert", [x], [wanted])
        # And back: XLA would not see that it is the same, and write to a copy.
        ctx.shared[x, wanted], ctx.shared[made, type_] = made, x
    return made


def lowered_as_integers(
    ctx: "Lowering", equation: Equation, operands: Sequence[HloValue]
) -> list[HloValue]:
    """The results of the equation at hand, which only moves elements."""
    from covector.lowering import hlo  # noqa: PLC0415  it imports MLIR

    inputs, outputs = equation.inputs, equation.outputs
    bits = [_of_bits(a) for a in inputs]
    moved = [Var(bits_of(v.type)) for v in outputs]
    taken = cast(ctx, operands, [a.type for a in inputs], [a.type for a in bits])
    ctx.equation = Equation(equation.op, bits, moved, equation.line)
    made = hlo.results(equation.op.lower(ctx, *taken))
    ctx.equation = equation
    return cast(ctx, made, [v.type for v in moved], [v.type for v in outputs])


def _of_bits(atom: Atom) -> Atom:
    """A variable for the bits of such floats; of others, the atom itself."""
    bits = bits_of(atom.type)
    return atom if bits is atom.type else Var(bits)
