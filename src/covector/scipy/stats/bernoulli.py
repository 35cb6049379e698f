"""The Bernoulli distribution: 1 with probability p, else 0."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats.arguments import probability, shifted, statistic

__all__ = ["cdf", "logpmf", "pmf", "ppf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> from covector.scipy.stats import bernoulli
    >>> round(float(bernoulli.logpmf(1, 0.3)), 4)
    -1.204
    """
    k, p = shifted(k, loc), probability(p)
    zero, one = k == 0, k == 1
    log_zero = cnp.log1p(-cnp.where(zero, p, 0.5))
    log_one = cnp.log(cnp.where(one, p, 0.5))
    found = cnp.where(zero, log_zero, cnp.where(one, log_one, -np.inf))
    return cnp.where(cnp.isnan(k) | cnp.isnan(p), np.nan, found)


@statistic
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> from covector.scipy.stats import bernoulli
    >>> round(float(bernoulli.pmf(1, 0.3)), 4)
    0.3
    """
    k, p = shifted(k, loc), probability(p)
    found = cnp.where(k == 1, p, cnp.where(k == 0, 1 - p, 0 * p))
    return cnp.where(cnp.isnan(k), np.nan, found)


@statistic
def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """The probability of a number up to ``k``.

    >>> from covector.scipy.stats import bernoulli
    >>> round(float(bernoulli.cdf(1, 0.3)), 4)
    1.0
    """
    k, p = shifted(k, 0), probability(p)
    found = cnp.where(k < 0, 0.0, cnp.where(k < 1, 1 - p, 1.0))
    return cnp.where(cnp.isnan(k) | cnp.isnan(p), np.nan, found)


@statistic
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """The number up to which the probability is ``q``.

    >>> from covector.scipy.stats import bernoulli
    >>> round(float(bernoulli.ppf(0.25, 0.3)), 4)
    0.0
    """
    q, p = probability(q), probability(p)
    nothing = cnp.isnan(q) | cnp.isnan(p)
    found = cnp.where(q == 0, -1.0, cnp.where(q > 1 - p, cnp.ones_like(q), 0.0))
    return cnp.where(nothing, np.nan, found)
