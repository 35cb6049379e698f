"""The Cauchy distribution: density 1 / (π (1 + x²)) of the standard one."""

from typing import Any

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

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = namespaces.completions(globals())


def _lower(z: Any) -> Array:
    """The probability of a number up to z ≤ 0."""
    return cnp.arctan2(1.0, -z) / np.pi


def _quantile(q: Array) -> Array:
    """tan(π (q − ½)), accurate also near 0 and 1."""
    centred, tail = q - 0.5, cnp.minimum(q, 1 - q)
    middle = cnp.abs(centred) < 0.25
    near = cnp.tan(np.pi * cnp.where(middle, centred, 0.0))
    far = cnp.sign(centred) / cnp.tan(np.pi * cnp.where(middle, 0.25, tail))
    return cnp.where(middle, near, far)


@statistic
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import cauchy
    >>> round(float(cauchy.logpdf(0.5)), 4)
    -1.3679
    """
    z = standard(x, loc, scale)
    far = cnp.abs(z) > 1
    near, large = cnp.where(far, 0.0, z), cnp.where(far, z, 1.0)
    # (1 + z²) = z² (1 + 1/z²), whose square does not overflow.
    log_far = 2 * cnp.log(cnp.abs(large)) + cnp.log1p((1 / large) ** 2)
    log_square = cnp.where(far, log_far, cnp.log1p(near * near))
    return -log_square - cnp.log(np.pi * positive(scale))


@statistic
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import cauchy
    >>> round(float(cauchy.pdf(0.5)), 4)
    0.2546
    """
    return cnp.exp(logpdf(x, loc, scale))


@statistic
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import cauchy
    >>> round(float(cauchy.cdf(0.5)), 4)
    0.6476
    """
    return cnp.arctan2(1.0, -standard(x, loc, scale)) / np.pi


@statistic
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import cauchy
    >>> round(float(cauchy.sf(0.5)), 4)
    0.3524
    """
    return cnp.arctan2(1.0, standard(x, loc, scale)) / np.pi


@statistic
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import cauchy
    >>> round(float(cauchy.logcdf(0.5)), 4)
    -0.4345
    """
    z = standard(x, loc, scale)
    return cnp.where(
        z > 0, cnp.log1p(-_lower(-cnp.abs(z))), cnp.log(_lower(-cnp.abs(z)))
    )


@statistic
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import cauchy
    >>> round(float(cauchy.logsf(0.5)), 4)
    -1.0429
    """
    return logcdf(-standard(x, loc, scale), 0, 1)


@statistic
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is ``q``.

    >>> from covector.scipy.stats import cauchy
    >>> round(float(cauchy.ppf(0.25)), 4)
    -1.0
    """
    return located(_quantile(probability(q)), loc, scale)


@statistic
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number above which the probability is ``q``.

    >>> from covector.scipy.stats import cauchy
    >>> round(float(cauchy.isf(0.25)), 4)
    1.0
    """
    return located(-_quantile(probability(q)), loc, scale)
