"""Building blocks of gamma and beta densities, accurate near their modes.

(C. Loader, Fast and accurate computation of binomial probabilities, 2000.)
"""

import math

from covector.core import dtypes
from covector.core.annotations import Value
from covector.operations.bitwise import and_, or_
from covector.operations.comparison import eq, gt, lt
from covector.operations.composite import number
from covector.operations.gamma_function import LARGE, stirling_series
from covector.operations.magnitude import abs_
from covector.operations.selection import where
from covector.operations.special import lgamma
from covector.operations.transcendental import log, log1p


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
    """The error of Stirling's formula, log Γ(a) − ((a − ½) log a − a + ½ log 2π)."""
    large = stirling_series(a)
    direct = lgamma(a) - ((a - 0.5) * log(a) - a + 0.5 * math.log(2 * math.pi))
    return where(lt(a, number(LARGE, a)), direct, large)
