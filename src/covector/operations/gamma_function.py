"""Formulas of the gamma function, its logarithm, and the derivative of that.

Each is known of 1 + u, 0 ≤ u < 1, by a sum of Chebyshev polynomials (computed in 60
digits), at large x by Stirling's series, between by Γ(x + 1) = x Γ(x), and below zero
by reflection. x less a whole number is exact there: no step loses the argument.
"""

import math
from collections.abc import Sequence

from numpy.polynomial.chebyshev import chebval

from covector.core import dtypes
from covector.core.annotations import Value
from covector.operations.arithmetic import neg
from covector.operations.bitwise import and_, not_, or_
from covector.operations.chebyshev import chebyshev
from covector.operations.comparison import eq, ge, gt, le, lt
from covector.operations.composite import number
from covector.operations.extrema import min_
from covector.operations.logarithms import log
from covector.operations.magnitude import abs_
from covector.operations.powers import power
from covector.operations.rounding import floor
from covector.operations.selection import where
from covector.operations.transcendental import cos, exp, sin

#: of Γ(1 + u), in 2u − 1
_GAMMA = (
    0.9417855977954946,
    0.004415381324841007,
    0.05685043681599363,
    -0.00421983539641856,
    0.0013268081812124603,
    -0.00018930245297988805,
    3.606925327441245e-05,
    -6.056761904460864e-06,
    1.0558295463022833e-06,
    -1.811967365542384e-07,
    3.117724964715322e-08,
    -5.354219639019687e-09,
    9.193275519859589e-10,
    -1.5779412802883398e-10,
    2.7079806229349544e-11,
    -4.64681865382573e-12,
    7.97335019200742e-13,
    -1.368078209830916e-13,
    2.3473194865638007e-14,
    -4.027432614949067e-15,
    6.910051747372101e-16,
    -1.185584500221993e-16,
    2.034148542496374e-17,
)
#: of log Γ(1 + u) / (u (u − 1))
_LOG_GAMMA = (
    0.49141539302938714,
    -0.07611416167043585,
    0.008432324965932778,
    -0.001079493726328608,
    0.00014900748003692963,
    -2.1512399888556784e-05,
    3.1979329860862186e-06,
    -4.851693012139927e-07,
    7.47148782116316e-08,
    -1.1638296700170518e-08,
    1.829400437118668e-09,
    -2.8969180607129607e-10,
    4.61570140620909e-11,
    -7.392810230497983e-12,
    1.1894280008333085e-12,
    -1.9212068676522805e-13,
    3.113975526387164e-14,
    -5.0628432984486114e-15,
    8.254150281631144e-16,
    -1.3490578987574844e-16,
    2.209876116782623e-17,
)
#: of ψ(1 + u) / (u − r)
_DIGAMMA = (
    0.983570260441567,
    -0.2270640863346444,
    0.03336889902393011,
    -0.005320077271596548,
    0.0008788656937820505,
    -0.00014773492650606044,
    2.5060543468359146e-05,
    -4.2721034029993324e-06,
    7.302769272465923e-07,
    -1.2502886813559594e-07,
    2.1425009322359472e-08,
    -3.673295918565179e-09,
    6.299717236108931e-10,
    -1.080593028883266e-10,
    1.853735192053638e-11,
    -3.18023536582553e-12,
    5.456147570322795e-13,
    -9.360993131036438e-14,
    1.606064636295075e-14,
    -2.7555431377438815e-15,
    4.727736178601912e-16,
    -8.11148420346509e-17,
    1.391707769474154e-17,
)
#: that zero r of ψ(1 + u), to 24 bits, and what is left of it
_ZERO = (0.4616321325302124, 1.2438149938918909e-08)
#: coefficients of 1/a, 1/a³, … in log Γ(a) − (a − ½) log a + a − ½ log 2π
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
#: coefficients of 1/a², 1/a⁴, … in log a − ψ(a) − 1/(2a)
_LOG_LESS_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
#: from here on, these are enough
LARGE = 8


def stirling_series(a: Value) -> Value:
    """The difference log Γ(a) − ((a − ½) log a − a + ½ log 2π) for large a."""
    return inverse_powers(a, _STIRLING) / a


def log_less_digamma_series(a: Value) -> Value:
    """The difference log a − ψ(a) for large a."""
    return 0.5 / a + inverse_powers(a, _LOG_LESS_DIGAMMA) / (a * a)


def inverse_powers(a: Value, coefficients: Sequence[float]) -> Value:
    """Σₖ cₖ / a²ᵏ."""
    z, total = 1 / (a * a), number(0, a)
    for c in reversed(coefficients):
        total = c + z * total
    return total


# -- the function ----------------------------------------------------------------------


def gamma(x: Value) -> Value:
    """Γ(x): ±∞ at ±0, NaN at whole x < 0 and at −∞."""
    zero, size = number(0, x), abs_(x)
    product = _gamma_of_positive(where(eq(size, zero), number(1, x), size))
    below = where(lt(x, zero), x, number(-0.5, x))
    reflected = -math.pi / sin_pi(below) / (below * product)
    value = where(lt(x, zero), reflected, product)
    pole = and_(lt(x, zero), eq(x, floor(x)))
    return where(eq(size, zero), 1 / x, where(pole, number(math.nan, x), value))


