"""Linear algebra with sparse matrices: a direct solver, and the largest eigenvalues."""

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from covector import lax, namespaces
from covector import numpy as cnp
from covector.callbacks.callback import pure_callback
from covector.core.annotations import ArrayLike, HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import ShapeDtypeStruct, as_array
from covector.core.number_info import finfo
from covector.errors import ArgumentError, TypeMismatch
from covector.experimental.sparse.base import is_sparse
from covector.experimental.sparse.bcsr import BCSR
from covector.numpy.promote import inexact, promote_dtypes_inexact
from covector.operations.identities import stop_gradient

__all__ = ["lobpcg_standard", "spsolve"]
__dir__ = namespaces.completions(globals())

#: the orders in which SuperLU eliminates columns, for each value of ``reorder``
_ORDERS = ("NATURAL", "COLAMD", "MMD_AT_PLUS_A", "MMD_ATA")


def spsolve(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    b: ArrayLike,
    tol: float = 1e-6,
    reorder: int = 1,
) -> Array:
    """The x with A x = b, for a sparse A, by elimination on the host.

    It is factorized by the SuperLU of SciPy, also inside of compiled programs. The
    derivatives are those of the equation, with respect to ``data`` and ``b``, in both
    modes.

    Args:
      data, indices, indptr: A by rows, as of a ``CSR``: ``[nse]``, ``[nse]`` and
        ``[n + 1]``.
      b: ``[n]``, or ``[n, k]`` for several right-hand sides.
      tol: of no account: only exactly singular matrices count as such.
      reorder: the order in which columns are eliminated: 0 as they are, 1 by an
        approximate minimum degree, 2 and 3 by the degrees in A + Aᵀ and in AᵀA.

    Returns:
      An array like ``b``; NaN where A is singular.

    Raises:
      TypeMismatch: the shapes do not fit.
      ArgumentError: there is no such ``reorder``.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> from covector.experimental.sparse.linalg import spsolve
    >>> m = sparse.CSR.fromdense(cnp.array([[2.0, 1.0], [0.0, 4.0]]))
    >>> print(spsolve(m.data, m.indices, m.indptr, cnp.array([3.0, 4.0])))
    [1. 1.]
    """
    who = "spsolve"
    values, x, starts = [as_array(a, who) for a in (data, indices, indptr)]
    rhs = as_array(b, who)
    values, rhs = promote_dtypes_inexact(who, values, rhs)
    n = starts.size - 1
    if (
        values.shape != x.shape
        or not values.ndim == starts.ndim == 1
        or rhs.ndim not in (1, 2)
        or rhs.shape[0] != n
    ):
        raise TypeMismatch(
            f"{who} needs data and indices [nse], indptr [n + 1] and b [n] or [n, k], "
            f"but got {values.type}, {x.type}, {starts.type} and {rhs.type}."
        )
    if reorder not in range(len(_ORDERS)):
        raise ArgumentError(f"{who}: reorder must be 0, 1, 2 or 3, but is {reorder!r}.")
    static = (n, n), False, False
    matrix = BCSR.tree_unflatten(static, (values, x, starts))
    solve = functools.partial(_eliminate, stop_gradient(values), x, starts, reorder)
    return lax.custom_linear_solve(
        lambda x: matrix @ x,
        rhs,
        lambda _, b: solve(False, b),
        lambda _, b: solve(True, b),
    )


def _eliminate(
    data: Value, indices: Value, indptr: Value, reorder: int, transpose: bool, b: Value
) -> Array:
    """The solution of A x = b, or of Aᵀ x = b, computed on the host."""
    on_host = functools.partial(_superlu, reorder, transpose)
    result = ShapeDtypeStruct(b.shape, b.dtype)
    arrays = data, indices, indptr, b
    return pure_callback(on_host, result, *arrays, vmap_method="sequential")


def _superlu(reorder: int, transpose: bool, *arrays: Any) -> HostArray:
    # Most programs have no use for SciPy, which takes 0.2 s to import.
    scipy_sparse = importlib.import_module("scipy.sparse")
    solvers = importlib.import_module("scipy.sparse.linalg")
    data, indices, indptr, b = [np.asarray(x) for x in arrays]
    if not b.size:
        return b
    dtype = np.promote_types(data.dtype, np.float32)
    count, n = indptr[-1], len(indptr) - 1
    inside = (indices[:count] >= 0) & (indices[:count] < n)
    rows = np.repeat(np.arange(n), np.diff(indptr))[inside]
    at = rows, indices[:count][inside]
    values = data[:count][inside].astype(dtype)
    matrix = scipy_sparse.csc_matrix((values, at[::-1] if transpose else at), (n, n))
    with warnings.catch_warnings():
        # A singular matrix gives NaN, as everywhere in compiled programs.
        warnings.simplefilter("ignore", solvers.MatrixRankWarning)
        order = _ORDERS[reorder]
        x = solvers.spsolve(
            matrix, b.astype(dtype), permc_spec=order, use_umfpack=False
        )
    return np.asarray(x).reshape(b.shape).astype(b.dtype)


