"""The normal distribution between ``a`` and ``b``, counted in ``scale`` from ``loc``.

Probabilities of intervals are differences of tails of the side on which they lie, so
also intervals far out have one.
"""

from typing import Any

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import log_ndtr
from covector.scipy.stats.arguments import (
    HALF_LOG_TAU,
    log1mexp,
    outside,
    positive,
    standard,
    statistic,
)

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = namespaces.completions(globals())


def _bounds(a: Any, b: Any) -> tuple[Array, Array]:
    """The bounds, or NaN where they are in the wrong order."""
    valid = a < b
    return cnp.where(valid, a, np.nan), cnp.where(valid, b, np.nan)


def _log_mass(low: Array, high: Array) -> Array:
    """log(Φ(high) − Φ(low)) for low ≤ high; −∞ where they are equal."""
    right = low > 0
    left_low, left_high = cnp.where(right, -high, low), cnp.where(right, -low, high)
    crosses = (left_low < 0) & (left_high > 0)
    # On one side of 0, from the tails; across it, what both tails leave.
    one = cnp.where(crosses, -1.0, left_high)
    other = cnp.where(crosses, -2.0, left_low)
    near, far = log_ndtr(one), log_ndtr(other)
    none = near == far
    one_sided = outside(none, -np.inf, lambda d: near + log1mexp(d), near - far)
    upper = cnp.where(crosses, left_high, 1.0)
    lower = cnp.where(crosses, left_low, -1.0)
    tails = cnp.exp(log_ndtr(lower)) + cnp.exp(log_ndtr(-upper))
    return cnp.where(crosses, cnp.log1p(-tails), one_sided)


def _log_part(part: Array, rest: Array, whole: Array) -> Array:
    """log(part / whole) ≤ 0; near 0 by what the rest leaves."""
    small = part - whole
    large = outside(rest == -np.inf, 0.0, lambda r: -cnp.exp(r), rest - whole)
    large = cnp.log1p(cnp.where(small > -0.1, large, 0.0))
    return cnp.where(small > -0.1, large, small)


@statistic
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import truncnorm
    >>> round(float(truncnorm.logpdf(0.5, -1.0, 2.0)), 4)
    -0.8438
    """
    z, a, b = standard(x, loc, scale), *_bounds(a, b)
    rest = _log_mass(a, b) + HALF_LOG_TAU + cnp.log(positive(scale))
    return outside((z < a) | (z > b), -np.inf, lambda z: -0.5 * z * z - rest, z, 0.0)


@statistic
def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The density.

    >>> from covector.scipy.stats import truncnorm
    >>> round(float(truncnorm.pdf(0.5, -1.0, 2.0)), 4)
    0.4301
    """
    return cnp.exp(logpdf(x, a, b, loc, scale))


@statistic
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import truncnorm
    >>> round(float(truncnorm.cdf(0.5, -1.0, 2.0)), 4)
    0.6509
    """
    return cnp.exp(logcdf(x, a, b, loc, scale))


@statistic
def sf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import truncnorm
    >>> round(float(truncnorm.sf(0.5, -1.0, 2.0)), 4)
    0.3491
    """
    return cnp.exp(logsf(x, a, b, loc, scale))


@statistic
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import truncnorm
    >>> round(float(truncnorm.logcdf(0.5, -1.0, 2.0)), 4)
    -0.4294
    """
    z, a, b = standard(x, loc, scale), *_bounds(a, b)
    z = cnp.clip(z, a, b)
    return _log_part(_log_mass(a, z), _log_mass(z, b), _log_mass(a, b))


@statistic
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import truncnorm
    >>> round(float(truncnorm.logsf(0.5, -1.0, 2.0)), 4)
    -1.0523
    """
    z, a, b = standard(x, loc, scale), *_bounds(a, b)
    z = cnp.clip(z, a, b)
    return _log_part(_log_mass(z, b), _log_mass(a, z), _log_mass(a, b))
