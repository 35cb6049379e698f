"""``x[index]``: reading by all kinds of NumPy indices.

    integers, slices, None, ...   one slice, whose indices are known
    scalar integer arrays         one dynamic slice
    integer arrays, masks         one gather

Indices outside the array: negative integers count from the end, and what then is still
outside reads the nearest element, or with ``mode="fill"`` a value that says so. What an
index selects is determined in ``index_parsing``.
"""

from functools import lru_cache, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Index, Value
from covector.core.array import ConcreteArray, from_host
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.trace import current
from covector.core.types import ArrayType, Shape
from covector.errors import InvalidIndex
from covector.numpy.arithmetic import remainder
from covector.numpy.axes import beside
from covector.numpy.index_parsing import Selection, canonical_index, select
from covector.numpy.promote import broadcast_to
from covector.operations.arithmetic import add
from covector.operations.bitwise import and_
from covector.operations.broadcasting import filled
from covector.operations.casting import convert
from covector.operations.comparison import ge, lt
from covector.operations.dynamic_slicing import DynamicSlice
from covector.operations.extrema import min_
from covector.operations.gathering import Gather
from covector.operations.joining import Stack
from covector.operations.selection import where
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape, Rev
from covector.operations.windows import GatherDimensionNumbers, GatherScatterMode, wide

CLIP = GatherScatterMode.CLIP
FILL_OR_DROP = GatherScatterMode.FILL_OR_DROP

#: elements from which indices that are read eagerly are operands and not parameters: a
#: loop over many would make as many operations
LARGE = 4096


class Access(NamedTuple):
    """The mode for indices outside of the array, and promises about the others."""

    mode: GatherScatterMode = CLIP
    fill: int | str | None = None
    indices_are_sorted: bool = False
    unique_indices: bool = False
    wrap_negative_indices: bool = True


NEAREST = Access()


def index(x: Array, idx: Index) -> Array:
    """The elements that ``idx`` selects: what ``x[idx]`` calls."""
    parts: tuple[Any, ...] = (idx,)
    if type(idx) is not int:
        x, parts, arrays = canonical_index(x, idx)
        if arrays:
            return read(x, select(x.type, parts), arrays)
    if type(x) is ConcreteArray and x.type.size > LARGE:
        selection = select(x.type, parts)
        if selection.lengths != x.type.shape and selection.is_block:
            return _read_block(x, selection, [], NEAREST)
    trace = current.trace
    for op in static_reads(x.type, parts):
        (x,) = trace.process(op, (x,))
    return x


