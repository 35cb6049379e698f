"""The exponential distribution: density exp(−x) for x ≥ 0 of the standard one."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats.arguments import (
    located,
    log1mexp,
    outside,
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

    >>> from covector.scipy.stats import expon
    >>> round(float(expon.logpdf(0.5)), 4)
    -0.5
    """
    z = standard(x, loc, scale)
    return outside(z < 0, -np.inf, lambda z: -z, z) - cnp.log(positive(scale))


@statistic
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import expon
    >>> round(float(expon.pdf(0.5)), 4)
    0.6065
    """
    return cnp.exp(logpdf(x, loc, scale))


@statistic
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import expon
    >>> round(float(expon.cdf(0.5)), 4)
    0.3935
    """
    return -cnp.expm1(-cnp.maximum(standard(x, loc, scale), 0))


@statistic
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import expon
    >>> round(float(expon.sf(0.5)), 4)
    0.6065
    """
    return cnp.exp(-cnp.maximum(standard(x, loc, scale), 0))


@statistic
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import expon
    >>> round(float(expon.logcdf(0.5)), 4)
    -0.9328
    """
    z = standard(x, loc, scale)
    return outside(z < 0, -np.inf, log1mexp, z)


@statistic
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import expon
    >>> round(float(expon.logsf(0.5)), 4)
    -0.5
    """
    return -cnp.maximum(standard(x, loc, scale), 0)


@statistic
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is ``q``.

    >>> from covector.scipy.stats import expon
    >>> round(float(expon.ppf(0.25)), 4)
    0.2877
    """
    return located(-cnp.log1p(-probability(q)), loc, scale)
