"""Nonzero elements, and those that meet a condition: their indices and their values.

How many they are is a shape, so it must be known: the array is concrete, or ``size``
says how many to list, and what is missing is filled up.
"""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, from_numpy, scalar
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.errors import (
    ArgumentError,
    ConcretizationTypeError,
    TypeMismatch,
    how_many,
)
from covector.lowering.placement import placement_of_known
from covector.numpy.axes import (
    as_count,
    canonical_axis,
    check_no_out,
    check_not_inplace,
)
from covector.numpy.cumulative import cumsum
from covector.numpy.indexing import index
from covector.numpy.indexing_take import take
from covector.numpy.reshaping import ravel, reshape
from covector.numpy.searching import index_dtype
from covector.operations.arithmetic import sub
from covector.operations.broadcasting import zeros
from covector.operations.casting import convert, in_dtype
from covector.operations.comparison import lt
from covector.operations.creation import Iota
from covector.operations.joining import Stack
from covector.operations.scattering import Scatter
from covector.operations.selection import where
from covector.operations.transposing import Reshape
from covector.operations.windows import GatherScatterMode, ScatterDimensionNumbers

__all__ = ["argwhere", "compress", "extract", "flatnonzero", "nonzero", "place"]


def nonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> tuple[Array, ...]:
    """The indices of elements that are not zero, one array for each axis.

    Their number is a shape, so under ``jit`` it must be stated with ``size``; indices
    beyond that are left out. Often ``where(mask, x, y)`` does without indices.

    Args:
      size: the number of indices to list; without it, ``a`` must be known.
      fill_value: what to list when there are fewer: an integer, or one for each axis; 0
        by default, which is an index too.

    Raises:
      ConcretizationTypeError: ``a`` is traced, and there is no ``size``.
      ArgumentError: ``size`` is no integer, or negative.

    >>> import covector.numpy as cnp
    >>> [i.tolist() for i in cnp.nonzero(cnp.array([[0, 4], [5, 0]]))]
    [[0, 1], [1, 0]]

    See also: ``where``, ``argwhere``, ``flatnonzero``, ``count_nonzero``.
    """
    return _nonzero("nonzero", a, size, fill_value)


def _nonzero(
    who: str, a: ArrayLike, size: int | None, fill_value: Any
) -> tuple[Array, ...]:
    x = as_array(a, who)
    if not x.type.ndim:
        raise TypeMismatch(
            f"{who} needs an array with at least one axis, but got {x.type}. For a "
            "scalar, use atleast_1d."
        )
    mask = convert(x, dtypes.bool_)
    if size is not None:
        size = as_count(who, size, "size")
    fills = _fills(who, fill_value, x.type.ndim)
    if isinstance(mask, Tracer):
        return _nonzero_traced(who, mask, size, fills)
    positions = [i.astype(index_dtype()) for i in np.nonzero(np.asarray(mask))]
    if size is not None:
        missing = max(0, size - len(positions[0]))
        held = [np.asarray(in_dtype(fill, index_dtype(), who)) for fill in fills]
        positions = [
            np.concatenate([i[:size], np.full(missing, fill)])
            for i, fill in zip(positions, held, strict=True)
        ]
    where = placement_of_known([x], who)
    return tuple([from_numpy(i, where) for i in positions])


def _fills(who: str, fill_value: Any, ndim: int) -> list[Any]:
    """The fill value of each axis for indices that are not there."""
    if isinstance(fill_value, tuple):
        if len(fill_value) != ndim:
            raise ArgumentError(
                f"{who} needs a fill value for each of "
                f"{how_many(ndim, 'axis', 'axes')}, or one for all, but got "
                f"{fill_value}."
            )
        return list(fill_value)
    if np.ndim(0 if fill_value is None else fill_value):
        raise ArgumentError(
            f"{who} needs a scalar fill value, or a tuple with one for each axis, but "
            f"got {fill_value!r}."
        )
    return [0 if fill_value is None else fill_value] * ndim


def _nonzero_traced(who: str, mask: Tracer, size: int | None, fills: list[Any]) -> Any:
    if size is None:
        raise ConcretizationTypeError(
            f"{who} of a traced array ({mask.type}): how many elements are not zero, "
            f"which is a shape, is not known. {mask.origin()} Say with size= how many "
            "indices to list (the rest is filled up), or use where(condition, x, y)."
        )
    shape, dtype = mask.type.shape, index_dtype()
    flat, count = _first_true(ravel(mask), size)
    there = lt(Iota(dtype, (size,), 0)(), count)
    positions = []
    for axis in range(len(shape) - 1, -1, -1):
        n = max(shape[axis], 1)
        positions.append(flat % n if axis else flat)
        flat = flat // n if axis else flat
    return tuple(
        [
            where(there, i, in_dtype(fill, dtype, who))
            for i, fill in zip(positions[::-1], fills, strict=True)
        ]
    )


