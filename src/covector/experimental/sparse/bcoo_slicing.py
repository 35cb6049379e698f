"""Windows of a BCOO: slices at known and at traced indices, and gathers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import ArrayLike, Value
from covector.core.convert import as_array
from covector.errors import ArgumentError, TypeMismatch, how_many
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_layout import (
    bcoo_squeeze,
    bcoo_transpose,
    bcoo_update_layout,
)
from covector.experimental.sparse.bcoo_order import same_size
from covector.experimental.sparse.elements import in_bounds, over_batch, padded
from covector.transforms.vmap import vmap

__all__ = ["bcoo_dynamic_slice", "bcoo_gather", "bcoo_slice"]


def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """Elements ``start, start + stride, …`` before ``limit`` along each axis.

    Elements that are left out become padding. There are no more elements than the
    sparse axes of the result have indices.

    Raises:
      TypeMismatch: the numbers do not fit the axes.

    >>> from covector.experimental import sparse
    >>> m = bcoo_slice(sparse.eye(3), start_indices=(0, 1), limit_indices=(3, 2))
    >>> m.todense().tolist()
    [[0.0], [1.0], [0.0]]
    """
    start, limit = tuple(start_indices), tuple(limit_indices)
    step = (1,) * mat.ndim if strides is None else tuple(strides)
    if not len(start) == len(limit) == len(step) == mat.ndim or not all(
        [
            0 <= a <= b <= n and s > 0
            for a, b, s, n in zip(start, limit, step, mat.shape, strict=False)
        ]
    ):
        raise TypeMismatch(
            f"bcoo_slice of {mat} needs 0 ≤ start ≤ limit ≤ length and a positive "
            f"stride for each axis, but got {start}, {limit} and {step}."
        )
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    cuts = [slice(*cut) for cut in zip(start, limit, step, strict=True)]
    full = slice(None)
    data = mat.data[tuple([*_shared(cuts[:n], mat.data), full, *cuts[end:]])]
    indices = mat.indices[tuple(_shared(cuts[:n], mat.indices))]
    sizes = [len(range(*cut)) for cut in zip(start, limit, step, strict=True)]
    out = _window(
        mat.replace(data=data, indices=indices),
        np.asarray(start[n:end], mat.indices.dtype),
        tuple(sizes[n:end]),
        np.asarray(step[n:end], mat.indices.dtype),
    )
    return _with_batch(out, tuple(sizes[:n]))


def _shared(cuts: Sequence[slice], x: Value) -> list[slice]:
    """Slices of batch axes, but of those that all share."""
    return [
        slice(None) if x.shape[a] == 1 and (c.start, c.stop) != (0, 0) else c
        for a, c in enumerate(cuts)
    ]


def _with_batch(mat: BCOO, batch: tuple[int, ...]) -> BCOO:
    """The array with batch axes of these lengths, where they are shared now."""
    if mat.batch_shape == batch:
        return mat
    data = cnp.broadcast_to(mat.data, batch + mat.data.shape[len(batch) :])
    indices = mat.indices
    for a, n in enumerate(batch):
        if indices.shape[a] not in (1, n):
            indices = lax.slice_in_dim(indices, 0, n, axis=a)
    return mat.replace(data=data, indices=indices)


def _window(mat: BCOO, start: Any, sizes: tuple[int, ...], step: Any = 1) -> BCOO:
    """The elements in a window of the sparse axes; the others are padding."""
    if sizes == mat.sparse_shape and isinstance(start, np.ndarray):
        return mat

    before = mat.sparse_shape

    def cut(data: Value, indices: Value, start: Value, step: Value) -> tuple[Any, Any]:
        inside = in_bounds(indices, before)
        moved = indices - start
        new = moved // step
        inside &= (moved % step == 0).all(-1) & in_bounds(new, sizes)
        return padded(inside, data, new, sizes)

    every = (1,) * mat.n_batch
    start, step = [
        cnp.asarray(x, mat.indices.dtype).reshape(every + cnp.shape(x))
        for x in (start, step)
    ]
    data, indices = over_batch(cut, mat.n_batch, mat.data, mat.indices, start, step)
    return same_size(BCOO.of_parts(data, indices, sizes, False, mat.unique_indices))


def bcoo_dynamic_slice(
    mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]
) -> BCOO:
    """The window of the array that begins at ``start_indices``, moved inside.

    Raises:
      TypeMismatch: the numbers or sizes do not fit the axes.

    >>> from covector.experimental import sparse
    >>> bcoo_dynamic_slice(sparse.eye(3), (1, 5), (2, 2)).todense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    sizes = tuple(slice_sizes)
    starts = [as_array(i, "bcoo_dynamic_slice") for i in start_indices]
    if not len(starts) == len(sizes) == mat.ndim or any(
        [not 0 <= k <= n for k, n in zip(sizes, mat.shape, strict=False)]
    ):
        raise TypeMismatch(
            f"bcoo_dynamic_slice of {mat} needs an index and a size for each axis, but "
            f"got {how_many(len(starts), 'index', 'indices')} and the sizes {sizes}."
        )
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    starts = [
        cnp.clip(i, 0, n - k) for i, n, k in zip(starts, mat.shape, sizes, strict=True)
    ]
    data, indices = mat.data, mat.indices
    for a in range(n):
        if data.shape[a] == mat.shape[a]:
            data = lax.dynamic_slice_in_dim(data, starts[a], sizes[a], a)
        if indices.shape[a] == mat.shape[a]:
            indices = lax.dynamic_slice_in_dim(indices, starts[a], sizes[a], a)
    for a in range(end, mat.ndim):
        at = a - mat.n_sparse + 1
        data = lax.dynamic_slice_in_dim(data, starts[a], sizes[a], at)
    out = mat.replace(data=data, indices=indices)
    if mat.n_sparse:
        start = cnp.stack(starts[n:end]).astype(indices.dtype)
        out = _window(out, start, sizes[n:end])
    return _with_batch(out, sizes[:n])


