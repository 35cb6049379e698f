"""Solutions of equations, inverses, least squares, and determinants."""

from math import prod
from typing import NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.types import max_size
from covector.errors import ArgumentError, LinAlgError, TypeMismatch, how_many
from covector.numpy.axes import as_integer
from covector.numpy.axis_order import moveaxis
from covector.numpy.filling import zeros
from covector.numpy.linalg.factorizations import svdvals
from covector.numpy.linalg.operands import (
    as_given,
    check_matrix,
    in_one_stack,
    matrices,
    refuse_nan,
    right_sides,
    square_matrices,
    two_operands,
    values_of,
)
from covector.numpy.promote import broadcast_to, inexact
from covector.numpy.reductions import count_nonzero, max, sum
from covector.numpy.selection import where
from covector.operations.casting import convert
from covector.operations.linear_algebra import solve as by_factors
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.lu import lu
from covector.operations.linear_algebra.matrices import (
    diagonal,
    hermitian_of_lower,
    matmul,
)
from covector.operations.linear_algebra.pseudo_inverse import (
    least_squares,
    pseudo_inverse,
)
from covector.operations.magnitude import abs_
from covector.operations.transposing import Reshape

__all__ = [
    "SlogdetResult",
    "det",
    "inv",
    "lstsq",
    "matrix_rank",
    "pinv",
    "slogdet",
    "solve",
    "tensorinv",
    "tensorsolve",
]


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its magnitude."""

    sign: Array
    logabsdet: Array


# -- systems of equations --------------------------------------------------------------


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The x with ``a @ x = b``.

    It is faster and more accurate than ``inv(a) @ b``.

    Args:
      a: square matrices ``[..., n, n]``.
      b: ``[n]``, one right-hand side for all of them, or ``[..., n, m]``; the axes in
        front broadcast. For one vector per matrix, give ``[..., n, 1]``.

    Returns:
      Like ``b``; infinite or NaN for a singular matrix, where values are not known.

    Raises:
      LinAlgError: a matrix is singular.
      TypeMismatch: shapes do not fit.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.solve(cnp.array([[2.0, 0.0], [0.0, 4.0]]), cnp.ones(2)))
    [0.5  0.25]

    See also: ``lstsq``, ``covector.scipy.linalg.solve`` for symmetric matrices and
    others.
    """
    x, y = two_operands("solve", a, b)
    square_matrices("solve", x)
    y, one = right_sides("solve", x, y)
    out = _solved(x, y)
    _refuse_singular("solve", x, out)
    return as_given(out, one)


def _solved(x: Value, y: Value) -> Array:
    if x.type.ndim == 2 and y.type.ndim > 2:
        # One matrix, which is factored once: all right-hand sides beside each other.
        beside = moveaxis(y, -2, 0)
        n = x.type.shape[-1]
        sides = Reshape((n, prod(beside.type.shape[1:])))(beside)
        found = by_factors.solve(x, sides)
        return moveaxis(Reshape(beside.type.shape)(found), 0, -2)
    return by_factors.solve(*in_one_stack("solve", x, y))


def _refuse_singular(who: str, x: Value, out: Value) -> None:
    """Raise LinAlgError where the values are known, and a pivot is zero."""
    values = values_of(out)
    if values is None or np.isfinite(values).all():
        return
    pivots = values_of(diagonal(lu(x)[0]))
    if pivots is not None and not pivots.all():
        raise LinAlgError(
            f"{who} needs matrices that have inverses, but got {x.type} of which one "
            "is singular. covector.numpy.linalg.lstsq and pinv take any."
        )


def inv(a: ArrayLike) -> Array:
    """The inverses of square matrices ``[..., n, n]``.

    To multiply by an inverse use ``solve``, which is faster and more accurate.

    Args:
      a: square matrices; integers are promoted to floats.

    Returns:
      Like ``a``; infinite or NaN for a singular matrix, where values are not known.

    Raises:
      LinAlgError: a matrix is singular.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.inv(cnp.array([[2.0, 0.0], [0.0, 4.0]])))
    [[0.5  0.  ]
     [0.   0.25]]

    See also: ``solve``, ``pinv``.
    """
    x = square_matrices("inv", a)
    out = by_factors.inverse(x)
    _refuse_singular("inv", x, out)
    return out


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """The Moore–Penrose pseudo-inverses of matrices ``[..., m, n]``.

    Args:
      rtol: singular values up to this fraction of the largest count as zero; one
        number, or one for each matrix. By default 10 · max(m, n) · the machine epsilon.
      hermitian: ``a`` is Hermitian; only its lower triangle is read.
      rcond: another name of ``rtol``.

    Returns:
      ``[..., n, m]``. The derivative is that of matrices of the same rank.

    Raises:
      LinAlgError: ``a`` has NaN or infinities.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.pinv(cnp.array([[2.0, 0.0], [0.0, 0.0]])))
    [[0.5 0. ]
     [0.  0. ]]
    """
    if rtol is not None and rcond is not None:
        raise ArgumentError("pinv got both rtol and rcond, which are the same.")
    x = square_matrices("pinv", a) if hermitian else matrices("pinv", a)
    x = hermitian_of_lower(x) if hermitian else x
    out, _ = pseudo_inverse(
        x, _tolerance("pinv", x, rcond if rtol is None else rtol, 10)
    )
    refuse_nan(
        out, f"pinv needs finite matrices, but got {x.type} with NaN or infinities."
    )
    return out


