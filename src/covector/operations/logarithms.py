"""Logarithms, and the angle of a point, the imaginary part of the complex one.

Of complex numbers they are the principal values, as in ``transcendental``.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import LinearMaps, Value
from covector.core.convert import scalar
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.accuracy import (
    ByVectors,
    HasAccuracy,
    is_by_vectors,
    lower_by_vectors,
)
from covector.operations.arithmetic import div, neg, sub
from covector.operations.bitwise import and_, shift_left, shift_right_arithmetic
from covector.operations.casting import BitcastConvertType, convert
from covector.operations.comparison import eq, gt, lt
from covector.operations.complex import complex_, imag, real
from covector.operations.complex_functions import ComplexFunction, Parts, mend_log
from covector.operations.partials import WithPartials
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Atan2(ByVectors, WithPartials):
    """The angle of the point (x, y) — y comes first — between −π and π.

    d atan2(y, x) = (x dy − y dx) / (x² + y²): NaN at the origin.
    """

    on_cpu = "arctangent_of_point"
    hlo = "stablehlo.atan2"
    on_host = staticmethod(np.arctan2)  # which is for real numbers only
    not_on_host = WithPartials.not_on_host.union(dtypes.COMPLEX)
    accepts = staticmethod(dtypes.is_inexact)
    accepted = "floating-point or complex numbers"

    def partials(self, out: Value, y: Value, x: Value) -> Any:
        square = y * y + x * x
        return [lambda: div(x, square), lambda: neg(div(y, square))]


atan2 = Atan2()


class Log(ComplexFunction, HasAccuracy):
    """Natural logarithm; −∞ of 0, NaN of negative numbers."""

    hlo = "stablehlo.log"
    on_host = staticmethod(np.log)

    @staticmethod
    def mend(x: Value, y: Value, u: Value, v: Value) -> Parts:
        return mend_log(x, y, u), atan2(y, x)  # XLA's angle is a routine per element

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [lambda dx: div(dx, x)]


class Log2(ComplexFunction):
    """Logarithm to base 2, exact for powers of 2; −∞ of 0, NaN of negative numbers."""

    on_host = staticmethod(np.log2)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        divisor = math.log(2) * x
        return [lambda dx: div(dx, divisor)]

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        real = dtypes.is_floating(ctx.in_types[0].dtype)
        return ctx.through(_log2 if real else _complex_log2, x)


def _complex_log2(z: Value) -> list[Value]:
    out, factor = log(z), 1 / math.log(2)
    # Part by part: as complex numbers, −∞ times a real one has the imaginary part NaN.
    return [complex_(real(out) * factor, imag(out) * factor)]


def _log2(x: Value) -> list[Value]:
    """Sum k + log(m) / log 2, x = m · 2ᵏ, √½ ≤ m < √2; m is 1 for powers of 2."""
    dtype = x.type.dtype
    x = convert(x, dtypes.float32 if dtype.itemsize < 4 else dtype)
    width, positions = (32, 23) if x.type.dtype == dtypes.float32 else (64, 52)
    integers = dtypes.int32 if width == 32 else dtypes.int64
    bits = BitcastConvertType(integers)(x)
    start = scalar(
        int(np.asarray(math.sqrt(0.5), x.type.dtype).view(integers)), integers
    )
    k = shift_right_arithmetic(sub(bits, start), scalar(positions, integers))
    mantissa = sub(bits, shift_left(k, scalar(positions, integers)))
    m = BitcastConvertType(x.type.dtype)(mantissa)
    value = convert(k, x.type.dtype) + log(m) * (1 / math.log(2))
    zero, infinity, nan = [scalar(n, x.type.dtype) for n in (0, math.inf, math.nan)]
    beyond = where(eq(x, infinity), infinity, nan)
    other = where(eq(x, zero), neg(infinity), beyond)
    positive = and_(gt(x, zero), lt(x, infinity))
    return [convert(where(positive, value, other), dtype)]


class Log1p(ComplexFunction, HasAccuracy):
    """log(1 + x), accurate for small x."""

    hlo = "stablehlo.log_plus_one"

    @staticmethod
    def mend(x: Value, y: Value, u: Value, v: Value) -> Parts:
        return mend_log(x, y, u), atan2(y, 1 + x)

    on_host = staticmethod(np.log1p)
    not_on_host = ComplexFunction.not_on_host.union(
        dtypes.COMPLEX
    )  # NumPy loses digits

    def differential(self, out: Value, x: Value) -> LinearMaps:
        divisor = x + 1
        return [lambda dx: div(dx, divisor)]

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        dtype = ctx.in_types[0].dtype
        if dtypes.is_floating(dtype) and not self.requested():
            if dtype == dtypes.float64:
                return ctx.through(_log1p, x)
            if is_by_vectors(ctx):
                return lower_by_vectors(
                    ctx, "logarithm_of_one_plus", x, module="logarithms_on_cpu"
                )
        return super().lower(ctx, x)


def _log1p(x: Value) -> Sequence[Value]:
    """log(1 + x) in 64 bits, where XLA's polynomial loses seven of them for x < 0.

    Near 0 it is 2 artanh(z) = 2z (1 + z²/3 + z⁴/5 + …) of z = x / (2 + x).
    """
    near = and_(gt(x, scalar(-0.35, x.type.dtype)), lt(x, scalar(0.5, x.type.dtype)))
    inner = where(near, x, scalar(0, x.type.dtype))
    z = inner / (2 + inner)
    square, total = z * z, scalar(0, x.type.dtype)
    for n in range(25, 1, -2):
        total = square * (1 / n + total)
    # 2z = x − xz, so that what is rounded is small.
    value = inner - (z * inner - 2 * z * total)
    return [where(near, value, log(1 + x))]


log, log2, log1p = Log(), Log2(), Log1p()
