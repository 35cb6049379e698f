"""Factors with orthonormal columns, and products of Householder reflections."""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, TypeMismatch
from covector.operations.comparison import is_finite
from covector.operations.linear_algebra.householder import HouseholderMultiply
from covector.operations.linear_algebra.householder import (
    householder_product as product_,
)
from covector.operations.linear_algebra.matrices import adjoint, hermitian_part, matmul
from covector.operations.linear_algebra.qr import QR
from covector.operations.linear_algebra.svd import SVD

__all__ = ["householder_product", "ormqr", "qdwh", "qr"]


def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    """Q with orthonormal columns and upper triangular R of A = Q R.

    Args:
      x: ``[..., m, n]``.
      pivoting: A P = Q R instead, with columns in such an order that the magnitudes on
        the diagonal of R descend.
      full_matrices: Q is ``[..., m, m]``; otherwise ``[..., m, k]``, k = min(m, n).
      use_magma: which library computes it, of no consequence here.

    Returns:
      ``(q, r)``, or ``(q, r, p)`` with the indices ``i32[..., n]`` of the columns.

    Raises:
      TypeMismatch, DTypeError: the operand is of another type.

    >>> import covector.numpy as cnp
    >>> q, r = qr(cnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> print((q @ r).round(4))
    [[3. 1.]
     [4. 2.]]
    """
    del use_magma
    q, r, *order = QR(bool(full_matrices), bool(pivoting))(as_array(x, "qr"))
    return (q, r, order[0]) if pivoting else (q, r)


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The product of reflections 1 − τᵢ vᵢ vᵢᴴ, its first n columns.

    Args:
      a: ``[..., m, n]``, m ≥ n: vᵢ is what is below the diagonal in column i, after a
        one.
      taus: ``[..., k]``, k ≤ n.

    Returns:
      Like ``a``.

    Raises:
      TypeMismatch, DTypeError: operands are of other types.

    >>> import covector.numpy as cnp
    >>> print(abs(householder_product(cnp.zeros((2, 2)), cnp.array([2.0]))))
    [[1. 0.]
     [0. 1.]]
    """
    name = "householder_product"
    return product_(as_array(a, name), as_array(taus, name))[0]


def ormqr(
    a: ArrayLike,
    taus: ArrayLike,
    c: ArrayLike,
    *,
    left: bool = True,
    transpose: bool = False,
) -> Array:
    """Q c, where Q is a product of reflections, which is not formed.

    Args:
      a: ``[..., m, k]``, with the vectors of the reflections below the diagonal.
      taus: ``[..., k]``.
      c: ``[..., m, n]``, or ``[..., n, m]`` where Q is on the right.
      left: Q is on the left of c.
      transpose: Qᴴ in place of Q.

    Raises:
      TypeMismatch, DTypeError: operands are of other types.

    >>> import covector.numpy as cnp
    >>> print(ormqr(cnp.zeros((2, 1)), cnp.array([2.0]), cnp.ones((2, 1))).T)
    [[-1.  1.]]
    """
    op = HouseholderMultiply(bool(left), bool(transpose))
    return op(*[as_array(x, "ormqr") for x in (a, taus, c)])[0]


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, int, Array]:
    """The polar factors of A = U H: U with orthonormal columns, H Hermitian and ≥ 0.

    They are found by singular values, and not by the iteration of the name, so that
    there are no iterations to bound.

    Args:
      x: ``[m, n]``, m ≥ n.
      is_hermitian: of no consequence here.
      max_iterations, eps: the bounds of an iteration, of no consequence here.
      dynamic_shape: must be None.

    Returns:
      ``(u, h, num_iterations, is_converged)``: the third is 0, the fourth whether the
      factors are finite.

    Raises:
      TypeMismatch: the matrix has more columns than rows.

    >>> import covector.numpy as cnp
    >>> u, h, *_ = qdwh(cnp.array([[0.0, -2.0], [2.0, 0.0]]))
    >>> print(h.round(4))
    [[2. 0.]
     [0. 2.]]
    """
    a = as_array(x, "qdwh")
    if dynamic_shape is not None:
        raise ArgumentError("qdwh has no dynamic_shape: cut the matrix instead.")
    if a.type.ndim != 2 or a.type.shape[0] < a.type.shape[1]:
        raise TypeMismatch(
            f"qdwh needs a matrix with no more columns than rows, but got {a.type}."
        )
    left, _, right = SVD(full_matrices=False)(a)
    u = matmul(left, right)
    h = hermitian_part(matmul(adjoint(u), a))
    return u, h, 0, is_finite(abs(u)).all()
