"""Eigenvalues, singular values, and the Schur form."""

import enum
from collections.abc import Callable
from typing import Any

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError
from covector.numpy.linalg.operands import singular_subset, subset_of
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.eig import Eig
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.matrices import adjoint, hermitian_part
from covector.operations.linear_algebra.schur import Schur
from covector.operations.linear_algebra.svd import SVD

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "eig",
    "eigh",
    "schur",
    "svd",
]


class EigImplementation(enum.Enum):
    """Libraries that have ``eig``, by their names in JAX; here it is LAPACK's."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """Algorithms of ``eigh``, by their names in JAX; here the choice is automatic."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """Algorithms of ``svd``, by their names in JAX; here the choice is automatic."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """The eigenvalues w, and the left U and right V eigenvectors of square matrices.

    A V = V diag(w) and Aᴴ U = U diag(w̄), in complex numbers. The vectors have length 1,
    and the largest component of each is real: so are those that derivatives are of.

    Args:
      x: ``[..., n, n]``.
      enable_eigvec_derivs: of no consequence here: there always are derivatives.
      implementation, use_magma: which library computes them, of no consequence here.

    Returns:
      ``[w, U, V]``, without those that are not asked for.

    Raises:
      TypeMismatch, DTypeError: the operand is of another type.

    >>> import covector.numpy as cnp
    >>> w, u, v = eig(cnp.array([[0.0, -1.0], [1.0, 0.0]]))
    >>> print(w)
    [0.+1.j 0.-1.j]
    """
    del enable_eigvec_derivs, implementation, use_magma
    op = Eig(bool(compute_left_eigenvectors), bool(compute_right_eigenvectors))
    return list(op(as_array(x, "eig")))


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """The eigenvectors V and eigenvalues w of Hermitian matrices: A V = V diag(w).

    Args:
      x: ``[..., n, n]``.
      lower: which triangle is read, where the input is not symmetrized.
      symmetrize_input: take (A + Aᴴ) / 2 for A, and so its derivative.
      sort_eigenvalues: they ascend; here they always do.
      subset_by_index: only those from the first index up to the second.
      implementation: by which algorithm, of no consequence here.

    Returns:
      ``(v, w)``: the columns of v are the vectors, w ``[..., n]`` is real. Derivatives
      are right for functions that do not depend on which vectors are chosen where
      eigenvalues are equal, and finite for others.

    Raises:
      ArgumentError: the subset is none.
      TypeMismatch, DTypeError: the operand is of another type.

    >>> import covector.numpy as cnp
    >>> v, w = eigh(cnp.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> print(w.round(5))
    [1. 3.]
    """
    del sort_eigenvalues, implementation
    a = as_array(x, "eigh")
    lapack.check_matrices("eigh", a.type, square=True)
    if symmetrize_input:
        a = hermitian_part(a)
    elif not lower:
        a = adjoint(a)
    v, w = Eigh()(a)
    if subset_by_index is None:
        return v, w
    first, last = subset_of("eigh", subset_by_index, w.type.shape[-1])
    return v[..., first:last], w[..., first:last]


def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array | tuple[Array, Array, Array]:
    """U, the descending singular values s and Vᴴ of A = U diag(s) Vᴴ; or s alone.

    Args:
      x: ``[..., m, n]``.
      full_matrices: U and V are square; otherwise they have k = min(m, n) columns.
      compute_uv: otherwise s alone is returned.
      subset_by_index: only the singular values from the first index up to the second,
        and their vectors.
      algorithm: of no consequence here.

    Returns:
      ``(u, s, vh)``, or s ``[..., k]``. Derivatives are right for functions that do not
      depend on which vectors are chosen where singular values are equal, and finite for
      others.

    Raises:
      ArgumentError: a subset is asked for together with full matrices, or is none.
      TypeMismatch, DTypeError: the operand is of another type.

    >>> import covector.numpy as cnp
    >>> print(svd(cnp.array([[0.0, 2.0], [3.0, 0.0]]), compute_uv=False))
    [3. 2.]
    """
    del algorithm
    outs = SVD(bool(full_matrices), bool(compute_uv))(as_array(x, "svd"))
    outs = singular_subset(outs, subset_by_index, full_matrices)
    if not compute_uv:
        return outs[0]
    u, s, vh = outs
    return u, s, vh


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Array]:
    """T and Z of A = Z T Zᴴ, with unitary Z and upper triangular T.

    Of real matrices all is real, and pairs of complex eigenvalues are blocks of 2 × 2
    on the diagonal of T. There are derivatives where no eigenvalues are equal.

    Args:
      x: ``[..., n, n]``.
      sort_eig_vals, select_callable: must be left out: eigenvalues are not sorted.

    Returns:
      ``[T, Z]``, or ``[T]``.

    Raises:
      ArgumentError: eigenvalues are to be sorted.
      TypeMismatch, DTypeError: the operand is of another type.

    >>> import covector.numpy as cnp
    >>> t, z = schur(cnp.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> print(t)
    [[1. 2.]
     [0. 3.]]
    """
    if sort_eig_vals or select_callable is not None:
        raise ArgumentError(
            "schur does not sort eigenvalues: leave sort_eig_vals and select_callable "
            "out."
        )
    return list(Schur(bool(compute_schur_vectors))(as_array(x, "schur")))
