"""Dimension numbers, modes and checks that gather and scatter share.

    indices[b, :]   names the corner of window b, along the axes ``start_index_map``
    slice_sizes     how far a window reaches along each axis of the operand
    batch           the axes of the indices but the last, one window for each index

    gather          windows of the operand  ──►  axes ``offset_dims`` of the result,
                                                 between the axes of the batch
    scatter         the same, backwards

Axes of the operand that are *collapsed* have windows of length one and do not appear
in the result. Along an axis that is *batching*, window b is at the index of b along the
axis of the indices that belongs to it.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, Value
from covector.core.array import from_host
from covector.core.convert import scalar
from covector.core.number_info import iinfo
from covector.core.types import ArrayType, Shape, show_types
from covector.errors import ArgumentError, DTypeError, TypeMismatch, how_many
from covector.operations.bitwise import and_
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.casting import convert
from covector.operations.comparison import ge, le
from covector.operations.extrema import clamp
from covector.operations.joining import Concatenate
from covector.operations.reductions import ReduceAnd
from covector.operations.slicing import insert
from covector.operations.transposing import Reshape, are_axes

Axes = tuple[int, ...]


class GatherDimensionNumbers(NamedTuple):
    """The dimension numbers of a gather.

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

    def attribute(self, index_vector_dim: int) -> str:
        """These numbers in StableHLO."""
        return _attribute("gather", self._fields, self, index_vector_dim)

    def past_axis(self, dim: int) -> "GatherDimensionNumbers":
        """These numbers as the axes of the operand count with a new one at ``dim``."""
        return self._replace(
            collapsed_slice_dims=shifted(self.collapsed_slice_dims, dim),
            start_index_map=shifted(self.start_index_map, dim),
            operand_batching_dims=shifted(self.operand_batching_dims, dim),
        )

    def past_batch_of_indices(self) -> "GatherDimensionNumbers":
        """These numbers where indices and result have another axis in front."""
        return self._replace(
            offset_dims=shifted(self.offset_dims, 0),
            start_indices_batching_dims=shifted(self.start_indices_batching_dims, 0),
        )

    def in_step(self, dim: int) -> "GatherDimensionNumbers":
        """… where that axis runs in step with a new one of the operand at ``dim``."""
        d = self.past_axis(dim).past_batch_of_indices()
        position = sum([a < dim for a in d.operand_batching_dims])
        return d._replace(
            operand_batching_dims=insert(d.operand_batching_dims, position, dim),
            start_indices_batching_dims=insert(
                d.start_indices_batching_dims, position, 0
            ),
        )


class ScatterDimensionNumbers(NamedTuple):
    """The dimension numbers of a scatter: those of the gather that reads its windows.

    >>> ScatterDimensionNumbers((1,), (0,), (0,)).inserted_window_dims
    (0,)
    """

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()

    def attribute(self, index_vector_dim: int) -> str:
        """These numbers in StableHLO, which calls the operand the input."""
        names = [n.replace("operand_batching", "input_batching") for n in self._fields]
        return _attribute("scatter", names, self, index_vector_dim)

    def with_wider_windows(self) -> "ScatterDimensionNumbers":
        """These numbers where operand and updates have another axis in front, along
        which windows reach all the way.
        """
        past = self._past_first_axis()
        return past._replace(update_window_dims=(0, *past.update_window_dims))

    def in_step(self) -> "ScatterDimensionNumbers":
        """… where indices have it too, in step with that of the operand."""
        past = self._past_first_axis()
        in_indices = shifted(past.scatter_indices_batching_dims, 0)
        return past._replace(
            operand_batching_dims=(0, *past.operand_batching_dims),
            scatter_indices_batching_dims=(0, *in_indices),
        )

    def _past_first_axis(self) -> "ScatterDimensionNumbers":
        """… as the axes of operand and updates count with a new one in front."""
        return self._replace(
            update_window_dims=shifted(self.update_window_dims, 0),
            inserted_window_dims=shifted(self.inserted_window_dims, 0),
            scatter_dims_to_operand_dims=shifted(self.scatter_dims_to_operand_dims, 0),
            operand_batching_dims=shifted(self.operand_batching_dims, 0),
        )


