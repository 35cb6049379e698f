"""Stored elements: reading and adding at their indices, one matrix at a time.

    data     [nse, *dense]      the elements; each is an array of the dense axes
    indices  [nse, n_sparse]    where they are along the sparse axes
    shape    the lengths of the sparse axes

An element with an index that is not in the shape is *padding*: it stands for nothing,
whatever its data. Padding that is made here has the shape for its index and zeros for
its data. ``over_batch`` carries these functions to batches of matrices.
"""

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from covector import lax
from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import Shape, Value
from covector.core.array_like import Array
from covector.core.trace import Tracer
from covector.dispatch.jit import jit
from covector.errors import ConcretizationTypeError
from covector.transforms.vmap import vmap


def over_batch(fun: Callable[..., Any], n_batch: int, *arrays: Value) -> Any:
    """``fun`` of arrays without their ``n_batch`` first axes, for each index of these.

    Of arrays that have length 1 along such an axis, where others are longer, all share
    the one element.
    """
    return jit(functools.partial(_over_batch, fun, n_batch))(*arrays)


def _over_batch(fun: Callable[..., Any], n_batch: int, *arrays: Value) -> Any:
    if not n_batch:
        return fun(*arrays)
    lengths = [x.shape[0] for x in arrays]
    (length,) = np.broadcast_shapes(*[(n,) for n in lengths])
    shared = [n != length for n in lengths]
    arrays = tuple(
        [cnp.squeeze(x, 0) if s else x for x, s in zip(arrays, shared, strict=True)]
    )
    axes = tuple([None if s else 0 for s in shared])
    inner = functools.partial(_over_batch, fun, n_batch - 1)
    return vmap(inner, in_axes=axes)(*arrays)


