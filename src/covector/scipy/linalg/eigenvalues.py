"""Eigenvalues and eigenvectors of Hermitian matrices."""

from collections.abc import Callable

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, DTypeError, TypeMismatch, how_many
from covector.numpy import linalg
from covector.numpy.linalg.operands import in_one_stack, square_matrices
from covector.numpy.padding import pad
from covector.numpy.promote import promote_dtypes_inexact
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.matrices import (
    adjoint,
    as_diagonal,
    hermitian_part,
    matmul,
)
from covector.operations.linear_algebra.triangular_solve import TriangularSolve

__all__ = ["eigh", "eigh_tridiagonal", "eigvalsh"]


def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: tuple[int, int] | None = None,
    type: int = 1,
    check_finite: bool = True,
    *,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | tuple[Array, Array]:
    """The eigenvalues w and eigenvectors V of Hermitian matrices: A V = B V diag(w).

    Args:
      a: ``[..., n, n]``; A is (a + aᴴ) / 2.
      b: ``[..., n, n]``, positive definite; by default the identity.
      lower: which triangle SciPy reads; here both are.
      eigvals_only: give w alone.
      type: 1 for A v = w B v, 2 for A B v = w v, 3 for B A v = w v.
      subset_by_index: only those from the first index up to the second and with it.
      eigvals: another name of ``subset_by_index``.

    Returns:
      ``(w, v)``, w ``[..., n]`` real and ascending; or w. With ``b``, Vᴴ B V = 1, or of
      the type 3 Vᴴ B⁻¹ V = 1. Derivatives are right for functions that do not depend on
      which vectors are chosen where eigenvalues are equal, and finite for others.

    Raises:
      ArgumentError: there is no such type, or no such subset.
      LinAlgError: ``b`` is not positive definite.

    >>> import covector.numpy as cnp
    >>> a, b = cnp.array([[2.0, 1.0], [1.0, 2.0]]), 2 * cnp.eye(2)
    >>> print(eigh(a, b, eigvals_only=True).round(4))
    [0.5 1.5]
    """
    del lower, overwrite_a, overwrite_b, turbo, check_finite
    if type not in (1, 2, 3):
        raise ArgumentError(f"eigh got type={type!r}; there are 1, 2 and 3.")
    if b is None:
        x = hermitian_part(square_matrices("eigh", a))
        back = None
    else:
        x, back = _reduced(a, b, type)
    w, v = linalg.eigh(x) if not eigvals_only else (linalg.eigvalsh(x), None)
    chosen = _subset("eigh", eigvals if subset_by_index is None else subset_by_index, w)
    if v is None:
        return w[..., chosen]
    v = v if back is None else back(v)
    return w[..., chosen], v[..., chosen]


def _reduced(
    a: ArrayLike, b: ArrayLike, type: int
) -> tuple[Array, Callable[[Value], Array]]:
    """A problem with B as one without, and what makes its vectors those of the first.

    With B = L Lᴴ, A v = w B v is (L⁻¹ A L⁻ᴴ) (Lᴴ v) = w (Lᴴ v), and A B v = w v is
    (Lᴴ A L) (Lᴴ v) = w (Lᴴ v); of B A v = w v, the second with v = L y.
    """
    x, y = promote_dtypes_inexact("eigh", *[as_array(k, "eigh") for k in (a, b)])
    for k in (x, y):
        square_matrices("eigh", k)
    x, y = in_one_stack("eigh", x, y)
    factor, x = linalg.cholesky(y), hermitian_part(x)
    divide = TriangularSolve(True, True)
    divide_adjoint = TriangularSolve(True, True, True, True)
    if type == 1:
        x = adjoint(divide(factor, adjoint(divide(factor, x))))
    else:
        x = matmul(matmul(adjoint(factor), x), factor)
    if type == 3:
        return x, lambda v: matmul(factor, v)
    return x, lambda v: divide_adjoint(factor, v)


