"""``Logit``: the logarithm of odds."""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.operations.bitwise import and_
from covector.operations.comparison import gt, lt
from covector.operations.composite import Composite, number
from covector.operations.logarithms import log, log1p
from covector.operations.selection import where


class Logit(Composite):
    """log(x / (1 − x)) for 0 ≤ x ≤ 1. The derivative is 1 / (x (1 − x))."""

    def formula(self, x: Value) -> Value:
        # Near ½, x − ½ is exact, and so nothing is lost in the argument of log1p.
        near = and_(gt(x, number(0.3, x)), lt(x, number(0.65, x)))
        inner, outer = (where(near, x, number(0.5, x)), where(near, number(0.3, x), x))
        close = log1p(2 * (inner - 0.5) / (1 - inner))
        return where(near, close, log(outer / (1 - outer)))

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: 1 / (x * (1 - x))]


logit = Logit()
