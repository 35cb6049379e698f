"""The binomial distribution, of the number of successes in ``n`` trials."""

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats.arguments import (
    counted,
    probability,
    shifted,
    statistic,
    whole,
)
from covector.scipy.stats.log_densities import log_binomial

__all__ = ["logpmf", "pmf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> from covector.scipy.stats import binom
    >>> round(float(binom.logpmf(2, 5, 0.3)), 4)
    -1.1754
    """
    k, p = shifted(k, loc), probability(p)
    n = whole(n)
    return counted(k, (k < 0) | (k > n), lambda k: log_binomial(k, n, p, 1 - p))


@statistic
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> from covector.scipy.stats import binom
    >>> round(float(binom.pmf(2, 5, 0.3)), 4)
    0.3087
    """
    return cnp.exp(logpmf(k, n, p, loc))
