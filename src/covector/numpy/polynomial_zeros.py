"""Zeros of polynomials, polynomials with given zeros, and polynomials through points.

Zeros are the eigenvalues of the companion matrix; a fit is a least squares problem in
the powers of x.
"""

from typing import Any, Literal

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.number_info import finfo
from covector.errors import ArgumentError, NotSquare, TypeMismatch, how_many
from covector.numpy.axes import as_integer
from covector.numpy.concatenation import concatenate
from covector.numpy.contraction import outer
from covector.numpy.convolution import convolve
from covector.numpy.creation import asarray
from covector.numpy.filling import ones, ones_like, zeros
from covector.numpy.linalg.eigenvalues import eigvals
from covector.numpy.linalg.solutions import inv, lstsq
from covector.numpy.matrices import eye
from covector.numpy.polynomial import coefficients, vander, without_leading_zeros
from covector.numpy.powers import sqrt
from covector.numpy.promote import inexact, promote_dtypes_inexact, standard_promotion
from covector.numpy.ranges import arange
from covector.numpy.reductions import all, sum
from covector.numpy.searching import argmax
from covector.numpy.selection import where
from covector.numpy.sorting import argsort

__all__ = ["poly", "polyfit", "roots"]


def poly(seq_of_zeros: ArrayLike) -> Array:
    """The polynomial with these zeros, or the characteristic one of a square matrix.

    Args:
      seq_of_zeros: ``[n]`` zeros, as often as they occur; or a matrix ``[n, n]``.

    Returns:
      ``[n + 1]`` coefficients, the highest power first, whose first is 1; real where
      the zeros are.

    Raises:
      NotSquare: it is neither a vector nor a square matrix.

    >>> import covector.numpy as cnp
    >>> print(poly(cnp.array([1.0, 2.0])))
    [ 1. -3.  2.]
    """
    x = inexact("poly", seq_of_zeros)
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0]:
        found = _product(eigvals(x))
        return found if dtypes.is_complex(x.type.dtype) else found.real
    if x.ndim > 1:
        raise NotSquare(f"poly needs a vector or a square matrix, but got {x.type}.")
    return _product(x.reshape(-1))


