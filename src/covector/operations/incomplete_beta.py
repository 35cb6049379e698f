"""The regularized incomplete beta function, with derivatives of any order.

With C = xᵃ yᵇ / B(a, b) and y = 1 − x, the part of the distribution below x is

    I(a, b, x) = C/a + I(a + 1, b, x)                                by parts
    I(a, b, x) = C/y · ∫₀^∞ exp(−a r) (1 + (x/y) (1 − e⁻ʳ))ᵇ⁻¹ dr    from t = x e⁻ʳ

The integrand falls off from the start where x is below the mean a/(a + b); after one
step of the first line it does so on one scale, whatever a. Elsewhere the part above,
I(b, a, y), is computed, and I is what is left of 1.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from covector.core.annotations import Value
from covector.core.primitive import operation
from covector.operations.arithmetic import neg
from covector.operations.bitwise import and_, or_
from covector.operations.comparison import eq, ge, gt, le, lt
from covector.operations.composite import WithEdges, number
from covector.operations.densities import (
    beta_amplitude,
    beta_excess,
    finite,
    gap,
    log_less_digamma,
    product_with_slope,
)
from covector.operations.extrema import max_, min_
from covector.operations.logarithms import log, log1p
from covector.operations.magnitude import abs_
from covector.operations.quadrature import integral
from covector.operations.repeated_derivatives import (
    Derivatives,
    Order,
    of_exponential,
    of_product,
)
from covector.operations.roots import sqrt
from covector.operations.selection import where
from covector.operations.special import polygamma
from covector.operations.transcendental import exp, expm1


class _OfBeta(WithEdges):
    """A function of a > 0, b > 0 and 0 < x < 1, with values at the edges of these."""

    somewhere = 0.5

    def is_inside(self, a: Value, b: Value, x: Value) -> Value:
        zero, one = number(0, x), number(1, x)
        inside = and_(and_(gt(a, zero), finite(a)), and_(gt(b, zero), finite(b)))
        return and_(inside, and_(gt(x, zero), lt(x, one)))


# -- the distribution ------------------------------------------------------------------


class RegularizedIncompleteBeta(_OfBeta):
    """I(a, b, x) for a ≥ 0, b ≥ 0 and 0 ≤ x ≤ 1; NaN elsewhere.

    ∂I/∂x is ``beta_density``, the others are ``BetaincDerivative``.
    """

    def inside(self, a: Value, b: Value, x: Value) -> Value:
        lesser = _Lesser(a, b, x)
        share = (1 + (a + b) * lesser.x * lesser.moment((0, 0))) / lesser.a
        part = beta_amplitude(a, b, x) * share
        return where(lesser.above, 1 - part, part)

    def outside(self, a: Value, b: Value, x: Value) -> Value:
        return _at_the_edge(a, b, x)

    def partials(
        self, out: Value, a: Value, b: Value, x: Value
    ) -> Sequence[Callable[[], Any]]:
        return [
            lambda: BetaincDerivative((1, 0))(a, b, x),
            lambda: BetaincDerivative((0, 1))(a, b, x),
            lambda: beta_density(a, b, x),
        ]


def _at_the_edge(a: Value, b: Value, x: Value) -> Value:
    """The value where x, or all of the distribution, is at an end of the interval."""
    zero, one, infinity = (number(v, x) for v in (0, 1, math.inf))
    allowed = and_(and_(ge(a, zero), ge(b, zero)), and_(ge(x, zero), le(x, one)))
    low, high = or_(eq(a, zero), eq(b, infinity)), or_(eq(b, zero), eq(a, infinity))
    # Inside the interval, the distribution is at one end; at both ends it contradicts.
    value = where(and_(low, high), number(math.nan, x), where(low, one, zero))
    value = where(eq(x, zero), zero, where(eq(x, one), one, value))
    return where(allowed, value, number(math.nan, x))


class BetaDensity(_OfBeta):
    """xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b), the derivative of I(a, b, x) by x."""

    def inside(self, a: Value, b: Value, x: Value) -> Value:
        return beta_amplitude(a, b, x) / (x * (1 - x))

    def outside(self, a: Value, b: Value, x: Value) -> Value:
        zero, one, infinity = (number(v, x) for v in (0, 1, math.inf))

        def at_end(near: Value, other: Value) -> Value:
            return where(lt(near, one), infinity, where(eq(near, one), other, zero))

        known = and_(gt(a, zero), gt(b, zero))
        at_zero, at_one = and_(known, eq(x, zero)), and_(known, eq(x, one))
        nowhere = number(math.nan, x)
        return where(at_zero, at_end(a, b), where(at_one, at_end(b, a), nowhere))

    def partials(
        self, out: Value, a: Value, b: Value, x: Value
    ) -> Sequence[Callable[[], Any]]:
        zero, one, infinity = (number(v, x) for v in (0, 1, math.inf))
        excess = beta_excess(a, b, x)[0]
        slope = _slopes(x, a + b, (a, b), (excess, neg(excess)))

        def from_end(p: Value, q: Value) -> Value:
            flat = where(eq(p, one), q * (1 - q), neg(infinity))
            two = number(2, x)
            steep = where(eq(p, two), q * (q + 1), where(lt(p, two), infinity, zero))
            return where(gt(p, one), steep, flat)

        def by_x() -> Any:
            inside = and_(gt(x, zero), lt(x, one))
            safe = where(inside, x, number(0.5, x))
            edge = where(eq(x, zero), from_end(a, b), neg(from_end(b, a)))
            relative = (a - 1) / safe - (b - 1) / (1 - safe)
            return where(inside, out * relative, edge)

        return [
            lambda: product_with_slope(out, slope((1, 0))),
            lambda: product_with_slope(out, slope((0, 1))),
            by_x,
        ]


# -- its derivatives by a and b --------------------------------------------------------


@operation
class BetaincDerivative(_OfBeta):
    """∂ⁱ⁺ʲI(a, b, x)/∂aⁱ∂bʲ.

    ∂C/∂a = C (log x − ψ(a) + ψ(a + b)) and likewise for b and y; under the integral −r
    and log(1 + (x/y) (1 − e⁻ʳ)) come down.
    """

    #: i and j
    order: Order

    def inside(self, a: Value, b: Value, x: Value) -> Value:
        lesser, n = _Lesser(a, b, x), a + b
        zero, one = number(0, x), number(1, x)
        # The steps from C to C/a, and then from a to a + 1, of the lesser part.
        a_more, b_more = (
            where(lesser.above, *pair) for pair in ((zero, one), (one, zero))
        )
        excesses = lesser.excess - a_more, neg(lesser.excess) - b_more
        first = _slopes(x, n, (a + a_more, b + b_more), excesses)

        def second(order: Order) -> Value:
            m = sum(order)
            change = (-1) ** (m - 1) * math.factorial(m - 1) / n**m
            return first(order) + change

        start = of_exponential(first)(self.order)
        rest = of_product(self.order, of_exponential(second), lesser.moment)
        share = (start + lesser.x * n * rest) / lesser.a
        value = beta_amplitude(a, b, x) * share
        return where(lesser.above, neg(value), value)

    def outside(self, a: Value, b: Value, x: Value) -> Value:
        at_end = or_(eq(x, number(0, x)), eq(x, number(1, x)))
        return where(at_end, number(0, x), number(math.nan, x))

    def partials(
        self, out: Value, a: Value, b: Value, x: Value
    ) -> Sequence[Callable[[], Any]]:
        (i, j), excess = self.order, beta_excess(a, b, x)[0]
        slope = _slopes(x, a + b, (a, b), (excess, neg(excess)))

        def by_x() -> Any:
            along = of_exponential(slope)(self.order)
            return product_with_slope(beta_density(a, b, x), along)

        return [
            lambda: BetaincDerivative((i + 1, j))(a, b, x),
            lambda: BetaincDerivative((i, j + 1))(a, b, x),
            by_x,
        ]


def _slopes(
    x: Value, n: Value, parameters: tuple[Value, Value], excesses: tuple[Value, Value]
) -> Derivatives:
    """The derivatives of log(xᵃ yᵇ Γ(n) / (Γ(a) Γ(b))) by a and b, where n = a + b + k.

    The excesses are nx − a and ny − b.
    """
    logs = log(x), log1p(neg(x))

    def slope(order: Order) -> Value:
        m = sum(order)
        if m == 1:
            k = order.index(1)
            p, relative = parameters[k], excesses[k] / parameters[k]
            near = lt(abs_(relative), number(0.5, x))
            close = log1p(where(near, relative, number(0, x)))
            ratio = where(near, close, logs[k] - log(p / n))
            return ratio + log_less_digamma(p) - log_less_digamma(n)
        value = polygamma(number(m - 1, x), n)
        for p, times in zip(parameters, order, strict=True):
            if times == m:
                value = value - polygamma(number(m - 1, x), p)
        return value

    return cache(slope)


# -- their parts -----------------------------------------------------------------------


class _Lesser:
    """The lesser part of a distribution, brought to x below the mean.

    ``above``: it is what lies above x, so that the ends of the interval are exchanged.
    """

    def __init__(self, a: Value, b: Value, x: Value) -> None:
        # x less the mean, times a + b; exchanging the ends turns its sign.
        self.excess = beta_excess(a, b, x)[0]
        self.above = above = gt(self.excess, number(0, x))
        self.a, self.b = where(above, b, a), where(above, a, b)
        self.x, self.y = where(above, 1 - x, x), where(above, x, 1 - x)

    def moment(self, order: Order) -> Value:
        """I(a + 1, b, x) · B(a + 1, b) / (xᵃ⁺¹ yᵇ), or a moment of the integral in it.

        Of −r and of log(1 + (x/y) (1 − e⁻ʳ)); what belongs to which comes from where
        the ends are.
        """
        a, b, x, y = self.a + 1, self.b, self.x, self.y
        odds = x / y
        # The height falls by ``slope`` and bends by ``bend`` first, and by a far out.
        slope = (1 + abs_(self.excess)) / y
        bend = max_((b - 1) * odds / y, number(0, x))
        scale = 1 / min_(a, slope + sqrt(bend))

        def falling(r: Value, *parameters: Value) -> Value:
            a, b, odds, slope, scale, above = parameters
            r = r * scale
            v = neg(expm1(neg(r)))
            raised = odds * v
            logarithm = log1p(raised)
            bent = a * gap(neg(v), neg(r)) + (b - 1) * gap(raised, logarithm)
            height = exp(neg(bent + slope * v))
            if order[0]:
                height = height * where(above, logarithm, neg(r)) ** order[0]
            if order[1]:
                height = height * where(above, neg(r), logarithm) ** order[1]
            return height

        return integral(falling, a, b, odds, slope, scale, self.above) * scale / y


regularized_incomplete_beta, beta_density = RegularizedIncompleteBeta(), BetaDensity()
