"""Owen's T function, of the bivariate normal distribution."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.operations.arithmetic import neg
from covector.operations.comparison import eq, gt, lt
from covector.operations.composite import Composite, number
from covector.operations.error_functions import exp_of_square, ndtr
from covector.operations.extrema import max_, min_
from covector.operations.magnitude import abs_, sign
from covector.operations.quadrature import integral_of_unit
from covector.operations.selection import where
from covector.operations.special import erf
from covector.operations.transcendental import exp

#: beyond so many standard deviations a normal density adds nothing
_WIDTH = 8.6


class OwensT(Composite):
    """1/(2π) ∫₀ᵃ exp(−h² (1 + x²)/2) / (1 + x²) dx.

    ∂/∂h = −exp(−h²/2) erf(ah/√2) / (2 √(2π)),
    ∂/∂a = exp(−h² (1 + a²)/2) / (2π (1 + a²)).
    """

    def formula(self, h: Value, a: Value) -> Value:
        one, zero = number(1, h), number(0, h)
        size, slope = abs_(h), abs_(a)
        large = gt(slope, one)
        product = where(eq(slope, number(math.inf, h)), slope, size * slope)
        inner = _integral(where(large, product, size), where(large, 1 / slope, slope))
        # T(h, a) + T(ah, 1/a) = ½ (p + q) − p q, of the tails p and q beyond h and ah.
        p, q = ndtr(neg(size)), ndtr(neg(product))
        both = 0.5 * (p * (1 - q) + q * (1 - p))
        value = where(large, both - inner, inner)
        return where(eq(a, zero), a * value, sign(a) * value)

    def partials(self, out: Value, h: Value, a: Value) -> Sequence[Callable[[], Any]]:
        def by_h() -> Any:
            angle = where(eq(h, number(0, h)), h, a * h)
            factor = -0.5 / math.sqrt(2 * math.pi)
            return factor * exp_of_square(h, -0.5) * erf(angle * math.sqrt(0.5))

        def by_a() -> Any:
            whole = 1 + a * a
            return exp(-0.5 * h * h * whole) / (2 * math.pi * whole)

        return [by_h, by_a]


def _integral(h: Value, a: Value) -> Value:
    """T(h, a) for h ≥ 0 and 0 ≤ a ≤ 1, up to where the integrand has died out."""
    bounded = min_(h, number(100, h))
    end = min_(a, _WIDTH / max_(bounded, number(1, h)))

    def integrand(s: Value, h: Value, end: Value) -> Value:
        x = s * end
        across = h * x
        return exp(-0.5 * across * across) / (1 + x * x)

    value = end / (2 * math.pi) * integral_of_unit(integrand, bounded, end)
    return where(lt(h, number(100, h)), exp_of_square(h, -0.5) * value, 0 * value)


owens_t = OwensT()
