"""Dawson's integral, the scaled complementary error function, the normal distribution.

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
from covector.operations.logarithms import log, log1p
from covector.operations.magnitude import abs_
from covector.operations.rounding import floor
from covector.operations.selection import where
from covector.operations.special import erf
from covector.operations.transcendental import exp, expm1

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
# (1 + 2x²) F(x)/x of Dawson's F, likewise of (x² − 5) / (x² + 5), in 45 digits.
_DAWSON = (
    1.2250393597691056, -0.1928055415525451, -0.14578372244937046, 0.18575848226012434,
    -0.0872449397963977, 0.009006320932877853, 0.009117737973000981,
    -0.002262723929876749, -0.0013551679427357508, 0.000331571836101437,
    0.00027764890982923693, -2.2739054585446345e-05, -6.080824310068434e-05,
    -9.564088320991337e-06, 1.0864168380568094e-05, 5.583107376832531e-06,
    -6.741799339308283e-07, -1.627694651306114e-06, -4.843583376704659e-07,
    2.1614990094715173e-07, 2.275612109926627e-07, 4.964209155548785e-08,
    -3.875122974119865e-08, -3.4349794267702136e-08, -7.326065221900851e-09,
    6.061417667475823e-09, 5.710703490289716e-09, 1.5468606967344861e-09,
    -8.272675153320846e-10, -1.007114681464517e-09, -3.8325814644176597e-10,
    7.416821008330964e-11, 1.7554981355446813e-10, 9.564736195547264e-11,
    7.794603550886721e-12, -2.6955901527676726e-11, -2.215728661978102e-11,
    -6.91813755319893e-12, 2.6065168431408833e-12, 4.41962748693843e-12,
    2.4594149811956466e-12, 3.1930452579897554e-13, -6.424744579573419e-13,
    -6.289958350547766e-13, -2.6974475144344813e-13, 1.4293385967461155e-14,
    1.129934159582356e-13, 8.869394395373732e-14, 3.158511759475614e-14,
    -7.178260072011477e-15, -1.8344580400305055e-14, -1.3078603381974216e-14,
    -4.2382253281319856e-15, 1.4168672173645946e-15, 2.9346724023851608e-15,
    2.0597013306170214e-15, 6.803200610965437e-16, -2.121184469506919e-16,
    -4.694690094434817e-16, -3.4584747274658974e-16, -1.2840624178065129e-16,
    2.2484088286691588e-17, 7.421271037336834e-17, 6.07871183810487e-17,
    2.6806867130074296e-17, 1.3765892476473864e-19, -1.1165248622237553e-17,
    -1.085961166920443e-17,
)  # fmt: skip
#: beyond it, a few terms of the asymptotic series are enough
_FAR = 12.0
#: (2k − 1)!! (−1)ᵏ, of 1 / (2x²)ᵏ in √π x w(x)
_ASYMPTOTIC = [(-1.0) ** k * math.prod(range(1, 2 * k, 2)) for k in range(1, 12)]
_SAME_SIGNS = [abs(c) for c in _ASYMPTOTIC]


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


class Dawsn(Composite):
    """Dawson's F(x) = exp(−x²) ∫₀ˣ exp(t²) dt. The derivative is 1 − 2x F(x)."""

    def formula(self, x: Value) -> Value:
        bounded = min_(abs_(x), number(1e9, x))
        square = bounded * bounded
        factor = chebyshev(_DAWSON, 1 - 10 / (square + 5))
        large = gt(bounded, number(1e8, x))
        near = where(large, number(0, x), x) * factor / (1 + 2 * square)
        return where(large, 0.5 / where(large, x, number(1, x)), near)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        def slope() -> Any:
            far = gt(abs_(x), number(_FAR, x))
            inverse = 0.5 / mul(*[where(far, x, number(_FAR, x))] * 2)
            rest = -inverse * polynomial(_SAME_SIGNS, inverse)
            return where(far, rest, 1 - 2 * mul(x, out))

        return [slope]


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
    """log Φ(x), where Φ underflows too. The derivative is the density over Φ."""

    def formula(self, x: Value) -> Value:
        tail = _scaled_tail(x)
        below = log(tail) - 0.5 * mul(x, x)
        above = log1p(neg(exp_of_square(x, -0.5) * tail))
        return where(lt(x, number(0, x)), below, above)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        def slope() -> Any:
            tail, density = _scaled_tail(x), exp_of_square(x, -0.5)
            ratio = where(lt(x, number(0, x)), 1 / tail, density / (1 - density * tail))
            return ratio / math.sqrt(2 * math.pi)

        return [slope]


def _scaled_tail(x: Value) -> Value:
    """exp(x²/2) Φ(−|x|)."""
    return 0.5 * _scaled(abs_(x) * math.sqrt(0.5))


ndtr, log_ndtr, erfcx, dawsn = Ndtr(), LogNdtr(), Erfcx(), Dawsn()


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
