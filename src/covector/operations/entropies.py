"""x log y, and what is made of it: entropies and divergences.

Where x = 0 the value is that of the limit, 0, whatever the logarithm is.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.operations.arithmetic import div, mul, neg, sub
from covector.operations.bitwise import and_
from covector.operations.comparison import eq, ge, gt, ne
from covector.operations.composite import Composite, number
from covector.operations.densities import deviance, log_ratio
from covector.operations.logarithms import log, log1p
from covector.operations.selection import where


def _times(x: Value, y: Value, factor: Callable[[Value], Any]) -> Any:
    """The product x · factor(y), which is 0 where x is and y is a number."""
    nothing = and_(eq(x, number(0, x)), eq(y, y))
    value = factor(where(nothing, number(1, y), y))
    return where(nothing, number(0, x), mul(x, value))


def _ratio(x: Value, y: Value) -> Any:
    """The quotient x / y, but 0 of zeros: where x = 0, x log y does not depend on y."""
    both = and_(eq(x, number(0, x)), eq(y, number(0, y)))
    return div(x, where(both, number(1, y), y))


class XLogY(Composite):
    """x log y, which is 0 at x = 0. ∂/∂x = log y, ∂/∂y = x / y, 0 at x = y = 0."""

    name = "xlogy"

    def formula(self, x: Value, y: Value) -> Value:
        return _times(x, y, log)

    def partials(self, out: Value, x: Value, y: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: log(y), lambda: _ratio(x, y)]


class XLog1pY(Composite):
    """x log(1 + y), which is 0 at x = 0.

    ∂/∂x = log(1 + y), ∂/∂y = x / (1 + y), 0 at x = 0, y = −1.
    """

    name = "xlog1py"

    def formula(self, x: Value, y: Value) -> Value:
        return _times(x, y, log1p)

    def partials(self, out: Value, x: Value, y: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: log1p(y), lambda: _ratio(x, 1 + y)]


class Entr(Composite):
    """−x log x for x ≥ 0, and −∞ below. The derivative is −1 − log x."""

    def formula(self, x: Value) -> Value:
        value = _times(neg(x), x, log)
        return where(gt(number(0, x), x), number(-math.inf, x), value)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: -1 - log(x)]


class RelEntr(Composite):
    """p log(p / q) for p > 0, q > 0; 0 for p = 0 ≤ q; infinite elsewhere.

    ∂/∂p = 1 + log(p / q), ∂/∂q = −p / q; at p = q = 0 both are 0.
    """

    def formula(self, p: Value, q: Value) -> Value:
        return _divergence(p, q, number(0, q), lambda p, q: mul(p, log_ratio(p, q)))

    def partials(self, out: Value, p: Value, q: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: 1 + _log_ratio(p, q), lambda: neg(_ratio(p, q))]


class KlDiv(Composite):
    """p log(p / q) − p + q for p > 0, q > 0; q for p = 0 ≤ q; infinite elsewhere.

    ∂/∂p = log(p / q), ∂/∂q = 1 − p / q; at p = q = 0 they are −1 and 1.
    """

    def formula(self, p: Value, q: Value) -> Value:
        return _divergence(p, q, q, lambda p, q: deviance(p, q, sub(q, p)))

    def partials(self, out: Value, p: Value, q: Value) -> Sequence[Callable[[], Any]]:
        def by_q() -> Any:
            nothing = and_(eq(p, number(0, p)), eq(q, q))
            regular = where(nothing, number(1, q), q)
            return where(nothing, number(1, q), div(sub(q, p), regular))

        return [lambda: _log_ratio(p, q), by_q]


def _log_ratio(p: Value, q: Value) -> Any:
    """log(p / q), but −1 of zeros: with it divergences do not change along p = q."""
    one = number(1, p)
    both = and_(eq(p, number(0, p)), eq(q, number(0, q)))
    found = log_ratio(*[where(both, one, x) for x in (p, q)])
    return where(both, neg(one), found)


def _divergence(p: Value, q: Value, at_zero: Value, inside: Callable[..., Any]) -> Any:
    """The value for p > 0, q > 0; for p = 0 ≤ q; and infinity elsewhere."""
    zero, one = number(0, p), number(1, p)
    both = and_(gt(p, zero), gt(q, zero))
    value = inside(where(both, p, one), where(both, q, one))
    edge = and_(eq(p, zero), ge(q, zero))
    beyond = where(edge, at_zero, number(math.inf, p))
    unknown = ne(p + q, p + q)
    return where(both, value, where(unknown, number(math.nan, p), beyond))


xlogy, xlog1py = XLogY(), XLog1pY()
entr, rel_entr, kl_div = Entr(), RelEntr(), KlDiv()
