"""Pochhammer's symbol, Γ(z + m) / Γ(z)."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.operations.arithmetic import neg
from covector.operations.beta import log_beta, sign_of_gamma
from covector.operations.bitwise import and_, not_
from covector.operations.comparison import eq, gt, le, lt
from covector.operations.composite import Composite, number
from covector.operations.extrema import max_
from covector.operations.magnitude import abs_
from covector.operations.rounding import floor
from covector.operations.selection import where
from covector.operations.special import digamma, gamma, lgamma
from covector.operations.transcendental import exp


class Pochhammer(Composite):
    """Γ(z + m) / Γ(z), by its limit where both are at a pole.

    ∂/∂m = Γ(z + m)/Γ(z) ψ(z + m), and ∂/∂z the same with ψ(z + m) − ψ(z).
    """

    def formula(self, z: Value, m: Value) -> Value:
        one, end = number(1, z), z + m
        below, above = _at_pole(z), _at_pole(end)
        both = and_(below, above)
        # There, Γ(1 − z) / Γ(1 − z − m), with a sign.
        start, stop = where(both, 1 - end, z), where(both, 1 - z, end)
        safe = where(and_(below, not_(both)), one, start)
        value = _ratio(safe, where(and_(above, not_(both)), one, stop), m)
        half = 0.5 * m
        value = where(and_(both, not_(eq(half, floor(half)))), neg(value), value)
        value = where(and_(below, not_(above)), number(0, z), value)
        value = where(and_(above, not_(below)), number(math.inf, z), value)
        return where(eq(m, number(0, z)), one, value)

    def partials(self, out: Value, z: Value, m: Value) -> Sequence[Callable[[], Any]]:
        return [
            lambda: out * (digamma(z + m) - digamma(z)),
            lambda: out * digamma(z + m),
        ]


def _at_pole(x: Value) -> Value:
    return and_(le(x, number(0, x)), eq(x, floor(x)))


def _ratio(start: Value, end: Value, m: Value) -> Value:
    """Γ(end) / Γ(start), where end − start is m."""
    zero, one, size = number(0, m), number(1, m), abs_(m)
    bound = 100 if m.type.dtype == dtypes.float64 else 30
    small = lt(max_(abs_(start), abs_(end)), number(bound, m))
    direct = gamma(where(small, end, one)) / gamma(where(small, start, one))
    # For positive ends through B(low, |m|) = Γ(low) Γ(|m|) / Γ(high).
    upwards = gt(m, zero)
    low = where(upwards, start, end)
    positive = and_(gt(start, zero), gt(end, zero))
    step = where(eq(m, zero), one, size)
    moderate = lt(step, number(30, m))
    factor = gamma(where(moderate, step, one))
    rest = where(moderate, zero, lgamma(step)) - log_beta(
        where(positive, low, one), step
    )
    through = where(upwards, factor * exp(rest), exp(neg(rest)) / factor)
    signs = sign_of_gamma(start) * sign_of_gamma(end)
    other = signs * exp(lgamma(end) - lgamma(start))
    return where(small, direct, where(positive, through, other))


pochhammer = Pochhammer()
