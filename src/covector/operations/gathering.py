"""``Gather``: reading windows at traced indices; ``ScatterAdd``, its adjoint.

``Gather`` ⇄ ``ScatterAdd``. Other scatters are in ``scattering``; the terms for
windows and indices are explained in ``windows``.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, HostArray, LinearMaps, Value, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.primitive import Linear, Linearized, Operand, Primitive, operation
from covector.core.staging import stage
from covector.core.types import ArrayType, Shape, show_types
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add
from covector.operations.broadcasting import BroadcastInDim, batched, zeros
from covector.operations.selection import where
from covector.operations.slicing import MOVING_LIMIT, insert
from covector.operations.transposing import Reshape
from covector.operations.window_layout import read_layout, write_layout
from covector.operations.windows import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    Starts,
    are_inside,
    check_windows,
    fill_scalar,
    fits_narrow,
    flag,
    moved_inside,
    narrow,
    shifted,
    update_sizes,
    wide,
    window_axes,
    window_starts,
)

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

CLIP = GatherScatterMode.CLIP
FILL_OR_DROP = GatherScatterMode.FILL_OR_DROP


@operation
class Gather(Primitive):
    """The windows of the operand at the indices that the indices name.

    Where ``mode`` is FILL_OR_DROP, windows that are not inside the operand are full of
    ``fill_value``: by default NaN, the least signed integer, the largest unsigned one,
    or True. ``unique_indices`` promises that no two windows overlap,
    ``indices_are_sorted`` that they come in order.

    Fill values that are not integers are given as text (``"nan"``): as numbers, NaN
    does not equal itself, and 0.0 equals -0.0.
    """

    dimension_numbers: GatherDimensionNumbers
    slice_sizes: Shape
    indices_are_sorted: bool = False
    unique_indices: bool = False
    mode: GatherScatterMode = FILL_OR_DROP
    fill_value: int | str | None = None

    linear_operands = ((0,),)
    host_limit = MOVING_LIMIT
    by_halves = True
    reads_part = True

    def type_rule(self, x: ArrayType, indices: ArrayType) -> Sequence[ArrayType]:
        numbers, sizes = self.dimension_numbers, self.slice_sizes
        return (x.with_shape(check_windows("gather", numbers, sizes, x, indices)),)

    def is_same_on_host(self, types: Sequence[ArrayType], outs: Any) -> bool:
        return not dtypes.is_wide_key(types[0].dtype)

    def prefers_host(self, types: Sequence[ArrayType], outs: Any) -> bool:
        x, indices = types
        if not super().prefers_host([indices], outs):
            return False
        # A large operand costs nothing where it need not be rearranged.
        layout = read_layout(self, x.shape, indices.shape[:-1])
        return layout.together or super().prefers_host(types, outs)

    def host_function(  # type: ignore[override]
        self, x: ArrayType, indices: ArrayType
    ) -> Callable[..., HostArray]:
        layout = read_layout(self, x.shape, indices.shape[:-1])
        fill = self.fill(x.storage) if self.mode is FILL_OR_DROP else None
        return partial(layout.read, fill=fill)

    def on_host(self, x: HostArray, indices: HostArray) -> HostArray:
        layout = read_layout(self, x.shape, indices.shape[:-1])
        fill = self.fill(x.dtype) if self.mode is FILL_OR_DROP else None
        return layout.read(x, indices, fill)

    def fill(self, dtype: np.dtype) -> HostArray:
        """The fill value as a NumPy scalar."""
        return fill_scalar(self.fill_value, dtype)

    def starts(self, x: Value, indices: Value) -> Starts:
        return window_starts(self.dimension_numbers, self.slice_sizes, x.type, indices)

    @cached_property
    def with_zeros(self) -> "Gather":
        """This operation on tangents: those outside are zero."""
        return self.replace(fill_value=0) if self.mode is FILL_OR_DROP else self

    def differential(self, out: Value, x: Value, indices: Value) -> LinearMaps:
        return [lambda dx: self.with_zeros(dx, indices), None]

    def transpose(
        self, cotangents: Values, x: Operand, indices: Operand
    ) -> Sequence[Value | None]:
        back = ScatterAdd(
            ScatterDimensionNumbers(*self.dimension_numbers),
            self.indices_are_sorted,
            self.unique_indices,
            self.mode,
        )
        return [back(zeros(x.type.strong()), indices, cotangents[0]), None]

    def batch(self, size: int, args: Values, dims: Any) -> Batched:
        (x, indices), (dim, index_dim) = args, dims
        if index_dim is None:
            return self._batch_operand(size, x, indices, dim)
        indices = batched(size, indices, index_dim)
        if dim is None:
            gather = self.replace(
                dimension_numbers=self.dimension_numbers.past_batch_of_indices(),
                indices_are_sorted=False,
                unique_indices=False,
            )
        else:
            gather = self.replace(
                dimension_numbers=self.dimension_numbers.in_step(dim),
                slice_sizes=insert(self.slice_sizes, dim, min(size, 1)),
            )
        return (gather(x, indices),), (0,)

    def _batch_operand(self, size: int, x: Value, indices: Value, dim: int) -> Batched:
        """The rule where only the operand is batched: windows span its batch axis."""
        d = self.dimension_numbers
        position = sum([a < dim for a in window_axes(d, x.type.ndim - 1)])
        ndim = indices.type.ndim - 1 + len(d.offset_dims)
        at = (*d.offset_dims, ndim)[position]
        offset_dims = insert(shifted(d.offset_dims, at), position, at)
        numbers = d.past_axis(dim)._replace(offset_dims=offset_dims)
        sizes = insert(self.slice_sizes, dim, size)
        gather = self.replace(dimension_numbers=numbers, slice_sizes=sizes)
        return (gather(x, indices),), (at,)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(read=outs[0].nbytes + types[1].nbytes)

    @property
    def as_integers(self) -> bool:  # type: ignore[override]
        return self.mode is not FILL_OR_DROP  # a value to fill with is of the dtype

    def lower(self, ctx: "Lowering", x: HloValue, indices: HloValue) -> HloResults:
        _, kind = ctx.in_types
        if kind.dtype.itemsize < 4 or self.mode is FILL_OR_DROP:
            return ctx.through(self.clipped, x, indices)
        if prod(kind.shape[:-1]) == 1:  # XLA makes a ``dynamic_slice`` of it
            from covector.operations.windows_in_windows import (  # noqa: PLC0415  few
                is_nested,
            )

            if is_nested(ctx):
                (indices,) = ctx.through(self.moved, x, indices)
        return ctx.op(
            "stablehlo.gather",
            [x, indices],
            dimension_numbers=self.dimension_numbers.attribute(kind.ndim - 1),
            slice_sizes=self.slice_sizes,
            indices_are_sorted=flag(self.indices_are_sorted),
        )

    def moved(self, x: Value, indices: Value) -> Sequence[Value]:
        """The indices, at which windows are inside."""
        axes = self.dimension_numbers.start_index_map
        return [moved_inside(indices, axes, self.slice_sizes, x.type)]

    def clipped(self, x: Value, indices: Value) -> Sequence[Array]:
        """The same by a gather that StableHLO has, which moves windows inside."""
        indices = wide(indices)
        windows = self.replace(mode=CLIP, fill_value=None)(x, indices)
        axes = self.dimension_numbers.start_index_map
        if self.mode is not FILL_OR_DROP or not axes:
            return [windows]
        inside = are_inside(indices, axes, self.slice_sizes, x.type)
        shape, offset_dims = windows.type.shape, self.dimension_numbers.offset_dims
        batch = tuple([a for a in range(len(shape)) if a not in offset_dims])
        element = ArrayType((), x.type.dtype)
        fill = ConcreteArray(element, self.fill(element.storage))
        return [where(BroadcastInDim(shape, batch)(inside), windows, fill)]


@operation
class Scattering(Primitive):
    """Windows of the operand at indices that the indices name, changed by ``updates``.

    The updates have the shape of what a gather of those windows gives. Windows that are
    not inside the operand change nothing, or are moved inside where ``mode`` is CLIP.
    """

    dimension_numbers: ScatterDimensionNumbers
    indices_are_sorted: bool = False
    unique_indices: bool = False
    mode: GatherScatterMode = FILL_OR_DROP

    host_limit = MOVING_LIMIT
    by_halves = True
    updates_part = 2

    def type_rule(
        self, x: ArrayType, indices: ArrayType, updates: ArrayType
    ) -> Sequence[ArrayType]:
        if updates.dtype != x.dtype:
            raise TypeMismatch(
                f"{self.name} needs an operand and updates of one dtype, but got "
                f"{show_types((x, updates))}."
            )
        numbers = self.reading
        sizes = update_sizes(numbers, x.shape, updates.shape)
        wanted = check_windows(self.name, numbers, sizes, x, indices)
        if updates.shape != wanted:
            raise TypeMismatch(
                f"{self.name} of {show_types((x, indices, updates))} with "
                f"{self.dimension_numbers}: updates for these indices have the shape "
                f"{wanted}."
            )
        return (ArrayType(x.shape, x.dtype, x.weak and updates.weak),)

    @cached_property
    def reading(self) -> GatherDimensionNumbers:
        """The dimension numbers of the gather that reads where this writes."""
        return GatherDimensionNumbers(*self.dimension_numbers)

    def gather(self, x: ArrayType, updates: ArrayType) -> Gather:
        """The gather that reads where this writes: zeros where it writes nothing."""
        clip = self.mode is CLIP
        return Gather(
            self.reading,
            update_sizes(self.reading, x.shape, updates.shape),
            self.indices_are_sorted,
            self.unique_indices,
            CLIP if clip else FILL_OR_DROP,
            None if clip else 0,
        )

    def starts(self, x: Value, indices: Value, updates: Value) -> Starts:
        sizes = update_sizes(self.reading, x.type.shape, updates.type.shape)
        return window_starts(self.reading, sizes, x.type, indices)

    def is_unique(self, indices: ArrayType) -> bool:
        """Whether no two windows overlap, as promised or for there is only one."""
        batching = self.dimension_numbers.scatter_indices_batching_dims
        batch = [n for a, n in enumerate(indices.shape[:-1]) if a not in batching]
        return self.unique_indices or all([n <= 1 for n in batch])

    def on_host(
        self, x: HostArray, indices: HostArray, updates: HostArray
    ) -> HostArray:
        layout = write_layout(self, x.shape, indices.shape[:-1], updates.shape)
        return layout.write(x, indices, updates, self.mode is CLIP, self.change)

    def change(
        self, array: HostArray, key: Sequence[HostArray], values: HostArray
    ) -> None:
        """On the host: put ``values``, in order, into ``array[key]``."""
        raise NotImplementedError

    def element(self, old: Value, update: Value) -> Value:
        """The new value of one element."""
        raise NotImplementedError

    def batch(self, size: int, args: Values, dims: Any) -> Batched:
        x, indices, updates = args
        x, updates = batched(size, x, dims[0]), batched(size, updates, dims[2])
        numbers = self.dimension_numbers
        if dims[1] is None:
            numbers = numbers.with_wider_windows()
        else:
            numbers, indices = numbers.in_step(), batched(size, indices, dims[1])
        return (self.replace(dimension_numbers=numbers)(x, indices, updates),), (0,)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        _, indices, updates = types
        return Work(read=indices.nbytes + updates.nbytes, written=updates.nbytes)

    def lower(
        self, ctx: "Lowering", x: HloValue, indices: HloValue, updates: HloValue
    ) -> HloResults:
        source, kind, _ = ctx.in_types
        if kind.dtype.itemsize < 4 or self.mode is CLIP:
            return ctx.through(self.dropping, x, indices, updates)
        if not source.ndim:
            return ctx.through(self.into_scalar, x, indices, updates)
        if ctx.on_several_devices and fits_narrow(kind, source):
            return ctx.through(self.narrowed, x, indices, updates)
        if prod(kind.shape[:-1]) != 1:
            indices, updates = self._undivided(ctx, indices, updates)
        else:  # XLA makes a ``dynamic_update_slice`` of it
            from covector.operations.overlapping_updates import (  # noqa: PLC0415  few
                computed_first,
            )

            updates = computed_first(ctx, updates, ctx.in_types[2])
            if ctx.on_several_devices and type(source.size) is int:
                from covector.operations.scattering_one_window import (  # noqa: PLC0415  few
                    scattered_window,
                )

                return scattered_window(ctx, self, x, indices, updates)
        op = ctx.op(
            "stablehlo.scatter",
            [x, indices, updates],
            regions=1,
            scatter_dimension_numbers=self.dimension_numbers.attribute(kind.ndim - 1),
            indices_are_sorted=flag(self.indices_are_sorted),
            unique_indices=flag(self.unique_indices),
        )
        pair = [ArrayType((), source.dtype)] * 2
        body = stage(lambda old, update: [self.element(old, update)], pair).jaxpr
        ctx.region(op, 0, pair, lambda inner, *xy: inner.inline(body, xy))
        return op.results

    def _undivided(
        self, ctx: "Lowering", indices: HloValue, updates: HloValue
    ) -> tuple[HloValue, HloValue]:
        """While lowering: indices and updates, on all devices where these cannot share
        them evenly: XLA's partitioner adds what it fills the last part up with.
        """
        _, kind, given = ctx.in_types
        over, count = ctx.module.over, prod(kind.shape[:-1])
        if over is None or (type(count) is int and count % over.size == 0):
            return indices, updates
        return ctx.replicated(indices, kind), ctx.replicated(updates, given)

    def dropping(self, x: Value, indices: Value, updates: Value) -> Sequence[Array]:
        """The same by a scatter that StableHLO has, which drops windows."""
        indices = wide(indices)
        if self.mode is CLIP:
            sizes = update_sizes(self.reading, x.type.shape, updates.type.shape)
            axes = self.dimension_numbers.scatter_dims_to_operand_dims
            indices = moved_inside(indices, axes, sizes, x.type)
        return [self.replace(mode=FILL_OR_DROP)(x, indices, updates)]

    def narrowed(self, x: Value, indices: Value, updates: Value) -> Sequence[Any]:
        """The same with indices of 32 bits: where XLA's partitioner pads indices of 64
        bits to divide them evenly, it ends the process.
        """
        return [self(x, narrow(indices), updates)]

    def into_scalar(self, x: Value, indices: Value, updates: Value) -> Sequence[Array]:
        """Updates of a scalar as those of an array of one element: XLA's own way for
        no axes fails where it is fused with others.
        """
        positions = zeros(indices.type.with_shape((*indices.type.shape[:-1], 1)))
        numbers = ScatterDimensionNumbers((), (0,), (0,))
        one = self.replace(dimension_numbers=numbers)
        x = BroadcastInDim((1,), ())(x)
        return [Reshape(())(one(x, positions, updates))]


class Combining(Scattering):
    """A scatter that combines each update with the old element."""

    host_limit = Primitive.host_limit
    not_on_host = dtypes.SUB_BYTE
    #: the operation that does so
    combine = add

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        _, indices, updates = types
        each = self.combine.each.times(updates.size)
        read = indices.nbytes + 2 * updates.nbytes
        return each._replace(read=read, written=updates.nbytes)

    def type_rule(
        self, x: ArrayType, indices: ArrayType, updates: ArrayType
    ) -> Sequence[ArrayType]:
        if not self.combine.accepts(x.dtype):
            raise DTypeError(f"{self.name} needs {self.combine.accepted}, but got {x}.")
        return super().type_rule(x, indices, updates)

    def change(
        self, array: HostArray, key: Sequence[HostArray], values: HostArray
    ) -> None:
        combine = self.combine.on_host
        if self.unique_indices:
            array[key] = combine(array[key], values)
        else:
            combine.at(array, key, values)

    def element(self, old: Value, update: Value) -> Value:
        return self.combine(old, update)


class ScatterAdd(Combining):
    """Updates added to windows of the operand, each as often as its index is named."""

    name = "scatter-add"
    linear_operands = ((0, 2),)

    def linearize(
        self, active: Sequence[bool], x: Value, indices: Value, updates: Value
    ) -> Linearized:
        def push(
            dx: Value | None, _: Value | None, dupdates: Value | None
        ) -> Sequence[Value | None]:
            if dupdates is None:
                return (dx,)
            return (self(zeros(x.type) if dx is None else dx, indices, dupdates),)

        return (self(x, indices, updates),), push

    def adding(self, x: Value, indices: Value, updates: Value) -> Values:
        return [self(x, indices, updates)]

    def transpose(
        self, cotangents: Values, x: Operand, indices: Operand, updates: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        read = self.gather(x.type, updates.type)
        return [
            ct if type(x) is Linear else None,
            None,
            read(ct, indices) if type(updates) is Linear else None,
        ]