def _first_true(mask: Value, size: int) -> tuple[Any, Any]:
    """The indices of the first ``size`` true elements, and how many are true."""
    dtype = index_dtype()
    if not mask.type.size or not size:
        return zeros(ArrayType((size,), dtype)), scalar(0, dtype)
    ranks = cumsum(convert(mask, dtype))
    count = index(ranks, -1)
    target = where(mask, sub(ranks, scalar(1, dtype)), scalar(size, dtype))
    numbers = ScatterDimensionNumbers((), (0,), (0,))
    scatter = Scatter(numbers, mode=GatherScatterMode.FILL_OR_DROP)
    positions = Iota(dtype, mask.type.shape, 0)()
    empty = zeros(ArrayType((size,), dtype))
    return scatter(empty, Reshape((mask.type.size, 1))(target), positions), count


def flatnonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The indices in ``a`` raveled of elements that are not zero.

    Arguments are those of ``nonzero``.

    >>> import covector.numpy as cnp
    >>> print(cnp.flatnonzero(cnp.array([[0, 4], [5, 0]])))
    [1 2]
    """
    x = ravel(as_array(a, "flatnonzero"))
    return _nonzero("flatnonzero", x, size, fill_value)[0]


def argwhere(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The indices of elements that are not zero, one row for each.

    Arguments are those of ``nonzero``; under ``jit``, ``size`` is needed.

    >>> import covector.numpy as cnp
    >>> cnp.argwhere(cnp.array([[0, 4], [5, 0]])).tolist()
    [[0, 1], [1, 0]]

    See also: ``nonzero``, ``flatnonzero``.
    """
    x = as_array(a, "argwhere")
    if not x.type.ndim:
        (found,) = _nonzero("argwhere", reshape(x, (1,)), size, fill_value)
        return zeros(ArrayType((found.type.size, 0), found.type.dtype))
    return Stack(1)(*_nonzero("argwhere", x, size, fill_value))


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The parts of ``a`` along ``axis`` (None: the elements) for which a condition
    holds.

    Args:
      condition: one bool for each position, or fewer.
      size: how many parts to take; without it, the condition must be known.
      fill_value: what stands where there are fewer.

    >>> import covector.numpy as cnp
    >>> print(cnp.compress(cnp.array([True, False, True]), cnp.arange(3)))
    [0 2]
    """
    check_no_out("compress", out)
    x = as_array(a, "compress")
    if axis is None:
        x, axis = ravel(x), 0
    mask = convert(as_array(condition, "compress"), dtypes.bool_)
    k = canonical_axis("compress", axis, x.type.ndim)
    n = x.type.shape[k]
    if mask.type.ndim != 1 or mask.type.size > n:
        if (
            mask.type.ndim != 1
            or isinstance(mask, Tracer)
            or np.asarray(mask)[n:].any()
        ):
            raise TypeMismatch(
                f"compress of {x.type} along axis {k} needs a condition of shape "
                f"({n},) or shorter, but got {mask.type}."
            )
        mask = index(mask, slice(n))
    (positions,) = _nonzero("compress", mask, size, n)
    return take(x, positions, k, mode="fill", fill_value=fill_value)


def extract(
    condition: ArrayLike,
    arr: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
) -> Array:
    """The elements of ``arr`` for which a condition holds; both are raveled.

    Further arguments are those of ``compress``.

    >>> import covector.numpy as cnp
    >>> x = cnp.arange(4)
    >>> print(cnp.extract(x > 1, x))
    [2 3]
    """
    flat = ravel(as_array(condition, "extract"))
    return compress(flat, arr, size=size, fill_value=fill_value)


def place(arr: ArrayLike, mask: ArrayLike, vals: Any, *, inplace: bool = True) -> Array:
    """``arr`` with the elements that a mask selects replaced, in order, by those of
    ``vals``, which repeat.

    Raises:
      ImmutableArrayError: without ``inplace=False``: ``arr`` itself does not change.

    >>> import covector.numpy as cnp
    >>> x = cnp.arange(4)
    >>> print(cnp.place(x, x > 0, cnp.array([7, 8]), inplace=False))
    [0 7 8 7]
    """
    check_not_inplace("place", inplace)
    x, values = as_array(arr, "place"), ravel(as_array(vals, "place"))
    chosen = convert(as_array(mask, "place"), dtypes.bool_)
    if chosen.type.size != x.type.size:
        raise TypeMismatch(
            "place needs a mask with as many elements as the array, but got "
            f"{chosen.type} for {x.type}."
        )
    if not values.type.size:
        raise ArgumentError("place needs at least one value, but got none.")
    chosen = reshape(chosen, x.type.shape)
    ranks = cumsum(convert(ravel(chosen), index_dtype())) - 1
    new = reshape(take(values, ranks, mode="wrap"), x.type.shape)
    return where(chosen, convert(new, x.type.dtype), x)
