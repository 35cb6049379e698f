"""The beta-binomial distribution: ``binom`` with a p of the beta distribution."""

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import betaln
from covector.scipy.stats.arguments import counted, positive, shifted, statistic, whole

__all__ = ["logpmf", "pmf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpmf(
    k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0
) -> Array:
    """The logarithm of the probability of ``k``.

    >>> from covector.scipy.stats import betabinom
    >>> round(float(betabinom.logpmf(2, 5, 2.0, 3.0)), 4)
    -1.4351
    """
    k, a, b = shifted(k, loc), positive(a), positive(b)
    n = whole(n)

    def formula(k: Array) -> Array:
        choices = -cnp.log1p(n) - betaln(n - k + 1, k + 1)
        return choices + betaln(k + a, n - k + b) - betaln(a, b)

    return counted(k, (k < 0) | (k > n), formula)


@statistic
def pmf(
    k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0
) -> Array:
    """The probability of ``k``.

    >>> from covector.scipy.stats import betabinom
    >>> round(float(betabinom.pmf(2, 5, 2.0, 3.0)), 4)
    0.2381
    """
    return cnp.exp(logpmf(k, n, a, b, loc))
