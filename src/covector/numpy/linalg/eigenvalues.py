"""Eigenvalues and eigenvectors: ``eigh`` of Hermitian matrices, ``eig`` of any."""

from typing import NamedTuple

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.errors import ArgumentError
from covector.numpy.linalg.operands import refuse_nan, square_matrices
from covector.operations.linear_algebra.eig import Eig
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.matrices import adjoint, hermitian_part

__all__ = ["EigResult", "EighResult", "eig", "eigh", "eigvals", "eigvalsh"]


class EighResult(NamedTuple):
    """Ascending, real eigenvalues, and the matrices whose columns are eigenvectors."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """Complex eigenvalues, and the matrices whose columns are eigenvectors."""

    eigenvalues: Array
    eigenvectors: Array


def eigh(
    a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True
) -> EighResult:
    """The eigenvalues w and eigenvectors V of Hermitian matrices: A V = V diag(w).

    Args:
      a: ``[..., n, n]``.
      UPLO: the triangle that is read where the input is not symmetrized: ``"L"``, the
        lower one, by default, or ``"U"``.
      symmetrize_input: take (A + Aᴴ) / 2 for A, and so its derivative.

    Returns:
      ``(eigenvalues, eigenvectors)``: w ``[..., n]``, real and ascending, and V like
      ``a``: column k belongs to w[k]. NaN for a matrix with NaN or infinities. Which
      vectors belong to equal eigenvalues is not determined, nor is the sign or phase of
      any: derivatives are right for functions that do not depend on the choice, and
      finite for others.

    Raises:
      ArgumentError: there is no such triangle.

    >>> import covector.numpy as cnp
    >>> w, v = cnp.linalg.eigh(cnp.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> print(w.round(5))
    [1. 3.]

    See also: ``eigvalsh``, ``eig`` for other matrices, ``svd``.
    """
    x = _hermitian("eigh", a, UPLO, symmetrize_input)
    v, w = Eigh()(x)
    return EighResult(w, v)


def eigvalsh(
    a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True
) -> Array:
    """The eigenvalues of Hermitian matrices, real and ascending.

    Args:
      a, UPLO, symmetrize_input: as for ``eigh``.

    Returns:
      ``[..., n]``.

    Raises:
      ArgumentError: there is no such triangle.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.eigvalsh(cnp.array([[2.0, 1.0], [1.0, 2.0]])).round(5))
    [1. 3.]

    See also: ``eigh``, ``eigvals``.
    """
    x = _hermitian("eigvalsh", a, UPLO, symmetrize_input)
    return Eigh(vectors=False)(x)[0]


def _hermitian(who: str, a: ArrayLike, triangle: str | None, symmetrize: bool) -> Array:
    """Matrices whose lower triangles are to be read."""
    x = square_matrices(who, a)
    if triangle is not None and triangle not in ("L", "U"):
        raise ArgumentError(f"{who} got UPLO={triangle!r}; there are 'L' and 'U'.")
    if symmetrize:
        return hermitian_part(x)
    return adjoint(x) if triangle == "U" else x


def eig(a: ArrayLike) -> EigResult:
    """The eigenvalues w and eigenvectors V of square matrices: A V = V diag(w).

    For Hermitian matrices use ``eigh``: it is faster, and its eigenvalues are real and
    in order.

    Args:
      a: ``[..., n, n]``, real or complex.

    Returns:
      ``(eigenvalues, eigenvectors)``: w ``[..., n]``, in no order, and V like ``a``;
      complex numbers also where all are real. The vectors have length 1, and the
      largest component of each is real.

    Raises:
      LinAlgError: ``a`` has NaN or infinities.

    >>> import covector.numpy as cnp
    >>> w, v = cnp.linalg.eig(cnp.array([[0.0, -1.0], [1.0, 0.0]]))
    >>> print(w)
    [0.+1.j 0.-1.j]

    See also: ``eigh``, ``eigvals``.
    """
    x = square_matrices("eig", a)
    w, v = Eig()(x)
    _refuse("eig", x, w)
    return EigResult(w, v)


def eigvals(a: ArrayLike) -> Array:
    """The eigenvalues of square matrices ``[..., n, n]``, complex and in no order.

    Raises:
      LinAlgError: ``a`` has NaN or infinities.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.eigvals(cnp.array([[0.0, -1.0], [1.0, 0.0]])))
    [0.+1.j 0.-1.j]

    See also: ``eig``, ``eigvalsh`` for Hermitian matrices.
    """
    x = square_matrices("eigvals", a)
    (w,) = Eig(right=False)(x)
    _refuse("eigvals", x, w)
    return w


def _refuse(who: str, x: Array, w: Array) -> None:
    refuse_nan(
        w, f"{who} needs finite matrices, but got {x.type} with NaN or infinities."
    )
