"""Factorizations: triangular and orthonormal factors, and singular values."""

from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.errors import ArgumentError, TypeMismatch
from covector.numpy import linalg
from covector.numpy.linalg.operands import in_one_stack, matrices, two_operands
from covector.operations.casting import convert
from covector.operations.creation import Iota
from covector.operations.linear_algebra.lu import LUPivotsToPermutation
from covector.operations.linear_algebra.lu import lu as lu_
from covector.operations.linear_algebra.matrices import (
    adjoint,
    conjugate,
    hermitian_part,
    identity,
    leading,
    lower_triangle,
    matmul,
    upper_triangle,
)
from covector.operations.linear_algebra.qr import QR, HouseholderQR
from covector.operations.linear_algebra.svd import SVD

__all__ = [
    "cho_factor",
    "cholesky",
    "lu",
    "lu_factor",
    "polar",
    "qr",
    "qr_multiply",
    "svd",
    "svdvals",
]


# -- triangular factors ----------------------------------------------------------------


def cholesky(
    a: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Array:
    """The upper triangular R of A = Rᴴ R, or the lower triangular L of A = L Lᴴ.

    Args:
      a: ``[..., n, n]``, Hermitian and positive definite, of which the triangle that is
        asked for is read.
      lower: give L.

    Returns:
      Like ``a``; NaN for a matrix that is not positive definite, where values are not
      known.

    Raises:
      LinAlgError: a matrix is not positive definite.

    >>> import covector.numpy as cnp
    >>> print(cholesky(cnp.array([[4.0, 2.0], [2.0, 5.0]])))
    [[2. 1.]
     [0. 2.]]
    """
    del overwrite_a, check_finite
    return linalg.cholesky(a, upper=not lower, symmetrize_input=False)


def cho_factor(
    a: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Array, bool]:
    """The Cholesky factor as ``cho_solve`` takes it: ``cholesky`` gives it too.

    Returns:
      ``(c, lower)``, with zeros in the other triangle of c.

    Raises:
      LinAlgError: a matrix is not positive definite.

    >>> import covector.numpy as cnp
    >>> c, lower = cho_factor(cnp.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> print(c, lower)
    [[2. 1.]
     [0. 2.]] False

    See also: ``cho_solve``, ``cholesky``.
    """
    return cholesky(a, lower, overwrite_a, check_finite), lower


def lu(
    a: ArrayLike,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    """P, L and U of A = P L U, with partial pivoting.

    Args:
      a: ``[..., m, n]``.
      permute_l: give P L and U.

    Returns:
      ``(p, l, u)``: a permutation matrix of real numbers ``[..., m, m]``, L
      ``[..., m, k]`` with ones on its diagonal, and U ``[..., k, n]``, k = min(m, n).

    >>> import covector.numpy as cnp
    >>> p, l, u = lu(cnp.array([[1.0, 2.0], [2.0, 8.0]]))
    >>> print(p)
    [[0. 1.]
     [1. 0.]]
    >>> print(l)
    [[1.  0. ]
     [0.5 1. ]]
    """
    del overwrite_a, check_finite
    x = matrices("lu", a)
    factors, pivots = lu_(x)
    m, n = x.type.shape[-2:]
    k = min(m, n)
    order = LUPivotsToPermutation(m)(pivots)
    # Row i of Pᵀ A is row order[i] of A.
    rows = Iota(dtypes.int32, (m, 1), 0)()
    p = convert(order[..., None, :] == rows, dtypes.real_part(x.type.dtype))
    left = lower_triangle(leading(factors, m, k), -1)
    left = left + identity(left.type.shape, left.type.dtype)
    right = upper_triangle(leading(factors, k, n))
    if permute_l:
        return matmul(convert(p, left.type.dtype), left), right
    return p, left, right


def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """L and U in one matrix, and the pivots, as ``lu_solve`` takes them.

    Args:
      a: ``[..., m, n]``.

    Returns:
      ``(lu, piv)``: U is the upper triangle, and L what is below, without the ones on
      its diagonal; ``piv`` ``i32[..., min(m, n)]`` says with which row each was
      exchanged in turn.

    >>> import covector.numpy as cnp
    >>> found, piv = lu_factor(cnp.array([[1.0, 2.0], [2.0, 8.0]]))
    >>> print(found, piv)
    [[ 2.   8. ]
     [ 0.5 -2. ]] [1 1]
    """
    del overwrite_a, check_finite
    factors, pivots = lu_(matrices("lu_factor", a))
    return factors, pivots


# -- orthonormal factors ---------------------------------------------------------------


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: object = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """Q with orthonormal columns and upper triangular R of A = Q R.

    Args:
      a: ``[..., m, n]``.
      mode: ``"full"``: Q is ``[..., m, m]``. ``"economic"``: Q is ``[..., m, k]`` and R
        ``[..., k, n]``, k = min(m, n). ``"r"``: R alone, as in ``"full"``. ``"raw"``:
        in place of Q the pair of a matrix with the vectors of its reflections below the
        diagonal, and their numbers τ; R is ``[..., k, n]``. It has no derivative.
      pivoting: A P = Q R instead, with columns in such an order that the magnitudes on
        the diagonal of R descend.

    Returns:
      ``(q, r)``, ``(q, r, p)`` with the indices ``i32[..., n]`` of the columns,
      ``(r,)`` or ``(r, p)``.

    Raises:
      ArgumentError: there is no such mode.

    >>> import covector.numpy as cnp
    >>> q, r = qr(cnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> print(abs(r).round(3))
    [[5.  2.2]
     [0.  0.4]]
    """
    del overwrite_a, lwork, check_finite
    x = matrices("qr", a)
    if mode == "raw":
        found, taus, *order = HouseholderQR(bool(pivoting))(x)
        rows = min(x.type.shape[-2:])
        right = upper_triangle(leading(found, rows, x.type.shape[-1]))
        return ((found, taus), right, *order)
    if mode not in ("full", "economic", "r"):
        raise ArgumentError(
            f"qr got the mode {mode!r}; there are 'full', 'economic', 'r' and 'raw'."
        )
    q, *others = QR(mode != "economic", bool(pivoting))(x)
    return (*others,) if mode == "r" else (q, *others)


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """C Q or Q c, for the Q of A = Q R with k = min(m, n) columns; and R.

    Args:
      a: ``[..., m, n]``.
      c: ``[..., p, m]`` where Q is on the right, ``[..., k, p]`` where it is on the
        left; or a vector, so that the product is one.
      mode: ``"right"`` or ``"left"``: where Q is.
      pivoting: A P = Q R, as ``qr`` has it.
      conjugate: the complex conjugate of Q in place of Q.

    Returns:
      ``(product, r)``, or ``(product, r, p)`` with the indices of the columns.

    Raises:
      ArgumentError: there is no such mode.
      TypeMismatch: shapes do not fit.

    >>> import covector.numpy as cnp
    >>> product, r = qr_multiply(cnp.array([[3.0], [4.0]]), cnp.array([3.0, 4.0]))
    >>> print(abs(product).round(3))
    [5.]
    """
    del overwrite_a, overwrite_c
    if mode not in ("left", "right"):
        raise ArgumentError(
            f"qr_multiply got the mode {mode!r}; there are 'left' and 'right'."
        )
    x, y = two_operands("qr_multiply", a, c)
    q, r, *order = QR(False, bool(pivoting))(x)
    q = _conjugate(q) if conjugate else q
    left, one = mode == "left", y.type.ndim == 1
    y = (y[:, None] if left else y[None]) if one else y
    rows, columns = q.type.shape[-2:]
    inner = y.type.shape[-2 if left else -1] if y.type.ndim > 1 else None
    if inner != (columns if left else rows):
        wanted = f"{columns}, p" if left else f"p, {rows}"
        raise TypeMismatch(
            f"qr_multiply of {x.type} needs matrices [..., {wanted}] to multiply from "
            f"the {mode}, but got {y.type}."
        )
    q, y = in_one_stack("qr_multiply", q, y)
    product = matmul(q, y) if left else matmul(y, q)
    if one:
        product = product[..., 0] if left else product[..., 0, :]
    return (product, r, *order)


_conjugate = conjugate


def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """The polar factors of A = U P, or A = P U: P Hermitian and ≥ 0.

    They are found by singular values, whatever the method, so that there are no
    iterations to bound.

    Args:
      a: ``[..., m, n]``.
      side: ``"right"`` or ``"left"``: where P is.
      method: ``"qdwh"`` or ``"svd"``.
      eps, max_iterations: the bounds of an iteration, of no consequence here.

    Returns:
      ``(u, p)``: U is like ``a``, with orthonormal columns or rows, whichever there are
      fewer of. Derivatives are right where singular values are equal, too.

    Raises:
      ArgumentError: there is no such side or method.

    >>> import covector.numpy as cnp
    >>> u, p = polar(cnp.array([[0.0, -2.0], [2.0, 0.0]]))
    >>> print(p.round(4))
    [[2. 0.]
     [0. 2.]]
    """
    del eps, max_iterations
    if side not in ("left", "right"):
        raise ArgumentError(f"polar got side={side!r}; there are 'left' and 'right'.")
    if method not in ("qdwh", "svd"):
        raise ArgumentError(
            f"polar got the method {method!r}; there are 'qdwh' and 'svd'."
        )
    x = matrices("polar", a)
    left, _, right = SVD(full_matrices=False)(x)
    u = matmul(left, right)
    uh = adjoint(u)
    # Not by the vectors, which do not tell the derivative where values are equal.
    return u, hermitian_part(matmul(uh, x) if side == "right" else matmul(x, uh))


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, Array, Array]:
    """The singular values, descending, and vectors of A = U diag(s) Vᴴ.

    Args:
      a: ``[..., m, n]``.
      full_matrices: U is ``[..., m, m]`` and Vᴴ ``[..., n, n]``; otherwise they have
        only the k = min(m, n) vectors that belong to singular values.
      compute_uv: otherwise s alone is returned.
      lapack_driver: ``"gesdd"``, or ``"gesvd"``, which here is the same.

    Returns:
      ``(u, s, vh)``, or s ``[..., k]``.

    Raises:
      ArgumentError: there is no such driver.
      LinAlgError: ``a`` has NaN or infinities.

    >>> import covector.numpy as cnp
    >>> print(svd(cnp.array([[0.0, 2.0], [3.0, 0.0]]), compute_uv=False))
    [3. 2.]
    """
    del overwrite_a, check_finite
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ArgumentError(
            f"svd got lapack_driver={lapack_driver!r}; there are 'gesdd' and 'gesvd'."
        )
    if not compute_uv:
        return linalg.svdvals(a)
    u, s, vh = linalg.svd(a, full_matrices)
    return u, s, vh


def svdvals(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """The singular values of matrices ``[..., m, n]``, descending.

    Raises:
      LinAlgError: ``a`` has NaN or infinities.

    >>> import covector.numpy as cnp
    >>> print(svdvals(cnp.array([[0.0, 2.0], [3.0, 0.0]])))
    [3. 2.]
    """
    del overwrite_a, check_finite
    return linalg.svdvals(a)
