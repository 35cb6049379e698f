"""The negative binomial distribution: failures before the ``n``-th success."""

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats.arguments import (
    counted,
    positive,
    probability,
    shifted,
    statistic,
)
from covector.scipy.stats.log_densities import log_binomial

__all__ = ["logpmf", "pmf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> from covector.scipy.stats import nbinom
    >>> round(float(nbinom.logpmf(2, 5, 0.3)), 4)
    -4.0252
    """
    k, n, p = shifted(k, loc), positive(n), probability(p)

    def formula(k: Array) -> Array:
        return cnp.log(n / (n + k)) + log_binomial(n, n + k, p, 1 - p)

    return counted(k, k < 0, formula)


@statistic
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> from covector.scipy.stats import nbinom
    >>> round(float(nbinom.pmf(2, 5, 0.3)), 4)
    0.0179
    """
    return cnp.exp(logpmf(k, n, p, loc))