def _tolerance(who: str, x: Value, given: ArrayLike | None, factor: int) -> Array:
    """The fraction of the largest singular value below which others count as zero."""
    dtype = dtypes.real_part(x.type.dtype)
    *stack, m, n = x.type.shape
    if given is None:
        eps = float(np.finfo(dtype).eps)
        longer = factor * max_size(m, n)
        fraction = convert(as_array(longer * eps), dtype)
    else:
        fraction = convert(as_array(given, who), dtype)
    if fraction.type.shape not in ((), tuple(stack)):
        raise TypeMismatch(
            f"{who} of {x.type} needs one tolerance, or one for each matrix, but got "
            f"{fraction.type}."
        )
    return broadcast_to(fraction, tuple(stack))


def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    rcond: float | None = None,
    *,
    numpy_resid: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """The x of least length among those for which ``a @ x − b`` is least.

    Args:
      a: a matrix ``[m, n]``.
      b: ``[m]``, or ``[m, k]`` for k problems.
      rcond: singular values up to this fraction of the largest count as zero; by
        default max(m, n) · the machine epsilon.
      numpy_resid: the residuals are empty, as NumPy's are, where ``a`` has not full
        rank, or not more rows than columns; values must be known then.

    Returns:
      ``(x, residuals, rank, s)``: x ``[n]`` or ``[n, k]``, the sums of squares
      |a @ x − b|² ``[k]``, the rank of ``a``, and its singular values, descending.

    Raises:
      LinAlgError: ``a`` or ``b`` has NaN or infinities.
      TypeMismatch: shapes do not fit.

    >>> import covector.numpy as cnp
    >>> t = cnp.array([0.0, 1.0, 2.0])
    >>> x, *_ = cnp.linalg.lstsq(cnp.stack([t, cnp.ones(3)], 1), 2 * t + 1)
    >>> print(x.round(4))
    [2. 1.]
    """
    x, y = two_operands("lstsq", a, b)
    m, n = x.type.shape[-2:]
    if x.type.ndim != 2 or y.type.ndim not in (1, 2) or y.type.shape[0] != m:
        raise TypeMismatch(
            "lstsq needs a matrix [m, n] and right-hand sides [m] or [m, k], but got "
            f"{x.type} and {y.type}. For stacks of them, use covector.vmap."
        )
    one = y.type.ndim == 1
    y = Reshape((m, 1))(y) if one else y
    fraction = _tolerance("lstsq", x, None, 1)
    if rcond is not None:  # NumPy asks with −1 for the default
        given = _tolerance("lstsq", x, rcond, 1)
        fraction = where(given < 0, fraction, given)
    found, s = least_squares(x, y, fraction)
    refuse_nan(s, "lstsq needs finite matrices, but got NaN or infinities.")
    rank = count_nonzero(s > fraction * max(s, initial=0))
    left = y - matmul(x, found)
    residuals = sum(abs_(left) ** 2, 0)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = zeros(0, residuals.type.dtype)
    return Reshape((n,))(found) if one else found, residuals, rank, s


