"""The generalised normal distribution: density β exp(−|x|ᵝ) / (2 Γ(1/β))."""

from typing import Any

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import gammaincc, gammaln
from covector.scipy.stats.arguments import outside, positive, statistic

__all__ = ["cdf", "logpdf", "pdf"]
__dir__ = namespaces.completions(globals())


def _power(x: Any, b: Any) -> Array:
    """|x|ᵇ, with the derivative 0 at 0, where it has none."""
    return outside((x == 0) & (b < 2), 0.0, lambda x: (x * x) ** (b / 2), x)


@statistic
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import gennorm
    >>> round(float(gennorm.logpdf(0.5, 1.5)), 4)
    -0.9444
    """
    b = positive(beta)
    return -_power(x, b) - float(np.log(2)) - gammaln(1 + 1 / b)


@statistic
def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The density.

    >>> from covector.scipy.stats import gennorm
    >>> round(float(gennorm.pdf(0.5, 1.5)), 4)
    0.3889
    """
    return cnp.exp(logpdf(x, beta))


@statistic
def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import gennorm
    >>> round(float(gennorm.cdf(0.5, 1.5)), 4)
    0.7417
    """
    z, b = cnp.asarray(x), positive(beta)
    tail = 0.5 * gammaincc(1 / b, _power(z, b))
    centre = 0.5 + z * cnp.exp(-gammaln(1 + 1 / b)) / 2
    return cnp.where(z == 0, centre, cnp.where(z > 0, 1 - tail, tail))
