"""Unique elements of arrays, with their indices, inverse and counts.

How many different elements there are is a shape. So either the array is known, and
NumPy finds them; or ``size`` says how many to list, and what is missing is filled up.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, from_numpy, scalar
from covector.core.masks import select
from covector.core.trace import Tracer
from covector.errors import ArgumentError, ConcretizationTypeError
from covector.lowering.placement import placement_of_known
from covector.numpy.axes import as_count, canonical_axis
from covector.numpy.axis_order import moveaxis
from covector.numpy.concatenation import concatenate
from covector.numpy.cumulative import cumsum
from covector.numpy.indexing import index
from covector.numpy.indexing_take import take
from covector.numpy.nonzeros import nonzero
from covector.numpy.reductions import any as any_of
from covector.numpy.reshaping import broadcast_to, ravel, reshape
from covector.numpy.searching import index_dtype
from covector.numpy.updating import at
from covector.operations.bitwise import and_, not_
from covector.operations.broadcasting import BroadcastInDim, filled, zeros
from covector.operations.casting import convert
from covector.operations.comparison import ne
from covector.operations.creation import Iota
from covector.operations.joining import Unstack
from covector.operations.selection import where
from covector.operations.sorting import Sort
from covector.operations.sorting_on_host import is_quick, sort_alone, sort_together

__all__ = [
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


#: how many entries a table may have for each integer that is counted with it
_SPREAD = 4


class UniqueAllResult(NamedTuple):
    """The different elements, where each is first, which each element is, how often."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The different elements, and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The different elements, and which of them each element is."""

    values: Array
    inverse_indices: Array


