"""The beta function, and the regularized incomplete one with all its derivatives.

With C = xᵃ yᵇ / B(a, b) and y = 1 − x, the part of the distribution below x is

    I(a, b, x) = C/y · ∫₀^∞ exp(−a r) (1 + (x/y) (1 − e⁻ʳ))ᵇ⁻¹ dr       from t = x e⁻ʳ

The integrand falls off from the start where x is below the mean a/(a + b). Elsewhere
the part above, I(b, a, y), is integrated, and I is what is left of 1.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.primitive import operation
from covector.operations.arithmetic import neg
from covector.operations.bitwise import and_, or_
from covector.operations.comparison import eq, ge, gt, le, lt
from covector.operations.composite import Composite, number
from covector.operations.densities import deviance, finite, gap, stirling_error
from covector.operations.extrema import max_, min_
from covector.operations.magnitude import abs_
from covector.operations.quadrature import integral
from covector.operations.roots import sqrt
from covector.operations.rounding import floor
from covector.operations.selection import where
from covector.operations.special import digamma, gamma, lgamma, no_slope
from covector.operations.transcendental import exp, expm1, log, log1p


class RegularizedIncompleteBeta(Composite):
    """I(a, b, x) for a ≥ 0, b ≥ 0 and 0 ≤ x ≤ 1; NaN elsewhere.

    ∂I/∂x is the density of the beta distribution, the others ``BetaincGrad``.
    """

    def formula(self, a: Value, b: Value, x: Value) -> Value:
        inside = _is_inside(a, b, x)
        lesser = _Lesser(*[where(inside, p, number(0.5, x)) for p in (a, b, x)])
        part = lesser.amplitude() * lesser.tail()
        value = where(lesser.above, 1 - part, part)
        return where(inside, value, _at_the_edge(a, b, x))

    def partials(
        self, out: Value, a: Value, b: Value, x: Value
    ) -> Sequence[Callable[[], Any]]:
        return [
            lambda: BetaincGrad(0)(a, b, x),
            lambda: BetaincGrad(1)(a, b, x),
            lambda: _density(a, b, x),
        ]


@operation
class BetaincGrad(Composite):
    """∂I(a, b, x)/∂a, or ∂I/∂b for 0 < x < 1. It has no derivatives of its own here.

    ∂C/∂a = C (log x − ψ(a) + ψ(a + b)) and likewise for b and y; under the integral −r
    and log(1 + (x/y) (1 − e⁻ʳ)) come down.
    """

    #: 0 for a, 1 for b
    operand: int

    def formula(self, a: Value, b: Value, x: Value) -> Value:
        inside = _is_inside(a, b, x)
        safe = [where(inside, p, number(0.5, x)) for p in (a, b, x)]
        lesser = _Lesser(*safe)
        logs = log(lesser.x), log1p(neg(lesser.x))
        logs = (logs[0], where(lesser.above, log(safe[2]), logs[1]))
        slopes = []
        for p, logarithm, moment in zip(
            (lesser.a, lesser.b), logs, lesser.moments(), strict=True
        ):
            along = logarithm - digamma(p) + digamma(lesser.a + lesser.b)
            slopes.append(lesser.amplitude() * (along * lesser.tail() + moment))
        by_a, by_b = slopes
        below = by_a if self.operand == 0 else by_b
        above = by_b if self.operand == 0 else by_a
        at_edge = or_(eq(x, number(0, x)), eq(x, number(1, x)))
        edge = where(at_edge, number(0, x), number(math.nan, x))
        return where(inside, where(lesser.above, neg(above), below), edge)

    def partials(
        self, out: Value, a: Value, b: Value, x: Value
    ) -> Sequence[Callable[[], Any]]:
        types = [a.type, b.type, x.type]
        return [lambda: no_slope(self, "its operands", types)] * 3


def _is_inside(a: Value, b: Value, x: Value) -> Value:
    """Whether a > 0 and b > 0 are finite and 0 < x < 1."""
    zero, one = number(0, x), number(1, x)
    inside = and_(and_(gt(a, zero), finite(a)), and_(gt(b, zero), finite(b)))
    return and_(inside, and_(gt(x, zero), lt(x, one)))


class _Lesser:
    """The lesser part of a distribution, brought to x below the mean.

    ``above``: it is what lies above x, so that the ends of the interval are exchanged.
    """

    def __init__(self, a: Value, b: Value, x: Value) -> None:
        y = 1 - x
        # x less the mean, times a + b; exchanging the ends turns its sign.
        excess = b * x - a * y
        self.above = above = gt(excess, number(0, x))
        self.a, self.b = where(above, b, a), where(above, a, b)
        self.x, self.y = where(above, y, x), where(above, x, y)
        self.excess = neg(abs_(excess))

    def amplitude(self) -> Value:
        """C, of the parameters here."""
        return _amplitude(self.a, self.b, self.x, self.y, self.excess)

    def tail(self) -> Value:
        """I(a, b, x) / C."""
        return self._integral(lambda r, logarithm: number(1, self.x))

    def moments(self) -> tuple[Value, Value]:
        """The integrals of −r and of log(1 + (x/y) (1 − e⁻ʳ)), divided by C."""
        along_r = self._integral(lambda r, logarithm: neg(r))
        return along_r, self._integral(lambda r, logarithm: logarithm)

    def _integral(self, factor: Callable[[Value, Value], Value]) -> Value:
        """The integral, with a factor that depends on r and on that logarithm."""
        a, b, x, y, excess = self.a, self.b, self.x, self.y, self.excess
        odds = x / y
        # The height falls by ``slope`` and bends by ``bend`` first, and by a far out.
        slope = (x - excess) / y
        bend = max_((b - 1) * odds / y, number(0, x))
        scale = 1 / min_(a, slope + sqrt(bend))

        def falling(r: Value, *parameters: Value) -> Value:
            a, b, odds, slope, scale = parameters
            r = r * scale
            v = neg(expm1(neg(r)))
            raised = odds * v
            logarithm = log1p(raised)
            bent = a * gap(neg(v), neg(r)) + (b - 1) * gap(raised, logarithm)
            return exp(neg(bent + slope * v)) * factor(r, logarithm)

        return integral(falling, a, b, odds, slope, scale) * scale / y


def _amplitude(a: Value, b: Value, x: Value, y: Value, excess: Value) -> Value:
    """C = xᵃ yᵇ / B(a, b); ``excess`` is (a + b) x − a."""
    n = a + b
    lost = deviance(a, n * x, excess) + deviance(b, n * y, neg(excess))
    corrections = stirling_error(n) - stirling_error(a) - stirling_error(b)
    return sqrt(a * (b / n) / (2 * math.pi)) * exp(corrections - lost)


def _density(a: Value, b: Value, x: Value) -> Any:
    """∂I/∂x = xᵃ⁻¹ yᵇ⁻¹ / B(a, b)."""
    zero, one, infinity = (number(v, x) for v in (0, 1, math.inf))
    inside = where(and_(gt(x, zero), lt(x, one)), x, number(0.5, x))
    y = 1 - inside
    density = _amplitude(a, b, inside, y, b * inside - a * y) / (inside * y)

    def at_end(near: Any, other: Any) -> Any:
        return where(lt(near, one), infinity, where(eq(near, one), other, zero))

    density = where(eq(x, zero), at_end(a, b), density)
    return where(eq(x, one), at_end(b, a), density)


def _at_the_edge(a: Value, b: Value, x: Value) -> Value:
    """The value where x, or all of the distribution, is at an end of the interval."""
    zero, one, infinity = (number(v, x) for v in (0, 1, math.inf))
    allowed = and_(and_(ge(a, zero), ge(b, zero)), and_(ge(x, zero), le(x, one)))
    low, high = or_(eq(a, zero), eq(b, infinity)), or_(eq(b, zero), eq(a, infinity))
    # Inside the interval, the distribution is at one end; at both ends it contradicts.
    value = where(and_(low, high), number(math.nan, x), where(low, one, zero))
    value = where(eq(x, zero), zero, where(eq(x, one), one, value))
    return where(allowed, value, number(math.nan, x))


# -- the beta function -----------------------------------------------------------------


class LogBeta(Composite):
    """log|B(a, b)| with B = Γ(a) Γ(b) / Γ(a + b). ∂/∂a = ψ(a) − ψ(a + b).

    For positive a and b by Stirling's formula and its error, in which what is large
    cancels; else from three logarithms.
    """

    def formula(self, a: Value, b: Value) -> Value:
        zero, one, infinity = (number(k, a) for k in (0, 1, math.inf))
        least = min_(a, b)
        inside = and_(gt(least, zero), lt(max_(a, b), infinity))
        p, q = where(inside, a, one), where(inside, b, one)
        n = p + q
        errors = stirling_error(p) + stirling_error(q) - stirling_error(n)
        shares = (p - 0.5) * log1p(q / p) + (q - 0.5) * log1p(p / q) + 0.5 * log(n)
        value = errors - shares + 0.5 * math.log(2 * math.pi)
        other = lgamma(a) + lgamma(b) - lgamma(a + b)
        endless = and_(gt(least, zero), eq(max_(a, b), infinity))
        return where(inside, value, where(endless, neg(infinity), other))

    def partials(self, out: Value, a: Value, b: Value) -> Sequence[Callable[[], Any]]:
        return [
            lambda: digamma(a) - digamma(a + b),
            lambda: digamma(b) - digamma(a + b),
        ]


class Beta(Composite):
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b). ∂/∂a = B (ψ(a) − ψ(a + b))."""

    def formula(self, a: Value, b: Value) -> Value:
        bound = 80 if a.type.dtype == dtypes.float64 else 16
        large = gt(max_(abs_(a), abs_(b)), number(bound, a))
        # With an order of the factors in which nothing overflows before the result.
        high, low = max_(a, b), min_(a, b)
        product = gamma(high) / gamma(a + b) * gamma(low)
        positive = gt(low, number(0, a))
        sign = where(
            positive,
            number(1, a),
            sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b),
        )
        return where(large, sign * exp(log_beta(a, b)), product)

    def partials(self, out: Value, a: Value, b: Value) -> Sequence[Callable[[], Any]]:
        return [
            lambda: out * (digamma(a) - digamma(a + b)),
            lambda: out * (digamma(b) - digamma(a + b)),
        ]


def sign_of_gamma(x: Value) -> Value:
    """The sign of Γ(x), for x that is no whole number ≤ 0."""
    half = 0.5 * floor(x)
    one = number(1, x)
    return where(or_(gt(x, number(0, x)), eq(half, floor(half))), one, neg(one))


regularized_incomplete_beta = RegularizedIncompleteBeta()
log_beta, beta = LogBeta(), Beta()
