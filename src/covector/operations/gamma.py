"""Incomplete gamma functions, with derivatives in both arguments.

With A = xᵃ e⁻ˣ / Γ(a), the parts of the distribution below and above x are

    P(a, x) = A · ∫₀^∞ exp(−a s + x (1 − e⁻ˢ)) ds          from t = x e⁻ˢ
    Q(a, x) = A · ∫₀^∞ exp(−x u) (1 + u)ᵃ⁻¹ du = 1 − P     from t = x (1 + u)

The integrand of P falls off from the start where x ≤ a, that of Q where x ≥ a: of the
two the lesser part is integrated, and the other is what is left of 1. Up to x = 1,
where the scales are different ones, P = A/a · Σₙ xⁿ / ((a+1)⋯(a+n)) is summed instead.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.operations.arithmetic import mul, neg
from covector.operations.bitwise import and_, or_
from covector.operations.comparison import eq, ge, gt, le, lt, ne
from covector.operations.composite import Composite, number
from covector.operations.densities import deviance, finite, gap, stirling_error
from covector.operations.gamma_function import LARGE, log_less_digamma_series
from covector.operations.magnitude import abs_
from covector.operations.quadrature import integral
from covector.operations.roots import sqrt
from covector.operations.selection import where
from covector.operations.special import digamma, no_slope
from covector.operations.transcendental import exp, expm1, log, log1p

#: terms of the series for x ≤ 1, of which the last is below the rounding error
_TERMS = {dtypes.float32: 11, dtypes.float64: 19}


class _IncompleteGamma(Composite):
    """A function of a > 0 and x ≥ 0; NaN elsewhere."""

    def formula(self, a: Value, x: Value) -> Value:
        """Safe arguments in, the special cases on top."""
        zero, one = number(0, x), number(1, x)
        inside = and_(and_(gt(a, zero), gt(x, zero)), and_(finite(a), finite(x)))
        inside_a, inside_x = where(inside, a, one), where(inside, x, one)
        value = self.inside(inside_a, inside_x)
        return where(inside, value, self.outside(a, x))

    def inside(self, a: Value, x: Value) -> Value:
        """The value for finite a > 0, x > 0."""
        raise NotImplementedError

    def outside(self, a: Value, x: Value) -> Value:
        """The value elsewhere."""
        raise NotImplementedError


# -- the distribution ------------------------------------------------------------------


class Igamma(_IncompleteGamma):
    """P(a, x), the regularised lower incomplete gamma function, for a ≥ 0, x ≥ 0.

    ∂P/∂x is the density of the gamma distribution, ∂P/∂a is ``igamma_grad_a``.
    """

    def inside(self, a: Value, x: Value) -> Value:
        return _parts(a, x)[0]

    def outside(self, a: Value, x: Value) -> Value:
        return _at_the_edge(a, x, below=1.0)

    def partials(self, out: Value, a: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: igamma_grad_a(a, x), lambda: _density(a, x)]


class Igammac(_IncompleteGamma):
    """Q(a, x) = 1 − P(a, x), accurate where it is small."""

    def inside(self, a: Value, x: Value) -> Value:
        return _parts(a, x)[1]

    def outside(self, a: Value, x: Value) -> Value:
        return _at_the_edge(a, x, below=0.0)

    def partials(self, out: Value, a: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: neg(igamma_grad_a(a, x)), lambda: neg(_density(a, x))]


def _parts(a: Value, x: Value) -> tuple[Array, Array]:
    """P and Q."""
    amplitude, by_series = _amplitude(a, x), le(x, number(1, x))
    lesser = where(by_series, _series(a, x)[0] / a, _tail(a, x)[0]) * amplitude
    rest, below = 1 - lesser, or_(by_series, le(x, a))
    return where(below, lesser, rest), where(below, rest, lesser)


def _at_the_edge(a: Value, x: Value, below: float) -> Value:
    """The value where a or x is 0 or infinite: all mass is on one side of x."""
    zero = number(0, x)
    value = where(lt(a, x), number(below, x), number(1 - below, x))
    known = and_(and_(ge(a, zero), ge(x, zero)), ne(a, x))
    return where(known, value, number(math.nan, x))


def _density(a: Value, x: Value) -> Any:
    """∂P/∂x = xᵃ⁻¹ e⁻ˣ / Γ(a)."""
    zero, one, infinity = (number(v, x) for v in (0, 1, math.inf))
    inside = where(gt(x, zero), x, one)
    at_zero = where(lt(a, one), infinity, where(eq(a, one), one, zero))
    return where(gt(x, zero), _amplitude(a, inside) / inside, at_zero)


# -- its derivative by a ---------------------------------------------------------------


class IgammaGradA(_IncompleteGamma):
    """∂P(a, x)/∂a, for a > 0, x ≥ 0. It has no derivatives of its own here."""

    def inside(self, a: Value, x: Value) -> Value:
        return _amplitude(a, x) * _shape_derivative(a, x)

    def outside(self, a: Value, x: Value) -> Value:
        return _zero_at_the_edge(a, x)

    def partials(self, out: Value, a: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: no_slope(self, "its operands", [a.type, x.type])] * 2


class RandomGammaGrad(_IncompleteGamma):
    """∂x/∂a at constant P(a, x), for a sample x of the gamma distribution.

    −(∂P/∂a) / (∂P/∂x), in which the amplitude A cancels. It has no derivatives here.
    """

    def inside(self, a: Value, x: Value) -> Value:
        return neg(x * _shape_derivative(a, x))

    def outside(self, a: Value, x: Value) -> Value:
        return _zero_at_the_edge(a, x)

    def partials(self, out: Value, a: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: no_slope(self, "its operands", [a.type, x.type])] * 2


def _zero_at_the_edge(a: Value, x: Value) -> Value:
    known = and_(eq(x, number(0, x)), and_(gt(a, number(0, x)), finite(a)))
    return where(known, number(0, x), number(math.nan, x))


def _shape_derivative(a: Value, x: Value) -> Value:
    """(∂P/∂a) / A.

    ∂A/∂a = A (log x − ψ(a)), and under the integrals −s or log(1 + u) comes down.
    """
    right, series = gt(x, a), le(x, number(1, x))
    tail, moment = _tail(a, x)
    along = log(x / a) + _log_less_digamma(a)
    by_integral = where(right, neg(along * tail + moment), along * tail - moment)
    total, change = _series(a, x)
    by_series = (total * (log(x) - digamma(a + 1)) + change) / a
    return where(series, by_series, by_integral)


# -- their parts -----------------------------------------------------------------------


def _tail(a: Value, x: Value) -> tuple[Array, Array]:
    """The lesser of P/A and Q/A, and its first moment in s or in log(1 + u)."""
    # With w = u or e⁻ˢ − 1, both heights are −(m (w − log(1 + w)) + (x − m) w).
    mean = where(gt(x, a), a - 1, a)
    scale = 1 / (abs_(x - a) + sqrt(x))

    def falling(
        s: Value, a: Value, x: Value, mean: Value, scale: Value
    ) -> tuple[Array, Array]:
        u, right = s * scale, gt(x, a)
        distance = where(right, log1p(u), u)
        w = where(right, u, expm1(neg(u)))
        logarithm = where(right, distance, neg(u))
        return exp(neg(mean * gap(w, logarithm) + (x - mean) * w)), distance

    parameters = a, x, mean, scale
    whole = integral(lambda *args: falling(*args)[0], *parameters)
    moment = integral(lambda *args: mul(*falling(*args)), *parameters)
    return whole * scale, moment * scale


def _series(a: Value, x: Value) -> tuple[Array, Array]:
    """S = Σₙ xⁿ / ((a+1)⋯(a+n)) and ∂S/∂a, by Horner's rule."""
    total, change = number(1, x), number(0, x)
    for n in range(_TERMS[x.type.dtype], 0, -1):
        factor = x / (a + n)
        change = factor * (change - total / (a + n))
        total = 1 + factor * total
    return total, change


def _amplitude(a: Value, x: Value) -> Value:
    """A = xᵃ e⁻ˣ / Γ(a), to a few units in the last place times √a."""
    return sqrt(a / (2 * math.pi)) * exp(neg(deviance(a, x, x - a) + stirling_error(a)))


def _log_less_digamma(a: Value) -> Value:
    """The difference log a − ψ(a)."""
    large = log_less_digamma_series(a)
    return where(lt(a, number(LARGE, a)), log(a) - digamma(a), large)


igamma, igammac = Igamma(), Igammac()
igamma_grad_a, random_gamma_grad = IgammaGradA(), RandomGammaGrad()