def lobpcg_standard(
    A: Any,
    X: ArrayLike,
    m: int = 100,
    tol: ArrayLike | None = None,
) -> tuple[Array, Array, Array]:
    """The k largest eigenvalues of a symmetric matrix, and their eigenvectors.

    The locally optimal method of Knyazev (2001), with orthonormal bases: each step
    finds the best vectors among the current ones, their residuals, and the last
    directions.

    Args:
      A: a symmetric ``[n, n]``, dense or sparse; or a function of ``[n, j]`` that
        multiplies by it.
      X: ``[n, k]`` floats, where to start; 3 k ≤ n.
      m: the most steps.
      tol: it stops when ‖A u − θ u‖ ≤ tol · n · (‖A u‖ + |θ|) for all vectors; by
        default the precision of the dtype.

    Returns:
      Eigenvalues θ ``[k]``, largest first; orthonormal eigenvectors ``[n, k]``; and the
      number of steps.

    Raises:
      TypeMismatch: the shapes do not fit.
      ArgumentError: X has too many columns, or none.

    >>> import covector as cv, covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> from covector.experimental.sparse.linalg import lobpcg_standard
    >>> a = sparse.BCOO.fromdense(cnp.diag(cnp.arange(10.0)))
    >>> theta, u, _ = lobpcg_standard(a, cv.random.normal(cv.random.key(0), (10, 2)))
    >>> print(cnp.round(theta, 3))
    [9. 8.]
    """
    who = "lobpcg_standard"
    x = inexact(who, X)
    if x.ndim != 2:
        raise TypeMismatch(f"{who} needs an X [n, k], but got {x.type}.")
    n, k = x.shape
    if not 0 < 3 * k <= n:
        raise ArgumentError(
            f"{who} needs an X with at least one column and at most n / 3, but got "
            f"{x.type}. For more eigenvalues, use covector.numpy.linalg.eigh."
        )
    apply = _product(who, A, n)
    if apply(x).shape != x.shape:
        raise TypeMismatch(f"{who}: A times {x.type} is {apply(x).type}.")
    bound = as_array(finfo(x.dtype).eps if tol is None else tol, who)

    def step(state: Any) -> Any:
        i, x, image, last, _ = state
        residual = image - x * (x.conj() * image).sum(0)
        directions = cnp.concatenate([x, _scaled(residual), last], 1)
        # Householder's method gives an orthonormal basis whatever it is given.
        basis = cnp.linalg.qr(directions)[0]
        image = apply(basis)
        values, vectors = cnp.linalg.eigh(basis.conj().T @ image)
        theta, best = values[::-1][:k], vectors[:, ::-1][:, :k]
        x, image = basis @ best, image @ best
        last = _scaled(basis[:, k:] @ best[k:])
        error = _norms(image - x * theta)
        done = (error <= bound * n * (_norms(image) + abs(theta))).all()
        return i + 1, x, image, last, done

    x = cnp.linalg.qr(x)[0]
    start = cnp.array(0), x, apply(x), cnp.zeros_like(x), cnp.array(False)
    i, x, image, _, _ = lax.while_loop(
        lambda state: (state[0] < m) & ~state[-1], step, start
    )
    return (x.conj() * image).sum(0).real, x, i


def _norms(x: Value) -> Array:
    """The norm of each column."""
    return cnp.linalg.norm(x, axis=0)


def _scaled(x: Value) -> Array:
    """Columns of norm 1, or 0."""
    norms = _norms(x)
    return x / cnp.where(norms > 0, norms, 1)


def _product(who: str, A: Any, n: int) -> Callable[[Any], Any]:
    """The product with A, given as a matrix or as that."""
    if callable(A):
        return A
    matrix = A if is_sparse(A) else as_array(A, who)
    if matrix.shape != (n, n):
        raise TypeMismatch(
            f"{who} needs an A [n, n] for an X [n, k] with n = {n}, but got the shape "
            f"{matrix.shape}."
        )
    return lambda x: matrix @ x
