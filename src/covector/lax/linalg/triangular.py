"""Triangular factors; equations with triangular and tridiagonal matrices."""

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.types import show_types
from covector.errors import DTypeError, TypeMismatch
from covector.lax.control_flow import scan
from covector.numpy.axes import as_integer
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.cholesky import cholesky as cholesky_
from covector.operations.linear_algebra.lu import LUPivotsToPermutation
from covector.operations.linear_algebra.lu import lu as lu_
from covector.operations.linear_algebra.matrices import (
    hermitian_part,
    identity,
    matmul,
    transposed,
    upper_triangle,
)
from covector.operations.linear_algebra.triangular_solve import TriangularSolve
from covector.operations.linear_algebra.tridiagonal import TridiagonalSolve
from covector.operations.roots import sqrt
from covector.operations.selection import where
from covector.operations.transposing import Reshape
from covector.transforms.vmap import vmap

__all__ = [
    "cholesky",
    "cholesky_update",
    "lu",
    "lu_pivots_to_permutation",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal_solve",
]


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular L of A = L Lᴴ, with a positive diagonal.

    Args:
      x: ``[..., n, n]``, Hermitian and positive definite; L is NaN where it is not.
      symmetrize_input: take (A + Aᴴ) / 2 for A, and so its derivative; otherwise only
        the lower triangle is read.

    Raises:
      TypeMismatch: matrices are not square.
      DTypeError: they are of another element type.

    >>> import covector.numpy as cnp
    >>> print(cholesky(cnp.array([[4.0, 2.0], [2.0, 5.0]])))
    [[2. 0.]
     [1. 2.]]
    """
    a = as_array(x, "cholesky")
    if symmetrize_input:
        lapack.check_matrices("cholesky", a.type, square=True)
        a = hermitian_part(a)
    return cholesky_(a)


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The upper triangular factor of RᵀR + w wᵀ, from that of RᵀR.

    Args:
      r_matrix: R ``[..., n, n]``, upper triangular, of real numbers.
      w_vector: w ``[..., n]``.

    Raises:
      TypeMismatch: shapes do not fit.
      DTypeError: they are not real.

    >>> import covector.numpy as cnp
    >>> print(cholesky_update(cnp.eye(2), cnp.array([0.0, 1.0])).round(4))
    [[1.     0.    ]
     [0.     1.4142]]
    """
    r, w = as_array(r_matrix, "cholesky_update"), as_array(w_vector, "cholesky_update")
    lapack.check_matrices("cholesky_update", r.type, square=True)
    lapack.check_dtypes("cholesky_update", r.type, w.type)
    if dtypes.is_complex(r.type.dtype):
        raise DTypeError(f"cholesky_update needs real numbers, but got {r.type}.")
    if w.type.shape != r.type.shape[:-1]:
        raise TypeMismatch(
            "cholesky_update needs a vector as long as each matrix, but got "
            f"{show_types([r.type, w.type])}."
        )
    update = _updated
    for _ in r.type.shape[:-2]:
        update = vmap(update)
    return update(r, w)


def _updated(r: Value, w: Value) -> Array:
    """One matrix: a rotation for each row, of it and w, makes an element of w zero."""
    one = scalar(1, r.type.dtype)

    def rotated(rest: Value, row: tuple[Value, Value]) -> tuple[Value, Value]:
        values, here = row
        pivot, other = [(x * here).sum() for x in (values, rest)]
        total = pivot * pivot + other * other
        none = total == 0  # nothing is to be turned
        length = sqrt(where(none, one, total))
        cosine, sine = where(none, one, pivot / length), other / length
        return cosine * rest - sine * values, cosine * values + sine * rest

    _, rows = scan(rotated, w, (r, identity(r.type.shape, r.type.dtype)))
    return upper_triangle(rows)


