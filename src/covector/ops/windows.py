"""Windows of an array at places named by an array of indices: what gather reads and
scatter writes.

    indices[b, :]   names the corner of window b, along the axes ``start_index_map``
    slice_sizes     how far a window reaches along each axis of the operand
    batch           the axes of the indices but the last, one window for each place

    gather          windows of the operand  ──►  axes ``offset_dims`` of the result,
                                                 between the axes of the batch
    scatter         the same, backwards

Axes of the operand that are *collapsed* have windows of length one and do not appear
in the result. Along an axis that is *batching*, window b is at the place of b along the
axis of the indices that belongs to it.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from math import prod
from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.types import ArrayType, Shape, show_types
from covector.errors import ArgumentError, DTypeError, TypeMismatch
from covector.ops.slicing import are_axes

Axes = tuple[int, ...]


class GatherDimensionNumbers(NamedTuple):
    """Which axes are which in a gather.

    ``offset_dims``: the axes of the result along which windows lie, ascending.
    ``collapsed_slice_dims``: the axes of the operand that the result does not have.
    ``start_index_map``: the axis of the operand that each index entry counts along.
    ``operand_batching_dims``, ``start_indices_batching_dims``: pairs of axes of the
    operand and of the indices that run in step.

    >>> GatherDimensionNumbers((1,), (0,), (0,)).operand_batching_dims
    ()
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes are which in a scatter: those of the gather that reads what it writes.

    >>> ScatterDimensionNumbers((1,), (0,), (0,)).inserted_window_dims
    (0,)
    """

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


class GatherScatterMode(Enum):
    """What becomes of windows that do not lie inside the operand.

    ``CLIP`` moves them to the nearest place inside. ``FILL_OR_DROP`` reads a fill value
    in their place, and writes nothing. ``PROMISE_IN_BOUNDS``: there are none; otherwise
    the values are those of ``CLIP`` for reading and of dropping for writing, and
    derivatives may be wrong.

    >>> GatherScatterMode.from_any("clip")
    <GatherScatterMode.CLIP: 1>
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    @staticmethod
    def from_any(mode: "str | GatherScatterMode | None") -> "GatherScatterMode":
        """The mode of this name (clip, fill, drop, promise_in_bounds); None is fill."""
        if isinstance(mode, GatherScatterMode):
            return mode
        if mode not in _MODES:
            raise ArgumentError(
                f"there is no gather or scatter mode {mode!r}: give 'clip', 'fill', "
                "'drop' or 'promise_in_bounds'."
            )
        return _MODES[mode]


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
}


# -- axes and shapes -------------------------------------------------------------------


def window_axes(d: GatherDimensionNumbers, ndim: int) -> list[int]:
    """The axes of the operand that the result has as well."""
    gone = {*d.collapsed_slice_dims, *d.operand_batching_dims}
    return [a for a in range(ndim) if a not in gone]


def spread_axes(
    d: GatherDimensionNumbers, batch: Sequence[Any], window: Sequence[Any]
) -> tuple[Any, ...]:
    """What belongs to the axes of the batch and of the window, in the order of both."""
    rest, inside = iter(batch), iter(window)
    count = len(batch) + len(window)
    return tuple([next(inside if k in d.offset_dims else rest) for k in range(count)])


