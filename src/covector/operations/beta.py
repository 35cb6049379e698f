"""The regularized incomplete beta function.

With C = xᵃ yᵇ / B(a, b) and y = 1 − x, the part of the distribution below x is

    I(a, b, x) = C/y · ∫₀^∞ exp(−a r) (1 + (x/y) (1 − e⁻ʳ))ᵇ⁻¹ dr       from t = x e⁻ʳ

The integrand falls off from the start where x is below the mean a/(a + b). Elsewhere
the part above, I(b, a, y), is integrated, and I is what is left of 1.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.operations.arithmetic import neg
from covector.operations.bitwise import and_, or_
from covector.operations.comparison import eq, ge, gt, le, lt
from covector.operations.composite import Composite, number
from covector.operations.densities import deviance, finite, gap, stirling_error
from covector.operations.extrema import max_, min_
from covector.operations.magnitude import abs_
from covector.operations.quadrature import integral
from covector.operations.roots import sqrt
from covector.operations.selection import where
from covector.operations.special import no_slope
from covector.operations.transcendental import exp, expm1, log1p


class RegularizedIncompleteBeta(Composite):
    """I(a, b, x) for a ≥ 0, b ≥ 0 and 0 ≤ x ≤ 1; NaN elsewhere.

    ∂I/∂x is the density of the beta distribution; by a and b it has no derivative here.
    """

    def formula(self, a: Value, b: Value, x: Value) -> Value:
        zero, one = number(0, x), number(1, x)
        inside = and_(and_(gt(a, zero), finite(a)), and_(gt(b, zero), finite(b)))
        inside = and_(inside, and_(gt(x, zero), lt(x, one)))
        value = _inside(*[where(inside, p, number(0.5, x)) for p in (a, b, x)])
        return where(inside, value, _at_the_edge(a, b, x))

    def partials(
        self, out: Value, a: Value, b: Value, x: Value
    ) -> Sequence[Callable[[], Any]]:
        def none() -> Any:
            return no_slope(self, "a and b", [a.type, b.type, x.type])

        return [none, none, lambda: _density(a, b, x)]


def _inside(a: Value, b: Value, x: Value) -> Value:
    """I for finite a > 0, b > 0 and 0 < x < 1."""
    y = 1 - x
    # x less the mean, times a + b; exchanging the ends of the interval turns its sign.
    excess = b * x - a * y
    above = gt(excess, number(0, x))
    a, b = where(above, b, a), where(above, a, b)
    x, y = where(above, y, x), where(above, x, y)
    below = neg(abs_(excess))
    lesser = _amplitude(a, b, x, y, below) * _tail(a, b, x, y, below)
    return where(above, 1 - lesser, lesser)


def _tail(a: Value, b: Value, x: Value, y: Value, excess: Value) -> Value:
    """I(a, b, x) / C for x below the mean."""
    odds = x / y
    # The height falls by ``slope`` and bends by ``bend`` at first, and by a far out.
    slope = (x - excess) / y
    bend = max_((b - 1) * odds / y, number(0, x))
    scale = 1 / min_(a, slope + sqrt(bend))

    def falling(r: Value, *parameters: Value) -> Value:
        a, b, odds, slope, scale = parameters
        r = r * scale
        v = neg(expm1(neg(r)))
        raised = odds * v
        bent = a * gap(neg(v), neg(r)) + (b - 1) * gap(raised, log1p(raised))
        return exp(neg(bent + slope * v))

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


regularized_incomplete_beta = RegularizedIncompleteBeta()
