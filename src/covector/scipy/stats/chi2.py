"""The χ² distribution, of the sum of squares of ``df`` normal numbers."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import gammainc, gammaincc
from covector.scipy.stats.arguments import outside, positive, standard, statistic
from covector.scipy.stats.log_densities import log_gamma_density
from covector.scipy.stats.tails import log_gammainc, log_gammaincc

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(
    x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.logpdf(1.5, 2.0)), 4)
    -1.4431
    """
    z, a = standard(x, loc, scale) / 2, positive(df) / 2
    log_scale = cnp.log(2 * positive(scale))
    return outside(z < 0, -np.inf, lambda z: log_gamma_density(z, a) - log_scale, z)


@statistic
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.pdf(1.5, 2.0)), 4)
    0.2362
    """
    return cnp.exp(logpdf(x, df, loc, scale))


@statistic
def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.cdf(1.5, 2.0)), 4)
    0.5276
    """
    z, a = standard(x, loc, scale) / 2, positive(df) / 2
    return outside(z < 0, 0.0, lambda z: gammainc(a, z), z)


@statistic
def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.sf(1.5, 2.0)), 4)
    0.4724
    """
    z, a = standard(x, loc, scale) / 2, positive(df) / 2
    return outside(z < 0, 1.0, lambda z: gammaincc(a, z), z)


@statistic
def logcdf(
    x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.logcdf(1.5, 2.0)), 4)
    -0.6394
    """
    z, a = standard(x, loc, scale) / 2, positive(df) / 2
    return outside(z <= 0, -np.inf, lambda z: log_gammainc(a, z), z)


@statistic
def logsf(
    x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.logsf(1.5, 2.0)), 4)
    -0.75
    """
    z, a = standard(x, loc, scale) / 2, positive(df) / 2
    return outside(z < 0, 0.0, lambda z: log_gammaincc(a, z), z)
