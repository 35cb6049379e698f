"""``DynamicSlice`` and ``DynamicUpdateSlice``: one window at traced start indices.

``DynamicSlice`` ⇄ ``DynamicUpdateSlice``. A window that would reach over the edge is
moved inside. Over a batch of indices they are a gather and a scatter.
"""

from collections.abc import Sequence
from functools import lru_cache, partial, reduce
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import (
    BatchDims,
    Batched,
    HostArray,
    LinearMaps,
    Value,
    Values,
)
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.primitive import Linear, Linearized, Operand, Primitive, operation
from covector.core.types import ArrayType, Shape, show_types
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch, how_many
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add
from covector.operations.bitwise import and_
from covector.operations.broadcasting import Dims, batched, zeros
from covector.operations.comparison import ge, lt
from covector.operations.creation import Iota
from covector.operations.gathering import CLIP, Gather
from covector.operations.joining import Stack
from covector.operations.scattering import Scatter
from covector.operations.selection import where
from covector.operations.slicing import (
    MOVING_LIMIT,
    Pad,
    collapsed_shape,
    compact,
    insert,
    then_collapsed,
)
from covector.operations.transposing import Reshape
from covector.operations.windows import (
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
    Starts,
    shifted,
    wide,
)

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: elements from which it pays to choose between an operand and a window in it
_MANY = 4096
#: bytes of an array that a core writes sooner than several that are to be woken
_ONE_CORE = 2**19


@operation
class DynamicSlice(Primitive):
    """``slice_sizes`` elements along each axis, from the indices that scalars name.

    The starts, one integer for each axis, are brought to between 0 and the last index
    where the window fits. ``collapsed`` names axes that disappear, of which one element
    is taken: ``x[i]`` is one operation.
    """

    slice_sizes: Shape
    collapsed: tuple[int, ...] = ()

    as_integers = True
    reads_part = True
    linear_operands = ((0,),)
    host_limit = inf  # a view costs nothing
    by_halves = True

    def type_rule(self, x: ArrayType, *starts: ArrayType) -> Sequence[ArrayType]:
        check_starts("dynamic_slice", x, self.slice_sizes, starts)
        sizes, gone = self.slice_sizes, self.collapsed
        return (x.with_shape(collapsed_shape("dynamic_slice", x, sizes, gone)),)

    def written_out(self, types: Sequence[ArrayType]) -> Any:
        return then_collapsed(self)

    def starts(self, x: Value, *starts: Value) -> Starts:
        return _starts(x.type.shape, self.slice_sizes, starts)

    def on_host(self, x: HostArray, *starts: HostArray) -> HostArray:
        return compact(
            x[window_key(x.shape, self.slice_sizes, self.collapsed, starts)], x
        )

    def differential(self, out: Value, x: Value, *starts: Value) -> LinearMaps:
        return [lambda dx: self(dx, *starts), *[None] * len(starts)]

    def transpose(
        self, cotangents: Values, x: Operand, *starts: Operand
    ) -> Sequence[Value | None]:
        back = DynamicUpdateSlice(self.collapsed)
        ct = back(zeros(x.type.strong()), cotangents[0], *starts)
        return [ct, *[None] * len(starts)]

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        (x, *starts), (dim, *start_dims) = args, dims
        shape = _without(x.type.shape, dim)
        positions = _positions(size, shape, self.slice_sizes, starts, start_dims)
        if positions is None:
            x, dim = (batched(size, x, None), 0) if dim is None else (x, dim)
            over_batch = DynamicSlice(
                insert(self.slice_sizes, dim, size), shifted(self.collapsed, dim)
            )
            starts = _with_batch_axis(starts, start_dims, dim)
            gone = sum([a < dim for a in over_batch.collapsed])
            return (over_batch(x, *starts),), (dim - gone,)
        axes, indices = positions
        window = tuple(range(len(shape) - len(self.collapsed)))
        numbers = GatherDimensionNumbers(window, self.collapsed, axes)
        gather = Gather(numbers, self.slice_sizes, True, True, CLIP)
        return gather.batch(size, (x, indices), (dim, 0))

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        _, *starts = types
        return Work(read=outs[0].nbytes + sum([t.nbytes for t in starts]))

    def lower(self, ctx: "Lowering", x: HloValue, *starts: HloValue) -> HloResults:
        if ctx.in_types[1:] and ctx.in_types[1].dtype.itemsize < 4:
            return ctx.through(lambda x, *s: [self(x, *map(wide, s))], x, *starts)
        (out,) = ctx.out_types
        full = out.with_shape(self.slice_sizes)
        from covector.operations.windows_in_windows import (  # noqa: PLC0415  few do
            is_nested,
            starts_inside,
        )

        if is_nested(ctx):
            starts = starts_inside(ctx, starts, self.slice_sizes)
        x = ctx.op(
            "stablehlo.dynamic_slice",
            [x, *starts],
            [full],
            slice_sizes=self.slice_sizes,
        )
        return ctx.op("stablehlo.reshape", [x], [out]) if self.collapsed else x


