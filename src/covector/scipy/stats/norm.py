"""The normal distribution: density exp(−x²/2) / √2π of the standard one."""

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import log_ndtr, ndtr, ndtri
from covector.scipy.stats.arguments import (
    HALF_LOG_TAU,
    located,
    positive,
    standard,
    statistic,
)

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import norm
    >>> round(float(norm.logpdf(0.5)), 4)
    -1.0439
    """
    z = standard(x, loc, scale)
    return -0.5 * z * z - cnp.log(positive(scale)) - HALF_LOG_TAU


@statistic
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import norm
    >>> round(float(norm.pdf(0.5)), 4)
    0.3521
    """
    return cnp.exp(logpdf(x, loc, scale))


@statistic
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import norm
    >>> round(float(norm.cdf(0.5)), 4)
    0.6915
    """
    return ndtr(standard(x, loc, scale))


@statistic
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import norm
    >>> round(float(norm.sf(0.5)), 4)
    0.3085
    """
    return ndtr(-standard(x, loc, scale))


@statistic
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import norm
    >>> round(float(norm.logcdf(0.5)), 4)
    -0.3689
    """
    return log_ndtr(standard(x, loc, scale))


@statistic
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import norm
    >>> round(float(norm.logsf(0.5)), 4)
    -1.1759
    """
    return log_ndtr(-standard(x, loc, scale))


@statistic
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is ``q``.

    >>> from covector.scipy.stats import norm
    >>> round(float(norm.ppf(0.25)), 4)
    -0.6745
    """
    return located(ndtri(q), loc, scale)


@statistic
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number above which the probability is ``q``.

    >>> from covector.scipy.stats import norm
    >>> round(float(norm.isf(0.25)), 4)
    0.6745
    """
    return located(-ndtri(q), loc, scale)
