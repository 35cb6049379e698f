"""Functions of BCOO that move elements to other indices: one for each in ``lax``.

Those that take some elements only are in ``bcoo_slicing``.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import Value
from covector.errors import TypeMismatch
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_layout import refuse_sharding, whole_batch
from covector.experimental.sparse.elements import (
    columns,
    in_bounds,
    lengths_of,
    over_batch,
    padded,
)
from covector.numpy.axes import canonical_axes

__all__ = [
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_reduce_sum",
    "bcoo_rev",
]


def bcoo_broadcast_in_dim(
    mat: BCOO,
    *,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    sharding: Any = None,
) -> BCOO:
    """The array broadcast to ``shape``; axis k becomes ``broadcast_dimensions[k]``.

    New axes before the first sparse axis are batch axes, those after the first dense
    one dense, and the others sparse. Elements are repeated along sparse axes that
    become longer, and shared along batch axes.

    Args:
      sharding: None; the arrays of a sparse array have shardings.

    Raises:
      TypeMismatch: an axis has neither its new length nor 1, or they are out of order.

    >>> from covector.experimental import sparse
    >>> m, at = sparse.eye(2), (1, 2)
    >>> bcoo_broadcast_in_dim(m, shape=(3, 2, 2), broadcast_dimensions=at)
    BCOO(float32[3, 2, 2], nse=2, n_batch=1)
    """
    refuse_sharding("bcoo_broadcast_in_dim", sharding)
    full, at = tuple(shape), tuple(broadcast_dimensions)
    _check_broadcast(mat, full, at)
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    # What is new before a sparse or dense axis is batch; at the end it is sparse.
    new_n = at[n] if n < mat.ndim else max([0, *[a + 1 for a in at]])
    new_end = at[end] if mat.n_dense else len(full)
    data = _spaced(mat.data, at[:n], new_n)
    indices = _spaced(mat.indices, at[:n], new_n)
    data = lax.broadcast_in_dim(
        data,
        (*data.shape[: new_n + 1], *full[new_end:]),
        (*range(new_n + 1), *[new_n + 1 + a - new_end for a in at[end:]]),
    )
    kept = {a - new_n: k for k, a in enumerate(at[n:end])}
    count = new_end - new_n
    lengths = [mat.sparse_shape[kept[k]] if k in kept else 1 for k in range(count)]
    out = BCOO.of_parts(
        data,
        _with_columns(indices, kept, count),
        tuple(lengths),
        mat.indices_sorted,
        mat.unique_indices,
    )
    out = _repeated(out, full[new_n:new_end])
    if out.batch_shape == full[:new_n]:
        return out
    return out.replace(
        data=cnp.broadcast_to(out.data, full[:new_n] + out.data.shape[new_n:])
    )


def _check_broadcast(mat: BCOO, shape: Sequence[int], at: Sequence[int]) -> None:
    fits = len(at) == mat.ndim and list(at) == sorted(set(at))
    if not fits or any(
        [
            not 0 <= a < len(shape) or n not in (1, shape[a])
            for a, n in zip(at, mat.shape, strict=True)
        ]
    ):
        raise TypeMismatch(
            f"bcoo_broadcast_in_dim cannot broadcast {mat} to the shape {shape} with "
            f"its axes at {at}: each axis needs an increasing position, and there its "
            "length or 1."
        )


def _spaced(x: Value, at: Sequence[int], count: int) -> Value:
    """The array with ``count`` first axes, its own at ``at`` and the others of length
    1: what all of a batch share stays what it is.
    """
    lengths = dict(zip(at, x.shape, strict=False))
    return x.reshape(*[lengths.get(a, 1) for a in range(count)], *x.shape[len(at) :])


def _with_columns(indices: Value, kept: dict[int, int], count: int) -> Value:
    """Indices with new columns of zeros; padding remains, in the columns there were."""
    if len(kept) == count:
        return indices
    zeros = cnp.zeros(indices.shape[:-1], indices.dtype)
    return cnp.stack(
        [indices[..., kept[k]] if k in kept else zeros for k in range(count)], -1
    )


def _repeated(mat: BCOO, shape: Sequence[int]) -> BCOO:
    """The array with sparse axes of length 1 repeated to these lengths."""
    axes = [k for k, n in enumerate(shape) if n != mat.sparse_shape[k]]
    if not axes:
        return mat
    copies = np.indices([shape[k] for k in axes]).reshape(len(axes), -1).T
    count, before, after = len(copies), mat.sparse_shape, tuple(shape)

    def repeat(data: Value, indices: Value) -> tuple[Any, Any]:
        inside = in_bounds(indices, before)
        data, indices = padded(inside, data, indices, after)
        indices = cnp.broadcast_to(indices, (count, *indices.shape))
        for c, k in enumerate(axes):
            index = copies[:, c].astype(indices.dtype)[:, None]
            indices = indices.at[:, :, k].set(cnp.where(inside, index, after[k]))
        data = cnp.broadcast_to(data, (count, *data.shape))
        return (
            data.reshape(-1, *data.shape[2:]),
            indices.reshape(-1, len(after)),
        )

    data, indices = over_batch(repeat, mat.n_batch, mat.data, mat.indices)
    return BCOO.of_parts(data, indices, after, False, mat.unique_indices)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Arrays one after the other along an axis.

    They have the same numbers of batch and dense axes. Along a batch axis, those with
    fewer elements are padded; along the others, elements are put beside each other.

    Raises:
      TypeMismatch: there are none, or other axes or the kinds of axes differ.

    >>> from covector.experimental import sparse
    >>> bcoo_concatenate([sparse.eye(2), sparse.eye(2)], dimension=1)
    BCOO(float32[2, 4], nse=4)
    """
    shown = ", ".join(map(str, operands))
    if not operands or not all([isinstance(m, BCOO) for m in operands]):
        raise TypeMismatch(f"bcoo_concatenate needs BCOO arrays, but got [{shown}].")
    first = operands[0]
    (axis,) = canonical_axes("bcoo_concatenate", (dimension,), first.ndim, "dimension")
    kinds = {(m.n_batch, m.n_sparse, m.n_dense) for m in operands}
    others = {m.shape[:axis] + m.shape[axis + 1 :] for m in operands if m.ndim > axis}
    if len(kinds) > 1 or len(others) > 1:
        raise TypeMismatch(
            f"bcoo_concatenate along axis {axis} needs arrays that agree in their "
            f"other axes, and in which are batch and dense, but got {shown}."
        )
    n, end = first.n_batch, first.n_batch + first.n_sparse
    if axis < n:
        most = max([m.nse for m in operands])
        data, indices = _joined([whole_batch(_longer(m, most)) for m in operands], axis)
        return first.replace(
            data=data,
            indices=indices,
            indices_sorted=all([m.indices_sorted for m in operands]),
            unique_indices=all([m.unique_indices for m in operands]),
        )
    length = sum([m.shape[axis] for m in operands])
    shape = list(first.sparse_shape)
    if axis < end:
        shape[axis - n] = length
    at, parts = 0, []
    for m in operands:
        parts.append(_placed(m, axis, at, length, tuple(shape)))
        at += m.shape[axis]
    unique = axis < end and all([m.unique_indices for m in operands])
    return BCOO.of_parts(*_joined(parts, n), tuple(shape), False, unique)