def lengths_of(shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
    """The lengths of axes as an index: that of padding."""
    return np.asarray(shape, dtype).reshape(len(shape))


def in_bounds(indices: Value, shape: Shape) -> Array:
    """The mask of elements that are no padding; any number of axes may come before."""
    inside = (indices >= 0) & (indices < lengths_of(shape, indices.dtype))
    return inside.all(-1)


def columns(indices: Value, wanted: Sequence[int]) -> Value:
    """Some columns of indices."""
    if list(wanted) == list(range(indices.shape[-1])):
        return indices
    if not wanted:
        return indices[..., :0]
    return cnp.stack([indices[..., k] for k in wanted], -1)


def masked(mask: Value, data: Value) -> Array:
    """``data`` with zeros where elements are not in the mask."""
    mask = mask.reshape(mask.shape + (1,) * (data.ndim - mask.ndim))
    return cnp.where(mask, data, cnp.zeros((), data.dtype))


def padded(mask: Value, data: Value, indices: Value, shape: Shape) -> tuple[Any, Any]:
    """Data and indices with padding where elements are not in the mask."""
    outside = lengths_of(shape, indices.dtype)
    return masked(mask, data), cnp.where(mask[..., None], indices, outside)


def read_at(x: Value, indices: Value, axes: Sequence[int]) -> Array:
    """``x[indices]`` along ``axes``: ``[nse, *other axes]``, zeros where not inside."""
    others = [n for a, n in enumerate(x.shape) if a not in axes]
    if not axes:
        return cnp.broadcast_to(x, (len(indices), *others))
    if 0 in [x.shape[a] for a in axes]:
        return cnp.zeros((len(indices), *others), x.dtype)
    numbers = lax.GatherDimensionNumbers(
        tuple(range(1, 1 + len(others))), tuple(sorted(axes)), tuple(axes)
    )
    sizes = [1 if a in axes else n for a, n in enumerate(x.shape)]
    return lax.gather(x, indices, numbers, sizes, mode="fill", fill_value=0)


def add_at(
    indices: Value,
    data: Value,
    shape: Shape,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Array:
    """The dense array ``[*shape, *dense]`` of these elements."""
    if dtypes.is_bool(data.dtype):
        return add_at(indices, data.astype(dtypes.int32), shape).astype(bool)
    if not shape:
        return masked(in_bounds(indices, shape), data).sum(0, dtype=data.dtype)
    dense = data.shape[1:]
    start = cnp.zeros((*shape, *dense), data.dtype)
    if 0 in shape:
        return start
    axes = tuple(range(len(shape)))
    numbers = lax.ScatterDimensionNumbers(tuple(range(1, 1 + len(dense))), axes, axes)
    return lax.scatter_add(
        start,
        indices,
        data,
        numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )


def sorted_order(indices: Value, shape: Shape) -> tuple[Array, Array]:
    """Indices in ascending order, padding last, and which element each comes from."""
    mask = in_bounds(indices, shape)
    outside = lengths_of(shape, indices.dtype)
    columns = [cnp.where(mask, indices[:, k], n) for k, n in enumerate(outside)]
    numbers = cnp.arange(len(indices), dtype=dtypes.int32)
    if not columns:
        return indices, numbers
    *columns, order = lax.sort((*columns, numbers), num_keys=len(columns))
    return cnp.stack(columns, -1), order


def group(indices: Value, shape: Shape) -> tuple[Array, Array]:
    """For each element, the rank of its index among those that occur; and how many do.

    Padding comes after all others, and is not counted.
    """
    found, order = sorted_order(indices, shape)
    mask = in_bounds(found, shape)
    if not shape:
        return cnp.zeros(len(indices), dtypes.int32), cnp.minimum(len(indices), 1)
    before = cnp.concatenate([found[:1], found[:-1]])
    new = (found != before).any(-1)
    ranks = cnp.cumsum(new, dtype=dtypes.int32)
    count = cnp.max(cnp.where(mask, ranks + 1, 0), initial=0)
    return cnp.zeros_like(ranks).at[order].set(ranks, unique_indices=True), count


def numbered(indices: Value, shape: Shape) -> tuple[Array, int]:
    """A number for each index, the same for equal ones, and a bound: that of padding.

    Where the shape has few indices they are counted through, which needs no sorting.
    """
    few = prod(shape)
    if few <= 4 * len(indices):
        numbers = cnp.zeros(len(indices), dtypes.int32)
        for k, n in enumerate(shape):
            numbers = numbers * n + indices[:, k].astype(dtypes.int32)
        bound = few
    else:
        numbers, bound = group(indices, shape)[0], len(indices)
    return cnp.where(in_bounds(indices, shape), numbers, bound), bound


def on_grid(data: Value, indices: Value, shape: Shape) -> tuple[Array, Array]:
    """An element for each index of the shape, padding where none was."""
    count = prod(shape)
    inside = in_bounds(indices, shape)
    seen = add_at(indices, inside.astype(dtypes.int32), shape).reshape(count) > 0
    summed = add_at(indices, masked(inside, data), shape)
    dense = data.shape[1:]
    grid = cnp.stack(cnp.indices(shape, indices.dtype), -1) if shape else indices[:1]
    grid = grid.reshape(count, len(shape))
    return padded(seen, summed.reshape(count, *dense), grid, shape)


def distinct(
    data: Value, indices: Value, shape: Shape, nse: int
) -> tuple[Array, Array]:
    """The elements with those at one index added, in ascending order of indices.

    There are ``nse`` of them: what is beyond is left out, and what lacks is padding.
    """
    ranks, _ = group(indices, shape)
    mask = in_bounds(indices, shape)
    data, indices = padded(mask, data, indices, shape)
    summed = add_at(ranks[:, None], data, (nse,))
    outside = cnp.broadcast_to(lengths_of(shape, indices.dtype), (nse, len(shape)))
    return summed, cnp.asarray(outside).at[ranks].set(indices, mode="drop")


def known_count(count: Value, who: str) -> int:
    """The number of elements to store: the largest of a batch of counts."""
    largest = cnp.max(count, initial=0)
    if isinstance(largest, Tracer):
        raise ConcretizationTypeError(
            f"{who}: the number of elements to store depends on a traced value "
            f"({largest.type}), but it is part of a shape. Give it as nse=."
        )
    return int(largest)
