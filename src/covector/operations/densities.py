"""Building blocks of gamma and beta densities, accurate near their modes.

(C. Loader, Fast and accurate computation of binomial probabilities, 2000.)
"""

import math
from collections.abc import Sequence

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.operations.comparison import lt
from covector.operations.magnitude import abs_
from covector.operations.selection import where
from covector.operations.special import lgamma
from covector.operations.transcendental import log

#: coefficients of 1/a, 1/a³, … in log Γ(a) − (a − ½) log a + a − ½ log 2π
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
#: from here on, these are enough
LARGE = 8.0


def number(value: float, x: Value) -> Value:
    """A number in the element type of x."""
    return scalar(value, x.type.dtype)


def finite(x: Value) -> Value:
    """Whether x ≥ 0 is finite."""
    return lt(x, number(math.inf, x))


def gap(w: Value, logarithm: Value) -> Value:
    """The difference w − log(1 + w), given the logarithm."""
    return _gap(w, w / (2 + w), w - logarithm)


def deviance(mean: Value, x: Value, difference: Value) -> Value:
    """The deviance of a log density from its mode m: x − m − m log(x / m)."""
    far = difference - mean * (log(x) - log(mean))
    return _gap(difference, difference / (x + mean), far)


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
    large = inverse_powers(a, _STIRLING) / a
    direct = lgamma(a) - ((a - 0.5) * log(a) - a + 0.5 * math.log(2 * math.pi))
    return where(lt(a, number(LARGE, a)), direct, large)


def inverse_powers(a: Value, coefficients: Sequence[float]) -> Value:
    """Σₖ cₖ / a²ᵏ."""
    z, total = 1 / (a * a), number(0, a)
    for c in reversed(coefficients):
        total = c + z * total
    return total
