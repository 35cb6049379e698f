"""The Gumbel distribution of minima: that of −x, where x is one of ``gumbel_r``."""

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats import gumbel_r
from covector.scipy.stats.arguments import (
    located,
    positive,
    probability,
    standard,
    statistic,
)

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.logpdf(0.5)), 4)
    -1.1487
    """
    return gumbel_r.log_density(-standard(x, loc, scale)) - cnp.log(positive(scale))


@statistic
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.pdf(0.5)), 4)
    0.317
    """
    return cnp.exp(logpdf(x, loc, scale))


@statistic
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.cdf(0.5)), 4)
    0.8077
    """
    return gumbel_r.sf(-standard(x, loc, scale))


@statistic
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.sf(0.5)), 4)
    0.1923
    """
    return gumbel_r.cdf(-standard(x, loc, scale))


@statistic
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.logcdf(0.5)), 4)
    -0.2136
    """
    return gumbel_r.log_upper(-standard(x, loc, scale))


@statistic
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.logsf(0.5)), 4)
    -1.6487
    """
    return -cnp.exp(standard(x, loc, scale))


@statistic
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is ``p``.

    >>> from covector.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.ppf(0.25)), 4)
    -1.2459
    """
    return located(cnp.log(-cnp.log1p(-probability(p))), loc, scale)