def _gamma_of_positive(x: Value) -> Value:
    """Γ(x) for x > 0."""
    limit, bound = (12, 200) if x.type.dtype == dtypes.float64 else (8, 40)
    large = ge(x, number(limit, x))
    product = gamma_of_small(where(large, number(1, x), x), limit)
    # In two factors xˣᐟ²⁻¹ᐟ⁴, none of which overflows before the result does.
    a = where(large, min_(x, number(bound, x)), number(limit, x))
    root = power(a, 0.5 * a - 0.25)
    correction = math.sqrt(2 * math.pi) * exp(stirling_series(a))
    return where(large, root * exp(neg(a)) * correction * root, product)


def gamma_of_small(x: Value, limit: int) -> Value:
    """Γ(x) for 0 < x < limit."""
    u, whole = _parts(x)
    product = _rising(x, whole, limit) * chebyshev(_GAMMA, 2 * u - 1)
    return where(lt(x, number(1, x)), product / x, product)


def _parts(x: Value) -> tuple[Value, Value]:
    """The part of x after the point, and the whole part."""
    whole = floor(x)
    return x - whole, whole


def _rising(x: Value, whole: Value, limit: int) -> Value:
    """Γ(x) / Γ(1 + u) for x ≥ 1: the product (x − 1) (x − 2) ⋯ down to 1 + u."""
    product = number(1, x)
    for k in range(1, limit - 1):
        product = product * where(gt(whole, number(k, x)), x - k, number(1, x))
    return product


def sin_pi(x: Value) -> Value:
    """sin(πx), exactly 0 at whole numbers."""
    near = x - 2 * floor(0.5 * x + 0.5)
    beyond = where(gt(near, number(0, x)), 1 - near, -1 - near)
    inner = where(gt(abs_(near), number(0.5, x)), beyond, near)
    return sin(math.pi * inner)


# -- its logarithm ---------------------------------------------------------------------


def log_gamma(x: Value) -> Value:
    """log|Γ(x)|, infinite at whole x ≤ 0 and at ±∞."""
    zero, infinity, size = number(0, x), number(math.inf, x), abs_(x)
    endless = or_(eq(size, infinity), and_(le(x, zero), eq(x, floor(x))))
    value = _log_gamma_of_positive(where(endless, number(1, x), size))
    negative = and_(lt(x, zero), not_(endless))
    below = where(negative, x, number(-0.5, x))
    logs = log(neg(below)) + log(abs_(sin_pi(below)))
    reflected = math.log(math.pi) - logs - value
    return where(endless, infinity, where(negative, reflected, value))


def _log_gamma_of_positive(x: Value) -> Value:
    """The logarithm of Γ(x) for x > 0."""
    large, one = ge(x, number(LARGE, x)), number(1, x)
    inner, outer = where(large, one, x), where(large, x, number(LARGE, x))
    u, whole = _parts(inner)
    near = log_gamma_of_one_plus(u)
    small = lt(inner, one)
    shift = log(where(small, inner, _rising(inner, whole, LARGE)))
    near = where(small, near - shift, near + shift)
    far = (outer - 0.5) * (log(outer) - 1) + stirling_series(outer)
    return where(large, far + (0.5 * math.log(2 * math.pi) - 0.5), near)


def log_gamma_of_one_plus(u: Value) -> Value:
    """The logarithm of Γ(1 + u) for 0 ≤ u ≤ 1."""
    return u * (u - 1) * chebyshev(_LOG_GAMMA, 2 * u - 1)


def log_gamma_near_zeros(x: float) -> float:
    """The same for a Python number 0 < x < 3, around the zeros 1 and 2."""
    u = x % 1
    value = u * (u - 1) * float(chebval(2 * u - 1, _LOG_GAMMA))
    if x < 1:
        return value - math.log(x)
    return value + (math.log(x - 1) if x >= 2 else 0.0)  # not −0 at 1


def digamma(x: Value) -> Value:
    """ψ(x) = Γ′(x) / Γ(x), NaN at whole x ≤ 0 and at −∞."""
    zero, size = number(0, x), abs_(x)
    pole = and_(le(x, zero), eq(x, floor(x)))
    value = _digamma_of_positive(where(pole, number(1, x), size))
    below = where(and_(lt(x, zero), not_(pole)), x, number(-0.5, x))
    angle = math.pi * (below - floor(below + 0.5))
    cotangent = math.pi * cos(angle) / sin(angle)
    value = where(lt(x, zero), value - 1 / below - cotangent, value)
    return where(pole, number(math.nan, x), value)


def _digamma_of_positive(x: Value) -> Value:
    """ψ(x) for x > 0."""
    large, one = ge(x, number(LARGE, x)), number(1, x)
    inner, outer = where(large, one, x), where(large, x, number(LARGE, x))
    u, whole = _parts(inner)
    slope = chebyshev(_DIGAMMA, 2 * u - 1)
    # Not in one factor: XLA would add the two constants, and round.
    value = (u - _ZERO[0]) * slope - _ZERO[1] * slope
    for k in range(1, LARGE - 1):
        above = gt(whole, number(k, x))
        value = value + where(above, 1 / where(above, inner - k, one), number(0, x))
    value = where(lt(inner, one), value - 1 / inner, value)
    far = log(outer) - log_less_digamma_series(outer)
    return where(large, far, value)
