"""The Laplace distribution: density exp(−|x|) / 2 of the standard one."""

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats.arguments import positive, standard, statistic

__all__ = ["cdf", "logpdf", "pdf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import laplace
    >>> round(float(laplace.logpdf(0.5)), 4)
    -1.1931
    """
    z = standard(x, loc, scale)
    return -cnp.abs(z) - cnp.log(2 * positive(scale))


@statistic
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import laplace
    >>> round(float(laplace.pdf(0.5)), 4)
    0.3033
    """
    return cnp.exp(logpdf(x, loc, scale))


@statistic
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import laplace
    >>> round(float(laplace.cdf(0.5)), 4)
    0.6967
    """
    z = standard(x, loc, scale)
    tail = 0.5 * cnp.exp(-cnp.abs(z))
    return cnp.where(z > 0, 1 - tail, tail)
