"""The Poisson distribution, of the number of events where ``mu`` are expected."""

import math

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import gammaincc
from covector.scipy.stats.arguments import counted, nonnegative, shifted, statistic
from covector.scipy.stats.log_densities import log_poisson

__all__ = ["cdf", "entropy", "logpmf", "pmf"]
__dir__ = namespaces.completions(globals())


#: means from which on the entropy is that of its series, and counts that others have
_LARGE, _TERMS = 100.0, 256


@statistic
def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> from covector.scipy.stats import poisson
    >>> round(float(poisson.logpmf(2, 3.0)), 4)
    -1.4959
    """
    k, mu = shifted(k, loc), nonnegative(mu)
    return counted(k, k < 0, lambda k: log_poisson(k, mu))


@statistic
def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> from covector.scipy.stats import poisson
    >>> round(float(poisson.pmf(2, 3.0)), 4)
    0.224
    """
    return cnp.exp(logpmf(k, mu, loc))


@statistic
def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of a number up to ``k``.

    >>> from covector.scipy.stats import poisson
    >>> round(float(poisson.cdf(2, 3.0)), 4)
    0.4232
    """
    k, mu = cnp.floor(shifted(k, loc)), nonnegative(mu)
    return cnp.where(k < 0, 0.0, gammaincc(cnp.maximum(k, 0) + 1, mu))


@statistic
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The entropy in nats.

    >>> from covector.scipy.stats import poisson
    >>> round(float(poisson.entropy(3.0)), 4)
    1.9315
    """
    mu = nonnegative(mu) + shifted(0.0, loc) * 0
    large = mu > _LARGE
    mean = cnp.where(large, 1.0, mu)
    k = cnp.arange(_TERMS, dtype=mu.dtype)
    logs = log_poisson(*cnp.broadcast_arrays(k, mean[..., None]))
    likely = cnp.where(logs == -np.inf, 0.0, logs)
    total = -cnp.sum(cnp.exp(logs) * likely, -1)
    r = 1 / cnp.where(large, mu, 1.0)
    # The asymptotic series of the entropy.
    series = 0.5 * (math.log(2 * math.pi * math.e) - cnp.log(r)) - r / 12 - r**2 / 24
    series = series - 19 / 360 * r**3 - 9 / 80 * r**4 - 863 / 2520 * r**5
    return cnp.where(large, series, total)
