"""Building blocks of gamma and beta densities, accurate near their modes.

(C. Loader, Fast and accurate computation of binomial probabilities, 2000.)
"""

import math
from fractions import Fraction

from covector.core import dtypes
from covector.core.annotations import Value
from covector.operations.arithmetic import neg
from covector.operations.bitwise import and_, or_
from covector.operations.chebyshev import chebyshev
from covector.operations.comparison import eq, ge, gt, lt
from covector.operations.composite import number
from covector.operations.extrema import max_, min_
from covector.operations.gamma_function import (
    LARGE,
    gamma_of_small,
    log_less_digamma_series,
    stirling_series,
)
from covector.operations.logarithms import log, log1p
from covector.operations.magnitude import abs_
from covector.operations.powers import power
from covector.operations.roots import sqrt
from covector.operations.selection import where
from covector.operations.special import digamma
from covector.operations.transcendental import exp
from covector.operations.two_parts import (
    TwoParts,
    chosen,
    constant,
    exact_product,
    exact_sum,
    exponent,
    less_than_one,
    negative,
    over,
    plus,
    times,
)

#: log 2, to 40 digits
_LOG_2 = Fraction(6931471805599453094172321214581765680755, 10**40)

#: of the error of Stirling's formula times a: coefficients of Chebyshev polynomials in
#: what goes from −1 to 1 with 1/a from 1/8 to 1
_STIRLING_ERROR = (
    0.08234819328976235,
    -0.0011299799377946858,
    -0.0001722602785189848,
    1.5820556808982752e-05,
    -1.6722970619721253e-07,
    -1.662828979557436e-07,
    2.8914038853968687e-08,
    -2.0970524452817037e-09,
    -2.296139447152863e-10,
    1.088370321475599e-10,
    -2.0603661677458836e-11,
    2.0061276776754264e-12,
    1.5940630792835543e-13,
    -1.2618238110052243e-13,
    3.3820583203095405e-14,
    -5.772558522574203e-15,
    4.4017907265728506e-16,
    1.22445023267227e-16,
    -6.797160039013288e-17,
)


def finite(x: Value) -> Value:
    """Whether x ≥ 0 is finite."""
    return lt(x, number(math.inf, x))


def gap(w: Value, logarithm: Value) -> Value:
    """The difference w − log(1 + w), given the logarithm."""
    return _gap(w, w / (2 + w), w - logarithm)


def deviance(mean: Value, x: Value, difference: Value) -> Value:
    """The deviance of a log density from its mode m: x − m − m log(x / m)."""
    far = difference - mean * log_ratio(x, mean)
    return _gap(difference, difference / (x + mean), far)


def log_ratio(p: Value, q: Value) -> Value:
    """The logarithm of p / q for p > 0, q > 0, accurate where they are nearly equal."""
    excess, ratio = (p - q) / q, p / q
    near = and_(gt(excess, number(-0.5, p)), gt(number(1, p), excess))
    close = log1p(where(near, excess, number(0, p)))
    apart = or_(eq(ratio, number(0, p)), eq(ratio, number(math.inf, p)))
    far = where(apart, log(p) - log(q), log(where(apart, number(1, p), ratio)))
    return where(near, close, far)


def _gap(difference: Value, z: Value, far: Value) -> Value:
    """Both of the above: near the mode, a series in z = (x − m) / (x + m).

    With d = x − m, log(x / m) = 2 (z + z³/3 + z⁵/5 + …) and 2mz = d − dz, so that of
    d − m log(x / m) there remains d z − (d − d z) (z²/3 + z⁴/5 + …): nothing cancels.
    """
    square, rest = z * z, number(0, z)
    for n in range(23 if z.type.dtype == dtypes.float64 else 11, 1, -2):
        rest = square * (1 / n + rest)
    near = difference * (z - (1 - z) * rest)
    return where(lt(abs_(z), number(0.2, z)), near, far)


def stirling_error(a: Value) -> Value:
    """The error of Stirling's formula, log Γ(a) − ((a − ½) log a − a + ½ log 2π), for
    a > 0. Below 1 it is that of a + 1 and what the formula says of their quotient.
    """
    one, large = number(1, a), number(LARGE, a)
    small, is_large = lt(a, one), ge(a, large)
    inner = 1 / min_(where(small, a + 1, a), large)
    fraction = (inner * 2 - (1 + 1 / LARGE)) / (1 - 1 / LARGE)
    near = inner * chebyshev(_STIRLING_ERROR, fraction)
    lesser = where(small, a, one)
    quotient = (lesser + 0.5) * log(1 + 1 / lesser) - 1
    near = where(small, near + quotient, near)
    return where(is_large, stirling_series(where(is_large, a, large)), near)


