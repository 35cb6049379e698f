"""Which axes of a BCOO are batch, sparse and dense, and their order and lengths.

``bcoo_update_layout`` turns axes of one kind into another. Towards more sparse axes
that costs nothing but indices. Towards fewer, each element becomes as many as the axis
is long, of which one is not padding or zero.
"""

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from covector import numpy as cnp
from covector.core.annotations import Value
from covector.errors import (
    ArgumentError,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    TypeMismatch,
    how_many,
)
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.elements import (
    columns,
    in_bounds,
    masked,
    over_batch,
    padded,
)
from covector.numpy.axes import canonical_axes

__all__ = ["bcoo_reshape", "bcoo_squeeze", "bcoo_transpose", "bcoo_update_layout"]


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """The same array with other numbers of batch and dense axes.

    Args:
      n_batch, n_dense: how many axes are to be batch and dense; as now by default.
      on_inefficient: what to do where that stores more elements than before: "error",
        "warn", or None for nothing.

    Raises:
      TypeMismatch: there are not so many axes.
      SparseEfficiencyError: it stores more elements, and may not.

    >>> from covector.experimental import sparse
    >>> bcoo_update_layout(sparse.eye(2), n_batch=1, on_inefficient=None)
    BCOO(float32[2, 2], nse=2, n_batch=1)
    """
    if on_inefficient not in ("error", "warn", None):
        raise ArgumentError(
            "bcoo_update_layout knows on_inefficient 'error', 'warn' and None, but got "
            f"{on_inefficient!r}."
        )
    n_batch = mat.n_batch if n_batch is None else n_batch
    n_dense = mat.n_dense if n_dense is None else n_dense
    if min(n_batch, n_dense) < 0 or n_batch + n_dense > mat.ndim:
        raise TypeMismatch(
            f"bcoo_update_layout of {mat} cannot make "
            f"{how_many(n_batch, 'axis', 'axes')} batch and {n_dense} dense."
        )
    out = mat
    while out.n_batch > n_batch:
        out = _batch_to_sparse(out)
    while out.n_dense > n_dense:
        out = _dense_to_sparse(out)
    while out.n_batch < n_batch:
        out = _sparse_to_batch(out)
    while out.n_dense < n_dense:
        out = _sparse_to_dense(out)
    if out.data.size > mat.data.size and on_inefficient is not None:
        _complain(mat, out, on_inefficient)
    return out


def _complain(mat: BCOO, out: BCOO, how: str) -> None:
    grown = prod(mat.batch_shape + mat.dense_shape) * mat.nse
    if out.data.size <= grown:
        return  # it only stores for each matrix what all of a batch shared
    words = (
        f"bcoo_update_layout of {mat} to {out} stores "
        f"{how_many(out.data.size, 'element')} instead of {mat.data.size}."
    )
    if how == "error":
        raise SparseEfficiencyError(f"{words} If that is meant, on_inefficient=None.")
    warnings.warn(words, SparseEfficiencyWarning, stacklevel=4)


def _batch_to_sparse(mat: BCOO) -> BCOO:
    """The last batch axis as the first sparse one."""
    n = mat.n_batch
    length = mat.shape[n - 1]
    data, indices = whole_batch(mat)
    index = cnp.arange(length, dtype=indices.dtype)[:, None, None]
    index = cnp.broadcast_to(index, (*indices.shape[:-1], 1))
    indices = cnp.concatenate([index, indices], -1)
    before, nse = mat.shape[: n - 1], length * mat.nse
    return BCOO.of_parts(
        data.reshape(*before, nse, *mat.dense_shape),
        indices.reshape(*before, nse, mat.n_sparse + 1),
        (length, *mat.sparse_shape),
        False,  # padding is in between
        mat.unique_indices,
    )


def whole_batch(mat: BCOO) -> tuple[Any, Any]:
    """Data and indices of every matrix of the batch, none of them shared."""
    data = cnp.broadcast_to(mat.data, mat.batch_shape + mat.data.shape[mat.n_batch :])
    indices = (*mat.batch_shape, mat.nse, mat.n_sparse)
    return data, cnp.broadcast_to(mat.indices, indices)


def _dense_to_sparse(mat: BCOO) -> BCOO:
    """The first dense axis as the last sparse one."""
    n, (length, *dense) = mat.n_batch, mat.dense_shape
    data, indices = mat.data, mat.indices
    before = indices.shape[:n]
    index = cnp.arange(length, dtype=indices.dtype)[:, None]
    index = cnp.broadcast_to(index, (*before, mat.nse, length, 1))
    indices = cnp.broadcast_to(
        indices[..., None, :], (*before, mat.nse, length, mat.n_sparse)
    )
    nse = mat.nse * length
    return mat.replace(
        data=data.reshape(*data.shape[:n], nse, *dense),
        indices=cnp.concatenate([indices, index], -1).reshape(
            *before, nse, mat.n_sparse + 1
        ),
        sparse_shape=(*mat.sparse_shape, length),
    )