def _subset(who: str, chosen: tuple[int, int] | None, w: Value) -> slice:
    """The values that are asked for by the first and the last index."""
    count = w.type.shape[-1]
    if chosen is None:
        return slice(None)
    first, last = chosen
    if not 0 <= first <= last < count:
        raise ArgumentError(
            f"{who} got the subset {chosen}: it must be a first index and a last one, "
            f"among {how_many(count, 'value')}."
        )
    return slice(first, last + 1)


def eigvalsh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: tuple[int, int] | None = None,
) -> Array:
    """The eigenvalues of Hermitian matrices, as ``eigh`` gives them.

    Raises:
      ArgumentError: there is no such type, or no such subset.
      LinAlgError: ``b`` is not positive definite.

    >>> import covector.numpy as cnp
    >>> print(eigvalsh(cnp.array([[2.0, 1.0], [1.0, 2.0]])).round(4))
    [1. 3.]
    """
    del lower, overwrite_a, overwrite_b, check_finite
    found = eigh(a, b, eigvals_only=True, type=type, subset_by_index=subset_by_index)
    assert isinstance(found, Array)
    return found


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Array | None = None,
) -> Array | tuple[Array, Array]:
    """The eigenvalues w and eigenvectors of Hermitian tridiagonal matrices.

    They are computed as those of any Hermitian matrix.

    Args:
      d: the diagonals ``[..., n]``, real.
      e: what is below them, ``[..., n − 1]``; real or complex.
      eigvals_only: give w alone.
      select: ``"a"`` for all; ``"i"`` for those from the first index in
        ``select_range`` up to the last and with it; ``"v"`` for those in (low, high],
        of one matrix whose values are known.
      tol, key: of no consequence here.

    Returns:
      ``(w, v)``, or w ``[..., n]``, ascending.

    Raises:
      ArgumentError: there is no such selection, or no range for it.
      DTypeError: ``d`` is complex.
      TypeMismatch: shapes do not fit.

    >>> import covector.numpy as cnp
    >>> w = eigh_tridiagonal(cnp.array([2.0, 2.0]), cnp.array([1.0]), eigvals_only=True)
    >>> print(w.round(4))
    [1. 3.]
    """
    del tol, key
    x = _tridiagonal(d, e)
    if select not in ("a", "i", "v"):
        raise ArgumentError(
            f"eigh_tridiagonal got select={select!r}; there are 'a', 'i' and 'v'."
        )
    if select != "a" and select_range is None:
        raise ArgumentError(
            f"eigh_tridiagonal with select={select!r} needs a select_range."
        )
    w, v = (Eigh(vectors=False)(x)[0], None) if eigvals_only else Eigh()(x)[::-1]
    chosen = slice(None)
    if select == "i":
        assert select_range is not None, "checked above"
        chosen = _subset(
            "eigh_tridiagonal", (int(select_range[0]), int(select_range[1])), w
        )
    elif select == "v":
        assert select_range is not None, "checked above"
        chosen = (w > select_range[0]) & (w <= select_range[1])
    return w[..., chosen] if v is None else (w[..., chosen], v[..., chosen])


def _tridiagonal(d: ArrayLike, e: ArrayLike) -> Array:
    """Matrices with these diagonals in their lower triangles."""
    who = "eigh_tridiagonal"
    middle, below = as_array(d, who), as_array(e, who)
    if dtypes.is_complex(middle.type.dtype):
        raise DTypeError(f"{who} needs a real diagonal, but got {middle.type}.")
    middle, below = promote_dtypes_inexact(who, middle, below)
    shape = middle.type.shape
    if not shape or below.type.shape != (*shape[:-1], max(shape[-1] - 1, 0)):
        raise TypeMismatch(
            f"{who} needs diagonals [..., n] and [..., n - 1], but got "
            f"{middle.type} and {below.type}."
        )
    if not below.type.shape[-1]:
        return as_diagonal(middle)
    ends = [(0, 0)] * (middle.type.ndim - 1)
    return as_diagonal(middle) + pad(as_diagonal(below), [*ends, (1, 0), (0, 1)])