def _product(values: Array) -> Array:
    """The product of (x − v) over the values."""
    found = ones(1, values.dtype)
    for v in values:
        found = convolve(found, concatenate([ones(1, v.dtype), -v.reshape(1)]))
    return found


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The zeros of a polynomial, as complex numbers in no order.

    Args:
      p: ``[n + 1]`` coefficients, the highest power first.
      strip_zeros: coefficients that are 0 at the beginning are left out, so that values
        must be known. If False, values may be traced; each of them gives a NaN then.

    Returns:
      ``[n]`` zeros, or fewer by as many as coefficients were left out. Where two are
      equal they have no derivative.

    Raises:
      AxisError: ``p`` is not a vector. ConcretizationTypeError: it is traced, and zeros
        are to be left out.

    >>> import covector.numpy as cnp
    >>> print(cnp.sort(roots(cnp.array([1.0, -3.0, 2.0]))).round(4))
    [1.+0.j 2.+0.j]
    """
    x = inexact("roots", coefficients("roots", p))
    if strip_zeros:
        x = without_leading_zeros("roots", x)
        return _zeros_of(x) if x.size > 1 else _none(x, 0)
    if x.size < 2:
        return _none(x, 0)
    is_zero = x == 0
    skipped = where(all(is_zero), x.size - 1, argmax(~is_zero))
    # Powers that are moved behind the others are zeros at 0, the smallest there are.
    moved = x[(arange(x.size) + skipped) % x.size]
    found = _zeros_of(where(all(is_zero), ones_like(x), moved))
    found = found[argsort(-abs(found))]
    return where(
        arange(x.size - 1) < x.size - 1 - skipped, found, complex(np.nan, np.nan)
    )


def _none(x: Array, count: int) -> Array:
    return zeros(count, dtypes.complex_of(x.type.dtype))


def _zeros_of(x: Array) -> Array:
    """The eigenvalues of the matrix whose characteristic polynomial is ``x``."""
    n = x.size - 1
    below = eye(n, k=-1, dtype=x.dtype)
    return eigvals(below.at[0].set(-x[1:] / x[0]))


@standard_promotion
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | Literal["unscaled"] = False,
) -> Array | tuple[Array, ...]:
    """The polynomial of least squares through points.

    Args:
      x, y: ``[m]``; ``y`` may be ``[m, k]``, for k polynomials.
      deg: the degree.
      rcond: singular values up to this fraction of the largest count as zero; m · the
        machine epsilon by default.
      full: return also what ``lstsq`` tells.
      w: ``[m]`` weights of the differences: 1 / their standard deviation.
      cov: return also how the coefficients covary: estimated from the differences, or
        ``"unscaled"``, where ``w`` is known to be right.

    Returns:
      ``[deg + 1]`` coefficients, or ``[deg + 1, k]``, the highest power first. With
      ``full`` a tuple of these, the sum of the squares of the differences, the rank and
      the singular values of the scaled matrix of powers, and ``rcond``. With ``cov`` a
      tuple of these and the covariance ``[deg + 1, deg + 1]`` or
      ``[deg + 1, deg + 1, k]`` (k is 1 if it is not scaled).

    Raises:
      TypeMismatch: shapes do not fit.
      ArgumentError: ``deg`` is negative, or there are too few points for ``cov``.

    >>> import covector.numpy as cnp
    >>> x = cnp.array([0.0, 1.0, 2.0, 3.0])
    >>> print(polyfit(x, 2 * x**2 + x - 1, 2).round(3))
    [ 2.  1. -1.]
    """
    degree, (x, y, weights) = as_integer("polyfit", deg, "deg"), _points(x, y, w)
    if degree < 0:
        raise ArgumentError(f"polyfit: the degree must not be negative, but is {deg}.")
    if rcond is None:
        rcond = x.size * finfo(x.dtype).eps
    matrix, target = vander(x, degree + 1), y
    if weights is not None:
        matrix = matrix * weights[:, None]
        target = y * (weights if y.ndim == 1 else weights[:, None])
    scale = sqrt(sum(matrix * matrix, 0))
    scale = where(scale == 0, ones_like(scale), scale)
    matrix = matrix / scale
    found, residuals, rank, s = lstsq(matrix, target, rcond)
    found = found / (scale if y.ndim == 1 else scale[:, None])
    if full:
        return found, residuals, rank, s, asarray(rcond, x.dtype)
    if not cov:
        return found
    base = inv(matrix.T @ matrix) / outer(scale, scale)
    free = x.size - degree - 1
    if cov == "unscaled":
        factor = ones(1, x.dtype)
    elif free > 0:
        factor = residuals / free
    else:
        raise ArgumentError(
            f"polyfit of degree {degree} needs at least "
            f"{how_many(degree + 2, 'point')} for cov, but got {x.size}. With "
            "cov='unscaled' weights say how certain they are."
        )
    return found, base * factor if y.ndim == 1 else base[:, :, None] * factor


def _points(x: Any, y: Any, w: Any) -> tuple[Array, Array, Array | None]:
    given = promote_dtypes_inexact("polyfit", x, y, *([] if w is None else [w]))
    x, y = given[:2]
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[0] != x.size or not x.size:
        raise TypeMismatch(
            "polyfit needs points x [m] and y [m] or [m, k], at least one, but got "
            f"{x.type} and {y.type}."
        )
    weights = given[2] if w is not None else None
    if weights is not None and weights.shape != x.shape:
        raise TypeMismatch(
            f"polyfit needs a weight for each of its points, {x.type}, but got "
            f"{weights.type}."
        )
    return x, y, weights
