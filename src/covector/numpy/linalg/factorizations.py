"""Factorizations: ``cholesky``, ``qr``, ``svd``."""

from typing import NamedTuple

import numpy as np

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.errors import ArgumentError, LinAlgError
from covector.numpy.axis_order import flip
from covector.numpy.floating import isnan
from covector.numpy.indexing_take import take_along_axis
from covector.numpy.linalg.operands import (
    matrices,
    refuse_nan,
    singular_subset,
    square_matrices,
    values_of,
)
from covector.numpy.sorting import argsort, sort
from covector.operations.comparison import lt
from covector.operations.linear_algebra.cholesky import cholesky as cholesky_
from covector.operations.linear_algebra.cholesky import upper_cholesky
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.matrices import (
    adjoint,
    columns_at,
    hermitian_part,
    in_columns,
    transposed,
)
from covector.operations.linear_algebra.qr import QR, HouseholderQR
from covector.operations.linear_algebra.svd import SVD
from covector.operations.magnitude import abs_
from covector.operations.selection import where

__all__ = ["QRResult", "SVDResult", "cholesky", "qr", "svd", "svdvals"]


class QRResult(NamedTuple):
    """Q and R of A = Q R."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """U, the singular values S, and Vᴴ of A = U diag(S) Vᴴ."""

    U: Array
    S: Array
    Vh: Array


def cholesky(
    a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True
) -> Array:
    """The lower triangular L of A = L Lᴴ, with a positive diagonal.

    Rounding can make a covariance indefinite: a small number added to its diagonal
    helps.

    Args:
      a: ``[..., n, n]``, Hermitian and positive definite.
      upper: give Lᴴ instead.
      symmetrize_input: take (A + Aᴴ) / 2 for A, and so its derivative; otherwise only
        the triangle that is asked for is read.

    Returns:
      Like ``a``; NaN for a matrix that is not positive definite, where values are not
      known.

    Raises:
      LinAlgError: a matrix is not positive definite.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.cholesky(cnp.array([[4.0, 2.0], [2.0, 5.0]])))
    [[2. 0.]
     [1. 2.]]

    See also: ``covector.scipy.linalg.cho_solve``,
    ``covector.scipy.linalg.solve_triangular``.
    """
    x = square_matrices("cholesky", a)
    if symmetrize_input:
        x = hermitian_part(x)
    out = upper_cholesky(x) if upper else cholesky_(x)
    values = values_of(out)
    if values is not None and np.isnan(values).any() and not isnan(x).any():
        raise LinAlgError(
            f"cholesky needs positive definite matrices, but got {x.type} of which one "
            "is not."
        )
    return out


def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult:
    """Q with orthonormal columns and the upper triangular R of A = Q R.

    Args:
      a: ``[..., m, n]``.
      mode: ``"reduced"``: Q is ``[..., m, k]`` and R ``[..., k, n]``, k = min(m, n).
        ``"complete"``: Q is ``[..., m, m]``. ``"r"``: R alone, as in ``"reduced"``.
        ``"raw"``: the transposed matrix that LAPACK makes, with the vectors of
        reflections, and their numbers τ; these have no derivative.

    Returns:
      ``(Q, R)``, or R. The diagonal of R may be negative. Derivatives need the first k
      columns of ``a`` to be linearly independent: otherwise they are not finite.

    Raises:
      ArgumentError: there is no such mode.

    >>> import covector.numpy as cnp
    >>> q, r = cnp.linalg.qr(cnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> print(abs(r).round(3))
    [[5.  2.2]
     [0.  0.4]]

    See also: ``svd``, ``cholesky``, ``lstsq``.
    """
    x = matrices("qr", a)
    if mode == "raw":
        found, taus = HouseholderQR()(x)
        return QRResult(transposed(found), taus)
    if mode not in ("reduced", "complete", "r", "full"):
        raise ArgumentError(
            f"qr got the mode {mode!r}; there are 'reduced', 'complete', 'r' and 'raw'."
        )
    q, r = QR(full_matrices=mode in ("complete", "full"))(x)
    return r if mode == "r" else QRResult(q, r)


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult:
    """The singular values, descending, and vectors of A = U diag(S) Vᴴ.

    Args:
      a: ``[..., m, n]``.
      full_matrices: U is ``[..., m, m]`` and Vᴴ ``[..., n, n]``; otherwise they have
        only the k = min(m, n) vectors that belong to singular values.
      compute_uv: otherwise S alone is returned.
      hermitian: ``a`` is Hermitian, which is used; its lower triangle is read.
      subset_by_index: only the singular values from the first index up to the second,
        and the vectors that belong to them.

    Returns:
      ``(U, S, Vh)``, or S, ``[..., k]``, which is real. Which vectors belong to equal
      singular values is not determined, nor is the sign or phase of any: derivatives
      are right for functions that do not depend on the choice, and finite for others.

    Raises:
      ArgumentError: a subset is asked for together with full matrices, or is none.
      LinAlgError: ``a`` has NaN or infinities.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.svd(cnp.array([[0.0, 2.0], [3.0, 0.0]]), compute_uv=False))
    [3. 2.]

    See also: ``svdvals``, ``eigh``, ``pinv``.
    """
    x = square_matrices("svd", a) if hermitian else matrices("svd", a)
    if hermitian:
        outs = _by_eigenvalues(x, compute_uv)
    else:
        outs = SVD(bool(full_matrices), bool(compute_uv))(x)
    s = outs[1] if compute_uv else outs[0]
    refuse_nan(
        s, f"svd needs finite matrices, but got {x.type} with NaN or infinities."
    )
    outs = singular_subset(outs, subset_by_index, full_matrices)
    return SVDResult(*outs) if compute_uv else outs[0]


def _by_eigenvalues(x: Array, vectors: bool) -> tuple[Array, ...]:
    """The singular values of Hermitian matrices: A = V W Vᴴ = V |W| (V sign(W))ᴴ."""
    if not vectors:
        (w,) = Eigh(vectors=False)(x)
        return (flip(sort(abs_(w)), -1),)
    v, w = Eigh()(x)
    order = flip(argsort(abs_(w)), -1)
    s = take_along_axis(w, order, -1)
    v = columns_at(v, order)
    negative = lt(s, scalar(0, s.type.dtype))
    signs = where(negative, scalar(-1, s.type.dtype), scalar(1, s.type.dtype))
    return v, s * signs, adjoint(v * in_columns(signs, v.type))


def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices ``[..., m, n]``, descending.

    Raises:
      LinAlgError: ``x`` has NaN or infinities.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.svdvals(cnp.array([[0.0, 2.0], [3.0, 0.0]])))
    [3. 2.]
    """
    return svd(x, compute_uv=False)  # type: ignore[return-value]
