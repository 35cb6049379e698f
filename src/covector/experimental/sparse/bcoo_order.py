"""The order of the elements of a BCOO, and which of them are one."""

from math import prod

from covector import numpy as cnp
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.elements import (
    distinct,
    group,
    known_count,
    on_grid,
    over_batch,
    padded,
    sorted_order,
)

__all__ = ["bcoo_eliminate_zeros", "bcoo_sort_indices", "bcoo_sum_duplicates"]


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The elements in ascending order of their indices, padding last.

    >>> from covector.experimental.sparse import BCOO
    >>> import covector.numpy as cnp
    >>> m = BCOO((cnp.array([1.0, 2.0]), cnp.array([[2], [0]])), shape=(3,))
    >>> bcoo_sort_indices(m).data.tolist()
    [2.0, 1.0]
    """
    if mat.indices_sorted:
        return mat

    shape = mat.sparse_shape

    def ordered(data: Value, indices: Value) -> tuple[Array, Array]:
        indices, order = sorted_order(indices, shape)
        return data[order], indices

    data, indices = over_batch(ordered, mat.n_batch, mat.data, mat.indices)
    return mat.replace(data=data, indices=indices, indices_sorted=True)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The elements with those at one index added, in ascending order of indices.

    Args:
      nse: how many elements there are to be: those beyond are left out, and what lacks
        is padding. By default as many as there are indices, which must be known.

    Raises:
      ConcretizationTypeError: the indices are traced, and there is no ``nse``.

    >>> from covector.experimental.sparse import BCOO
    >>> import covector.numpy as cnp
    >>> m = BCOO((cnp.array([1.0, 2.0, 3.0]), cnp.array([[2], [0], [2]])), shape=(3,))
    >>> bcoo_sum_duplicates(m).data.tolist()
    [2.0, 4.0]
    """
    shape = mat.sparse_shape
    if nse is None:
        counts = over_batch(lambda i: group(i, shape)[1], mat.n_batch, mat.indices)
        nse = known_count(counts, "bcoo_sum_duplicates")
    data, indices = over_batch(
        lambda data, indices: distinct(data, indices, shape, nse),
        mat.n_batch,
        mat.data,
        mat.indices,
    )
    return BCOO.of_parts(data, indices, shape, True, True)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """``bcoo_sum_duplicates`` without elements that are zero.

    >>> from covector.experimental.sparse import BCOO
    >>> import covector.numpy as cnp
    >>> m = BCOO((cnp.array([1.0, 0.0, 3.0]), cnp.array([[2], [0], [2]])), shape=(3,))
    >>> bcoo_eliminate_zeros(m).data.tolist()
    [4.0]
    """
    dense = tuple(range(mat.n_batch + 1, mat.data.ndim))
    mask = cnp.broadcast_to((mat.data != 0).any(dense), (*mat.batch_shape, mat.nse))
    data, indices = padded(mask, mat.data, mat.indices, mat.sparse_shape)
    if not mat.n_sparse:
        return mat.replace(data=data, indices=indices)
    return bcoo_sum_duplicates(mat.replace(data=data, indices=indices), nse)


def same_size(mat: BCOO) -> BCOO:
    """``mat`` with no more elements than there can be: duplicates are added if so."""
    shape = mat.sparse_shape
    if mat.nse <= prod(shape):
        return mat
    data, indices = over_batch(
        lambda data, indices: on_grid(data, indices, shape),
        mat.n_batch,
        mat.data,
        mat.indices,
    )
    return BCOO.of_parts(data, indices, shape, False, True)
