"""Spence's function, the dilogarithm Li₂(1 − x)."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import factorial, nan, pi
from typing import Any

from covector.core.annotations import Value
from covector.operations.arithmetic import mul, neg
from covector.operations.bernoulli import bernoulli_numbers
from covector.operations.chebyshev import polynomial
from covector.operations.comparison import eq, gt, lt
from covector.operations.composite import Composite, number
from covector.operations.logarithms import log, log1p
from covector.operations.magnitude import abs_
from covector.operations.selection import where

#: Li₂(1 − e⁻ᵘ) = u − u²/4 + Σ B₂ₖ u²ᵏ⁺¹ / (2k + 1)!, for |u| < 2π; of 1/u, in u²
_SERIES = [
    float(b / factorial(2 * k + 1))
    for k, b in enumerate([Fraction(1), *bernoulli_numbers(25)[2::2]])
]
#: log(1 + d)/d = 1 − d/2 + d²/3 − …
_LOGARITHM = [(-1) ** k / (k + 1) for k in range(8)]


class Spence(Composite):
    """∫₁ˣ log t / (1 − t) dt for x ≥ 0. The derivative is log x / (1 − x).

    Beyond 2 it is reduced to 1/x, below ½ to 1 − x; between it is a series in log x.
    """

    def formula(self, x: Value) -> Value:
        large = gt(x, number(2, x))
        y = where(large, 1 / x, x)
        small = lt(y, number(0.5, x))
        inner = where(small, y, number(0.25, x))
        away = log1p(neg(inner))
        logarithm = log(where(small, number(1, x), y))
        near = _series(where(small, neg(away), neg(logarithm)))
        crossed = where(eq(inner, number(0, x)), number(0, x), log(inner) * away)
        value = where(small, pi * pi / 6 - crossed - near, near)
        outside = log(where(large, x, number(1, x)))
        value = where(large, -0.5 * outside * outside - value, value)
        return where(lt(x, number(0, x)), number(nan, x), value)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        def slope() -> Any:
            near = lt(abs_(x - 1), number(0.01, x))
            inner, outer = where(near, x, number(1, x)), where(near, number(2, x), x)
            return where(
                near, neg(polynomial(_LOGARITHM, inner - 1)), log(outer) / (1 - outer)
            )

        return [slope]


def _series(u: Value) -> Value:
    """Li₂(1 − e⁻ᵘ) for |u| ≤ log 2."""
    return mul(u, polynomial(_SERIES, u * u)) - 0.25 * u * u


spence = Spence()