@operation
class DynamicUpdateSlice(Primitive):
    """The operand with one window, at the index that scalars name, replaced.

    The window has the shape of the update, with axes of length one at ``inserted``. The
    starts are brought to where it fits.
    """

    inserted: tuple[int, ...] = ()

    as_integers = True
    updates_part = 1
    linear_operands = ((0, 1),)
    host_limit = MOVING_LIMIT
    by_halves = True

    def written_out(self, types: Sequence[ArrayType]) -> Any:
        if not self.inserted:
            return None

        def in_two_steps(x: Value, update: Value, *starts: Value) -> Values:
            window = Reshape(self.sizes(update.type.shape))(update)
            return [DynamicUpdateSlice()(x, window, *starts)]

        return in_two_steps

    def sizes(self, update: Shape) -> Shape:
        """The lengths of the window along each axis of the operand."""
        return _with_ones(update, self.inserted)

    def type_rule(
        self, x: ArrayType, update: ArrayType, *starts: ArrayType
    ) -> Sequence[ArrayType]:
        if x.dtype != update.dtype or x.ndim != update.ndim + len(self.inserted):
            raise TypeMismatch(
                "dynamic_update_slice needs an operand and an update of the same dtype "
                f"and number of axes, but got {show_types((x, update))}"
                + (f" and inserts axes {self.inserted}." if self.inserted else ".")
            )
        check_starts("dynamic_update_slice", x, self.sizes(update.shape), starts)
        return (ArrayType(x.shape, x.dtype, x.weak and update.weak),)

    def starts(self, x: Value, update: Value, *starts: Value) -> Starts:
        return _starts(x.type.shape, self.sizes(update.type.shape), starts)

    def on_host(self, x: HostArray, update: HostArray, *starts: HostArray) -> HostArray:
        out = np.array(x)
        out[window_key(out.shape, self.sizes(update.shape), self.inserted, starts)] = (
            update
        )
        return out

    def linearize(
        self, active: Sequence[bool], x: Value, update: Value, *starts: Value
    ) -> Linearized:
        def push(
            dx: Value | None, dupdate: Value | None, *_: Value | None
        ) -> Sequence[Value | None]:
            dx = zeros(x.type) if dx is None else dx
            dupdate = zeros(update.type) if dupdate is None else dupdate
            return (self(dx, dupdate, *starts),)

        return (self(x, update, *starts),), push

    def transpose(
        self, cotangents: Values, x: Operand, update: Operand, *starts: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        of_x = of_update = None
        if type(x) is Linear:
            of_x = self(ct, zeros(update.type.strong()), *starts)
        if type(update) is Linear:
            of_update = self.overwritten(update.type)(ct, *starts)
        return [of_x, of_update, *[None] * len(starts)]

    def adding(self, x: Value, update: Value, *starts: Value) -> Values:
        there = self.overwritten(update.type)(x, *starts)
        return [self(x, add(there, update), *starts)]

    def overwritten(self, update: ArrayType) -> DynamicSlice:  # type: ignore[override]
        """The operation that reads the window that one of this type overwrites."""
        return DynamicSlice(self.sizes(update.shape), self.inserted)

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        (x, update, *starts), (dim, update_dim, *start_dims) = args, dims
        shape = _without(x.type.shape, dim)
        window = _without(update.type.shape, update_dim)
        positions = _positions(size, shape, self.sizes(window), starts, start_dims)
        if positions is None:
            x, update = batched(size, x, dim), batched(size, update, update_dim)
            starts = _with_batch_axis(starts, start_dims, 0)
            over_batch = DynamicUpdateSlice(shifted(self.inserted, 0))
            return (over_batch(x, update, *starts),), (0,)
        axes, indices = positions
        window_dims = tuple(range(len(window)))
        numbers = ScatterDimensionNumbers(window_dims, self.inserted, axes)
        scatter = Scatter(numbers, True, True, CLIP)
        return scatter.batch(size, (x, indices, update), (dim, 0, update_dim))

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        _, update, *starts = types
        read = update.nbytes + sum([t.nbytes for t in starts])
        return Work(read=read, written=update.nbytes)  # where the operand was

    def _large_window(
        self, types: Sequence[ArrayType], starts: Sequence[Any]
    ) -> Sequence[range] | None:
        """The indices of the window along each axis, where it is known and at least
        half of a large operand; else None.
        """
        x, update = types[:2]
        # Symbolic sizes, of a class of their own, stand for many.
        if not all([n.__class__ is int for n in (*x.shape, *update.shape)]):
            return None
        known = all([type(start) is ConcreteArray for start in starts])
        small = x.size < _MANY or 2 * update.size < x.size
        ordinary = dtypes.is_numeric(x.dtype) or dtypes.is_bool(x.dtype)
        if small or not known or not ordinary:
            return None
        sizes = self.sizes(update.shape)
        key = window_key(x.shape, sizes, (), [start.host() for start in starts])
        return [range(part.start, part.stop) for part in key]

    def lower(
        self, ctx: "Lowering", x: HloValue, update: HloValue, *starts: HloValue
    ) -> HloResults:
        _, type, *start_types = ctx.in_types
        if ctx.platform == "cpu" and not ctx.on_several_devices:
            window = self._large_window(ctx.in_types, ctx.equation.inputs[2:])
            if window is not None and not _is_in_place(ctx):
                return ctx.through(partial(_choose, window), x, update, *starts)
        if start_types and start_types[0].dtype.itemsize < 4:
            return ctx.through(
                lambda x, u, *s: [self(x, u, *map(wide, s))], x, update, *starts
            )
        from covector.operations.overlapping_updates import (  # noqa: PLC0415  few
            computed_first,
        )
        from covector.operations.windows_in_windows import (  # noqa: PLC0415  few do
            has_nested,
            starts_inside,
        )

        update = computed_first(ctx, update, type)
        if self.inserted:
            full = type.with_shape(self.sizes(type.shape))
            update = ctx.op("stablehlo.reshape", [update], [full])
        # XLA's partitioner drops an update that it should bring inside first. And where
        # the window that is overwritten is read, both are to be at the same starts.
        if ctx.on_several_devices or has_nested(ctx):
            starts = starts_inside(ctx, starts, self.sizes(ctx.in_types[1].shape))
        return ctx.op("stablehlo.dynamic_update_slice", [x, update, *starts])


def _is_in_place(ctx: "Lowering") -> bool:
    """Whether a window is better written in place: in the step of a loop, which owns
    its arrays, unless what is written is computed on several cores, and not there.
    """
    from covector.operations.overlapping_updates import is_apart  # noqa: PLC0415  few

    if not ctx.is_isolated or ctx.whole is not None:
        return False
    return ctx.in_types[0].nbytes <= _ONE_CORE or is_apart(ctx)


def _choose(
    window: Sequence[range], x: Value, update: Value, *starts: Value
) -> Sequence[Array]:
    """The update inside of the window, and the operand elsewhere, element by element.

    XLA writes a window in place, where nothing else reads the operand. A stencil reads
    its neighbours: each of the slices would be copied first. This is one kernel.
    """
    shape = x.type.shape
    tests = []
    for axis, (n, part) in enumerate(zip(shape, window, strict=True)):
        if len(part) == n:
            continue
        index = Iota(dtypes.int32, shape, axis)()
        if part.start > 0:
            tests.append(ge(index, scalar(part.start, dtypes.int32)))
        if part.stop < n:
            tests.append(lt(index, scalar(part.stop, dtypes.int32)))
    update = Reshape(tuple(map(len, window)))(update)
    if not tests:
        return [update]
    margins = [
        (part.start, n - part.stop, 0) for n, part in zip(shape, window, strict=True)
    ]
    padded = Pad(tuple(margins))(update, scalar(0, update.type.dtype))
    return [where(reduce(and_, tests), padded, x)]


def check_starts(
    who: str, x: ArrayType, sizes: Shape, starts: Sequence[ArrayType]
) -> None:
    """Raise unless there is a window of these sizes, and an index named for it."""
    if len(sizes) != x.ndim or any(
        [not 0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)]
    ):
        raise TypeMismatch(
            f"{who} of {x}: there is no window of sizes {sizes} in it. It needs one "
            "size for each axis, at most the length of that axis."
        )
    if (
        len(starts) != x.ndim
        or len({s.dtype for s in starts}) > 1
        or any([s.shape for s in starts])
    ):
        raise TypeMismatch(
            f"{who} of {x} needs one scalar start for each of its "
            f"{how_many(x.ndim, 'axis', 'axes')}, all of the same dtype, but got "
            f"{show_types(starts) or 'none'}."
        )
    if starts and not dtypes.is_integer(starts[0].dtype):
        raise DTypeError(f"{who} needs integers as starts, but got {starts[0]}.")


