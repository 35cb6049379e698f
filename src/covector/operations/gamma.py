"""Incomplete gamma functions, with derivatives of any order in both arguments.

With A = xᵃ e⁻ˣ / Γ(a), the parts of the distribution below and above x are

    P(a, x) = A · ∫₀^∞ exp(−a s + x (1 − e⁻ˢ)) ds          from t = x e⁻ˢ
    Q(a, x) = A · ∫₀^∞ exp(−x u) (1 + u)ᵃ⁻¹ du = 1 − P     from t = x (1 + u)

The integrand of P falls off from the start where x ≤ a, that of Q where x ≥ a: of the
two the lesser part is integrated, and the other is what is left of 1. Up to x = 1,
where the scales are different ones, P = xᵃ/Γ(a + 1) · Σₙ (−x)ⁿ/n! · a/(a + n) instead.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.primitive import operation
from covector.operations.arithmetic import neg
from covector.operations.bitwise import and_
from covector.operations.comparison import eq, ge, gt, le, lt, ne
from covector.operations.composite import WithEdges, number
from covector.operations.densities import (
    finite,
    gamma_amplitude,
    gap,
    log_less_digamma,
    log_ratio,
    product_with_slope,
)
from covector.operations.extrema import min_
from covector.operations.gamma_function import log_gamma_of_one_plus
from covector.operations.logarithms import log, log1p
from covector.operations.magnitude import abs_
from covector.operations.quadrature import integral
from covector.operations.repeated_derivatives import (
    Derivatives,
    of_exponential,
    of_product,
)
from covector.operations.roots import sqrt
from covector.operations.selection import where
from covector.operations.special import digamma, polygamma
from covector.operations.transcendental import exp, expm1

#: terms of the series for x ≤ 1, of which the last is below the rounding error
_TERMS = {dtypes.float32: 11, dtypes.float64: 19}


class _OfGamma(WithEdges):
    """A function of a > 0 and x > 0, with values where one of them is 0 or infinite."""

    somewhere = 1.0

    def is_inside(self, a: Value, x: Value) -> Value:
        zero = number(0, x)
        return and_(and_(gt(a, zero), gt(x, zero)), and_(finite(a), finite(x)))


# -- the distribution ------------------------------------------------------------------


class Igamma(_OfGamma):
    """P(a, x), the regularised lower incomplete gamma function, for a ≥ 0, x ≥ 0.

    ∂P/∂x is ``gamma_density``, ∂P/∂a is ``igamma_grad_a``.
    """

    def inside(self, a: Value, x: Value) -> Value:
        return _parts(a, x)[0]

    def outside(self, a: Value, x: Value) -> Value:
        return _at_the_edge(a, x, below=1.0)

    def partials(self, out: Value, a: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: igamma_grad_a(a, x), lambda: gamma_density(a, x)]


class Igammac(_OfGamma):
    """Q(a, x) = 1 − P(a, x), accurate where it is small."""

    def inside(self, a: Value, x: Value) -> Value:
        return _parts(a, x)[1]

    def outside(self, a: Value, x: Value) -> Value:
        return _at_the_edge(a, x, below=0.0)

    def partials(self, out: Value, a: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: neg(igamma_grad_a(a, x)), lambda: neg(gamma_density(a, x))]


def _parts(a: Value, x: Value) -> tuple[Array, Array]:
    """P and Q."""
    amplitude, by_series = gamma_amplitude(a, x), le(x, number(1, x))
    low, high = _by_series(a, x, amplitude)
    compared = and_(by_series, le(a, number(1, x)))
    below = where(compared, ge(high, number(0.5, x)), le(x, a))
    lesser = where(by_series, where(below, low, high), amplitude * _moment(0, a, x))
    rest = 1 - lesser
    return where(below, lesser, rest), where(below, rest, lesser)


def _by_series(a: Value, x: Value, amplitude: Value) -> tuple[Array, Array]:
    """P for x ≤ 1, and for a ≤ 1 also Q, which may be much less than 1."""
    factor, rest = amplitude * exp(x) / a, _series(0, a, x)
    small = min_(a, number(1, a))
    less_than_one = expm1(small * log(x) - log_gamma_of_one_plus(small))
    return factor * (1 + rest), neg(less_than_one + factor * rest)


def _at_the_edge(a: Value, x: Value, below: float) -> Value:
    """The value where a or x is 0 or infinite: all mass is on one side of x."""
    zero = number(0, x)
    value = where(lt(a, x), number(below, x), number(1 - below, x))
    known = and_(and_(ge(a, zero), ge(x, zero)), ne(a, x))
    return where(known, value, number(math.nan, x))


class GammaDensity(_OfGamma):
    """xᵃ⁻¹ e⁻ˣ / Γ(a), the derivative of P(a, x) by x, for a ≥ 0, x ≥ 0."""

    def inside(self, a: Value, x: Value) -> Value:
        return gamma_amplitude(a, x) / x

    def outside(self, a: Value, x: Value) -> Value:
        zero, one, infinity = (number(v, x) for v in (0, 1, math.inf))
        at_zero = where(lt(a, one), infinity, where(eq(a, one), one, zero))
        known = and_(and_(ge(a, zero), ge(x, zero)), ne(a, x))
        value = where(eq(x, zero), at_zero, zero)
        return where(known, value, number(math.nan, x))

    def partials(self, out: Value, a: Value, x: Value) -> Sequence[Callable[[], Any]]:
        zero, one, infinity = (number(v, x) for v in (0, 1, math.inf))

        def by_x() -> Any:
            # At 0 that of xᵃ⁻¹.
            flat = where(eq(a, one), neg(one), neg(infinity))
            two = number(2, a)
            steep = where(eq(a, two), one, where(lt(a, two), infinity, zero))
            edge = where(gt(a, one), steep, flat)
            inside = and_(gt(x, zero), finite(x))
            relative = (a - 1) / where(inside, x, one) - 1
            return where(eq(x, zero), edge, where(inside, out * relative, zero))

        return [lambda: product_with_slope(out, log(x) - digamma(a)), by_x]


# -- its derivatives by a --------------------------------------------------------------


@operation
class IgammaDerivative(_OfGamma):
    """∂ᵏP/∂aᵏ, for a > 0 and x ≥ 0."""

    #: k > 0
    order: int = 1

    def inside(self, a: Value, x: Value) -> Value:
        return gamma_amplitude(a, x) * _derivative(self.order, a, x)

    def outside(self, a: Value, x: Value) -> Value:
        return _zero_at_the_edge(a, x)

    def partials(self, out: Value, a: Value, x: Value) -> Sequence[Callable[[], Any]]:
        def by_x() -> Any:
            along = of_exponential(_slopes(a, log(x) - digamma(a)))((self.order,))
            return product_with_slope(gamma_density(a, x), along)

        return [lambda: IgammaDerivative(self.order + 1)(a, x), by_x]


class RandomGammaGrad(_OfGamma):
    """∂x/∂a at constant P(a, x), for a sample x of the gamma distribution.

    −(∂P/∂a) / (∂P/∂x), in which the amplitude A cancels.
    """

    def inside(self, a: Value, x: Value) -> Value:
        return neg(x * _derivative(1, a, x))

    def outside(self, a: Value, x: Value) -> Value:
        return _zero_at_the_edge(a, x)

    def partials(self, out: Value, a: Value, x: Value) -> Sequence[Callable[[], Any]]:
        along = log(x) - digamma(a)

        def by_a() -> Any:
            return neg(IgammaDerivative(2)(a, x) / gamma_density(a, x) + out * along)

        return [by_a, lambda: neg(along + out * ((a - 1) / x - 1))]


def _zero_at_the_edge(a: Value, x: Value) -> Value:
    known = and_(eq(x, number(0, x)), and_(gt(a, number(0, x)), finite(a)))
    return where(known, number(0, x), number(math.nan, x))


def _derivative(k: int, a: Value, x: Value) -> Value:
    """(∂ᵏP/∂aᵏ) / A.

    ∂A/∂a = A (log x − ψ(a)), and under the integrals −s or log(1 + u) comes down.
    """
    amplitude = of_exponential(_slopes(a, log_ratio(x, a) + log_less_digamma(a)))
    by_integral = of_product((k,), amplitude, lambda order: _moment(order[0], a, x))
    by_integral = where(gt(x, a), neg(by_integral), by_integral)
    factor = of_exponential(_slopes(a + 1, log(x) - digamma(a + 1)))
    by_series = of_product(
        (k,), factor, lambda order: _series(order[0], a, x) + float(not order[0])
    )
    return where(le(x, number(1, x)), exp(x) / a * by_series, by_integral)


def _slopes(a: Value, first: Value) -> Derivatives:
    """The derivatives of log A by a, of which the first is given."""

    def slope(order: tuple[int, ...]) -> Value:
        (k,) = order
        return first if k == 1 else neg(polygamma(number(k - 1, a), a))

    return cache(slope)


# -- their parts -----------------------------------------------------------------------


def _moment(order: int, a: Value, x: Value) -> Array:
    """The lesser of P/A and Q/A, or its moment in −s or in log(1 + u)."""
    # With w = u or e⁻ˢ − 1, both heights are −(m (w − log(1 + w)) + (x − m) w).
    right = gt(x, a)
    mean, distance = where(right, a - 1, a), where(right, (x - a) + 1, x - a)
    scale = 1 / (abs_(x - a) + sqrt(x))

    def falling(s: Value, x: Value, a: Value, *parameters: Value) -> Value:
        mean, distance, scale = parameters
        u, right = s * scale, gt(x, a)
        w = where(right, u, expm1(neg(u)))
        logarithm = where(right, log1p(u), neg(u))
        height = exp(neg(mean * gap(w, logarithm) + distance * w))
        return height * logarithm**order if order else height

    return integral(falling, x, a, mean, distance, scale) * scale


def _series(order: int, a: Value, x: Value) -> Array:
    """Σ (−x)ⁿ/n! · a/(a + n) over n > 0, or its derivative by a; by Horner's rule."""
    total = number(0, x)
    for n in range(_TERMS[x.type.dtype], 0, -1):
        weight = a / (a + n)
        if order:
            sign = 1 if order % 2 else -1
            weight = sign * n * math.factorial(order) / (a + n) ** (order + 1)
        total = x * (-1 / n) * (weight + total)
    return total


igamma, igammac, gamma_density = Igamma(), Igammac(), GammaDensity()
igamma_grad_a, random_gamma_grad = IgammaDerivative(), RandomGammaGrad()
