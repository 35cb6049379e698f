"""Gather and scatter on the host, by one flat index per window."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from covector.core.annotations import HostArray
from covector.core.types import Shape
from covector.operations.windows import (
    GatherDimensionNumbers,
    interleave_axes,
    update_sizes,
    window_axes,
)


@lru_cache(256)
def read_layout(op: Any, shape: Shape, batch: Shape) -> "WindowLayout":
    """The host layout of the windows that a gather reads."""
    return WindowLayout(op.dimension_numbers, op.slice_sizes, shape, batch)


@lru_cache(256)
def write_layout(op: Any, shape: Shape, batch: Shape, updates: Shape) -> "WindowLayout":
    """The host layout of the windows that a scatter writes."""
    sizes = update_sizes(op.reading, shape, updates)
    return WindowLayout(op.reading, sizes, shape, batch)


class WindowLayout:
    """The layout of an array's windows on the host, by one flat index.

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
        pairs = zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True)
        positions = [*pairs, *[(a, len(batch) + k) for k, a in enumerate(inner)]]
        self.offsets = self._offsets({position: steps[a] for a, position in positions})
        rest = [f"batch axis {k}" for k in range(len(batch))]
        found = [*before, *rest, *inner, *after]
        #: of the axes of all windows together, from (before, flat, after)
        self.arrangement = _Order(
            [found.index(a) for a in interleave_axes(d, rest, window)]
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

    def _offsets(self, steps: dict[int, int]) -> HostArray | None:
        """The flat offsets of the elements of a window, and of the batch."""
        offsets = None
        for position, step in steps.items():
            lengths = [1] * len(self.flat)
            lengths[position] = self.flat[position]
            along = (np.arange(self.flat[position]) * step).reshape(lengths)
            offsets = along if offsets is None else offsets + along
        return offsets

    def positions(self, indices: HostArray, clip: bool) -> tuple[Any, Any]:
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

    def read(self, x: HostArray, indices: HostArray, fill: Any) -> HostArray:
        """The windows of ``x``; ``fill``, if given, where they are not inside."""
        merged: Any = self.order.apply(x).reshape(self.merged)
        if self.plain and fill is None and self.offsets is None:
            if indices.dtype == np.uint64:
                indices = np.minimum(indices, 2**62)
            flat: Any = indices[..., 0]
            return self.arrangement.apply(merged.take(flat, self.axis, mode="clip"))
        flat, inside = self.positions(indices, fill is None)
        out: Any = merged.take(flat, self.axis)
        if inside is not None:
            behind = out.ndim - self.axis - inside.ndim
            out = np.where(inside.reshape((*inside.shape, *(1,) * behind)), out, fill)
        return self.arrangement.apply(out)

    def write(
        self,
        x: HostArray,
        indices: HostArray,
        updates: HostArray,
        clip: bool,
        change: Callable[..., Any],
    ) -> HostArray:
        """A copy of ``x`` to which ``change(array, key, values)`` has been done."""
        out = np.array(self.order.apply(x), order="C").reshape(self.merged)
        flat, inside = self.positions(indices, clip)
        # The indices one after the other, so that the last of several updates wins.
        flat = self._one_by_one(flat)
        values = self.arrangement.undo(updates)
        values = values.reshape((*self.before, flat.size, *self.after))
        if inside is not None:
            inner = (1,) * (len(self.flat) - inside.ndim)
            kept = self._one_by_one(inside.reshape((*inside.shape, *inner)))
            flat, values = flat[kept], values.compress(kept, self.axis)
        change(out, (*(slice(None),) * self.axis, flat), values)
        return self.order.undo(out.reshape((*self.before, *self.counted, *self.after)))

    def _one_by_one(self, x: HostArray) -> HostArray:
        """The values for each flat index, along one axis."""
        return (x if x.shape == self.flat else np.broadcast_to(x, self.flat)).ravel()


class _Order:
    """An order of axes, on the host."""

    def __init__(self, axes: Sequence[int]) -> None:
        self.axes = tuple(axes)
        self.back = sorted(range(len(axes)), key=axes.__getitem__)
        self.moves = self.axes != tuple(range(len(axes)))

    def apply(self, x: HostArray) -> HostArray:
        return x.transpose(self.axes) if self.moves else x

    def undo(self, x: HostArray) -> HostArray:
        return x.transpose(self.back) if self.moves else x


def _at(axes: list[int], values: Shape) -> list[int]:
    return [values[a] for a in axes]