def _placed(
    mat: BCOO, axis: int, at: int, length: int, shape: tuple[int, ...]
) -> tuple[Any, Any]:
    """Data and indices where this axis begins at ``at`` of one that is ``length``."""
    data, indices = whole_batch(mat)
    inside = in_bounds(indices, mat.sparse_shape)
    column = axis - mat.n_batch
    if column < mat.n_sparse:
        moved = np.zeros(mat.n_sparse, indices.dtype)
        moved[column] = at
        return padded(inside, data, indices + moved, shape)
    pads = [(0, 0)] * data.ndim
    pads[axis - mat.n_sparse + 1] = at, length - at - mat.shape[axis]
    return padded(inside, cnp.pad(data, pads), indices, shape)


def _joined(parts: Sequence[tuple[Any, Any]], axis: int) -> tuple[Any, Any]:
    """Data and indices of several arrays, one after the other along an axis."""
    data, indices = zip(*parts, strict=True)
    return cnp.concatenate(data, axis), cnp.concatenate(indices, axis)


def together(x: BCOO, y: BCOO) -> BCOO:
    """The sum of two arrays of one layout: the elements of both."""
    parts = [whole_batch(m) for m in (x, y)]
    return BCOO.of_parts(*_joined(parts, x.n_batch), x.sparse_shape)


