"""The geometric distribution, of the number of trials up to the first success."""

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import xlog1py
from covector.scipy.stats.arguments import (
    counted,
    positive,
    probability,
    shifted,
    statistic,
)

__all__ = ["logpmf", "pmf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> from covector.scipy.stats import geom
    >>> round(float(geom.logpmf(2, 0.3)), 4)
    -1.5606
    """
    k, p = shifted(k, loc), positive(probability(p))

    def formula(k: Array) -> Array:
        # No failure has no derivative by its probability.
        return cnp.log(p) + xlog1py(k - 1, -cnp.where(k == 1, 0.5, p))

    return counted(k, k < 1, formula, 1.0)


@statistic
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> from covector.scipy.stats import geom
    >>> round(float(geom.pmf(2, 0.3)), 4)
    0.21
    """
    return cnp.exp(logpmf(k, p, loc))
