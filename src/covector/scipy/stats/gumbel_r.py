"""The Gumbel distribution of maxima: distribution function exp(−e⁻ˣ)."""

from typing import Any

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.number_info import finfo
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


def huge(z: Any) -> Any:
    """Whether e⁻ᶻ overflows."""
    return z < -float(np.log(finfo(z.dtype).max))


def log_density(z: Any) -> Array:
    """−z − e⁻ᶻ, which is −∞ at both ends."""
    return outside(huge(z), -np.inf, lambda z: -z - cnp.exp(-z), z)


def log_upper(z: Any) -> Array:
    """log(1 − exp(−e⁻ᶻ)); the inner exponential is small where z is large."""
    far = z > 20
    near = log1mexp(cnp.exp(-cnp.where(far | huge(z), 0.0, z)))
    return cnp.where(far, -z, cnp.where(huge(z), 0.0, near))


@statistic
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.logpdf(0.5)), 4)
    -1.1065
    """
    return log_density(standard(x, loc, scale)) - cnp.log(positive(scale))


@statistic
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.pdf(0.5)), 4)
    0.3307
    """
    return cnp.exp(logpdf(x, loc, scale))


@statistic
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.cdf(0.5)), 4)
    0.5452
    """
    z = standard(x, loc, scale)
    return outside(huge(z), 0.0, lambda z: cnp.exp(-cnp.exp(-z)), z)


@statistic
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.sf(0.5)), 4)
    0.4548
    """
    z = standard(x, loc, scale)
    return outside(huge(z), 1.0, lambda z: -cnp.expm1(-cnp.exp(-z)), z)


@statistic
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.logcdf(0.5)), 4)
    -0.6065
    """
    return -cnp.exp(-standard(x, loc, scale))


@statistic
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.logsf(0.5)), 4)
    -0.788
    """
    return log_upper(standard(x, loc, scale))


@statistic
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is ``p``.

    >>> from covector.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.ppf(0.25)), 4)
    -0.3266
    """
    return located(-cnp.log(-cnp.log(probability(p))), loc, scale)
