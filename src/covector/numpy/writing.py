"""Writing to an index: static slices, dynamic slices or scatters.

A ``Change`` says how an element and its value make the new element. Blocks are cut out,
changed and put back; regions with gaps are filled up by padding and chosen; indices
given by arrays are scattered to.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from covector.core import dtypes
from covector.core.annotations import HostArray, Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.number_info import can_cast_losslessly
from covector.core.source import function_name
from covector.core.types import ArrayType, Shape
from covector.errors import TypeMismatch
from covector.numpy.index_parsing import WHOLE, Selection, Span, one_per_axis, select
from covector.numpy.indexing import (
    CLIP,
    FILL_OR_DROP,
    Access,
    all_inside,
    counted,
    joined_positions,
    one_dtype,
    starts_with,
    static_reads,
)
from covector.numpy.promote import broadcast_to
from covector.operations.arithmetic import add, mul
from covector.operations.broadcasting import filled, zeros
from covector.operations.casting import convert
from covector.operations.comparison import lt
from covector.operations.dynamic_slicing import DynamicSlice, DynamicUpdateSlice
from covector.operations.extrema import max_, min_
from covector.operations.gathering import ScatterAdd, Scattering
from covector.operations.reductions import ReduceMax
from covector.operations.scattering import Scatter, ScatterMax, ScatterMin, ScatterMul
from covector.operations.selection import where
from covector.operations.slicing import Pad, Slice
from covector.operations.transposing import Reshape, Rev
from covector.operations.windows import ScatterDimensionNumbers


@dataclass(frozen=True, eq=False)
class Change:
    """The function of an element and a value that gives the new element."""

    #: None: the value replaces the element
    combine: Callable[[Any, Any], Any] | None
    #: the operation that does so at scattered indices; None: read, combine, replace
    scatter: Any = None

    def __call__(self, old: Value, value: Value) -> Array:
        """The new elements: combined in the dtype of the values, to which both were
        promoted, in the dtype of the old ones.
        """
        if self.combine is None:
            return value
        dtype, wide = old.type.dtype, value.type.dtype
        if dtype is wide:
            return self.combine(old, value)
        return convert(self.combine(convert(old, wide), value), dtype)


SET = Change(None, Scatter)
ADD = Change(add, ScatterAdd)
MULTIPLY = Change(mul, ScatterMul)
MINIMUM = Change(min_, ScatterMin)
MAXIMUM = Change(max_, ScatterMax)


def write(
    x: Value,
    parts: Any,
    arrays: list[Value],
    change: Change,
    values: Value,
    access: Access,
) -> Array:
    """``x`` with the elements changed that a canonical index names."""
    selection = select(x.type, parts)
    values = _fitting(values, selection, x.type)
    layout = _layout(selection, x.type.shape)
    if layout.empty or (selection.outside and access.mode is not CLIP):
        return x
    if layout.is_block:
        positions = arrays and [
            counted(i, x.type.shape[axis], access.wrap_negative_indices)
            for i, axis in zip(arrays, selection.taken, strict=True)
        ]
        if selection.batch == ():
            return _write_block(x, selection, layout, positions, change, values, access)
        return _write_scattered(x, selection, positions, change, values, access)
    if not arrays:
        return _write_gaps(x, parts, change, values)
    outer, inner = _split_gaps(x.type, parts)
    region = _read_static(x, outer)
    changed = write(region, inner, arrays, change, values, access)
    return _write_gaps(x, outer, SET, changed)


class _Layout(NamedTuple):
    """Facts about a selection: whether it has no elements, or is one block; the
    shape of its window, the axes that this has not, and its lengths with these as one;
    its starts, as types and values of scalars; None where they are not all known.
    """

    empty: bool
    is_block: bool
    window: Shape
    gone: tuple[int, ...]
    sizes: Shape
    starts: list[tuple[ArrayType, HostArray]] | None


@lru_cache(8192)
def _layout(selection: Selection, shape: Shape) -> _Layout:
    gone = tuple(sorted((*selection.dropped, *selection.taken)))
    starts = None
    if not selection.taken and all([type(s) is int for s in selection.starts]):
        known = [scalar(k, dtypes.int32) for k in selection.starts]
        starts = [(start.type, start.host()) for start in known]
    return _Layout(
        prod(selection.shape) == 0 or 0 in [shape[k] for k in selection.taken],
        selection.is_block,
        tuple([selection.lengths[k] for k in selection.window]),
        gone,
        tuple([1 if k in gone else n for k, n in enumerate(selection.lengths)]),
        starts,
    )


def _fitting(values: Value, selection: Selection, type_: ArrayType) -> Array:
    """The values, one for each element that is selected; a scalar stays one."""
    given, shape = values.type.shape, selection.shape
    if given == shape:
        return values
    missing = len(shape) - len(given)
    fits = missing >= 0 and all(
        [n in (1, m) for n, m in zip(given, shape[missing:], strict=True)]
    )
    if not fits:
        raise TypeMismatch(
            f"the index selects elements of {type_} with the shape {shape}, to which "
            f"values of type {values.type} do not broadcast."
        )
    return broadcast_to(values, shape)


def _read_static(x: Value, parts: Any) -> Any:
    for op in static_reads(x.type, parts):
        x = op(x)
    return x


# -- blocks ----------------------------------------------------------------------------


def _write_block(
    x: Value,
    selection: Selection,
    layout: _Layout,
    positions: list[Any],
    change: Change,
    values: Value,
    access: Access,
) -> Array:
    """A block without gaps, at an index that is known or given by scalars."""
    _, _, window, gone, sizes, known = layout
    if values.type.shape != window:
        values = Reshape(window)(values)
    if not gone and window == x.type.shape:
        return change(x, values)
    starts: list[Any]
    if known is not None:
        starts = [ConcreteArray(*start) for start in known]
    else:
        positions = one_dtype(positions)
        starts = starts_with(selection, positions)
    guarded = bool(positions) and access.mode is FILL_OR_DROP
    if change.combine is not None or guarded:
        old = DynamicSlice(sizes, gone)(x, *starts)
        values = change(old, values)
        if guarded:
            values = where(all_inside(x.type.shape, selection, positions), values, old)
    return DynamicUpdateSlice(gone)(x, values, *starts)


# -- regions with gaps -----------------------------------------------------------------


def _write_gaps(x: Value, parts: Any, change: Change, values: Value) -> Array:
    """A region with steps other than one, at indices that are known."""
    selection = select(x.type, parts)
    if change.combine is not None:
        values = change(_read_static(x, parts), values)
    reshape, reverse, pad = _filling(selection, x.type.shape)
    values = reshape(values)
    if reverse is not None:
        values = reverse(values)
    ones = broadcast_to(scalar(True, dtypes.bool_), selection.lengths)
    mask = pad(ones, scalar(False, dtypes.bool_))
    return where(mask, pad(values, _filler(values)), x)


def _filler(values: Value) -> Array:
    """Something of the element type of the values, to stand where there is none."""
    if not dtypes.is_key(values.type.dtype):
        return scalar(0, values.type.dtype)
    ndim = values.type.ndim
    return Slice((0,) * ndim, (1,) * ndim, None, tuple(range(ndim)))(values)


@lru_cache(4096)
def _filling(selection: Selection, shape: Shape) -> tuple[Any, Any, Any]:
    """The padding that brings values for a region to their indices in this shape."""
    config, backwards = [], []
    positions = zip(
        shape, selection.starts, selection.lengths, selection.steps, strict=True
    )
    for axis, (n, start, length, step) in enumerate(positions):
        last = start + (length - 1) * step
        low, high = (start, last) if step > 0 else (last, start)
        config.append((low, n - 1 - high, abs(step) - 1))
        if step < 0:
            backwards.append(axis)
    return (
        Reshape(selection.lengths),
        Rev(tuple(backwards)) if backwards else None,
        Pad(tuple(config)),
    )


@lru_cache(4096)
def _split_gaps(
    type_: ArrayType, parts: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """An index with arrays and gaps as two, one after the other: the gaps, the rest."""
    items = one_per_axis(type_, parts)
    gaps = [type(i) is Span and i.step not in (None, 1) for i in items]
    outer = [
        item if gap else WHOLE
        for item, gap in zip(items, gaps, strict=True)
        if item is not None
    ]
    inner = [WHOLE if gap else item for item, gap in zip(items, gaps, strict=True)]
    return tuple(outer), tuple(inner)


# -- scattered indices -----------------------------------------------------------------


def _write_scattered(
    x: Value,
    selection: Selection,
    positions: list[Any],
    change: Change,
    values: Value,
    access: Access,
) -> Array:
    """Windows at indices given by arrays."""
    scatter, known, gathered = _scattering(
        change.scatter or Scatter, selection, x.type.shape, access
    )
    if values.type.shape != gathered:
        values = Reshape(gathered)(values)
    dtype = positions[0].type.dtype
    positions = [*positions, *[scalar(start, dtype) for start in known]]
    indices = joined_positions(positions, selection.batch)
    if change.scatter is None:
        return apply_scattered(
            scatter, x, indices, gathered, lambda old: change(old, values)
        )
    wide = values.type.dtype
    if wide is x.type.dtype:
        return scatter(x, indices, values)
    out = convert(scatter(convert(x, wide), indices, values), x.type.dtype)
    if can_cast_losslessly(x.type.dtype, wide):
        return out
    # Elements that are not changed are as they were, not as the wider dtype has them.
    bools = x.type.with_dtype(dtypes.bool_)
    write_true = Scatter(*scatter.parameters.values())
    changed = write_true(
        zeros(bools), indices, filled(True, values.type.with_dtype(dtypes.bool_))
    )
    return where(changed, out, x)


@lru_cache(8192)
def _scattering(
    kind: Any, selection: Selection, shape: Shape, access: Access
) -> tuple[Any, tuple[int, ...], Shape]:
    """The scatter, the known starts that stand behind the indices, and the shape of the
    values that it takes.
    """
    window = tuple([selection.lengths[k] for k in selection.window])
    at, rank = selection.batch_at, len(selection.batch)
    partial = [
        k
        for k, n in enumerate(shape)
        if k not in selection.taken and selection.lengths[k] != n
    ]
    also = [k for k in selection.dropped if k not in partial]
    known = sorted((*partial, *also))
    numbers = ScatterDimensionNumbers(
        tuple([k if k < at else k + rank for k in range(len(window))]),
        tuple(sorted((*selection.dropped, *selection.taken))),
        (*selection.taken, *known),
    )
    scatter = kind(
        numbers, access.indices_are_sorted, access.unique_indices, access.mode
    )
    gathered = (*window[:at], *selection.batch, *window[at:])
    return scatter, tuple([selection.starts[k] for k in known]), gathered


def apply_scattered(
    write: Scattering,
    x: Value,
    indices: Value,
    shape: Shape,
    func: Callable[[Any], Any],
) -> Array:
    """``x`` with ``func`` applied to the windows that ``write`` replaces.

    Together they have this shape, and ``func`` maps an array of it to another, element
    by element. To a window that is named several times it is applied as often, in a
    loop.
    """
    updates = ArrayType(shape, x.type.dtype)
    read = write.gather(x.type, updates)
    values = read(x, indices)
    if write.is_unique(indices.type):
        return write(x, indices, func(values))
    counts = updates.with_dtype(dtypes.int32)
    named = ScatterAdd(*write.parameters.values())(
        zeros(x.type.with_dtype(dtypes.int32)), indices, filled(1, counts)
    )
    times = read(named, indices)
    most = ReduceMax(tuple(range(times.type.ndim)))(times)
    if type(most) is ConcreteArray and int(most) <= 1:
        return write(x, indices, func(values))

    def again(state: Sequence[Value]) -> tuple[Array, ...]:
        k, values = state
        return add(k, one), where(lt(k, times), func(values), values)

    from covector.programs.control_flow.control_flow_api import (  # noqa: PLC0415
        Loop,  # few programs write like this
    )

    one = scalar(1, dtypes.int32)
    loop = Loop("apply", function_name(func))
    start = (scalar(0, dtypes.int32), values)
    _, values = loop.run_while(lambda state: lt(state[0], most), again, start)
    return write(x, indices, values)
