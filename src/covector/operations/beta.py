"""The beta function and its logarithm."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.operations.arithmetic import neg
from covector.operations.bitwise import and_, or_
from covector.operations.comparison import eq, gt, lt
from covector.operations.composite import Composite, number
from covector.operations.densities import stirling_error
from covector.operations.extrema import max_, min_
from covector.operations.logarithms import log, log1p
from covector.operations.magnitude import abs_
from covector.operations.rounding import floor
from covector.operations.selection import where
from covector.operations.special import digamma, gamma, lgamma
from covector.operations.transcendental import exp


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
    """The sign of Γ(x), for x that is not a whole number ≤ 0."""
    half = 0.5 * floor(x)
    one = number(1, x)
    return where(or_(gt(x, number(0, x)), eq(half, floor(half))), one, neg(one))


log_beta, beta = LogBeta(), Beta()
