"""Choosing, element by element, between operands that have all been computed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, Value, Values
from covector.core.convert import scalar
from covector.core.dtypes import DType
from covector.core.primitive import Linear, Linearized, Operand
from covector.core.types import ArrayType, show_types
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import broadcast_like, unbroadcast
from covector.operations.families import Elementwise, broadcast_operands

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: cases up to which NumPy chooses among integer-numbered ones
CHOICES = 30


class SelectN(Elementwise):
    """``cases[which]``, element by element; the others are computed and not used.

    ``which`` is bool, for two cases (False takes the first), or int32, for any number;
    a number that is too small takes the first, one that is too large the last. The
    cases have one element type, which may be any. The derivative is that of the case
    taken; ``which`` has none.
    """

    accepts = staticmethod(lambda dtype: True)

    def linear_in(self, args: Sequence[Operand]) -> bool:
        return type(args[0]) is not Linear

    def type_rule(self, which: ArrayType, *cases: ArrayType) -> Sequence[ArrayType]:
        if which.dtype not in (dtypes.bool_, dtypes.int32):
            raise DTypeError(
                f"select_n chooses by a bool (between two cases) or an int32, but got "
                f"{which}. Compare it, as in which != 0, or convert it."
            )
        if not cases or (dtypes.is_bool(which.dtype) and len(cases) != 2):
            raise TypeMismatch(
                f"select_n by {which} needs {'two' if cases else 'some'} cases, but "
                f"got {show_types(cases) or 'none'}. An int32 chooses among any number."
            )
        (out,) = super().type_rule(*cases)
        if which.shape not in ((), out.shape) and out.shape:
            raise self._mismatch([which, *cases])
        return (out.with_shape(which.shape or out.shape),)

    def is_same_on_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        return len(types) <= CHOICES and super().is_same_on_host(types, outs)

    def on_host(self, which: HostArray, *cases: HostArray) -> HostArray:
        if which.dtype.kind == "b":
            return np.where(which, cases[1], cases[0])
        return np.choose(which, cases, mode="clip")

    def linearize(
        self, active: Sequence[bool], which: Value, *cases: Value
    ) -> Linearized:
        out = self(which, *cases)
        zero = scalar(0, out.type.dtype)

        def push(_: Value | None, *tangents: Value | None) -> Sequence[Value | None]:
            filled = [zero if t is None else t for t in tangents]
            return (broadcast_like(self(which, *filled), out),)

        return (out,), push

    def transpose(
        self, cotangents: Values, which: Operand, *cases: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        zero = scalar(0, ct.type.dtype)
        cotangent_of: list[Value | None] = [None]
        for k, case in enumerate(cases):
            if type(case) is Linear:
                kept = self(which, *[ct if i == k else zero for i in range(len(cases))])
                cotangent_of.append(unbroadcast(broadcast_like(kept, ct), case.type))
            else:
                cotangent_of.append(None)
        return cotangent_of

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        which, *cases = types
        # Of more than two, each but the last is compared with and selected.
        each = 1 if dtypes.is_bool(which.dtype) else 2 * (len(cases) - 1)
        return Work(flops=each * outs[0].size)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        index, (out,) = ctx.in_types[0], ctx.out_types
        which, chosen, *others = broadcast_operands(ctx, operands)
        if dtypes.is_bool(index.dtype):
            return ctx.op("stablehlo.select", [which, *others, chosen])
        for k, case in enumerate(others, start=1):
            reached = ctx.op(
                "stablehlo.compare",
                [which, ctx.constant(k, out.with_dtype(index.dtype))],
                [ArrayType(out.shape, dtypes.bool_)],
                comparison_direction="#stablehlo<comparison_direction GE>",
            )
            chosen = ctx.op("stablehlo.select", [reached, case, chosen])
        return chosen


select_n = SelectN()


def where(condition: Value, x: Value, y: Value) -> Value:
    """``x`` where the condition holds, ``y`` elsewhere."""
    return select_n(condition, y, x)


def ones_where(condition: Value, dtype: DType, weak: bool = False) -> Value:
    """1 where the condition holds, 0 elsewhere.

    Beside a cast of the condition this is for conditions on positions alone, as those
    of unit vectors and triangles: XLA computes them anew wherever they are used, and
    divides the operation that uses a cast among processors however small it is.
    """
    return where(condition, scalar(1, dtype, weak), scalar(0, dtype, weak))
