"""The uniform distribution between ``loc`` and ``loc + scale``."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats.arguments import (
    located,
    positive,
    probability,
    standard,
    statistic,
)

__all__ = ["cdf", "logpdf", "pdf", "ppf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import uniform
    >>> round(float(uniform.logpdf(0.5)), 4)
    0.0
    """
    z = standard(x, loc, scale)
    return cnp.where((z < 0) | (z > 1), -np.inf, 0 * z - cnp.log(positive(scale)))


@statistic
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import uniform
    >>> round(float(uniform.pdf(0.5)), 4)
    1.0
    """
    return cnp.exp(logpdf(x, loc, scale))


@statistic
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import uniform
    >>> round(float(uniform.cdf(0.5)), 4)
    0.5
    """
    return cnp.clip(standard(x, loc, scale), 0, 1)


@statistic
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is ``q``.

    >>> from covector.scipy.stats import uniform
    >>> round(float(uniform.ppf(0.25)), 4)
    0.25
    """
    return located(probability(q), loc, scale)
