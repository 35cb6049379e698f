"""Transformations between intervals and the real line: logits, and Box and Cox's."""

import math

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.numpy.fuse import fuse
from covector.numpy.promote import inexact, promote_inexact
from covector.operations.logit import logit as logarithm_of_odds

__all__ = ["boxcox", "boxcox1p", "expit", "logit"]

#: (eᶻ − 1) / z = Σ zᵏ / (k + 1)!; sixteen terms are enough for |z| ≤ ½ in float64,
#: and for its derivatives
_SERIES = [1 / math.factorial(k + 1) for k in range(16)]


def expit(x: ArrayLike) -> Array:
    """The logistic function 1 / (1 + e⁻ˣ), the inverse of ``logit``.

    >>> from covector.scipy.special import expit
    >>> expit(0.0).tolist()
    0.5

    See also: ``covector.nn.sigmoid``, which is the same; ``covector.nn.log_sigmoid``.
    """
    return lax.logistic(inexact("expit", x))


def logit(x: ArrayLike) -> Array:
    """log(x / (1 − x)) for 0 ≤ x ≤ 1, accurate also near ½, where it is small.

    It is −∞ at 0, ∞ at 1, and NaN outside.

    >>> from covector.scipy.special import logit
    >>> logit(0.5).tolist()
    0.0

    See also: ``expit``, the inverse.
    """
    return logarithm_of_odds(inexact("logit", x))


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """(xᵏ − 1) / k with k = lmbda, for x ≥ 0; log x for k = 0.

    >>> from covector.scipy.special import boxcox
    >>> boxcox(3.0, 2.0).tolist()
    4.0
    """
    return _boxcox(*promote_inexact("boxcox", x, lmbda))


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """((1 + x)ᵏ − 1) / k with k = lmbda, for x ≥ −1; log(1 + x) for k = 0.

    >>> from covector.scipy.special import boxcox1p
    >>> boxcox1p(2.0, 2.0).tolist()
    4.0
    """
    return _boxcox1p(*promote_inexact("boxcox1p", x, lmbda))


@fuse()
def _boxcox(x: Value, power: Value) -> Array:
    return _powered(x, lax.log(x), power)


@fuse()
def _boxcox1p(x: Value, power: Value) -> Array:
    return _powered(1 + x, lax.log1p(x), power)


def _powered(base: Value, logarithm: Value, power: Value) -> Array:
    """(baseᵏ − 1) / k, which is (eᶻ − 1) / k with z = k · logarithm: by its series in z
    where that is small.
    """
    z = power * logarithm
    near = (cnp.abs(z) < 0.5) | (power == 0)
    inner = cnp.where(near & cnp.isfinite(z), z, 0)
    series = cnp.full_like(inner, _SERIES[-1])
    for coefficient in _SERIES[-2::-1]:
        series = series * inner + coefficient
    exponent = cnp.where(near, 1, power)
    far = (cnp.where(near, 1, base) ** exponent - 1) / exponent
    value = cnp.where(near, logarithm * series, far)
    return cnp.where(cnp.isnan(logarithm), logarithm, value)
