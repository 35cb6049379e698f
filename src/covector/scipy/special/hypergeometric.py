"""Hypergeometric functions of real arguments: Kummer's and Gauss's."""

from collections.abc import Callable

from covector import numpy as cnp
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.numpy.fuse import fuse
from covector.numpy.promote import promote_inexact, standard_promotion
from covector.operations.special import gamma
from covector.scipy.special.gauss_function import gauss_function
from covector.scipy.special.hypergeometric_series import (
    inverse_gamma,
    is_whole_below,
    series,
)

__all__ = ["hyp1f1", "hyp2f1"]


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's function ₁F₁(a; b; x) = Σ (a)ₖ/(b)ₖ xᵏ/k! of real numbers.

    For x < 0 it is eˣ ₁F₁(b − a; b; −x), and for large |x| the asymptotic expansion.
    Where terms have both signs, digits are lost as far as they cancel: for a or b − a
    far below zero. It is infinite at whole b ≤ 0, but for whole a between b and 0.

    >>> from covector.scipy.special import hyp1f1
    >>> round(float(hyp1f1(1.0, 2.0, 1.0)), 4)
    1.7183
    """
    return _elementwise(_hyp1f1, *promote_inexact("hyp1f1", a, b, x))


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss's function ₂F₁(a, b; c; x) = Σ (a)ₖ(b)ₖ/(c)ₖ xᵏ/k! of real numbers x ≤ 1.

    Beyond 1 it is NaN, unless a or b is a whole number ≤ 0 and it is a polynomial. At
    whole c ≤ 0 it is infinite, but for whole a or b between c and 0. It has derivatives
    by all operands; by a whole a or b ≤ 0 that of the polynomial as it stands.

    >>> from covector.scipy.special import hyp2f1
    >>> round(float(hyp2f1(1.0, 1.0, 2.0, 0.5)), 4)
    1.3863
    """
    return _elementwise(gauss_function, *promote_inexact("hyp2f1", a, b, c, x))


@standard_promotion
def _elementwise(function: Callable[..., Array], *operands: Value) -> Array:
    """A function in at least 32 bits, of operands of one shape."""
    dtype = operands[0].dtype
    if dtype.itemsize < 4:
        operands = tuple([x.astype(cnp.float32) for x in operands])
    return function(*cnp.broadcast_arrays(*operands)).astype(dtype)


# -- the confluent function ------------------------------------------------------------


@fuse()
def _hyp1f1(a: Value, b: Value, x: Value) -> Array:
    ends = is_whole_below(a)
    left = (x < 0) & ~ends
    p, size = cnp.where(left, b - a, a), cnp.where(ends, x, cnp.abs(x))
    # It takes so large an x that thirty terms of the expansion fall off.
    scale = (1 + cnp.abs(a)) * (1 + cnp.abs(b - a))
    far = ~ends & (size > cnp.maximum(50, 4 * scale))
    near = series(
        (cnp.where(far, 1, p),), (cnp.where(far, 1, b),), cnp.where(far, 0, size)
    )
    near = cnp.where(left, cnp.exp(cnp.where(far, 0, x)), 1) * near
    return cnp.where(far, _asymptotic(a, b, cnp.where(far, x, 100)), near)


def _asymptotic(a: Value, b: Value, x: Value) -> Array:
    """For large |x| (NIST Handbook of Mathematical Functions, 13.7.1 and 13.7.2)."""
    left, size = x < 0, cnp.abs(x)
    p = cnp.where(left, a, b - a)
    q = cnp.where(left, a - b + 1, 1 - a)
    total = term = cnp.ones_like(x)
    for k in range(30):
        term = term * (p + k) * (q + k) / (k + 1) / size
        total = total + term
    factor = gamma(b) * inverse_gamma(cnp.where(left, b - a, a))
    growth = cnp.where(left, -a * cnp.log(size), size + (a - b) * cnp.log(size))
    return factor * cnp.exp(growth) * total