def _longer(mat: BCOO, nse: int) -> BCOO:
    """The array with padding up to ``nse`` elements."""
    more = nse - mat.nse
    if not more:
        return mat
    n = mat.n_batch
    data, indices = mat.data, mat.indices
    zeros = cnp.zeros((*data.shape[:n], more, *mat.dense_shape), data.dtype)
    outside = cnp.broadcast_to(
        lengths_of(mat.sparse_shape, indices.dtype),
        (*indices.shape[:n], more, mat.n_sparse),
    )
    return mat.replace(
        data=cnp.concatenate([data, zeros], n),
        indices=cnp.concatenate([indices, outside], n),
    )


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array in reverse order along some axes.

    >>> from covector.experimental import sparse
    >>> bcoo_rev(sparse.eye(2), (0,)).todense().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    axes = canonical_axes("bcoo_rev", dimensions, operand.ndim, "dimensions")
    n, end = operand.n_batch, operand.n_batch + operand.n_sparse
    batch = [a for a in axes if a < n]
    dense = [a - operand.n_sparse + 1 for a in axes if a >= end]
    data, indices = operand.data, operand.indices
    data, indices = cnp.flip(data, (*batch, *dense)), cnp.flip(indices, tuple(batch))
    sparse = [a - n for a in axes if n <= a < end]
    if sparse:
        last = lengths_of(operand.sparse_shape, indices.dtype) - 1
        turned = np.isin(np.arange(operand.n_sparse), sparse)
        # A negative index is padding, and so is what would become one.
        indices = cnp.where(turned, last - indices, indices)
    return operand.replace(
        data=data, indices=indices, indices_sorted=operand.indices_sorted and not sparse
    )


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum along some axes.

    Elements that come to one index are not added: ``sum_duplicates`` does so.

    >>> from covector.experimental import sparse
    >>> bcoo_reduce_sum(sparse.eye(2), axes=(0,)).todense().tolist()
    [1.0, 1.0]
    """
    away = canonical_axes("bcoo_reduce_sum", axes, mat.ndim, "axes")
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    dense = tuple([a - mat.n_sparse + 1 for a in away if a >= end])
    out = mat.replace(data=mat.data.sum(dense, dtype=mat.dtype)) if dense else mat
    batch = [a for a in away if a < n]
    if batch:
        # The elements of all matrices along these axes are elements of one.
        data, indices = whole_batch(out)
        kept = [length for a, length in enumerate(mat.batch_shape) if a not in batch]
        count = prod([mat.shape[a] for a in batch]) * mat.nse
        last = tuple(range(len(kept), n))
        data, indices = [cnp.moveaxis(x, batch, last) for x in (data, indices)]
        data = data.reshape(*kept, count, *data.shape[n + 1 :])
        indices = indices.reshape(*kept, count, mat.n_sparse)
        out = BCOO.of_parts(data, indices, mat.sparse_shape)
    keep = [k for k in range(mat.n_sparse) if k + n not in away]
    if len(keep) == mat.n_sparse:
        return out
    before = mat.sparse_shape
    shape = tuple([before[k] for k in keep])

    def drop(data: Value, indices: Value) -> tuple[Any, Any]:
        inside = in_bounds(indices, before)
        return padded(inside, data, columns(indices, keep), shape)

    data, indices = over_batch(drop, out.n_batch, out.data, out.indices)
    return BCOO.of_parts(data, indices, shape)