def _attribute(
    kind: str, names: Sequence[str], numbers: Sequence[Axes], index_vector_dim: int
) -> str:
    pairs = zip(names, map(list, numbers), strict=True)
    parts = [f"{name} = {axes}" for name, axes in pairs]
    return (
        f"#stablehlo.{kind}<{', '.join(parts)}, index_vector_dim = {index_vector_dim}>"
    )


class GatherScatterMode(Enum):
    """The treatment of windows that do not lie inside the operand.

    ``CLIP`` moves them to the nearest index inside. ``FILL_OR_DROP`` reads a fill value
    instead, and writes nothing. ``PROMISE_IN_BOUNDS``: there are none; otherwise
    the values are those of ``CLIP`` for reading and of dropping for writing, and
    derivatives may be wrong.

    >>> GatherScatterMode.from_any("clip")
    <GatherScatterMode.CLIP: 1>
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    # Each mode is one object; the hash of Enum is a call of Python.
    __hash__: Any = object.__hash__

    @staticmethod
    def from_any(mode: "str | GatherScatterMode | None") -> "GatherScatterMode":
        """The mode of this name (clip, fill, drop, promise_in_bounds); None is fill."""
        if isinstance(mode, GatherScatterMode):
            return mode
        if not isinstance(mode, str | None) or mode not in _MODES:
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


def flag(value: bool) -> str:
    """A promise in StableHLO."""
    return "true" if value else "false"


# -- axes and shapes -------------------------------------------------------------------


def window_axes(d: GatherDimensionNumbers, ndim: int) -> list[int]:
    """The axes of the operand that the result has as well."""
    gone = {*d.collapsed_slice_dims, *d.operand_batching_dims}
    return [a for a in range(ndim) if a not in gone]


def interleave_axes(
    d: GatherDimensionNumbers, batch: Sequence[Any], window: Sequence[Any]
) -> tuple[Any, ...]:
    """Entries for the batch axes and the window axes, interleaved as in the result."""
    rest, inside = iter(batch), iter(window)
    count = len(batch) + len(window)
    return tuple([next(inside if k in d.offset_dims else rest) for k in range(count)])


def shifted(axes: Axes, position: int) -> Axes:
    """The axes as they count when there is a new one at ``position``."""
    return tuple([a + (a >= position) for a in axes])


def update_sizes(d: GatherDimensionNumbers, shape: Shape, updates: Shape) -> Shape:
    """The slice sizes of the windows that updates of this shape fill."""
    sizes = [min(1, n) for n in shape]
    for axis, position in zip(window_axes(d, len(shape)), d.offset_dims, strict=False):
        sizes[axis] = updates[position] if position < len(updates) else 0
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
    return interleave_axes(d, indices.shape[:-1], window)


def _wrong_indices(d: GatherDimensionNumbers, x: ArrayType, indices: ArrayType) -> str:
    """The fault of the indexed axes, in words."""
    in_operand, in_indices = d.operand_batching_dims, d.start_indices_batching_dims
    if indices.ndim == 0 or indices.shape[-1] != len(d.start_index_map):
        return (
            "the last axis of the indices needs one entry per axis of start_index_map"
        )
    if not are_axes((*d.start_index_map, *in_operand), x.ndim):
        return "indices must count along different axes of the operand, none of a batch"
    if len(in_operand) != len(in_indices) or not are_axes(in_indices, indices.ndim - 1):
        return "the batching axes of operand and indices must come in pairs"
    if [x.shape[a] for a in in_operand] != [indices.shape[a] for a in in_indices]:
        return "the batching axes of operand and indices must have the same lengths"
    return ""


def _wrong_windows(
    d: GatherDimensionNumbers, sizes: Shape, x: ArrayType, indices: ArrayType
) -> str:
    """The fault of the windows, in words."""
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
        axes = how_many(count, "ascending axis", "ascending axes")
        return f"offset_dims must be {axes} of the result"
    return ""


# -- values and indices in programs ----------------------------------------------------


def default_fill(dtype: np.dtype) -> Any:
    """The fill value of a dtype: NaN, the farthest integer, or True."""
    if dtypes.is_bool(dtype):
        return True
    if dtypes.is_integer(dtype):
        limits = iinfo(dtype)
        return limits.min or limits.max
    return np.nan


def fill_scalar(value: Any, dtype: np.dtype) -> HostArray:
    """A fill value, of which None means the default one, as a NumPy scalar."""
    if value is None:
        value = default_fill(dtype)
    elif isinstance(value, str):
        value = complex(value) if dtypes.is_complex(dtype) else float(value)
    return np.asarray(value).astype(dtype)[()]


def wide(indices: Value) -> Value:
    """Indices of at least 32 bits, which can count along any axis."""
    narrow = indices.type.dtype.itemsize < 4
    return convert(indices, dtypes.int32) if narrow else indices


def fits_narrow(indices: ArrayType, x: ArrayType) -> bool:
    """Whether these are indices of 64 bits, and 32 count along each axis of ``x``."""
    most = iinfo(dtypes.int32).max
    return indices.dtype.itemsize > 4 and all([int(n) <= most for n in x.shape])


def narrow(indices: Value) -> Any:
    """Indices of 32 bits: those too large for them are still outside."""
    dtype = indices.type.dtype
    least = 0 if dtypes.is_unsigned(dtype) else -1
    most = scalar(iinfo(dtypes.int32).max, dtype)
    return convert(clamp(scalar(least, dtype), indices, most), dtypes.int32)


#: indices, the axes along which their last axis counts, and the last ones inside
Starts = tuple[Value, Sequence[int], Sequence[int]]


def window_starts(
    d: GatherDimensionNumbers, sizes: Shape, x: ArrayType, indices: Value
) -> Starts:
    """Where windows of ``x`` begin, and where they may."""
    axes = d.start_index_map
    return indices, axes, [x.shape[a] - sizes[a] for a in axes]


def last_starts(
    indices: ArrayType, axes: Sequence[int], sizes: Shape, x: ArrayType
) -> Value:
    """The largest indices of windows inside ``x``, as the indices are laid out."""
    largest = iinfo(indices.dtype).max
    last = [x.shape[a] - sizes[a] for a in axes]
    # A symbolic size is of a class of its own, and no number to be cut off.
    last = [min(n, largest) if type(n) is int else n for n in last]
    if len(last) == 1:
        return scalar(last[0], indices.dtype)
    if {int}.issuperset(map(type, last)):
        values: Value = from_host(np.array(last, indices.dtype))
    else:
        parts = [Reshape((1,))(scalar(n, indices.dtype)) for n in last]
        values = Concatenate(0)(*parts)
    return BroadcastInDim(indices.shape, (indices.ndim - 1,))(values)


def moved_inside(
    indices: Value, axes: Sequence[int], sizes: Shape, x: ArrayType
) -> Value:
    """The indices, brought to the nearest at which windows lie inside ``x``."""
    last = last_starts(indices.type, axes, sizes, x)
    return clamp(scalar(0, indices.type.dtype), indices, last)


def are_inside(
    indices: Value, axes: Sequence[int], sizes: Shape, x: ArrayType
) -> Value:
    """The mask of windows that lie inside ``x``."""
    last = last_starts(indices.type, axes, sizes, x)
    inside = and_(ge(indices, scalar(0, indices.type.dtype)), le(indices, last))
    if len(axes) == 1:
        return Reshape(indices.type.shape[:-1])(inside)
    return ReduceAnd((indices.type.ndim - 1,))(inside)
