"""Bessel functions of whole order, ordinary and modified."""

import math

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.errors import ArgumentError, DTypeError
from covector.numpy.promote import inexact, standard_promotion
from covector.numpy.special import i0 as modified_of_order_zero
from covector.programs.custom_rules.custom_derivative import custom_jvp

__all__ = ["bessel_jn", "i0", "i0e", "i1", "i1e"]


def i0(x: ArrayLike) -> Array:
    """The modified Bessel function I₀(x) of real numbers.

    >>> from covector.scipy.special import i0
    >>> round(float(i0(1.0)), 4)
    1.2661
    """
    return modified_of_order_zero(x)


def i0e(x: ArrayLike) -> Array:
    """The modified Bessel function I₀(x), times e^−|x|.

    >>> from covector.scipy.special import i0e
    >>> round(float(i0e(1.0)), 4)
    0.4658
    """
    return lax.bessel_i0e(inexact("i0e", x))


def i1(x: ArrayLike) -> Array:
    """The modified Bessel function I₁(x) of real numbers.

    >>> from covector.scipy.special import i1
    >>> round(float(i1(1.0)), 4)
    0.5652
    """
    x = inexact("i1", x)
    return cnp.exp(cnp.abs(x)) * lax.bessel_i1e(x)


def i1e(x: ArrayLike) -> Array:
    """The modified Bessel function I₁(x), times e^−|x|.

    >>> from covector.scipy.special import i1e
    >>> round(float(i1e(1.0)), 4)
    0.2079
    """
    return lax.bessel_i1e(inexact("i1e", x))


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions J₀(z), …, Jᵥ(z) of real numbers.

    Args:
      z: ``[...]``, floating-point numbers of any size.
      v: the largest order, a known whole number ≥ 0.
      n_iter: accepted, and needs not be chosen: there are as many steps as it takes.

    Returns:
      ``[v + 1, ...]``, in the dtype of z.

    Raises:
      ArgumentError: v is not a whole number ≥ 0.
      DTypeError: z has no floating-point numbers.

    >>> from covector.scipy.special import bessel_jn
    >>> [round(float(j), 4) for j in bessel_jn(1.0, v=2)]
    [0.7652, 0.4401, 0.1149]
    """
    del n_iter
    if not isinstance(v, int) or v < 0:
        raise ArgumentError(f"bessel_jn needs a whole number v ≥ 0, but got {v!r}.")
    z = lax.convert_element_type(z, cnp.result_type(z))
    if not cnp.issubdtype(z.dtype, cnp.floating):
        raise DTypeError(f"bessel_jn needs floating-point numbers, but got {z.type}.")
    return _bessel(z, v)


@standard_promotion
def _bessel(z: Value, v: int) -> Array:
    """All orders, with J′ₙ = (Jₙ₋₁ − Jₙ₊₁)/2 for the derivative."""

    @custom_jvp
    def values(z: Value) -> Array:
        return _values(z, v)

    @values.defjvp
    def rule(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
        more = _bessel(primals[0], v + 1)
        before = cnp.concatenate([-more[1:2], more[:-2]])
        return more[:-1], (before - more[1:]) / 2 * tangents[0]

    return values(z)


def _values(z: Value, v: int) -> Array:
    """By recurrence: downwards for |z| ≤ max(v, 30), upwards from J₀ and J₁ beyond."""
    wide = z if z.dtype.itemsize >= 4 else z.astype(cnp.float32)
    size, bound = cnp.abs(wide), max(v, 30)
    far = size > bound
    below = _downwards(cnp.where(far, 1, size), v, bound)
    above = _upwards(cnp.where(far, size, bound + 1), v)
    odd = cnp.arange(v + 1).reshape(-1, *[1] * z.ndim) % 2 == 1
    value = cnp.where(far, above, below)
    return cnp.where(odd & (wide < 0), -value, value).astype(z.dtype)


def _downwards(z: Value, v: int, bound: int) -> Array:
    """J₀ … Jᵥ for 0 ≤ z ≤ bound, by J. Miller's algorithm in ratios rₙ = Jₙ/Jₙ₋₁.

    rₙ = z / (2n − z rₙ₊₁), and 1 = J₀ (1 + 2 r₁r₂ (1 + r₃r₄ (1 + …))).
    """
    pairs = (bound + int(10 * bound ** (1 / 3)) + 20) // 2

    def ratio(n: Value, following: Value) -> Array:
        divisor = 2 * n - z * following
        return z / cnp.where(divisor == 0, cnp.finfo(z.dtype).tiny, divisor)

    def step(carry: tuple[Value, Value], k: Value) -> tuple:
        last, total = carry
        even = ratio(2 * k, last)
        odd = ratio(2 * k - 1, even)
        return (odd, odd * even * (1 + total)), cnp.stack([odd, even])

    start = cnp.zeros_like(z), cnp.zeros_like(z)
    orders = cnp.arange(1, pairs + 1).astype(z.dtype)
    (_, total), found = lax.scan(step, start, orders, reverse=True)
    ratios = found.reshape(2 * pairs, *z.shape)[:v]
    first = (1 / (1 + 2 * total))[None]
    return cnp.concatenate([first, first * cnp.cumprod(ratios, axis=0)])


def _upwards(z: Value, v: int) -> Array:
    """J₀ … Jᵥ for z > max(v, 30), where Jₙ₊₁ = 2n/z Jₙ − Jₙ₋₁ loses nothing."""

    def step(carry: tuple[Value, Value], n: Value) -> tuple:
        before, last = carry
        after = 2 * n / z * last - before
        return (last, after), after

    start = _hankel(z, 0), _hankel(z, 1)
    following = lax.scan(step, start, cnp.arange(1, max(v, 1)).astype(z.dtype))[1]
    return cnp.concatenate([cnp.stack(start), following])[: v + 1]


def _hankel(z: Value, order: int) -> Array:
    """J₀ or J₁ for large z, by Hankel's expansion (NIST Handbook of Mathematical
    Functions, 10.17.3).
    """
    mu, term = 4.0 * order * order, cnp.ones_like(z)
    parts = [cnp.zeros_like(z), cnp.zeros_like(z)]
    for k in range(16):
        sign = -1 if k % 4 >= 2 else 1
        parts[k % 2] = parts[k % 2] + sign * term
        term = term * ((mu - (2 * k + 1) ** 2) / (8 * (k + 1))) / z
    sine, cosine = cnp.sin(z), cnp.cos(z)
    # The phase is z − (2·order + 1) π/4, whose sine and cosine are sums of those of z.
    turned = (sine + cosine, sine - cosine)
    cos, sin = turned if order == 0 else (turned[1], -turned[0])
    return (parts[0] * cos - parts[1] * sin) / cnp.sqrt(math.pi * z)
