"""Spherical harmonics and associated Legendre functions.

Pₙᵐ is normalised so that spherical harmonics are orthonormal, and has the phase (−1)ᵐ
of Condon and Shortley. Row n holds the orders m = 0 … N, zero beyond n, and follows
from the two before it; its last entry, the sectoral one, from the last of the row
before.
"""

import math
from typing import Any

import numpy as np

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, DTypeError
from covector.numpy.promote import inexact, promote_inexact, standard_promotion

__all__ = ["lpmn", "lpmn_values", "sph_harm_y"]


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: None = None,
    n_max: int | None = None,
) -> Array:
    """The spherical harmonic Yₙᵐ(θ, φ), orthonormal on the sphere.

    It has derivatives by both angles, also at the poles.

    Args:
      n: whole numbers ≥ 0, the degree.
      m: whole numbers with |m| ≤ n, the order; else the value is 0.
      theta: the polar angle, from 0 to π.
      phi: the azimuth.
      diff_n: must be None: derivatives are those of ``grad`` and ``jvp``.
      n_max: the largest degree; higher ones are cut down to it. It must be given where
        the values of n are not known, as under ``jit``.

    Returns:
      Complex numbers, in the shape to which the operands broadcast.

    Raises:
      ArgumentError: diff_n is not None, or n_max is not a whole number ≥ 0.
      DTypeError: n or m are not integers.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.special import sph_harm_y
    >>> value = sph_harm_y(cnp.array(1), cnp.array(0), 0.0, 0.0)
    >>> round(float(value.real), 4), float(value.imag)
    (0.4886, 0.0)
    """
    if diff_n is not None:
        raise ArgumentError(
            "sph_harm_y has no diff_n: leave it out, and take derivatives with grad or "
            "jvp."
        )
    n, m = as_array(n, "sph_harm_y"), as_array(m, "sph_harm_y")
    for x in (n, m):
        if not cnp.issubdtype(x.dtype, cnp.integer):
            raise DTypeError(f"sph_harm_y needs integers n and m, but got {x.type}.")
    if n_max is None:
        n_max = int(cnp.max(n)) if n.size else 0
    theta, phi = promote_inexact("sph_harm_y", theta, phi)
    n, m, theta, phi = cnp.broadcast_arrays(n, m, theta, phi)
    return _harmonics(n, m, theta, phi, _size("sph_harm_y", n_max))


def _size(who: str, n: Any) -> int:
    if not isinstance(n, int | np.integer) or n < 0:
        raise ArgumentError(f"{who} needs a whole number ≥ 0, but got {n!r}.")
    return int(n)


@standard_promotion
def _harmonics(n: Value, m: Value, theta: Value, phi: Value, n_max: int) -> Array:
    if theta.dtype.itemsize < 4:
        theta, phi = theta.astype(cnp.float32), phi.astype(cnp.float32)
    order, degree = cnp.abs(m), cnp.minimum(n, n_max)
    column = cnp.minimum(order, n_max)[None]
    legendre = _Legendre(cnp.cos(theta), cnp.sin(theta), n_max)

    def keep(found: Value, row: Value, k: Value) -> Array:
        one = cnp.take_along_axis(row, column, axis=0)[0]
        return cnp.where(degree == k, one, found)

    def step(carry: Any, k: Value) -> tuple[Any, None]:
        rows, found = carry
        rows = legendre.following(rows, k)
        return (rows, keep(found, rows[0], k)), None

    start = keep(cnp.zeros_like(theta), legendre.first[0], cnp.asarray(0))
    degrees = cnp.arange(1, n_max + 1)
    _, size = lax.scan(step, (legendre.first, start), degrees)[0]
    size = cnp.where(order <= degree, size, 0)
    sign = cnp.where((m < 0) & (order % 2 == 1), -1, 1).astype(size.dtype)
    turn = m.astype(phi.dtype) * phi
    return lax.complex(sign * size * cnp.cos(turn), sign * size * cnp.sin(turn))


