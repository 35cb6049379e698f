"""``x[index]``: reading by every kind of index that NumPy allows.

    integers, slices, None, ...   one slice, whose places are known
    scalar integer arrays         one dynamic slice
    integer arrays, masks         one gather

Places outside the array: negative integers count from the end, and what then is still
outside reads the nearest element, or with ``mode="fill"`` a value that says so. What an
index selects is worked out in ``index_parsing``.
"""

from functools import lru_cache
from typing import Any

from covector.core.array_like import Array
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.numpy.index_parsing import Selection, canonical_index, select
from covector.ops.slicing import Rev, Slice
from covector.ops.transposing import Reshape


def index(x: Array, idx: Any) -> Array:
    """The elements that ``idx`` selects: what ``x[idx]`` calls."""
    if type(idx) is int:
        ops = static_reads(x.type, (idx,))
    else:
        x, parts, arrays = canonical_index(x, idx)
        if arrays:
            return read(x, select(x.type, parts), arrays)
        ops = static_reads(x.type, parts)
    trace = current.trace
    for op in ops:
        (x,) = trace.process(op, (x,))
    return x


@lru_cache(8192)
def static_reads(type_: ArrayType, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operations, at most one for integers and slices forwards, that read an
    index.
    """
    selection = select(type_, parts)
    return region_reads(type_, selection, selection.shape)


def region_reads(
    type_: ArrayType, selection: Selection, shape: tuple[int, ...]
) -> tuple[Any, ...]:
    """The operations that cut out the region of a selection, in this shape."""
    low, limit, steps, backwards = [], [], [], []
    places = zip(selection.starts, selection.lengths, selection.steps, strict=True)
    for axis, (start, length, step) in enumerate(places):
        last = start + (length - 1) * step
        low.append(min(start, last) if length else start)
        limit.append(max(start, last) + 1 if length else start)
        steps.append(abs(step))
        if step < 0:
            backwards.append(axis)
    ops: list[Any] = []
    kept = selection.window if selection.dropped else range(type_.ndim)
    lengths = tuple([selection.lengths[k] for k in kept])
    if selection.lengths != type_.shape or selection.dropped:
        ops.append(Slice(tuple(low), tuple(limit), tuple(steps), selection.dropped))
    if backwards:
        ops.append(Rev(tuple([k for k, a in enumerate(kept) if a in backwards])))
    if lengths != shape:
        ops.append(Reshape(shape))
    return tuple(ops)
