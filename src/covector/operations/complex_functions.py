"""``ComplexFunction``: signs of zeros, infinities and NaN as C99 has them.

XLA's complex functions take a zero for positive, and multiply zeros with infinities.
There are two remedies. Some functions are put together from real ones (``of_complex``:
exponentials, and what consists of them). The others are asked of XLA where no sign is
lost: since f(z̄) = conj f(z), all values follow from those in the upper half plane, and
if f is odd as well, from those in the first quadrant. What is still missing there at
infinities and NaN is mended before it is mirrored (``mend``).

Sources: ISO/IEC 9899:2018, annex G; W. Kahan, "Branch cuts for complex elementary
functions" (1987), for the symmetries.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.staging import restage
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import mul, neg
from covector.operations.bitwise import and_, not_, or_
from covector.operations.comparison import eq, is_finite, ne
from covector.operations.complex import complex_, imag, real
from covector.operations.families import TRANSCENDENTAL, Elementwise
from covector.operations.magnitude import abs_, is_infinite, sign_bit
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: real and imaginary part
Parts = tuple[Value, Value]


class ComplexFunction(Elementwise):
    """A function of real or complex numbers with f(z̄) = conj f(z)."""

    each = TRANSCENDENTAL

    accepts = staticmethod(dtypes.is_inexact)
    accepted = "floating-point or complex numbers"
    #: f(−z) = −f(z)
    odd = False
    #: f(z), a composition of other operations; None where it is asked of XLA
    of_complex: Callable[[Value], Value] | None = None

    #: f(x) of float32 and float64, where XLA's is inaccurate
    of_real: Callable[[Value], Value] | None = None

    @staticmethod
    def mend(x: Value, y: Value, u: Value, v: Value) -> Parts:
        """U + iv, what XLA makes of x + iy, right at infinities and NaN too; y is not
        negative, and neither is x if the function is odd.
        """
        return u, v

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        (type_,) = ctx.in_types
        is_complex = dtypes.is_complex(type_.dtype)
        composed = type(self).of_complex if is_complex else type(self).of_real
        if composed is not None and (is_complex or type_.dtype.itemsize > 2):
            return ctx.through(lambda x: [composed(x)], *operands)
        if not is_complex:
            return super().lower(ctx, *operands)
        folded = ctx.through(lambda z: [self._fold(z)], *operands)
        raw: Any = super().lower(ctx, *folded)
        unfolded = restage(lambda z, f: [self._unfold(z, f)], [type_, type_])
        return ctx.inline(unfolded, [*operands, raw])

    def _fold(self, z: Value) -> Value:
        x, y = real(z), imag(z)
        return complex_(abs_(x) if self.odd else x, abs_(y))

    def _unfold(self, z: Value, f: Value) -> Value:
        x, y = real(z), imag(z)
        u, v = self.mend(abs_(x) if self.odd else x, abs_(y), real(f), imag(f))
        return complex_(with_sign(u, x) if self.odd else u, with_sign(v, y))


def turned(odd: Callable[[Value], Value], z: Value) -> Value:
    """−i f(iz): trigonometric functions of the hyperbolic ones."""
    out = odd(complex_(neg(imag(z)), real(z)))
    return complex_(imag(out), neg(real(out)))


def with_sign(value: Value, x: Value) -> Value:
    """The value, negated where x is negative or −0."""
    return where(sign_bit(x), neg(value), value)


def _is(x: Value, value: float) -> Value:
    return eq(x, scalar(value, x.type.dtype))


# -- functions put together from real ones ---------------------------------------------


def directed(z: Value, a: Value, cosine: Value, b: Value, sine: Value) -> Value:
    """A cos y + i b sin y of z = x + iy, where a and b depend on x: e^z and its kin.

    Zero times anything is zero here. Without an angle, where y is not finite, what is
    infinite with x stays so, and nothing is known of other x but 0.
    """
    x, lost = real(z), not_(is_finite(imag(z)))
    unknown = and_(lost, and_(is_finite(x), not_(_is(x, 0))))
    nan = scalar(math.nan, x.type.dtype)
    u = where(and_(lost, is_infinite(x)), a, _product(a, cosine))
    return complex_(where(unknown, nan, u), where(unknown, nan, _product(b, sine)))


def _product(a: Value, b: Value) -> Value:
    zero = scalar(0, a.type.dtype)
    signed = with_sign(with_sign(zero, a), b)
    return where(or_(_is(a, 0), _is(b, 0)), signed, mul(a, b))


def quotient_of_hyperbolic(
    z: Value, tangent: Value, decay: Value, cosine: Value, sine: Value
) -> Value:
    """The value tanh(x + iy), from tanh|x|, e⁻²ˡˣˡ, cos y and sin y.

    It is (s c + i sin y cos y) / (s² + cos² y), with s = (eˣ − e⁻ˣ) / 2 and c = (eˣ +
    e⁻ˣ) / 2: nothing cancels. It is expanded by 4e⁻²ˡˣˡ, with which nothing overflows.
    On the axes one part vanishes.
    """
    x, y = real(z), imag(z)
    zero = scalar(0, x.type.dtype)
    total = 1 + decay
    rise = tangent * total
    below = rise * rise + 4 * decay * (cosine * cosine)
    end, lost = is_infinite(x), not_(is_finite(y))
    u = where(end, scalar(1, x.type.dtype), rise * total / below)
    v = where(and_(end, lost), zero, 4 * decay * (sine * cosine) / below)
    return complex_(where(_is(x, 0), x, with_sign(u, x)), where(_is(y, 0), y, v))


# -- mends -----------------------------------------------------------------------------


def mend_log(x: Value, y: Value, u: Value) -> Value:
    """The modulus of infinities is infinite, also where the other part is NaN."""
    infinite = or_(is_infinite(x), is_infinite(y))
    return where(infinite, scalar(math.inf, u.type.dtype), u)


def mend_expm1(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """Without an angle e^z is 0 at −∞ and infinite at ∞."""
    lost = not_(is_finite(y))
    nothing, infinite = and_(lost, _is(x, -math.inf)), and_(lost, _is(x, math.inf))
    u = where(nothing, scalar(-1, u.type.dtype), where(infinite, x, u))
    zero = _is(y, 0)
    u = where(and_(zero, _is(x, 0)), x, u)
    return u, where(or_(nothing, zero), scalar(0, v.type.dtype), v)


def mend_sqrt(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """√(x + i∞) is ∞ + i∞ for every x; √∞ is infinite, and √−∞ imaginary, also where y
    is NaN.
    """
    infinite = is_infinite(y)
    u = where(or_(infinite, _is(x, math.inf)), abs_(where(infinite, y, x)), u)
    return u, where(or_(infinite, _is(x, -math.inf)), scalar(math.inf, v.type.dtype), v)


def mend_asinh(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """Of what is real, and be it NaN, the imaginary part vanishes."""
    return u, where(_is(y, 0), y, v)


def mend_atanh(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """Without y the real part is 0 at 0 and ∞ only; the imaginary part needs both,
    unless y is infinite.
    """
    unknown = ne(y, y)
    zero, nan = (scalar(value, u.type.dtype) for value in (0.0, math.nan))
    at_limit = or_(_is(x, 0), _is(x, math.inf))
    u = where(unknown, where(at_limit, zero, nan), u)
    return u, where(or_(unknown, and_(ne(x, x), is_finite(y))), nan, v)


def mend_acos(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """On the imaginary axis the real part is π/2, also where y is NaN."""
    return where(and_(_is(x, 0), ne(y, y)), scalar(math.pi / 2, u.type.dtype), u), v


def mend_acosh(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """As ``mend_acos``, turned."""
    v, u = mend_acos(x, y, v, u)
    return u, v
