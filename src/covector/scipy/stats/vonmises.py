"""The von Mises distribution of angles: density exp(κ cos x) / (2π I₀(κ))."""

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.lax import bessel_i0e
from covector.scipy.stats.arguments import HALF_LOG_TAU, nonnegative, statistic

__all__ = ["logpdf", "pdf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import vonmises
    >>> round(float(vonmises.logpdf(0.5, 2.0)), 4)
    -0.9067
    """
    k = nonnegative(kappa)
    # cos x − 1 = −2 sin²(x/2), also where both are near 1.
    half = cnp.sin(0.5 * cnp.asarray(x))
    return -2 * k * half * half - 2 * HALF_LOG_TAU - cnp.log(bessel_i0e(k))


@statistic
def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The density.

    >>> from covector.scipy.stats import vonmises
    >>> round(float(vonmises.pdf(0.5, 2.0)), 4)
    0.4039
    """
    return cnp.exp(logpdf(x, kappa))
