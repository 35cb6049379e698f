"""Exponentials, trigonometric and hyperbolic functions.

Of complex arguments they are the principal values, with the branch cuts and the special
values of C99: on a cut, the sign of a zero part says on which side of it.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, LinearMaps, Value
from covector.core.convert import scalar
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.accuracy import ByVectors, HasAccuracy, is_by_vectors
from covector.operations.arithmetic import div, mul, neg, sub
from covector.operations.comparison import lt
from covector.operations.complex import complex_, imag, real
from covector.operations.complex_functions import (
    ComplexFunction,
    directed,
    mend_acos,
    mend_acosh,
    mend_asinh,
    mend_atanh,
    mend_expm1,
    quotient_of_hyperbolic,
    turned,
    with_sign,
)
from covector.operations.families import widened
from covector.operations.logarithms import log1p
from covector.operations.magnitude import abs_
from covector.operations.roots import rsqrt
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class _WithAccuracy(ComplexFunction, HasAccuracy):
    """One that some hardware computes in several ways."""


# -- exponentials ----------------------------------------------------------------------


class Exp(_WithAccuracy):
    """eˣ."""

    hlo = "stablehlo.exponential"
    on_host = staticmethod(np.exp)

    @staticmethod
    def of_complex(z: Value) -> Value:
        size, angle = exp(real(z)), imag(z)
        return directed(z, size, cos(angle), size, sin(angle))

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [lambda dx: mul(dx, out)]


class Exp2(ByVectors, _WithAccuracy):
    """2ˣ, exact for whole x."""

    on_cpu = "power_of_two"
    on_host = staticmethod(np.exp2)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = math.log(2) * out
        return [lambda dx: mul(dx, slope)]

    @staticmethod
    def of_complex(z: Value) -> Value:
        size, angle = exp2(real(z)), imag(z) * math.log(2)
        return directed(z, size, cos(angle), size, sin(angle))

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (type,) = ctx.in_types
        if dtypes.is_complex(type.dtype) or is_by_vectors(ctx):
            return super().lower(ctx, x)
        return ctx.op("stablehlo.power", [ctx.constant(2, type), x])


class Expm1(_WithAccuracy):
    """eˣ − 1, accurate for small x."""

    hlo = "stablehlo.exponential_minus_one"
    on_host = staticmethod(np.expm1)
    not_on_host = ComplexFunction.not_on_host.union(dtypes.COMPLEX)  # as NumPy's is not

    @staticmethod
    def of_complex(z: Value) -> Value:
        # eˣ cos y − 1 = (eˣ − 1) cos y − 2 sin² ½y
        x, y = real(z), abs_(imag(z))
        half = sin(y / 2)
        u, v = mend_expm1(x, y, expm1(x) * cos(y) - 2 * half * half, exp(x) * sin(y))
        return complex_(u, with_sign(v, imag(z)))

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = out + 1
        return [lambda dx: mul(dx, slope)]


class Logistic(_WithAccuracy):
    """1 / (1 + e⁻ˣ)."""

    hlo = "stablehlo.logistic"
    # Of complex numbers NumPy's is conjugated along the real axis.
    not_on_host = ComplexFunction.not_on_host.union(dtypes.COMPLEX)
    fails_in_16_bits = True  # and of −12 nothing is left

    def on_host(self, x: HostArray) -> HostArray:
        wide = np.exp(-widened(x))
        return np.reciprocal(wide + wide.dtype.type(1)).astype(x.dtype, copy=False)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = out * (1 - out)
        return [lambda dx: mul(dx, slope)]


exp, exp2, expm1, logistic = Exp(), Exp2(), Expm1(), Logistic()


# -- trigonometric functions -----------------------------------------------------------


class Sin(ByVectors, _WithAccuracy):
    """Sine of an angle in radians."""

    on_cpu = "sine"
    hlo = "stablehlo.sine"
    on_host = staticmethod(np.sin)

    @staticmethod
    def of_complex(z: Value) -> Value:
        return turned(sinh, z)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = cos(x)
        return [lambda dx: mul(dx, slope)]


class Cos(ByVectors, _WithAccuracy):
    """Cosine of an angle in radians."""

    on_cpu = "cosine"
    hlo = "stablehlo.cosine"
    on_host = staticmethod(np.cos)

    @staticmethod
    def of_complex(z: Value) -> Value:
        return cosh(complex_(neg(imag(z)), real(z)))

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = neg(sin(x))
        return [lambda dx: mul(dx, slope)]


class Tan(ByVectors, _WithAccuracy):
    """Tangent of an angle in radians."""

    on_cpu = "tangent"
    hlo = "stablehlo.tan"
    on_host = staticmethod(np.tan)

    @staticmethod
    def of_complex(z: Value) -> Value:
        return turned(tanh, z)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = 1 + out * out
        return [lambda dx: mul(dx, slope)]


class Asin(ByVectors, ComplexFunction):
    """The angle with sine x; NaN of real |x| > 1. The derivative is infinite at ±1."""

    on_cpu = "arcsine"
    hlo = "chlo.asin"
    on_host = staticmethod(np.arcsin)

    @staticmethod
    def of_complex(z: Value) -> Value:
        return turned(asinh, z)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = rsqrt((1 - x) * (1 + x))
        return [lambda dx: mul(dx, slope)]


class Acos(ByVectors, ComplexFunction):
    """The angle with cosine x; NaN of real |x| > 1. The derivative is −∞ at ±1."""

    on_cpu = "arccosine"
    hlo = "chlo.acos"
    mend = staticmethod(mend_acos)
    on_host = staticmethod(np.arccos)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = neg(rsqrt((1 - x) * (1 + x)))
        return [lambda dx: mul(dx, slope)]


class Atan(ByVectors, ComplexFunction):
    """The angle with tangent x, between −π/2 and π/2."""

    on_cpu = "arctangent"
    hlo = "chlo.atan"
    on_host = staticmethod(np.arctan)

    @staticmethod
    def of_complex(z: Value) -> Value:
        return turned(atanh, z)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        divisor = 1 + x * x
        return [lambda dx: div(dx, divisor)]


sin, cos, tan, asin, acos, atan = Sin(), Cos(), Tan(), Asin(), Acos(), Atan()


# -- hyperbolic functions --------------------------------------------------------------


class Sinh(ComplexFunction):
    """(eˣ − e⁻ˣ) / 2."""

    hlo = "chlo.sinh"

    @staticmethod
    def of_real(x: Value) -> Value:
        # Of |x| ≥ 1 by e^½ˡˣˡ, which is finite where the result is.
        size, half = abs_(x), exp(abs_(x) / 2)
        change = expm1(size)
        near = (change + change / (change + 1)) / 2
        far = half / 2 * half - 0.5 / (half * half)
        return with_sign(where(lt(size, scalar(1, x.type.dtype)), near, far), x)

    on_host = staticmethod(np.sinh)

    @staticmethod
    def of_complex(z: Value) -> Value:
        x, y = real(z), imag(z)
        return directed(z, sinh(x), cos(y), cosh(x), sin(y))

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = cosh(x)
        return [lambda dx: mul(dx, slope)]


class Cosh(ComplexFunction):
    """(eˣ + e⁻ˣ) / 2."""

    hlo = "chlo.cosh"

    @staticmethod
    def of_real(x: Value) -> Value:
        half = exp(abs_(x) / 2)
        return half / 2 * half + 0.5 / (half * half)

    on_host = staticmethod(np.cosh)

    @staticmethod
    def of_complex(z: Value) -> Value:
        x, y = real(z), imag(z)
        return directed(z, cosh(x), cos(y), sinh(x), sin(y))

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = sinh(x)
        return [lambda dx: mul(dx, slope)]


class Tanh(_WithAccuracy):
    """sinh(x) / cosh(x)."""

    hlo = "stablehlo.tanh"
    on_host = staticmethod(np.tanh)

    @staticmethod
    def of_complex(z: Value) -> Value:
        size, y = abs_(real(z)), imag(z)
        decay = exp(-2 * size)
        return quotient_of_hyperbolic(z, tanh(size), decay, cos(y), sin(y))

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = sub(scalar(1, out.type.dtype), mul(out, out))
        return [lambda dx: mul(dx, slope)]


class Asinh(ComplexFunction):
    """The number with hyperbolic sine x."""

    hlo = "chlo.asinh"
    odd, mend = True, staticmethod(mend_asinh)
    on_host = staticmethod(np.arcsinh)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = rsqrt(1 + x * x)
        return [lambda dx: mul(dx, slope)]


class Acosh(ComplexFunction):
    """The number, not negative, with hyperbolic cosine x; NaN of real x < 1.

    The derivative 1 / (√(x − 1) · √(x + 1)) is infinite at 1.
    """

    hlo = "chlo.acosh"
    mend = staticmethod(mend_acosh)
    on_host = staticmethod(np.arccosh)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = rsqrt(x - 1) * rsqrt(x + 1)
        return [lambda dx: mul(dx, slope)]


class Atanh(ComplexFunction):
    """The number with hyperbolic tangent x; ±∞ of ±1, NaN of real |x| > 1."""

    hlo = "chlo.atanh"
    odd, mend = True, staticmethod(mend_atanh)
    on_host = staticmethod(np.arctanh)

    @staticmethod
    def of_real(x: Value) -> Value:
        size = abs_(x)
        return with_sign(log1p(2 * size / (1 - size)) / 2, x)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        divisor = (1 - x) * (1 + x)
        return [lambda dx: div(dx, divisor)]


sinh, cosh, tanh = Sinh(), Cosh(), Tanh()
asinh, acosh, atanh = Asinh(), Acosh(), Atanh()