def tensorsolve(
    a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None
) -> Array:
    """The x with ``tensordot(a, x, x.ndim) = b``.

    Args:
      a: an array whose last axes are those of x; as a matrix, it is square.
      b: an array whose axes are the first of ``a``.
      axes: those of ``a`` that are moved behind the others before.

    Raises:
      LinAlgError: the matrix is singular.
      TypeMismatch: it is not square, or shapes do not fit.

    >>> import covector.numpy as cnp
    >>> a = cnp.eye(4).reshape(2, 2, 4)
    >>> print(cnp.linalg.tensorsolve(a, cnp.ones((2, 2))))
    [1. 1. 1. 1.]
    """
    x, y = [as_array(v, "tensorsolve") for v in (a, b)]
    if axes is not None:
        x = moveaxis(x, tuple(axes), tuple(range(-len(axes), 0)))
    shape = x.type.shape[y.type.ndim :]
    if x.type.shape[: y.type.ndim] != y.type.shape or prod(shape) != y.type.size:
        raise TypeMismatch(
            "tensorsolve needs an array whose first axes are those of the right-hand "
            "side, with as many elements in the others, but got "
            f"{x.type} and {y.type}."
        )
    n = y.type.size
    return solve(x.reshape(n, n), y.reshape(n)).reshape(shape)


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of ``tensordot(a, ·, ind)``, as an array.

    Args:
      ind: how many axes of ``a`` are in front; as a matrix, with these and the others
        as its two, it must be square.

    Raises:
      LinAlgError: the matrix is singular.
      ArgumentError: ``ind`` is not positive.
      TypeMismatch: the matrix is not square.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.tensorinv(2 * cnp.eye(4).reshape(2, 2, 4)).shape)
    (4, 2, 2)
    """
    x = as_array(a, "tensorinv")
    ind = as_integer("tensorinv", ind, "ind")
    if ind <= 0:
        raise ArgumentError(
            f"tensorinv needs a positive number of axes, but got {ind}."
        )
    rows, columns = x.type.shape[:ind], x.type.shape[ind:]
    if prod(rows) != prod(columns):
        raise TypeMismatch(
            f"tensorinv of {x.type} with ind={ind} needs as many elements in its first "
            f"{how_many(ind, 'axis', 'axes')} as in the others."
        )
    return inv(x.reshape(prod(rows), prod(columns))).reshape(*columns, *rows)


# -- determinants and ranks ------------------------------------------------------------


def det(a: ArrayLike) -> Array:
    """The determinants of square matrices ``[..., n, n]``.

    Those of large matrices overflow; ``slogdet`` gives logarithms. The derivative is
    right for singular matrices too; the second one is not finite there.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.det(cnp.array([[2.0, 1.0], [1.0, 3.0]])).round(4))
    5.0
    """
    return by_factors.determinant(square_matrices("det", a))


def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their magnitudes.

    Args:
      a: square matrices ``[..., n, n]``.
      method: ``"lu"``, or ``"qr"``, which here is the same.

    Returns:
      ``(sign, logabsdet)``, each ``[...]``: the determinant is sign · exp(logabsdet).
      The sign of a complex matrix is a number of magnitude 1; of a singular matrix it
      is 0, and the logarithm −∞.

    Raises:
      ArgumentError: there is no such method.

    >>> import covector.numpy as cnp
    >>> sign, log = cnp.linalg.slogdet(cnp.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> print(sign, log.round(4))
    1.0 1.6094
    """
    if method not in (None, "lu", "qr"):
        raise ArgumentError(
            f"slogdet got the method {method!r}; there are 'lu' and 'qr'."
        )
    return SlogdetResult(*by_factors.slogdet(square_matrices("slogdet", a)))


def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """The number of singular values of matrices ``[..., m, n]`` that are not zero.

    Args:
      rtol: singular values up to this fraction of the largest count as zero; by default
        max(m, n) · the machine epsilon.
      hermitian: ``M`` is Hermitian; only its lower triangle is read.
      tol: singular values up to this count as zero.

    Returns:
      Integers ``[...]``; of an array with less than two axes whether it has an element
      that is not 0.

    Raises:
      LinAlgError: ``M`` has NaN or infinities.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.matrix_rank(cnp.ones((3, 3))))
    1
    """
    if rtol is not None and tol is not None:
        raise ArgumentError(
            "matrix_rank got both rtol and tol; they exclude each other."
        )
    x = inexact("matrix_rank", M)
    if x.type.ndim < 2:
        return count_nonzero(x.ravel()).clip(max=1)
    check_matrix("matrix_rank", x)
    if hermitian:
        (s,) = Eigh(vectors=False)(square_matrices("matrix_rank", x))
        s = abs_(s)
        refuse_nan(s, "matrix_rank needs finite matrices, but got NaN or infinities.")
    else:
        s = svdvals(x)
    if tol is None:
        least = _tolerance("matrix_rank", x, rtol, 1) * max(s, -1, initial=0)
    else:
        least = convert(as_array(tol, "matrix_rank"), s.type.dtype)
    return count_nonzero(s > least[..., None], -1)