def as_gather(d: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """The gather that reads what this scatter writes."""
    return GatherDimensionNumbers(*d)


def as_scatter(d: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """The scatter that writes what this gather reads."""
    return ScatterDimensionNumbers(*d)


def shifted(axes: Axes, place: int) -> Axes:
    """The axes as they count when there is a new one at ``place``."""
    return tuple([a + (a >= place) for a in axes])


def update_sizes(d: GatherDimensionNumbers, shape: Shape, updates: Shape) -> Shape:
    """The slice sizes of the windows that updates of this shape fill."""
    sizes = [min(1, n) for n in shape]
    for axis, place in zip(window_axes(d, len(shape)), d.offset_dims, strict=False):
        sizes[axis] = updates[place] if place < len(updates) else 0
    return tuple(sizes)


def check_windows(
    who: str, d: GatherDimensionNumbers, sizes: Shape, x: ArrayType, indices: ArrayType
) -> Shape:
    """The shape of all windows together, if there are such windows."""
    if not dtypes.is_integer(indices.dtype):
        raise DTypeError(f"{who} needs integers as indices, but got {indices}.")
    wrong = _wrong_indices(d, x, indices) or _wrong_windows(d, sizes, x, indices)
    if wrong:
        raise TypeMismatch(f"{who} of {show_types((x, indices))} with {d}: {wrong}.")
    window = tuple([sizes[a] for a in window_axes(d, x.ndim)])
    return spread_axes(d, indices.shape[:-1], window)


def _wrong_indices(d: GatherDimensionNumbers, x: ArrayType, indices: ArrayType) -> str:
    """What is wrong with the axes along which indices count, in words."""
    own, theirs = d.operand_batching_dims, d.start_indices_batching_dims
    if indices.ndim == 0 or indices.shape[-1] != len(d.start_index_map):
        return (
            "the last axis of the indices needs one entry per axis of start_index_map"
        )
    if not are_axes((*d.start_index_map, *own), x.ndim):
        return "indices must count along different axes of the operand, none of a batch"
    if len(own) != len(theirs) or not are_axes(theirs, indices.ndim - 1):
        return "the batching axes of operand and indices must come in pairs"
    if [x.shape[a] for a in own] != [indices.shape[a] for a in theirs]:
        return "the batching axes of operand and indices must have the same lengths"
    return ""


def _wrong_windows(
    d: GatherDimensionNumbers, sizes: Shape, x: ArrayType, indices: ArrayType
) -> str:
    """What is wrong with the windows, in words."""
    gone = (*d.collapsed_slice_dims, *d.operand_batching_dims)
    count = x.ndim - len(gone)
    if len(sizes) != x.ndim or any(
        [not 0 <= s <= n for s, n in zip(sizes, x.shape, strict=False)]
    ):
        return f"the slice sizes {sizes} must be at most the lengths of the operand"
    if not are_axes(gone, x.ndim) or any(
        [sizes[a] != 1 for a in d.collapsed_slice_dims]
    ):
        return f"collapsed axes need slice size 1, but the slice sizes are {sizes}"
    if any([sizes[a] > 1 for a in d.operand_batching_dims]):
        return f"batching axes need slice size 1, but the slice sizes are {sizes}"
    inside = are_axes(d.offset_dims, indices.ndim - 1 + count)
    if len(d.offset_dims) != count or list(d.offset_dims) != sorted(d.offset_dims):
        inside = False
    if not inside:
        return f"offset_dims must be {count} ascending axes of the result"
    return ""


# -- on the host -----------------------------------------------------------------------


class Layout:
    """How to reach the windows of an array on the host, by one flat index.

    The axes of the operand that windows do not span are brought together, at ``axis``,
    and counted through as one; the others are taken whole.
    """

    def __init__(
        self, d: GatherDimensionNumbers, sizes: Shape, shape: Shape, batch: Shape
    ) -> None:
        window = window_axes(d, len(shape))
        whole = [a for a in window if sizes[a] == shape[a]]
        counted = [a for a in range(len(shape)) if a not in whole]
        inner = [a for a in counted if a in window]
        #: whether the counted axes are side by side as they are
        self.together = not counted or counted[-1] - counted[0] < len(counted)
        self.axis = counted[0] if counted and self.together else 0
        before, after = whole[: self.axis], whole[self.axis :]
        self.before, self.after = _at(before, shape), _at(after, shape)
        self.counted = _at(counted, shape)
        self.merged = (*self.before, prod(self.counted), *self.after)
        self.order = _Order((*before, *counted, *after))
        self.flat = (*batch, *_at(inner, sizes))
        steps = {a: prod([shape[b] for b in counted if b > a]) for a in counted}
        self._count(d, sizes, shape, steps)
        own = zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True)
        places = [*own, *[(a, len(batch) + k) for k, a in enumerate(inner)]]
        self.offsets = self._offsets({place: steps[a] for a, place in places})
        rest = [f"batch axis {k}" for k in range(len(batch))]
        found = [*before, *rest, *inner, *after]
        #: of the axes of all windows together, from (before, flat, after)
        self.arrangement = _Order(
            [found.index(a) for a in spread_axes(d, rest, window)]
        )

    def _count(
        self,
        d: GatherDimensionNumbers,
        sizes: Shape,
        shape: Shape,
        steps: dict[int, int],
    ) -> None:
        """Set how far each entry of an index counts, and the last one inside."""
        axes = d.start_index_map
        self.steps = np.array([steps.get(a, 0) for a in axes], np.int64)
        self.last = np.array([shape[a] - sizes[a] for a in axes], np.int64)
        #: whether an index is the flat index
        self.plain = self.steps.tolist() == [1]

    def _offsets(self, steps: dict[int, int]) -> Any:
        """What places within a window, and in the batch, add to the flat index."""
        offsets = None
        for place, step in steps.items():
            lengths = [1] * len(self.flat)
            lengths[place] = self.flat[place]
            along = (np.arange(self.flat[place]) * step).reshape(lengths)
            offsets = along if offsets is None else offsets + along
        return offsets

    def places(self, indices: Any, clip: bool) -> tuple[Any, Any]:
        """Flat indices, and which windows lie inside; None stands for all of them.

        Those that do not are moved inside.
        """
        if indices.dtype == np.uint64:
            indices = np.minimum(indices, 2**62)
        starts = indices.astype(np.int64)
        # As an unsigned number, a negative one is larger than any length.
        within = starts.view(np.uint64) <= self.last.view(np.uint64)
        inside = None
        if not np.logical_and.reduce(within, None):
            starts = np.minimum(np.maximum(starts, 0), self.last)
            inside = None if clip else within.all(-1)
        flat = starts[..., 0] if self.plain else starts.dot(self.steps)
        if self.offsets is not None:
            inner = len(self.flat) - indices.ndim + 1
            flat = flat.reshape(indices.shape[:-1] + (1,) * inner) + self.offsets
        return flat, inside

    def read(self, x: Any, indices: Any, fill: Any) -> Any:
        """The windows of ``x``; ``fill``, if given, where they are not inside."""
        flat, inside = self.places(indices, fill is None)
        out = self.order.apply(x).reshape(self.merged).take(flat, self.axis)
        if inside is not None:
            behind = out.ndim - self.axis - inside.ndim
            out = np.where(inside.reshape((*inside.shape, *(1,) * behind)), out, fill)
        return self.arrangement.apply(out)

    def write(
        self, x: Any, indices: Any, updates: Any, clip: bool, change: Callable[..., Any]
    ) -> Any:
        """A copy of ``x`` to which ``change(array, key, values)`` has been done."""
        out = np.array(self.order.apply(x), order="C").reshape(self.merged)
        flat, inside = self.places(indices, clip)
        # The places one after the other, so that the last of several updates wins.
        flat = self._one_by_one(flat)
        values = self.arrangement.undo(updates)
        values = values.reshape((*self.before, flat.size, *self.after))
        if inside is not None:
            inner = (1,) * (len(self.flat) - inside.ndim)
            kept = self._one_by_one(inside.reshape((*inside.shape, *inner)))
            flat, values = flat[kept], values.compress(kept, self.axis)
        change(out, (*(slice(None),) * self.axis, flat), values)
        return self.order.undo(out.reshape((*self.before, *self.counted, *self.after)))

    def _one_by_one(self, x: Any) -> Any:
        """What is said of each flat index, along one axis."""
        return (x if x.shape == self.flat else np.broadcast_to(x, self.flat)).ravel()


class _Order:
    """An order of axes, on the host."""

    def __init__(self, axes: Sequence[int]) -> None:
        self.axes = tuple(axes)
        self.back = sorted(range(len(axes)), key=axes.__getitem__)
        self.moves = self.axes != tuple(range(len(axes)))

    def apply(self, x: Any) -> Any:
        return x.transpose(self.axes) if self.moves else x

    def undo(self, x: Any) -> Any:
        return x.transpose(self.back) if self.moves else x


def _at(axes: list[int], values: Shape) -> list[int]:
    return [values[a] for a in axes]
