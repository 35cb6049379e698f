"""Hypergeometric functions of real arguments, by their series and its transformations.

A series is a loop that ends when no element changes any more. It is differentiated as
it stands, by the parameters too: the derivatives of terms fall off as the terms do.
"""

import math
from collections.abc import Callable

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.numpy.fuse import fuse
from covector.numpy.promote import promote_inexact, standard_promotion
from covector.operations.special import gamma

__all__ = ["hyp1f1", "hyp2f1"]

#: a series that needs more terms is NaN
_TERMS = 20_000


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

    Beyond 1 it is NaN, unless a or b is a whole number ≤ 0 and it is a polynomial. For
    x < 0 it is (1 − x)⁻ᵃ ₂F₁(a, c − b; c; x/(x − 1)), and near 1 the functions of 1 − x
    to which it is connected. Where those do not exist, for whole c − a − b (and whole
    b − a for x < 0), the series has 20,000 terms. These are enough for −500 < x <
    0.998; beyond, it is NaN.

    >>> from covector.scipy.special import hyp2f1
    >>> round(float(hyp2f1(1.0, 1.0, 2.0, 0.5)), 4)
    1.3863
    """
    return _elementwise(_hyp2f1, *promote_inexact("hyp2f1", a, b, c, x))


@standard_promotion
def _elementwise(function: Callable[..., Array], *operands: Value) -> Array:
    """A function in at least 32 bits, of operands of one shape."""
    dtype = operands[0].dtype
    if dtype.itemsize < 4:
        operands = tuple([x.astype(cnp.float32) for x in operands])
    return function(*cnp.broadcast_arrays(*operands)).astype(dtype)


def _series(above: tuple[Value, ...], below: tuple[Value, ...], x: Value) -> Array:
    """Σ Π(p)ₖ/Π(q)ₖ xᵏ/k!."""
    enough = cnp.finfo(x.dtype).eps / 8

    def changes(state: tuple[Value, Value, Value]) -> Array:
        k, term, total = state
        going = cnp.abs(term) > enough * cnp.abs(total)
        return (k < _TERMS) & cnp.any(going | (k < 3))

    def step(state: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        k, term, total = state
        factor = x / (k + 1)
        for p in above:
            factor = factor * (p + k)
        for q in below:
            factor = factor / (q + k)
        # A polynomial has ended, whatever q is.
        term = cnp.where(term == 0, 0, term * factor)
        return k + 1, term, total + term

    start = cnp.zeros((), x.dtype), cnp.ones_like(x), cnp.ones_like(x)
    _, term, total = lax.while_loop(changes, step, start)
    return cnp.where(cnp.abs(term) > enough * cnp.abs(total), cnp.nan, total)


# -- the confluent function ------------------------------------------------------------


@fuse()
def _hyp1f1(a: Value, b: Value, x: Value) -> Array:
    ends = (a <= 0) & (a == cnp.floor(a))
    left = (x < 0) & ~ends
    p, size = cnp.where(left, b - a, a), cnp.where(ends, x, cnp.abs(x))
    # It takes so large an x that thirty terms of the expansion fall off.
    scale = (1 + cnp.abs(a)) * (1 + cnp.abs(b - a))
    far = ~ends & (size > cnp.maximum(50, 4 * scale))
    near = _series(
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
    factor = gamma(b) * _inverse_gamma(cnp.where(left, b - a, a))
    growth = cnp.where(left, -a * cnp.log(size), size + (a - b) * cnp.log(size))
    return factor * cnp.exp(growth) * total


def _inverse_gamma(x: Value) -> Array:
    """1 / Γ(x), which is 0 at its poles."""
    pole = (x <= 0) & (x == cnp.floor(x))
    return cnp.where(pole, 0, 1 / gamma(cnp.where(pole, 1, x)))


# -- Gauss's function ------------------------------------------------------------------


@fuse()
def _hyp2f1(a: Value, b: Value, c: Value, x: Value) -> Array:
    ends = _is_whole_below(a) | _is_whole_below(b)
    left, beyond = (x < 0) & ~ends, (x > 1) & ~ends
    p, q = a, cnp.where(left, c - b, b)
    y = cnp.where(left, x / cnp.where(left, x - 1, 1), x)
    excess = c - p - q
    whole = cnp.abs(excess - cnp.round(excess)) < 1e-3
    close = (y > 0.9) & ~ends & ~whole & ~_is_whole_below(q)
    at_one = (y == 1) & ~ends
    direct = _series((p, q), (c,), cnp.where(close | at_one | beyond, 0, y))
    near_one = _connected(p, q, c, cnp.where(close & ~at_one, y, 0.95), excess)
    value = cnp.where(close, near_one, direct)
    value = cnp.where(at_one, _at_one(p, q, c, excess), value)
    value = cnp.where(left, (1 - cnp.where(left, x, 0)) ** -a, 1) * value
    return cnp.where(beyond, cnp.nan, value)


def _is_whole_below(x: Value) -> Array:
    """Whether x is a whole number ≤ 0."""
    return (x <= 0) & (x == cnp.floor(x))


def _connected(a: Value, b: Value, c: Value, x: Value, excess: Value) -> Array:
    """Through functions of 1 − x (NIST Handbook, 15.8.4), for no whole c − a − b."""
    s = cnp.where(excess == cnp.round(excess), 0.5, excess)
    first = gamma(s) * _inverse_gamma(c - a) * _inverse_gamma(c - b)
    second = gamma(-s) * _inverse_gamma(a) * _inverse_gamma(b) * (1 - x) ** s
    series = first * _series((a, b), (1 - s,), 1 - x)
    return gamma(c) * (series + second * _series((c - a, c - b), (1 + s,), 1 - x))


def _at_one(a: Value, b: Value, c: Value, excess: Value) -> Array:
    """Gauss's sum at x = 1, which is finite for c > a + b."""
    s = cnp.where(excess > 0, excess, 1)
    value = gamma(c) * gamma(s) * _inverse_gamma(c - a) * _inverse_gamma(c - b)
    return cnp.where(excess > 0, value, math.inf)