def _sparse_to_batch(mat: BCOO) -> BCOO:
    """The first sparse axis as the last batch one; each matrix has all elements, and
    those of others as padding.
    """
    length, *shape = mat.sparse_shape
    rest = tuple(shape)

    def divide(data: Value, indices: Value) -> tuple[Any, Any]:
        inside = in_bounds(indices, (length, *rest))
        numbers = cnp.arange(length, dtype=indices.dtype)
        mask = inside & (indices[:, 0] == numbers[:, None])
        return padded(mask, data[None], indices[None, :, 1:], rest)

    data, indices = over_batch(divide, mat.n_batch, mat.data, mat.indices)
    return BCOO.of_parts(data, indices, rest, False, mat.unique_indices)


def _sparse_to_dense(mat: BCOO) -> BCOO:
    """The last sparse axis as the first dense one."""
    *shape, length = mat.sparse_shape
    rest = tuple(shape)

    def extend(data: Value, indices: Value) -> tuple[Any, Any]:
        inside = in_bounds(indices, (*rest, length))
        numbers = cnp.arange(length, dtype=indices.dtype)
        mask = inside[:, None] & (indices[:, -1:] == numbers)
        data = masked(
            mask, cnp.broadcast_to(data[:, None], (*mask.shape, *data.shape[1:]))
        )
        return padded(inside, data, indices[:, :-1], rest)

    data, indices = over_batch(extend, mat.n_batch, mat.data, mat.indices)
    return BCOO.of_parts(data, indices, rest)


def common_layout(lhs: BCOO, rhs: BCOO) -> tuple[BCOO, BCOO]:
    """Two arrays of one rank with the same axes batch and dense."""
    n_batch = min(lhs.n_batch, rhs.n_batch)
    n_dense = min(lhs.n_dense, rhs.n_dense)
    return (
        bcoo_update_layout(lhs, n_batch=n_batch, n_dense=n_dense),
        bcoo_update_layout(rhs, n_batch=n_batch, n_dense=n_dense),
    )


def all_sparse(mat: BCOO) -> BCOO:
    """The array with sparse axes only."""
    return bcoo_update_layout(mat, n_batch=0, n_dense=0)


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array whose axis k is axis ``permutation[k]`` of ``mat``.

    Batch axes stay batch axes, and so do the others: each kind is permuted by itself.

    Raises:
      TypeMismatch: it is no permutation, or mixes axes of different kinds;
        ``bcoo_update_layout`` makes all of them sparse.

    >>> from covector.experimental import sparse
    >>> bcoo_transpose(sparse.eye(2, 3), permutation=(1, 0)).shape
    (3, 2)
    """
    order = canonical_axes("bcoo_transpose", permutation, mat.ndim, "permutation")
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    kinds = order[:n], order[n:end], order[end:]
    wanted = range(n), range(n, end), range(end, mat.ndim)
    if [sorted(k) for k in kinds] != [list(w) for w in wanted]:
        raise TypeMismatch(
            f"bcoo_transpose of {mat} needs a permutation that leaves batch, sparse "
            f"and dense axes where they are, but got {tuple(permutation)}. "
            "bcoo_update_layout(mat, n_batch=0, n_dense=0) makes all of them sparse."
        )
    batch, sparse, dense = kinds
    by_column = [k - n for k in sparse]
    after = [n, *[k - mat.n_sparse + 1 for k in dense]]
    in_order = by_column == list(range(mat.n_sparse))
    indices = mat.indices if in_order else mat.indices[..., cnp.asarray(by_column)]
    return BCOO.of_parts(
        mat.data.transpose(*batch, *after),
        indices.transpose(*batch, n, n + 1),
        tuple([mat.shape[k] for k in sparse]),
        mat.indices_sorted and in_order,
        mat.unique_indices,
    )


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without some axes of length 1.

    Raises:
      TypeMismatch: an axis is longer.
      AxisError: there is no such axis.

    >>> from covector.experimental import sparse
    >>> bcoo_squeeze(sparse.eye(1, 3), dimensions=(0,))
    BCOO(float32[3], nse=1)
    """
    axes = canonical_axes("bcoo_squeeze", dimensions, arr.ndim, "dimensions")
    if any([arr.shape[a] != 1 for a in axes]):
        raise TypeMismatch(f"bcoo_squeeze of {arr}: not all of {axes} have length 1.")
    n, end = arr.n_batch, arr.n_batch + arr.n_sparse
    batch = tuple([a for a in axes if a < n])
    keep = [k for k in range(arr.n_sparse) if k + n not in axes]
    dense = tuple([a - arr.n_sparse + 1 for a in axes if a >= end])
    shape = tuple([arr.sparse_shape[k] for k in keep])
    data, indices = arr.data, arr.indices
    if len(keep) < arr.n_sparse:
        before = arr.sparse_shape

        def drop(data: Value, indices: Value) -> tuple[Any, Any]:
            inside = in_bounds(indices, before)
            return padded(inside, data, columns(indices, keep), shape)

        data, indices = over_batch(drop, n, data, indices)
    return BCOO.of_parts(
        cnp.squeeze(data, batch + dense),
        cnp.squeeze(indices, batch),
        shape,
        arr.indices_sorted and shape == arr.sparse_shape,
        arr.unique_indices,
    )