@lru_cache(8192)
def static_reads(type_: ArrayType, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operations that read an index without arrays; at most one for integers and
    slices that run forwards.
    """
    selection = select(type_, parts)
    return region_reads(selection, type_.shape, selection.shape)


def region_reads(selection: Selection, whole: Shape, shape: Shape) -> tuple[Any, ...]:
    """The operations that cut out the region of a selection, in this shape."""
    low, limit, steps, backwards = [], [], [], []
    positions = zip(selection.starts, selection.lengths, selection.steps, strict=True)
    for axis, (start, length, step) in enumerate(positions):
        last = start + (length - 1) * step
        first, final = (start, last) if step > 0 else (last, start)
        # A symbolic length counts as one that is not 0.
        empty = type(length) is int and not length
        low.append(start if empty else first)
        limit.append(start if empty else final + 1)
        if type(length) is not int and step > 0:
            n = whole[axis]
            if (n - first + step - 1) // step == length:
                limit[-1] = n  # the end of the axis: simpler than the last element
        steps.append(abs(step))
        if step < 0:
            backwards.append(axis)
    ops: list[Any] = []
    kept = [k for k in range(len(whole)) if k not in selection.dropped]
    lengths = tuple([selection.lengths[k] for k in kept])
    if selection.lengths != whole or selection.dropped:
        ops.append(Slice(tuple(low), tuple(limit), tuple(steps), selection.dropped))
    if backwards:
        ops.append(Rev(tuple([k for k, a in enumerate(kept) if a in backwards])))
    if lengths != shape:
        ops.append(Reshape(shape))
    return tuple(ops)


# -- indices that are values -----------------------------------------------------------


def read(
    x: Value, selection: Selection, arrays: list[Value], access: Access = NEAREST
) -> Array:
    """The elements of ``x`` in a selection with integer arrays."""
    positions = [
        counted(i, x.type.shape[axis], access.wrap_negative_indices)
        for i, axis in zip(arrays, selection.taken, strict=True)
    ]
    if selection.outside and access.mode is FILL_OR_DROP:
        return nothing(x, selection.shape, access, positions)
    if all([x.type.shape[k] for k in selection.taken]):
        if selection.batch == () and selection.is_block:
            return _read_block(x, selection, positions, access)
        return _read_gathered(x, selection, positions, access)
    if prod(selection.shape) and access.mode is not FILL_OR_DROP:
        raise InvalidIndex(
            f"{x.type} has an axis of length 0 among those indexed by arrays, so there "
            "is no element to read. With x.at[...].get(mode='fill') a fill value is "
            "read."
        )
    return nothing(x, selection.shape, access, positions)


def nothing(x: Value, shape: Shape, access: Access, positions: list[Any]) -> Array:
    """The result of reading outside the array: the fill value everywhere."""
    out = filled(_fill(access, x.type), x.type.with_shape(shape))
    return beside("indexing", out, x, *positions)


def _fill(access: Access, type_: ArrayType) -> Any:
    """The value read outside an array of this type."""
    if dtypes.is_wide_key(type_.dtype):
        return type_.dtype.all_ones.item()
    return _gather_of_one(access).fill(type_.storage).item()


@lru_cache
def _gather_of_one(access: Access) -> Gather:
    """A gather, for the fill value it knows."""
    return Gather(GatherDimensionNumbers((), (0,), (0,)), (1,), fill_value=access.fill)


def counted(i: Value, n: int, wrap: bool = True) -> Array:
    """Indices along an axis of length ``n``, counted from the front, in 32 or 64
    bits.
    """
    if type(i) is ConcreteArray and i.placement is None and i.on_host():
        return from_host(_counted_on_host(np.asarray(i.host()), n, wrap))
    if dtypes.is_unsigned(i.type.dtype):
        if i.type.dtype.itemsize >= 4:  # narrower ones fit a signed dtype as they are
            i = min_(i, scalar(n, i.type.dtype))
        return convert(i, dtypes.int64 if i.type.dtype.itemsize == 8 else dtypes.int32)
    i = convert(i, dtypes.int64 if i.type.dtype.itemsize == 8 else dtypes.int32)
    if not wrap:
        return i
    zero, length = scalar(0, i.type.dtype), scalar(n, i.type.dtype)
    return where(lt(i, zero), add(i, length), i)


def _counted_on_host(i: np.ndarray, n: int, wrap: bool) -> np.ndarray:
    """The same of values that are known."""
    wide = np.int64 if i.dtype.itemsize == 8 else np.int32
    if dtypes.is_unsigned(i.dtype):
        # Narrower than 32 bits they may not hold the length, and fit as they are.
        return (np.minimum(i, n) if i.dtype.itemsize >= 4 else i).astype(wide)
    i = i.astype(wide)
    below = i < 0
    if not wrap or not np.logical_or.reduce(below, None):
        return i
    return np.where(below, i + wide(n), i)


def modulo(i: Value, n: int) -> Array:
    """Indices modulo ``n``, in a dtype that counts so far."""
    return remainder(wide(i), n)


def one_dtype(positions: list[Any]) -> list[Array]:
    """Index arrays in one element type."""
    wide = any([i.type.dtype.itemsize == 8 for i in positions])
    return [convert(i, dtypes.int64 if wide else dtypes.int32) for i in positions]


def _read_block(
    x: Value, selection: Selection, positions: list[Any], access: Access
) -> Array:
    """One element, or one block, whose index is given by scalars."""
    positions = one_dtype(positions)
    ops = _dynamic_reads(selection)
    out = ops[0](x, *starts_with(selection, positions))
    for op in ops[1:]:
        out = op(out)
    if access.mode is not FILL_OR_DROP:
        return out
    inside = all_inside(x.type.shape, selection, positions)
    return where(inside, out, scalar(_fill(access, x.type), out.type.dtype))


@lru_cache(8192)
def _dynamic_reads(selection: Selection) -> tuple[Any, ...]:
    gone = tuple(sorted((*selection.dropped, *selection.taken)))
    sizes = tuple(
        [1 if k in selection.taken else n for k, n in enumerate(selection.lengths)]
    )
    window = tuple([selection.lengths[k] for k in selection.window])
    ops = (DynamicSlice(sizes, gone),)
    return ops if window == selection.shape else (*ops, Reshape(selection.shape))


def starts_with(selection: Selection, positions: list[Any]) -> list[Array]:
    """The start of the region along each axis: an index, or known."""
    dtype = positions[0].type.dtype if positions else dtypes.int32
    starts: list[Array] = [scalar(s, dtype) for s in selection.starts]
    for axis, position in zip(selection.taken, positions, strict=True):
        starts[axis] = position
    return starts


def all_inside(shape: Shape, selection: Selection, positions: list[Any]) -> Array:
    """Whether all the scalars lie inside their axes."""
    tests = []
    for axis, i in zip(selection.taken, positions, strict=True):
        dtype = i.type.dtype
        tests += [ge(i, scalar(0, dtype)), lt(i, scalar(shape[axis], dtype))]
    return reduce(and_, tests)


def _read_gathered(
    x: Value, selection: Selection, positions: list[Any], access: Access
) -> Array:
    """Windows at indices given by arrays."""
    ops, gather, reshape = _gathering(selection, x.type.shape, access)
    for op in ops:
        x = op(x)
    out = gather(x, joined_positions(positions, selection.batch))
    return out if reshape is None else reshape(out)


def joined_positions(positions: list[Any], batch: Shape) -> Any:
    """Index arrays as one, with an entry for each of them along the last axis."""
    if all([type(i) is ConcreteArray and i.placement is None for i in positions]):
        hosts = [i._host for i in positions]
        if not any([host is None for host in hosts]):
            return from_host(_joined_on_host(hosts, batch))
    repeated = [broadcast_to(i, batch) for i in one_dtype(positions)]
    if len(repeated) == 1:
        return Reshape((*batch, 1))(repeated[0])
    return Stack(len(batch))(*repeated)


def _joined_on_host(positions: list[np.ndarray], batch: Shape) -> np.ndarray:
    """The same of values that are known."""
    dtype = np.int64 if 8 in [i.dtype.itemsize for i in positions] else np.int32
    if len(positions) == 1 and positions[0].shape == batch:
        return positions[0].reshape((*batch, 1)).astype(dtype, copy=False)
    joined = np.empty((*batch, len(positions)), dtype)
    for k, i in enumerate(positions):
        joined[..., k] = i
    return joined


@lru_cache(8192)
def _gathering(
    selection: Selection, shape: Shape, access: Access
) -> tuple[Any, Any, Any]:
    """The operations before a gather, the gather, and the reshape after it."""
    kept = [k for k in range(len(shape)) if k not in selection.dropped]
    lengths = tuple([selection.lengths[k] for k in kept])
    before = region_reads(selection, shape, lengths)
    taken = tuple([kept.index(a) for a in selection.taken])
    window = tuple([selection.lengths[k] for k in selection.window])
    at, rank = selection.batch_at, len(selection.batch)
    numbers = GatherDimensionNumbers(
        tuple([k if k < at else k + rank for k in range(len(window))]),
        tuple(sorted(taken)),
        taken,
    )
    gather = Gather(
        numbers,
        tuple([1 if k in taken else n for k, n in enumerate(lengths)]),
        access.indices_are_sorted,
        access.unique_indices,
        access.mode,
        access.fill,
    )
    gathered = (*window[:at], *selection.batch, *window[at:])
    reshape = None if gathered == selection.shape else Reshape(selection.shape)
    return before, gather, reshape
