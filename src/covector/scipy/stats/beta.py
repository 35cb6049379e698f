"""The beta distribution: density xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b) between 0 and 1."""

from typing import Any

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import betainc
from covector.scipy.stats.arguments import outside, positive, standard, statistic
from covector.scipy.stats.log_densities import log_beta_density
from covector.scipy.stats.tails import log_betainc

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = namespaces.completions(globals())


def _between(z: Array, below: float, above: float, formula: Any) -> Array:
    """``formula(z)`` between 0 and 1, and what it is below and above."""
    inner = cnp.where((z <= 0) | (z >= 1), 0.5, z)
    return cnp.where(z <= 0, below, cnp.where(z >= 1, above, formula(inner)))


@statistic
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import beta
    >>> round(float(beta.logpdf(0.5, 2.0, 3.0)), 4)
    0.4055
    """
    z, a, b = standard(x, loc, scale), positive(a), positive(b)
    log_scale = cnp.log(positive(scale))
    return outside(
        (z < 0) | (z > 1),
        -np.inf,
        lambda z: log_beta_density(z, a, b) - log_scale,
        z,
        0.5,
    )


@statistic
def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The density.

    >>> from covector.scipy.stats import beta
    >>> round(float(beta.pdf(0.5, 2.0, 3.0)), 4)
    1.5
    """
    return cnp.exp(logpdf(x, a, b, loc, scale))


@statistic
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import beta
    >>> round(float(beta.cdf(0.5, 2.0, 3.0)), 4)
    0.6875
    """
    z, a, b = standard(x, loc, scale), positive(a), positive(b)
    return _between(z, 0.0, 1.0, lambda z: betainc(a, b, z))


@statistic
def sf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import beta
    >>> round(float(beta.sf(0.5, 2.0, 3.0)), 4)
    0.3125
    """
    z, a, b = standard(x, loc, scale), positive(a), positive(b)
    return _between(z, 1.0, 0.0, lambda z: betainc(b, a, 1 - z))


@statistic
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import beta
    >>> round(float(beta.logcdf(0.5, 2.0, 3.0)), 4)
    -0.3747
    """
    z, a, b = standard(x, loc, scale), positive(a), positive(b)
    return _between(z, -np.inf, 0.0, lambda z: log_betainc(a, b, z))


@statistic
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import beta
    >>> round(float(beta.logsf(0.5, 2.0, 3.0)), 4)
    -1.1632
    """
    z, a, b = standard(x, loc, scale), positive(a), positive(b)
    return _between(z, 0.0, -np.inf, lambda z: log_betainc(b, a, 1 - z))