# -- densities with all their digits ---------------------------------------------------


def exact_deviance(mean: Value, x: TwoParts, difference: TwoParts) -> TwoParts:
    """The deviance x − m − m log(x / m) in two parts, given x and x − m in two.

    With x = m · 2ᵏ · (1 + z)/(1 − z), log(x / m) = k log 2 + 2z + 2z (z²/3 + z⁴/5 + …).
    Where k = 0, of x − m − 2mz there remains (x − m) z. The powers from the fourth on
    need no second part.
    """
    # Beyond these bounds m is so small that its logarithm counts nothing.
    bound = 2.0**1020 if mean.type.dtype == dtypes.float64 else 2.0**124
    ratio = x[0] / mean
    ratio = max_(min_(ratio, number(bound, mean)), number(1 / bound, mean))
    k, scale = exponent(ratio)
    zero, near = number(0, mean), eq(k, number(0, mean))
    scaled = x[0] * scale, x[1] * scale
    excess = chosen(near, difference, plus(scaled, (neg(mean), zero)))
    halved = 0.5 * excess[0], 0.5 * excess[1]
    z = over(halved, plus((mean, zero), halved))
    doubled = times((2 * mean, zero), z)
    steps = times((mean, zero), times((k, zero), constant(_LOG_2, mean)))
    far = plus(plus(difference, negative(steps)), negative(doubled))
    start = chosen(near, times(difference, z), far)
    return plus(start, negative(times(doubled, _beyond_first(z))))


def _beyond_first(z: TwoParts) -> TwoParts:
    """The sum z²/3 + z⁴/5 + …."""
    square, rest = times(z, z), number(0, z[0])
    for n in range(25 if rest.type.dtype == dtypes.float64 else 13, 3, -2):
        rest = square[0] * (1 / n + rest)
    return times(square, plus(constant(Fraction(1, 3), rest), (rest, number(0, rest))))


def scaled_gamma(a: Value) -> Value:
    """Γ(a) over Stirling's formula √(2π/a) (a/e)ᵃ, for a > 0."""
    small = lt(a, number(LARGE, a))
    inner, outer = where(small, a, number(1, a)), where(small, number(LARGE, a), a)
    direct = gamma_of_small(inner, LARGE) * sqrt(inner / (2 * math.pi))
    direct = direct * exp(inner) * power(inner, neg(inner))
    return where(small, direct, exp(stirling_series(outer)))


def _lowered(peak: Value, x: TwoParts) -> Value:
    """The product peak · e⁻ˣ, by a root that does not underflow earlier."""
    root = exp(-0.5 * x[0])
    return peak * root * (root - root * x[1])


def gamma_amplitude(a: Value, x: Value) -> Value:
    """xᵃ e⁻ˣ / Γ(a), to a few units in the last place."""
    zero = number(0, x)
    lost = exact_deviance(a, (x, zero), exact_sum(x, neg(a)))
    return _lowered(sqrt(a / (2 * math.pi)) / scaled_gamma(a), lost)


def beta_amplitude(a: Value, b: Value, x: Value) -> Value:
    """xᵃ (1 − x)ᵇ / B(a, b), to a few units in the last place."""
    n, excess = exact_sum(a, b), beta_excess(a, b, x)
    lost = plus(
        exact_deviance(a, times(n, (x, number(0, x))), excess),
        exact_deviance(b, times(n, less_than_one(x)), negative(excess)),
    )
    errors = scaled_gamma(n[0]) / scaled_gamma(a) / scaled_gamma(b)
    return _lowered(sqrt(a * (b / n[0]) / (2 * math.pi)) * errors, lost)


def beta_excess(a: Value, b: Value, x: Value) -> TwoParts:
    """(a + b) x − a = b x − a (1 − x)."""
    part = times((a, number(0, a)), less_than_one(x))
    return plus(exact_product(b, x), negative(part))


def product_with_slope(density: Value, relative: Value) -> Value:
    """The derivative of a density, from that of its logarithm: 0 where it vanishes."""
    nothing = eq(density, number(0, density))
    return where(nothing, density, density * relative)


def log_less_digamma(a: Value) -> Value:
    """The difference log a − ψ(a)."""
    large = log_less_digamma_series(a)
    return where(lt(a, number(LARGE, a)), log(a) - digamma(a), large)