@overload
def unique(
    ar: Any,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array: ...
@overload
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Any: ...
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Any:
    """The different elements of ``ar``, ascending, or different slices along ``axis``.

    Their number is a shape, so under ``jit`` it must be stated with ``size``.

    Args:
      return_index: also the index of the first of each.
      return_inverse: also which of them each element of ``ar`` is, in the shape of
        ``ar`` (for slices, along the axis).
      return_counts: also how often each occurs.
      equal_nan: whether all NaN count as one element.
      size: how many to list; the first so many. Without it, ``ar`` must be known.
      fill_value: what to list if there are fewer: by default the first. Its index is
        that of the first, and it does not count.
      sorted: not used: they always are.

    Raises:
      ConcretizationTypeError: ``ar`` is traced, and there is no ``size``.

    >>> import covector.numpy as cnp
    >>> print(cnp.unique(cnp.array([3, 1, 3])))
    [1 3]
    >>> print(cnp.unique(cnp.array([3, 1, 3]), size=4, fill_value=-1))
    [ 1  3 -1 -1]

    See also: ``unique_counts``, ``isin``, ``bincount``.
    """
    x = as_array(ar, "unique")
    wanted = (return_index, return_inverse, return_counts)
    values, *found = different(x, axis, size, fill_value, equal_nan, any(wanted))
    if not found:
        return values
    return (values, *select(found, wanted))


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAllResult:
    """``unique`` with all that it can return, NaN counting as different from each
    other.

    >>> import covector.numpy as cnp
    >>> print(cnp.unique_all(cnp.array([3, 1, 3])).counts)
    [1 2]
    """
    found = different(as_array(x, "unique_all"), None, size, fill_value, False)
    return UniqueAllResult(*found)


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCountsResult:
    """The different elements and how often each occurs; every NaN is different.

    >>> import covector.numpy as cnp
    >>> print(cnp.unique_counts(cnp.array([3, 1, 3])).counts)
    [1 2]
    """
    found = different(as_array(x, "unique_counts"), None, size, fill_value, False)
    return UniqueCountsResult(found[0], found[3])


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverseResult:
    """The different elements and which each element is; every NaN is different.

    >>> import covector.numpy as cnp
    >>> print(cnp.unique_inverse(cnp.array([3, 1, 3])).inverse_indices)
    [1 0 1]
    """
    found = different(as_array(x, "unique_inverse"), None, size, fill_value, False)
    return UniqueInverseResult(found[0], found[2])


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The different elements; every NaN is different.

    >>> import covector.numpy as cnp
    >>> print(cnp.unique_values(cnp.array([3, 1, 3])))
    [1 3]
    """
    x = as_array(x, "unique_values")
    return different(x, None, size, fill_value, False, positions=False)[0]


def different(
    x: Value,
    axis: int | None,
    size: int | None,
    fill_value: Any,
    equal_nan: bool,
    positions: bool = True,
) -> tuple[Array, ...]:
    """The different parts; with ``positions`` also where each is first, which each part
    is, and how often each is.
    """
    if axis is None:
        parts, shape = ravel(x), x.type.shape
    else:
        k = canonical_axis("unique", axis, x.type.ndim)
        parts, shape = moveaxis(x, k, 0), (x.type.shape[k],)
    if size is not None:
        size = as_count("unique", size, "size")
    if size and not parts.type.shape[0] and fill_value is None:
        raise ArgumentError(
            f"unique of {x.type}, which has no element, with size={size}: say with "
            "fill_value what to list."
        )
    if size is None:
        out = _unique_known(parts, equal_nan, positions)
    else:
        out = _unique_listed(parts, size, fill_value, equal_nan)
    values = out[0] if axis is None else moveaxis(out[0], 0, k)
    if not positions:
        return (values,)
    _, first, inverse, counts = out
    return values, first, reshape(inverse, shape), counts


def _unique_known(parts: Value, equal_nan: bool, positions: bool) -> list[Array]:
    """The unique elements of known values, by NumPy."""
    if isinstance(parts, Tracer):
        raise ConcretizationTypeError(
            f"unique of a traced array ({parts.type}): how many different elements "
            f"there are, which is a shape, is not known. {parts.origin()} Say with "
            "size= how many to list; what is missing is filled up."
        )
    known = np.asarray(parts)
    here = placement_of_known([parts], "unique")
    if parts.type.ndim == 1 and dtypes.is_integer(known.dtype):
        counted = _by_counting(known, positions)
        if counted is not None:
            return [from_numpy(found, here) for found in counted]
    if parts.type.ndim == 1 and not positions and is_quick(known.dtype, alone=True):
        ordered = sort_alone(known, 0)
        return [from_numpy(ordered[_first_of_equals(ordered, equal_nan)], here)]
    if parts.type.ndim == 1 and is_quick(known.dtype, alone=False):
        values, *found = _with_positions(known, equal_nan)
    else:
        axis = None if parts.type.ndim == 1 else 0
        # NumPy knows the order of its own dtypes only; wider floats have the same.
        wide = known if dtypes.is_of_numpy(known.dtype) else known.astype(np.float32)
        values, *found = np.unique(
            wide, True, True, True, axis=axis, equal_nan=equal_nan
        )
    return [
        from_numpy(values.astype(known.dtype), here),
        *[from_numpy(p.ravel().astype(index_dtype()), here) for p in found],
    ]


def _by_counting(x: HostArray, positions: bool) -> Sequence[HostArray] | None:
    """What ``_unique_known`` finds, of integers that are close enough for a table from
    the lowest to the highest; None where they are not.
    """
    if not x.size or not dtypes.is_of_numpy(x.dtype):
        return None
    lowest, highest = x.min(), x.max()
    length = int(highest) - int(lowest) + 1
    if length > _SPREAD * x.size:
        return None
    # The differences may wrap; as unsigned integers they are what they should be.
    entries = (x - lowest).view(f"u{x.dtype.itemsize}")
    if not positions:
        present = np.zeros(length, bool)
        present[entries] = True
        return [np.flatnonzero(present).astype(x.dtype) + lowest]
    entries, dtype = entries.astype(np.intp), index_dtype()
    counts = np.bincount(entries, minlength=length)
    present = np.flatnonzero(counts)
    # Of several that are written to an entry the last one stays.
    first = np.empty(length, dtype)
    first[entries[::-1]] = np.arange(x.size - 1, -1, -1, dtype=dtype)
    which = np.empty(length, dtype)
    which[present] = np.arange(present.size, dtype=dtype)
    values = present.astype(x.dtype) + lowest
    return [values, first[present], which[entries], counts[present].astype(dtype)]


def _first_of_equals(ordered: HostArray, equal_nan: bool) -> HostArray:
    """The mask of elements that differ from the one before."""
    a, b = ordered[1:], ordered[:-1]
    differ = a != b
    if equal_nan and dtypes.is_floating(ordered.dtype):
        differ &= ~((a != a) & (b != b))  # noqa: PLR0124  those are NaN
    return np.concatenate([np.ones(min(1, ordered.size), bool), differ])


def _with_positions(x: HostArray, equal_nan: bool) -> Sequence[HostArray]:
    """The different elements, where each is first, which each element is, how often
    each is.
    """
    ordered, order = sort_together([x, np.arange(x.size)], 0)
    new = _first_of_equals(ordered, equal_nan)
    inverse = np.empty_like(order)
    inverse[order] = np.cumsum(new) - 1
    counts = np.diff(np.flatnonzero(new), append=x.size)
    return ordered[new], order[new], inverse, counts


def _unique_listed(
    parts: Any, size: int, fill_value: Any, equal_nan: bool
) -> list[Any]:
    """The first ``size`` of them: equal parts are neighbours once all are sorted."""
    n, dtype = parts.type.shape[0], index_dtype()
    ordered, order = sorted_parts(parts)
    new = differs_from_last(ordered, equal_nan)
    which = cumsum(convert(new, dtype)) - 1
    # One more than are listed: where the next begins, the last one listed ends.
    (positions,) = nonzero(new, size=size + 1, fill_value=n)
    positions, ends = index(positions, slice(size)), index(positions, slice(1, None))
    count = ends - positions
    first = take(order, positions, mode="fill", fill_value=0)
    inverse = at(zeros(order.type))[order].set(which)
    there = ne(positions, scalar(n, dtype))
    if n:
        values = take(ordered, positions, 0, mode="clip")
    else:
        values = zeros(parts.type.with_shape((size, *parts.type.shape[1:])))
    fill = index(ordered, slice(1)) if fill_value is None else as_array(fill_value)
    mask = BroadcastInDim(values.type.shape, (0,))(there)
    values = where(
        mask, values, broadcast_to(convert(fill, values.type.dtype), values.type.shape)
    )
    if n:
        lead = index(first, slice(1))
        first = where(there, first, BroadcastInDim(first.type.shape, (0,))(lead))
    return [values, first, inverse, where(there, count, scalar(0, dtype))]


def sorted_parts(parts: Value) -> Sequence[Array]:
    """The parts in lexicographic order, and the indices they came from."""
    n = parts.type.shape[0]
    positions = Iota(index_dtype(), (n,), 0)()
    if parts.type.ndim == 1:
        return Sort(0)(parts, positions)
    columns = Unstack(1)(reshape(parts, (n, -1)))
    *_, order = Sort(0, True, len(columns))(*columns, positions)
    return take(parts, order, 0, mode="clip"), order


def differs_from_last(ordered: Value, equal_nan: bool) -> Array:
    """The mask of parts that differ from the one before."""
    n = ordered.type.shape[0]
    if not n:
        return zeros(ordered.type.with_shape((0,)).with_dtype(dtypes.bool_))
    a, b = index(ordered, slice(1, None)), index(ordered, slice(-1))
    other = ne(a, b)
    if equal_nan and dtypes.is_inexact(ordered.type.dtype):
        other = and_(other, not_(and_(ne(a, a), ne(b, b))))
    if ordered.type.ndim > 1:
        other = any_of(other, tuple(range(1, other.type.ndim)))
    return concatenate(
        [filled(True, index(other, slice(0)).type.with_shape((1,))), other]
    )
