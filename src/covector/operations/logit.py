"""``Logit``: the logarithm of odds."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.operations.comparison import lt
from covector.operations.complex_functions import with_sign
from covector.operations.composite import Composite, number
from covector.operations.extrema import min_
from covector.operations.logarithms import log1p
from covector.operations.magnitude import abs_
from covector.operations.selection import where


class Logit(Composite):
    """log(x / (1 − x)) for 0 ≤ x ≤ 1. The derivative is 1 / (x (1 − x))."""

    def formula(self, x: Value) -> Value:
        # 2x − 1 is exact where it is small. Of x and 1 − x the lesser one is taken,
        # whose quotient is not near −1, where log1p loses digits.
        lesser, excess = min_(x, 1 - x), 2 * x - 1
        size = log1p(abs_(excess) / abs_(lesser))
        size = where(lt(lesser, number(0, x)), number(math.nan, x), size)
        return with_sign(size, excess)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: 1 / (x * (1 - x))]


logit = Logit()