def bcoo_gather(
    operand: BCOO,
    start_indices: ArrayLike,
    dimension_numbers: lax.GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | lax.GatherScatterMode | None = None,
    fill_value: Any = None,
) -> BCOO:
    """``lax.gather`` of a sparse array: windows at the indices ``start_indices``.

    Each window has as many elements as the array: the axes of ``start_indices`` are
    batch axes of the result, or sparse ones where they do not come first.

    Args:
      mode: of windows outside: they are moved inside, or, with "fill", are zeros.
      fill_value: None or 0.

    >>> from covector import lax, numpy as cnp
    >>> from covector.experimental import sparse
    >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> m = bcoo_gather(sparse.eye(3), cnp.array([[2], [0]]), rows, (1, 3))
    >>> m.todense().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if fill_value not in (None, 0):
        raise ArgumentError(
            f"bcoo_gather: fill_value is 0 in a sparse array, but got {fill_value!r}."
        )
    numbers = lax.GatherDimensionNumbers(*map(tuple, dimension_numbers))
    if numbers.operand_batching_dims:
        raise ArgumentError(
            "bcoo_gather: vmap over batch axes instead of operand_batching_dims."
        )
    where = as_array(start_indices, "bcoo_gather")
    sizes, collapsed = tuple(slice_sizes), numbers.collapsed_slice_dims
    kind = lax.GatherScatterMode.from_any("clip" if mode is None else mode)
    is_fill = kind is lax.GatherScatterMode.FILL_OR_DROP

    def window(index: Value) -> BCOO:
        starts: list[Any] = [0] * operand.ndim
        inside = cnp.array(True)
        for k, axis in enumerate(numbers.start_index_map):
            starts[axis] = index[k]
            last = operand.shape[axis] - sizes[axis]
            inside &= (index[k] >= 0) & (index[k] <= last)
        found = bcoo_dynamic_slice(operand, starts, sizes)
        if is_fill:
            zero = cnp.zeros((), found.dtype)
            found = found.replace(data=cnp.where(inside, found.data, zero))
        return bcoo_squeeze(found, dimensions=collapsed)

    over = window
    for _ in range(where.ndim - 1):
        over = vmap(over)
    out = over(where)
    # Now the axes of the indices come first, those of the window after them.
    batch = [a for a in range(out.ndim) if a not in numbers.offset_dims]
    order = sorted(range(out.ndim), key=[*batch, *numbers.offset_dims].__getitem__)
    if order != list(range(out.ndim)):
        out = bcoo_update_layout(out, n_batch=0, n_dense=0)
        out = bcoo_transpose(out, permutation=order)
    return out
