"""The gamma function, its logarithm and derivatives, and what is made of them."""

import math

from covector import lax
from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError
from covector.numpy.promote import inexact, promote_inexact
from covector.operations import special
from covector.scipy.special import complex_gamma

__all__ = [
    "digamma",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "loggamma",
    "multigammaln",
    "polygamma",
]


def gamma(x: ArrayLike) -> Array:
    """The gamma function Γ(x) of real or complex numbers; Γ(n + 1) = n! of whole n.

    Of real ones it is ±∞ at ±0, and NaN at whole x < 0 and at −∞; of complex ones NaN
    at whole x ≤ 0. It overflows early (in f32 for x > 35): ``gammaln`` does not.

    >>> from covector.scipy.special import gamma
    >>> gamma(5.0).tolist()
    24.0

    See also: ``gammaln``, ``digamma``, ``factorial``.
    """
    x = inexact("gamma", x)
    return (complex_gamma.gamma if _is_complex(x) else special.gamma)(x)


def loggamma(x: ArrayLike) -> Array:
    """The principal branch of log Γ(x) of real or complex numbers.

    It is analytic but for x ≤ 0. Of real x < 0 it is NaN, where ``gammaln`` is not.

    >>> from covector.scipy.special import loggamma
    >>> loggamma(1.0).tolist()
    0.0
    """
    x = inexact("loggamma", x)
    if _is_complex(x):
        return complex_gamma.log_gamma(x)
    negative = x < 0
    return cnp.where(negative, cnp.nan, lax.lgamma(cnp.where(negative, 1, x)))


def _is_complex(x: Value) -> bool:
    return dtypes.is_complex(x.type.dtype)


def gammaln(x: ArrayLike) -> Array:
    """log|Γ(x)|, the logarithm of the gamma function, of real numbers.

    It is infinite at whole x ≤ 0, and does not overflow where Γ does. Its derivative is
    ``digamma``.

    >>> from covector.scipy.special import gammaln
    >>> gammaln(1.0).tolist()
    0.0

    See also: ``gammasgn`` for the sign, ``loggamma`` for complex numbers, ``betaln``.
    """
    return lax.lgamma(inexact("gammaln", x))


def gammasgn(x: ArrayLike) -> Array:
    """The sign of Γ(x): ±1 at ±0, NaN at whole x < 0 and at −∞.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.special import gammasgn
    >>> gammasgn(cnp.array([2.5, -0.5, -1.0])).tolist()
    [1.0, -1.0, nan]
    """
    x = inexact("gammasgn", x)
    whole = cnp.floor(x)
    odd = whole - 2 * cnp.floor(whole / 2) == 1
    below = cnp.where(whole == x, cnp.nan, cnp.where(odd, -1, 1))
    at_zero = cnp.where(cnp.signbit(x), -1, 1)
    sign = cnp.where(x == 0, at_zero, cnp.where(x < 0, below, 1))
    return cnp.where(cnp.isnan(x), x, sign).astype(x.dtype)


def digamma(x: ArrayLike) -> Array:
    """The digamma function ψ(x), the derivative of log Γ(x); NaN at whole x ≤ 0.

    >>> from covector.scipy.special import digamma
    >>> round(float(digamma(1.0)), 4)
    -0.5772

    See also: ``gammaln``, ``polygamma`` for higher derivatives.
    """
    return lax.digamma(inexact("digamma", x))


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of order n of ``digamma`` at x, for whole n ≥ 0.

    Raises:
      NotDifferentiable: for a derivative by n.

    >>> from covector.scipy.special import polygamma
    >>> round(float(polygamma(1, 1.0)), 4)
    1.6449
    """
    return lax.polygamma(*promote_inexact("polygamma", n, x))


def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """P(a, x), the regularised lower incomplete gamma function, for a ≥ 0, x ≥ 0.

    It has derivatives by a and by x.

    >>> from covector.scipy.special import gammainc
    >>> round(float(gammainc(1.0, 1.0)), 4)
    0.6321
    """
    return lax.igamma(*promote_inexact("gammainc", a, x))


def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Q(a, x) = 1 − P(a, x), the regularised upper incomplete gamma function.

    It is accurate where it is small, and has derivatives by a and by x.

    >>> from covector.scipy.special import gammaincc
    >>> round(float(gammaincc(1.0, 1.0)), 4)
    0.3679
    """
    return lax.igammac(*promote_inexact("gammaincc", a, x))


def multigammaln(a: ArrayLike, d: ArrayLike) -> Array:
    """The logarithm of the multivariate gamma function, for a > (d − 1) / 2.

    It is d (d − 1)/4 · log π + Σ log Γ(a − k/2) over k = 0 … d − 1.

    Args:
      d: the dimension, a known positive integer.

    Raises:
      ArgumentError: d is not a positive integer.

    >>> from covector.scipy.special import multigammaln
    >>> round(float(multigammaln(2.0, 2)), 4)
    0.4516
    """
    if not isinstance(d, int):
        known = as_array(d, "multigammaln")
        d = int(known) if known.ndim == 0 and float(known) == int(known) else 0
    if d < 1:
        raise ArgumentError(f"multigammaln needs a positive integer d, but got {d!r}.")
    a = inexact("multigammaln", a)
    steps = cnp.arange(d, dtype=a.dtype) / 2
    total = cnp.sum(lax.lgamma(a[..., None] - steps), axis=-1)
    return total + d * (d - 1) / 4 * math.log(math.pi)
