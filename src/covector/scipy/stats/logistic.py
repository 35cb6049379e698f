"""The logistic distribution, whose distribution function is 1 / (1 + e⁻ˣ)."""

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import expit, logit
from covector.scipy.stats.arguments import located, positive, standard, statistic

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import logistic
    >>> round(float(logistic.logpdf(0.5)), 4)
    -1.4482
    """
    z = standard(x, loc, scale)
    both = cnp.logaddexp(z, 0.0) + cnp.logaddexp(-z, 0.0)
    return -both - cnp.log(positive(scale))


@statistic
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import logistic
    >>> round(float(logistic.pdf(0.5)), 4)
    0.235
    """
    return cnp.exp(logpdf(x, loc, scale))


@statistic
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import logistic
    >>> round(float(logistic.cdf(0.5)), 4)
    0.6225
    """
    return expit(standard(x, loc, scale))


@statistic
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import logistic
    >>> round(float(logistic.sf(0.5)), 4)
    0.3775
    """
    return expit(-standard(x, loc, scale))


@statistic
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is ``x``.

    >>> from covector.scipy.stats import logistic
    >>> round(float(logistic.ppf(0.25)), 4)
    -1.0986
    """
    return located(logit(x), loc, scale)


@statistic
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number above which the probability is ``x``.

    >>> from covector.scipy.stats import logistic
    >>> round(float(logistic.isf(0.25)), 4)
    1.0986
    """
    return located(-logit(x), loc, scale)