def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """L and U of P A = L U, with partial pivoting.

    Args:
      x: ``[..., m, n]``.

    Returns:
      ``(lu, pivots, permutation)``. U is the upper triangle of ``lu``, and L what is
      below, with ones on the diagonal, which are not in it. ``pivots [..., min(m, n)]``
      says with which row each was exchanged in turn, ``permutation [..., m]`` which row
      of A is in which row of P A.

    Raises:
      TypeMismatch, DTypeError: the operand is of another type.

    >>> import covector.numpy as cnp
    >>> found, pivots, permutation = lu(cnp.array([[1.0, 2.0], [2.0, 8.0]]))
    >>> print(found)
    [[ 2.   8. ]
     [ 0.5 -2. ]]
    >>> print(pivots, permutation)
    [1 1] [1 0]
    """
    factors, pivots = lu_(as_array(x, "lu"))
    return factors, pivots, LUPivotsToPermutation(factors.type.shape[-2])(pivots)


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation of rows that exchanging them in turn leads to.

    Args:
      pivots: ``i32[..., k]``: with which row, from 0, row i is exchanged in turn i.
      permutation_size: the number of rows, at least k.

    Returns:
      ``i32[..., permutation_size]``.

    Raises:
      DTypeError: pivots are not int32.
      TypeMismatch: there are more exchanges than rows.
      ArgumentError: a pivot is no row, where that is known.

    >>> import covector.numpy as cnp
    >>> print(lu_pivots_to_permutation(cnp.array([2, 2]), 3))
    [2 0 1]
    """
    who = "lu_pivots_to_permutation"
    rows = as_integer(who, permutation_size, "permutation_size")
    return LUPivotsToPermutation(rows)(as_array(pivots, who))


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """The x with op(A) x = b, or with x op(A) = b, for triangular A.

    Args:
      a: ``[..., n, n]``.
      b: ``[..., n, m]`` where A is on the left side, ``[..., m, n]`` where it is on the
        right; or a vector ``[n]``.
      left_side: A is on the left of x.
      lower: which triangle of A is read.
      transpose_a, conjugate_a: what op(A) is.
      unit_diagonal: the diagonal of A counts as ones.

    Raises:
      TypeMismatch: shapes do not fit.
      DTypeError: operands are of another element type.

    >>> import covector.numpy as cnp
    >>> a = cnp.array([[2.0, 0.0], [1.0, 4.0]])
    >>> print(triangular_solve(a, cnp.array([2.0, 5.0]), left_side=True, lower=True))
    [1. 1.]
    """
    x, y = as_array(a, "triangular_solve"), as_array(b, "triangular_solve")
    solve = TriangularSolve(
        bool(left_side),
        bool(lower),
        bool(transpose_a),
        bool(conjugate_a),
        bool(unit_diagonal),
    )
    if y.type.ndim != 1:
        return solve(x, y)
    n = y.type.size
    return Reshape((n,))(solve(x, Reshape((n, 1) if left_side else (1, n))(y)))


def tridiagonal_solve(
    dl: ArrayLike,
    d: ArrayLike,
    du: ArrayLike,
    b: ArrayLike,
    *,
    perturb_singular: bool = False,
) -> Array:
    """The x with T x = b, for tridiagonal T.

    Args:
      dl, d, du: the diagonals ``[..., n]``, element i of each in row i of T: the first
        of ``dl`` and the last of ``du`` are not read.
      b: ``[..., n, m]``.
      perturb_singular: pivots that are zero become the smallest numbers there are, for
        the inverse iteration of eigenvectors.

    Returns:
      Like ``b``; NaN for a singular T, or huge numbers where it is perturbed.

    Raises:
      TypeMismatch: shapes do not fit.
      DTypeError: operands are of another element type.

    >>> import covector.numpy as cnp
    >>> one = cnp.ones(3)
    >>> print(tridiagonal_solve(0 * one, 2 * one, 0 * one, cnp.ones((3, 1))).T)
    [[0.5 0.5 0.5]]
    """
    op = TridiagonalSolve(bool(perturb_singular))
    return op(*[as_array(x, "tridiagonal_solve") for x in (dl, d, du, b)])


def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """Alpha · A Aᵀ + beta · C.

    Args:
      a_matrix: ``[..., n, m]``.
      c_matrix: ``[..., n, n]``, symmetric.
      symmetrize_output: both triangles of the result are wanted; here they always are
        right.

    Raises:
      TypeMismatch: shapes do not fit.
      DTypeError: operands are of another element type.

    >>> import covector.numpy as cnp
    >>> print(symmetric_product(cnp.ones((2, 3)), cnp.eye(2), beta=1.0))
    [[4. 3.]
     [3. 4.]]
    """
    a, c = [as_array(x, "symmetric_product") for x in (a_matrix, c_matrix)]
    lapack.check_matrices("symmetric_product", a.type, c.type)
    if c.type.shape != (*a.type.shape[:-1], a.type.shape[-2]):
        raise TypeMismatch(
            "symmetric_product needs a matrix [..., n, m] and a square one "
            f"[..., n, n], but got {a.type} and {c.type}."
        )
    weights = [scalar(float(x), a.type.dtype) for x in (alpha, beta)]
    return weights[0] * matmul(a, transposed(a)) + weights[1] * c
