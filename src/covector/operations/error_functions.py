"""The scaled complementary error function, and the normal distribution through it.

With w(x) = exp(x²) erfc(x), the distribution function Φ(x) is ½ exp(−x²/2) w(−x/√2),
in which nothing underflows before Φ does. exp(x²) is made of the exponentials of the
square of a rounded x, and of the rest: the square of a large x, rounded, is too coarse.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.operations.arithmetic import mul, neg
from covector.operations.bitwise import or_
from covector.operations.chebyshev import chebyshev, polynomial
from covector.operations.comparison import gt, lt
from covector.operations.composite import Composite, number
from covector.operations.extrema import max_, min_
from covector.operations.inverse_erf import quantile
from covector.operations.magnitude import abs_
from covector.operations.rounding import floor
from covector.operations.selection import where
from covector.operations.special import erf
from covector.operations.transcendental import exp, expm1, log, log1p

# (1 + 2x) exp(x²) erfc(x) for x ≥ 0, in Chebyshev polynomials of (x − k) / (x + k) with
# k = 3.75, computed in 60 digits. (M. Shepherd and J. Laframboise, Chebyshev approx-
# imation of (1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞, Math. Comp. 36, 1981.)
_SCALED = (
    1.1775789345674017,
    -0.004590054580646478,
    -0.08424913336651792,
    0.05920993999819189,
    -0.026658668435305753,
    0.009074997670705265,
    -0.002413163540417608,
    0.0004907758365258086,
    -6.916973302501207e-05,
    4.13902798607301e-06,
    7.74038306619849e-07,
    -2.1886401049234397e-07,
    1.076499946567091e-08,
    4.521959811218287e-09,
    -7.754400208831351e-10,
    -6.318088340886684e-11,
    2.86879501093067e-11,
    1.9455868545777347e-13,
    -9.65469674843344e-13,
    3.25254814814874e-14,
    3.3478119482868056e-14,
    -1.864562880419313e-15,
    -1.2507950530688648e-15,
    7.418235256624044e-17,
    5.068148904796111e-17,
    -2.2370566594359995e-18,
    -2.187342944303018e-18,
)
#: beyond it, a few terms of the asymptotic series are enough
_FAR = 12.0
#: (2k − 1)!! (−1)ᵏ, of 1 / (2x²)ᵏ in √π x w(x)
_ASYMPTOTIC = [(-1.0) ** k * math.prod(range(1, 2 * k, 2)) for k in range(1, 12)]


class Erfcx(Composite):
    """exp(x²) erfc(x). The derivative is 2x exp(x²) erfc(x) − 2/√π."""

    def formula(self, x: Value) -> Value:
        right = _scaled(abs_(x))
        left = min_(x, number(0, x))
        return where(lt(x, number(0, x)), 2 * exp_of_square(left) - right, right)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        def slope() -> Any:
            # Far out the two parts cancel; the rest of the series is the difference.
            far = gt(x, number(_FAR, x))
            inverse = 0.5 / mul(*[where(far, x, number(_FAR, x))] * 2)
            rest = inverse * polynomial(_ASYMPTOTIC, inverse)
            near = 2 * mul(x, out) - 2 / math.sqrt(math.pi)
            return where(far, 2 / math.sqrt(math.pi) * rest, near)

        return [slope]


def _scaled(x: Value) -> Value:
    """exp(x²) erfc(x) for x ≥ 0."""
    t = 1 - 7.5 / (x + 3.75)
    return chebyshev(_SCALED, t) / (1 + 2 * x)


def exp_of_square(x: Value, factor: float = 1.0) -> Value:
    """exp(factor · x²), for a factor of few bits."""
    # Below 16, multiples of 1/64 have a square that is exact in 32 bits, too. Of a
    # product of two exponentials XLA would make the exponential of the sum.
    bound = number(100, x)
    x = max_(min_(x, bound), neg(bound))
    coarse = floor(64 * x + 0.5) / 64
    main = exp(factor * mul(coarse, coarse))
    change = main * expm1(factor * ((x - coarse) * (x + coarse)))
    return main + where(lt(main, number(math.inf, x)), change, number(0, x))


# -- the normal distribution -----------------------------------------------------------


class Ndtr(Composite):
    """Φ(x), the distribution function of the normal distribution.

    The derivative is the density exp(−x²/2) / √(2π).
    """

    def formula(self, x: Value) -> Value:
        tail = 0.5 * exp_of_square(x, -0.5) * _scaled(abs_(x) * math.sqrt(0.5))
        centre = 0.5 + 0.5 * erf(x * math.sqrt(0.5))
        far = where(lt(x, number(0, x)), tail, 1 - tail)
        return where(lt(abs_(x), number(1, x)), centre, far)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: exp_of_square(x, -0.5) / math.sqrt(2 * math.pi)]


class LogNdtr(Composite):
    """log Φ(x), where Φ underflows too. The derivative is
    √(2/π) / w(−x/√2), the density over Φ.
    """

    def formula(self, x: Value) -> Value:
        left = min_(x, number(-1, x))
        tail = log(0.5 * _scaled(neg(left) * math.sqrt(0.5))) - 0.5 * mul(left, left)
        lesser = ndtr(neg(abs_(max_(x, number(-1, x)))))
        value = where(lt(x, number(0, x)), log(lesser), log1p(neg(lesser)))
        return where(lt(x, number(-1, x)), tail, value)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        def slope() -> Any:
            below, zero = lt(x, number(0, x)), number(0, x)
            left, right = where(below, x, zero), where(below, zero, x)
            ratio = exp_of_square(right, -0.5) / ndtr(right)
            tail = 2 / erfcx(left * -math.sqrt(0.5))
            return where(below, tail, ratio) / math.sqrt(2 * math.pi)

        return [slope]


ndtr, log_ndtr, erfcx = Ndtr(), LogNdtr(), Erfcx()


# -- and its inverse -------------------------------------------------------------------


class Ndtri(Composite):
    """The inverse of Φ: −∞ of 0, ∞ of 1. The derivative is one over the density."""

    def formula(self, p: Value) -> Value:
        outside = or_(lt(p, number(0, p)), gt(p, number(1, p)))
        value = quantile(p - 0.5, min_(p, 1 - p))
        return where(outside, number(math.nan, p), value)

    def partials(self, out: Value, p: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: math.sqrt(2 * math.pi) / exp_of_square(out, -0.5)]


ndtri = Ndtri()
