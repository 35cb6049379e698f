"""Elementwise maximum and minimum, and ``Clamp``."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, HostArray, Value
from covector.core.convert import scalar
from covector.core.primitive import Linearized
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import pushforward
from covector.operations.bitwise import and_, or_
from covector.operations.casting import convert
from covector.operations.comparison import eq, ge, gt, le, lt, ne
from covector.operations.families import Elementwise
from covector.operations.partials import WithPartials
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


def _is_number_or_bool(dtype: DType) -> bool:
    return dtypes.is_numeric(dtype) or dtypes.is_bool(dtype)


class Extremum(WithPartials):
    """One of x and y; NaN if one is. Complex numbers go by real, then imaginary parts.

    Only the one taken has a partial derivative: 1, or ½ for each where both are equal.
    Of 0.0 and −0.0 either may be taken.
    """

    accepts = staticmethod(_is_number_or_bool)
    accepted = "numbers or bools"
    #: the relations of the one taken to the other
    beats: Any = None
    beats_or_ties: Any = None

    def partials(self, out: Value, x: Value, y: Value) -> Sequence[Callable[[], Any]]:
        half = scalar(0.5, out.type.dtype)

        def weight(this: Value, other: Value) -> Value:
            whole = convert(self.beats(this, other), out.type.dtype)
            return where(eq(this, other), half, whole)

        return [lambda: weight(x, y), lambda: weight(y, x)]

    def lower(self, ctx: "Lowering", x: HloValue, y: HloValue) -> HloResults:
        if dtypes.is_complex(ctx.in_types[0].dtype):
            return ctx.through(self._of_complex, x, y)
        return super().lower(ctx, x, y)

    def _of_complex(self, x: Value, y: Value) -> list[Value]:
        return [where(or_(self.beats_or_ties(x, y), ne(x, x)), x, y)]


class Max(Extremum):
    """The larger of x and y."""

    hlo = "stablehlo.maximum"
    on_host = staticmethod(np.maximum)
    vectors = dtypes.MACHINE_NUMBERS
    beats, beats_or_ties = gt, ge


class Min(Extremum):
    """The smaller of x and y."""

    hlo = "stablehlo.minimum"
    on_host = staticmethod(np.minimum)
    vectors = dtypes.MACHINE_NUMBERS
    beats, beats_or_ties = lt, le


class Clamp(Elementwise):
    """min(max(x, low), high): x within bounds. NaN if one is; ``high`` if they cross.

    The derivative is that of x strictly within the bounds, of ``low`` below them if
    low < high, and of ``high`` above them or where they cross. On a bound it is zero.
    """

    hlo = "stablehlo.clamp"
    accepts = staticmethod(dtypes.is_real)
    accepted = "real numbers"

    def on_host(self, low: HostArray, x: HostArray, high: HostArray) -> HostArray:
        return np.minimum(np.maximum(x, low), high)

    def linearize(
        self, active: Sequence[bool], low: Value, x: Value, high: Value
    ) -> Linearized:
        out = self(low, x, high)
        zero = scalar(0, out.type.dtype)
        masks: list[Any] = [
            and_(lt(x, low), lt(low, high)) if active[0] else None,
            and_(lt(low, x), lt(x, high)) if active[1] else None,
            or_(lt(high, x), lt(high, low)) if active[2] else None,
        ]
        kept = [lambda d, mask=mask: where(mask, d, zero) for mask in masks]
        return (out,), pushforward(out, *kept)


max_, min_, clamp = Max(), Min(), Clamp()
