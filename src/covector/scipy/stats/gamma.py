"""The gamma distribution: density xᵃ⁻¹ e⁻ˣ / Γ(a) for x ≥ 0 of the standard one."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.special import gammainc, gammaincc
from covector.scipy.stats.arguments import outside, positive, standard, statistic
from covector.scipy.stats.log_densities import log_gamma_density
from covector.scipy.stats.tails import log_gammainc, log_gammaincc

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(
    x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import gamma
    >>> round(float(gamma.logpdf(1.5, 2.0)), 4)
    -1.0945
    """
    z, a = standard(x, loc, scale), positive(a)
    log_scale = cnp.log(positive(scale))
    return outside(z < 0, -np.inf, lambda z: log_gamma_density(z, a) - log_scale, z)


@statistic
def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import gamma
    >>> round(float(gamma.pdf(1.5, 2.0)), 4)
    0.3347
    """
    return cnp.exp(logpdf(x, a, loc, scale))


@statistic
def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import gamma
    >>> round(float(gamma.cdf(1.5, 2.0)), 4)
    0.4422
    """
    z, a = standard(x, loc, scale), positive(a)
    return outside(z < 0, 0.0, lambda z: gammainc(a, z), z)


@statistic
def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import gamma
    >>> round(float(gamma.sf(1.5, 2.0)), 4)
    0.5578
    """
    z, a = standard(x, loc, scale), positive(a)
    return outside(z < 0, 1.0, lambda z: gammaincc(a, z), z)


@statistic
def logcdf(
    x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import gamma
    >>> round(float(gamma.logcdf(1.5, 2.0)), 4)
    -0.8161
    """
    z, a = standard(x, loc, scale), positive(a)
    return outside(z <= 0, -np.inf, lambda z: log_gammainc(a, z), z)


@statistic
def logsf(
    x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import gamma
    >>> round(float(gamma.logsf(1.5, 2.0)), 4)
    -0.5837
    """
    z, a = standard(x, loc, scale), positive(a)
    return outside(z < 0, 0.0, lambda z: log_gammaincc(a, z), z)