@lru_cache(4096)
def _with_ones(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """A shape with more axes, of length one, at these positions of the result."""
    for axis in sorted(axes):
        shape = insert(shape, axis, 1)
    return shape


def window_key(
    shape: Shape, sizes: Shape, single: tuple[int, ...], starts: Sequence[Any]
) -> tuple[Any, ...]:
    """The NumPy index of a window moved inside; without the axes ``single``."""
    key: list[Any] = []
    for axis, (n, size, start) in enumerate(zip(shape, sizes, starts, strict=True)):
        position = int(start)
        if not 0 <= position <= n - size:
            position = min(max(position, 0), n - size)
        key.append(position if axis in single else slice(position, position + size))
    return tuple(key)


def _starts(shape: Shape, sizes: Shape, starts: Sequence[Value]) -> Starts:
    last = [n - size for n, size in zip(shape, sizes, strict=True)]
    return Stack(0)(*starts), range(len(shape)), last


def _without(shape: Shape, axis: int | None) -> Shape:
    """The shape of one of a batch."""
    return shape if axis is None else shape[:axis] + shape[axis + 1 :]


def _positions(
    size: int, shape: Shape, sizes: Shape, starts: Sequence[Any], dims: Dims
) -> tuple[tuple[int, ...], Any] | None:
    """The axes along which the window can move, and where it is for each of the batch.

    None where it is at one index for all.
    """
    axes = tuple([a for a, n in enumerate(shape) if sizes[a] != n])
    if all([dims[a] is None for a in axes]):
        return None
    return axes, Stack(1)(*[batched(size, starts[a], dims[a]) for a in axes])


def _with_batch_axis(
    starts: Sequence[Value], dims: Dims, position: int
) -> tuple[Array, ...]:
    """The starts, the same for all, and 0 for the batch axis and any without choice."""
    zero = scalar(0, starts[0].type.dtype if starts else dtypes.int32)
    kept = [s if d is None else zero for s, d in zip(starts, dims, strict=True)]
    return insert(kept, position, zero)