def bcoo_reshape(
    mat: BCOO,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: Any = None,
) -> BCOO:
    """The elements in row-major order, in another shape.

    Batch axes become as many of the first new axes as have their size, dense axes the
    last ones.

    Args:
      dimensions: the order in which axes are read, as for ``bcoo_transpose``.
      sharding: None; the arrays of a sparse array have shardings.

    Raises:
      TypeMismatch: the sizes differ, or new axes would be batch and sparse at once;
        ``bcoo_update_layout`` makes all axes sparse.

    >>> from covector.experimental import sparse
    >>> bcoo_reshape(sparse.eye(2), new_sizes=(4,)).indices.tolist()
    [[0], [3]]
    """
    refuse_sharding("bcoo_reshape", sharding)
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    sizes = tuple(new_sizes)
    n_batch, n_dense = _kinds(mat, sizes)
    end = len(sizes) - n_dense
    batch, shape, dense = sizes[:n_batch], sizes[n_batch:end], sizes[end:]
    data, indices = mat.data, mat.indices
    if batch != mat.batch_shape:
        data, indices = whole_batch(mat)
        data = data.reshape(*batch, *data.shape[mat.n_batch :])
        indices = indices.reshape(*batch, mat.nse, mat.n_sparse)
    data = data.reshape(*data.shape[:n_batch], mat.nse, *dense)
    if shape == mat.sparse_shape:
        return mat.replace(data=data, indices=indices)
    before, groups = mat.sparse_shape, _groups(mat.sparse_shape, shape)
    limit = np.iinfo(indices.dtype).max
    if any([prod([shape[k] for k in new]) > limit for _, new in groups]):
        raise TypeMismatch(
            f"bcoo_reshape of {mat} to {sizes}: {indices.dtype} cannot count its "
            "elements. Give it indices of a larger type."
        )

    def move(data: Value, indices: Value) -> tuple[Any, Any]:
        inside = in_bounds(indices, before)
        indices = cnp.where(inside[:, None], indices, 0)
        moved: list[Any] = []
        for old, new in groups:
            flat = cnp.zeros(len(indices), indices.dtype)
            for k in old:
                flat = flat * before[k] + indices[:, k]
            found = []
            for k in new[::-1]:
                found.append(flat % max(shape[k], 1))
                flat = flat // max(shape[k], 1)
            moved += found[::-1]
        indices = cnp.stack(moved, -1) if moved else indices[:, :0]
        return padded(inside, data, indices, shape)

    data, indices = over_batch(move, n_batch, data, indices)
    return BCOO.of_parts(data, indices, shape, False, mat.unique_indices)


def _groups(
    before: Sequence[int], after: Sequence[int]
) -> list[tuple[list[int], list[int]]]:
    """Axes of two shapes that are reshaped by themselves: as few together as can be."""
    if 0 in before:
        return [([*range(len(before))], [*range(len(after))])]
    groups, i, j = [], 0, 0
    while i < len(before) or j < len(after):
        old, new = [*range(i, len(before))][:1], [*range(j, len(after))][:1]
        while True:
            left = prod([before[k] for k in old])
            right = prod([after[k] for k in new])
            if left == right:
                break
            longer, first = (old, i) if left < right else (new, j)
            longer.append(first + len(longer))
        groups.append((old, new))
        i, j = i + len(old), j + len(new)
    return groups


def _kinds(mat: BCOO, sizes: tuple[int, ...]) -> tuple[int, int]:
    """The numbers of new axes that are batch and dense."""
    batch, dense = prod(mat.batch_shape), prod(mat.dense_shape)
    sparse = prod(mat.sparse_shape)
    count = len(sizes)
    # As near as can be to what there is: axes of length 1 go with any kind.
    for i in sorted(range(count + 1), key=lambda i: abs(i - mat.n_batch)):
        for j in sorted(range(count - i + 1), key=lambda j: abs(j - mat.n_dense)):
            parts = sizes[:i], sizes[i : count - j], sizes[count - j :]
            if [prod(p) for p in parts] == [batch, sparse, dense]:
                return i, j
    raise TypeMismatch(
        f"bcoo_reshape of {mat} to the shape {sizes}: there must be as many elements, "
        "and batch, sparse and dense axes are reshaped each for themselves. "
        "bcoo_update_layout(mat, n_batch=0, n_dense=0) makes all of them sparse."
    )


def refuse_sharding(who: str, sharding: Any) -> None:
    """Raise where a sharding of a sparse array is asked for."""
    if sharding is not None:
        raise ArgumentError(
            f"{who}: a sparse array has no sharding, but got {sharding!r}. Its data "
            "and indices have."
        )
