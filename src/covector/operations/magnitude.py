"""Magnitude and sign: x = |x| · sign(x)."""

import math
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, HostArray, LinearMaps, Value
from covector.core.convert import scalar
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import div, mul
from covector.operations.bitwise import or_
from covector.operations.casting import BitcastConvertType
from covector.operations.comparison import eq, gt, lt, ne
from covector.operations.complex import complex_, conj, imag, real
from covector.operations.families import Elementwise
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Abs(Elementwise):
    """|x|; of a complex number √(x² + y²), a real one. The derivative at 0 is 0.

    The smallest integer, whose negative is too large, is its own.
    """

    hlo = "stablehlo.abs"
    on_host = staticmethod(np.abs)
    vectors = dtypes.MACHINE_NUMBERS

    def out_dtype(self, dtype: DType) -> DType:
        return dtypes.real_part(dtype)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        if not dtypes.is_complex(x.type.dtype):
            slope = sign(x)
            return [lambda dx: mul(dx, slope)]
        # |z|² = z·z̄, so d|z| = Re(z̄ dz) / |z|
        direction = conj(sign(x))
        return [lambda dx: real(mul(dx, direction))]

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (type,) = ctx.in_types
        if dtypes.is_unsigned(type.dtype):
            return x
        out = ctx.op(self.hlo, [x])
        if not dtypes.is_complex(type.dtype):
            return out
        (infinite,) = ctx.through(_has_infinity, x)
        return ctx.op(
            "stablehlo.select",
            [infinite, ctx.constant(math.inf, ctx.out_types[0]), out],
        )


def sign_bit(x: Value) -> Value:
    """Whether a float is negative or −0; NaN may be, too."""
    bits = BitcastConvertType(np.dtype(f"i{x.type.dtype.itemsize}"))(x)
    return lt(bits, scalar(0, bits.type.dtype, True))


def is_infinite(x: Value) -> Value:
    """Whether a float is ∞ or −∞."""
    return eq(abs_(x), scalar(math.inf, x.type.dtype))


def _has_infinity(z: Value) -> list[Value]:
    """Whether a part is infinite, and so the magnitude, even if the other is NaN."""
    return [or_(is_infinite(real(z)), is_infinite(imag(z)))]


class Sign(Elementwise):
    """−1, 0 or 1; of a complex number z / |z|. Of −0 it is 0, and of NaN NaN.

    The derivative of a real sign is 0. Of a complex one, which turns as z does, it is
    i · Im(z̄ dz) · z / |z|³, and 0 at 0.
    """

    hlo = "stablehlo.sign"

    def on_host(self, x: HostArray) -> HostArray:
        out = np.sign(x)
        if x.dtype.kind == "c":
            nan = x.dtype.type(complex(math.nan, math.nan))
            out, parts = np.where(np.isnan(x), nan, out), (np.real, np.imag)
            out = complex_.on_host(*[np.copysign(p(out), p(x)) for p in parts])
            return np.where(x == 0, x.dtype.type(0), out)
        # Narrow dtypes, which are not NumPy's, keep −0.
        return out + x.dtype.type(0) if x.dtype.kind == "V" else out

    def differential(self, out: Value, x: Value) -> LinearMaps:
        if not dtypes.is_complex(x.type.dtype):
            return [None]
        length, back = abs_(x), conj(out)
        zero, one = scalar(0, length.type.dtype), scalar(1, length.type.dtype)
        length = where(eq(length, zero), one, length)

        def turn(dx: Value) -> Value:
            return mul(complex_(zero, div(imag(mul(dx, back)), length)), out)

        return [turn]

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (type,) = ctx.in_types
        if dtypes.is_unsigned(type.dtype):
            return ctx.op("stablehlo.minimum", [x, ctx.constant(1, type)])
        if dtypes.is_integer(type.dtype):
            return ctx.op(self.hlo, [x])
        if not dtypes.is_complex(type.dtype):
            return ctx.through(_sign_of_float, x)
        out = ctx.op(self.hlo, ctx.through(_of_ends, x))
        zeros = ctx.through(_is_zero, x)
        return ctx.op("stablehlo.select", [*zeros, ctx.constant(0, type), out])


def _sign_of_float(x: Value) -> list[Value]:
    """By comparisons: XLA's operation sets bits, and asks for NaN and −0 besides."""
    one, minus, zero = (scalar(n, x.type.dtype) for n in (1, -1, 0))
    rest = abs_(x) * zero  # 0 or NaN
    return [where(gt(x, zero), one, where(lt(x, zero), minus, rest))]


def _is_zero(z: Value) -> list[Value]:
    return [eq(z, scalar(0, z.type.dtype))]


def _of_ends(z: Value) -> list[Value]:
    """A number of the same direction, 1 for ∞, beside which finite parts are 0."""
    parts = real(z), imag(z)
    ends = [is_infinite(part) for part in parts]
    one_end = ne(*ends)
    found = [
        where(one_end, where(end, sign(part), part * 0), part)
        for part, end in zip(parts, ends, strict=True)
    ]
    return [complex_(*found)]


abs_, sign = Abs(), Sign()