class _Legendre:
    """The rows of normalised functions at x = cos θ and s = sin θ, up to degree n."""

    def __init__(self, x: Value, s: Value, n: int) -> None:
        self.x, self.s = x, s
        self.orders = np.arange(n + 1).reshape(-1, *[1] * x.ndim)
        start = cnp.where(self.orders == 0, math.sqrt(0.25 / math.pi), 0 * x[None])
        #: the row of degree 0, and none before it
        self.first = start, cnp.zeros_like(start)

    def following(self, rows: tuple[Value, Value], k: Value) -> tuple[Value, Value]:
        """The row of degree k and the one before, from the two before it."""
        last, before = rows
        n, square = k.astype(last.dtype), (self.orders**2).astype(last.dtype)
        inner, less = square < n * n, (n - 1) * (n - 1)
        rise = cnp.sqrt((4 * n * n - 1) / cnp.where(inner, n * n - square, 1))
        fall = cnp.sqrt(cnp.where(square < less, less - square, 0) / (4 * less - 1))
        row = cnp.where(inner, rise * (self.x * last - fall * before), 0)
        shifted = cnp.concatenate([cnp.zeros_like(last[:1]), last[:-1]])
        sectoral = -cnp.sqrt(1 + 1 / (2 * n)) * self.s * shifted
        return cnp.where(self.orders == k, sectoral, row), last


# -- associated Legendre functions -----------------------------------------------------


def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """The associated Legendre functions Pₗᵏ(z) for k = 0 … m and l = 0 … n.

    Args:
      z: ``[...]``, floating-point numbers in [−1, 1].
      is_normalized: as they are in ``sph_harm_y``, else as Legendre's Pₗ⁰(1) = 1.

    Returns:
      ``[m + 1, n + 1, ...]``, 0 for k > l.

    Raises:
      ArgumentError: m or n is not a whole number ≥ 0, or m > n.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.special import lpmn_values
    >>> lpmn_values(1, 1, cnp.array(0.5), False)[0].round(4).tolist()
    [1.0, 0.5]
    """
    m, n = _size("lpmn_values", m), _size("lpmn_values", n)
    if m > n:
        raise ArgumentError(f"lpmn_values needs m ≤ n, but got m = {m} and n = {n}.")
    return _values(inexact("lpmn_values", z), m, n, is_normalized)


@standard_promotion
def _values(z: Value, m: int, n: int, is_normalized: bool) -> Array:
    legendre = _Legendre(z, cnp.sqrt((1 - z) * (1 + z)), n)

    def step(rows: Any, k: Value) -> tuple[Any, Array]:
        rows = legendre.following(rows, k)
        return rows, rows[0]

    first = legendre.first
    found = lax.scan(step, first, cnp.arange(1, n + 1))[1]
    table = cnp.moveaxis(cnp.concatenate([first[0][None], found]), 0, 1)[: m + 1]
    if is_normalized:
        return table
    factors = [[_unnormalized(k, j) for j in range(n + 1)] for k in range(m + 1)]
    return table * np.array(factors, z.dtype).reshape(m + 1, n + 1, *[1] * z.ndim)


def _unnormalized(m: int, n: int) -> float:
    """The root of 4π/(2n + 1) (n + m)!/(n − m)!."""
    logarithm = math.lgamma(n + m + 1) - math.lgamma(max(n - m, 0) + 1)
    if logarithm > 700:
        return math.exp(min(logarithm / 2, 700)) * math.sqrt(4 * math.pi / (2 * n + 1))
    ratio = math.perm(n + m, 2 * m) if m <= n else 0
    return math.sqrt(4 * math.pi / (2 * n + 1) * ratio)


def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """The associated Legendre functions as ``lpmn_values``, and their derivatives by z.

    These are for −1 < z < 1; they are NaN at the ends, where some are infinite.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.special import lpmn
    >>> values, slopes = lpmn(2, 2, cnp.array(0.5))
    >>> values[0].round(4).tolist(), slopes[0].round(4).tolist()
    ([1.0, 0.5, -0.125], [0.0, 1.0, 1.5])
    """
    z = inexact("lpmn", z)
    values = lpmn_values(m, n, z, False)
    return values, _slopes(values, z)


@standard_promotion
def _slopes(values: Value, z: Value) -> Array:
    """(1 − z²) P′ = (n + k) P of degree n − 1, less n z P, of degree n and order k."""
    k, n = np.indices(values.shape[:2]).reshape(2, *values.shape[:2], *[1] * z.ndim)
    before = cnp.concatenate([cnp.zeros_like(values[:, :1]), values[:, :-1]], axis=1)
    return ((n + k) * before - n * z * values) / ((1 - z) * (1 + z))
