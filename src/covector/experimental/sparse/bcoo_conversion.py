"""From dense arrays to BCOO, and back."""

from typing import Any

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import DTypeError, TypeMismatch, how_many
from covector.experimental.sparse.bcoo import BCOO, largest_index
from covector.experimental.sparse.elements import (
    add_at,
    group,
    in_bounds,
    known_count,
    masked,
    over_batch,
    read_at,
)

__all__ = ["bcoo_extract", "bcoo_fromdense", "bcoo_todense"]


def bcoo_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = dtypes.int32,
) -> BCOO:
    """The elements of a dense array that are not zero.

    Args:
      mat: any array with at least ``n_batch + n_dense`` axes.
      nse: how many elements to store; in a batch, of each matrix. By default as many as
        are not zero, for which ``mat`` must be known.
      n_batch, n_dense: how many axes, first and last, are batch and dense axes. An
        element is stored where any along its dense axes is not zero.
      index_dtype: the type of indices.

    Raises:
      TypeMismatch: there are not so many axes.
      ConcretizationTypeError: ``mat`` is traced, and there is no ``nse``.

    >>> import covector.numpy as cnp
    >>> m = bcoo_fromdense(cnp.array([[0.0, 4.0], [5.0, 0.0]]))
    >>> m.data.tolist(), m.indices.tolist()
    ([4.0, 5.0], [[0, 1], [1, 0]])
    """
    x = as_array(mat, "bcoo_fromdense")
    n_sparse = x.ndim - n_batch - n_dense
    if min(n_batch, n_dense, n_sparse) < 0:
        raise TypeMismatch(
            f"bcoo_fromdense of {x.type} cannot have "
            f"{how_many(n_batch, 'batch axis', 'batch axes')} and {n_dense} dense ones."
        )
    end = n_batch + n_sparse
    mask = (x != 0).any(tuple(range(end, x.ndim)))
    if nse is None:
        axes = tuple(range(n_batch, end))
        nse = known_count(mask.sum(axes), "bcoo_fromdense")
    shape = x.shape[n_batch:end]
    dtype = dtypes.as_dtype(index_dtype)
    if max(shape, default=0) > largest_index(dtype):
        raise DTypeError(f"bcoo_fromdense: indices of {dtype} do not reach all of {x}.")
    data, indices = over_batch(
        lambda x, mask: _elements(x, mask, nse, dtype), n_batch, x, mask
    )
    return BCOO.of_parts(data, indices, shape, True, True)


def _elements(x: Value, mask: Value, nse: int, dtype: Any) -> tuple[Array, Array]:
    """The data and indices of the first ``nse`` elements in the mask."""
    if not mask.ndim:
        first = (cnp.arange(nse) == 0) & mask
        data = cnp.broadcast_to(x, (nse, *x.shape))
        return masked(first, data), cnp.zeros((nse, 0), dtype)
    outside: Any = mask.shape
    found = cnp.nonzero(mask, size=nse, fill_value=outside)
    indices = cnp.stack(found, -1).astype(dtype)
    return read_at(x, indices, range(mask.ndim)), indices


def bcoo_todense(mat: BCOO) -> Array:
    """A sparse array with its zeros.

    >>> from covector.experimental import sparse
    >>> bcoo_todense(sparse.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    shape, promises = mat.sparse_shape, (mat.indices_sorted, mat.unique_indices)

    def dense(data: Value, indices: Value) -> Array:
        return add_at(indices, data, shape, *promises)

    return over_batch(dense, mat.n_batch, mat.data, mat.indices)


def bcoo_extract(
    sparr: BCOO, arr: ArrayLike, *, assume_unique: bool | None = None
) -> BCOO:
    """The elements of a dense array where a sparse one has its elements.

    Args:
      sparr: says which elements.
      arr: an array of the shape of ``sparr``.
      assume_unique: whether to read each element as often as its index occurs. If not,
        elements are read once, and zeros where an index comes again. By default as
        ``sparr.unique_indices`` says.

    Raises:
      TypeMismatch: the shapes differ.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> bcoo_extract(sparse.eye(2), cnp.array([[1.0, 2.0], [3.0, 4.0]])).data.tolist()
    [1.0, 4.0]
    """
    x = as_array(arr, "bcoo_extract")
    if x.shape != sparr.shape:
        raise TypeMismatch(f"bcoo_extract of {sparr} from {x.type}: the shapes differ.")
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    shape = sparr.sparse_shape

    def extract(x: Value, indices: Value) -> Array:
        data = read_at(x, indices, range(len(shape)))
        if not unique:
            ranks, _ = group(indices, shape)
            numbers = cnp.arange(len(indices), dtype=ranks.dtype)
            first = cnp.full(len(indices), len(indices), ranks.dtype)
            data = masked(first.at[ranks].min(numbers)[ranks] == numbers, data)
        return masked(in_bounds(indices, shape), data)

    return sparr.replace(data=over_batch(extract, sparr.n_batch, x, sparr.indices))
