"""The χ² distribution, of the sum of squares of ``df`` normal numbers.

It is the gamma distribution for ``df / 2``, of twice the scale.
"""

from typing import Any

from covector import namespaces
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats import gamma
from covector.scipy.stats.arguments import statistic

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = namespaces.completions(globals())


def _of_gamma(df: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any]:
    """The parameters of the gamma distribution that it is."""
    return df / 2, loc, 2 * scale


@statistic
def logpdf(
    x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.logpdf(1.5, 2.0)), 4)
    -1.4431
    """
    return gamma.logpdf(x, *_of_gamma(df, loc, scale))


@statistic
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.pdf(1.5, 2.0)), 4)
    0.2362
    """
    return gamma.pdf(x, *_of_gamma(df, loc, scale))


@statistic
def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.cdf(1.5, 2.0)), 4)
    0.5276
    """
    return gamma.cdf(x, *_of_gamma(df, loc, scale))


@statistic
def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.sf(1.5, 2.0)), 4)
    0.4724
    """
    return gamma.sf(x, *_of_gamma(df, loc, scale))


@statistic
def logcdf(
    x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.logcdf(1.5, 2.0)), 4)
    -0.6394
    """
    return gamma.logcdf(x, *_of_gamma(df, loc, scale))


@statistic
def logsf(
    x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import chi2
    >>> round(float(chi2.logsf(1.5, 2.0)), 4)
    -0.75
    """
    return gamma.logsf(x, *_of_gamma(df, loc, scale))
