"""``Slice`` and ``Pad``: static slicing and its adjoint, padding.

A slice leaves elements out, its adjoint puts zeros in their place. Indices that are
values: ``dynamic_slicing``.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, HostArray, LinearMaps, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Linear, Linearized, Operand, Primitive, operation
from covector.core.types import ArrayType, Shape, show_types
from covector.core.work import Work, moves
from covector.errors import TypeMismatch, how_many
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import (
    BroadcastInDim,
    ReduceSum,
    batched,
    filled,
    with_axes_in_order,
    zeros,
)
from covector.operations.selection import where
from covector.operations.transposing import Reshape, are_axes

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: elements up to which NumPy, which need not be compiled, moves them as fast as XLA
MOVING_LIMIT = 1 << 17

#: per axis: how much goes before, after, and between two neighbours
PaddingConfig = tuple[tuple[int, int, int], ...]


@operation
class Slice(Primitive):
    """Elements ``start, start + stride, …`` before ``limit`` along each axis.

    ``collapsed`` names axes of which one element is taken, and which disappear, so that
    ``x[1:3, 0]`` is one operation. ``strides`` None stands for ones.
    """

    start_indices: tuple[int, ...]
    limit_indices: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    collapsed: tuple[int, ...] = ()
    as_integers = True
    reads_part = True
    host_limit = math.inf  # a view costs nothing

    def __post_init__(self) -> None:
        if self.strides is None:
            object.__setattr__(self, "strides", (1,) * len(self.start_indices))

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The strides, which are never None once the operation is made."""
        return self.strides or ()

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The number of elements taken along each axis."""
        bounds = zip(self.start_indices, self.limit_indices, self.steps, strict=True)
        return tuple([(limit - start - 1) // step + 1 for start, limit, step in bounds])

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """The NumPy index of the slice."""
        bounds = zip(self.start_indices, self.limit_indices, self.steps, strict=True)
        return tuple(
            [
                start if k in self.collapsed else slice(start, limit, step)
                for k, (start, limit, step) in enumerate(bounds)
            ]
        )

    def written_out(self, types: Sequence[ArrayType]) -> Any:
        return then_collapsed(self)

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        start, limit, steps = self.start_indices, self.limit_indices, self.steps
        if not len(start) == len(limit) == len(steps) == x.ndim:
            raise TypeMismatch(
                f"slice of {x} needs a start, a limit and a stride for each of its "
                f"{how_many(x.ndim, 'axis', 'axes')}, but got {start}, {limit} and "
                f"{steps}."
            )
        for k, n in enumerate(x.shape):
            if not 0 <= start[k] <= limit[k] <= n or steps[k] < 1:
                raise TypeMismatch(
                    f"slice of {x} along axis {k} from {start[k]} to {limit[k]} in "
                    f"steps of {steps[k]}: 0 ≤ start ≤ limit ≤ {n} and a positive "
                    "stride are needed. x[a:b] takes negative and open ends."
                )
        shape = collapsed_shape("slice", x, self.lengths, self.collapsed)
        return (x.with_shape(shape),)

    def host_function(self, x: ArrayType) -> Callable[..., HostArray]:  # type: ignore[override]
        size = math.prod(self.lengths)
        is_view = size <= MOVING_LIMIT and x.size <= 4 * size + 64  # as in ``compact``
        return itemgetter(self.key) if is_view else self.on_host

    def on_host(self, x: HostArray) -> HostArray:
        return compact(x[self.key], x)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        ct = restore(cotangents[0], self.lengths)
        config = []
        positions = zip(
            x.type.shape, self.start_indices, self.lengths, self.steps, strict=True
        )
        for n, start, length, step in positions:
            end = start + (length - 1) * step + 1 if length != 0 else start
            config.append((start, n - end, step - 1))
        return [Pad(tuple(config))(ct, scalar(0, ct.type.dtype))]

    def reordered(self, orders: Sequence[Any]) -> Any:  # type: ignore[override]
        fields = ("start_indices", "limit_indices", "strides")
        return None if self.collapsed else with_axes_in_order(self, orders, fields)

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        over_batch = Slice(
            insert(self.start_indices, dim, 0),
            insert(self.limit_indices, dim, size),
            insert(self.steps, dim, 1),
            tuple([a + (a >= dim) for a in self.collapsed]),
        )
        return (over_batch(x),), (dim - sum([a < dim for a in self.collapsed]),)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(read=outs[0].nbytes)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (source,), (out,) = ctx.in_types, ctx.out_types
        mesh = ctx.module.over
        if mesh and ctx.is_partitioned and self._keeps_shards(source, mesh.size):
            # XLA takes the shards for the same array, and what it gathers from one,
            # which is longer, for the other.
            x = ctx.op("stablehlo.optimization_barrier", [x], [source])
        x = ctx.op(
            "stablehlo.slice",
            [x],
            [source.with_shape(self.lengths)],
            start_indices=self.start_indices,
            limit_indices=self.limit_indices,
            strides=self.steps,
        )
        return ctx.op("stablehlo.reshape", [x], [out]) if self.collapsed else x

    def _keeps_shards(self, source: ArrayType, devices: int) -> bool:
        """Whether shards may stay what they are, where only padding is cut off."""
        axes = zip(
            source.shape, self.lengths, self.start_indices, self.steps, strict=True
        )
        return any(
            [
                k < n < k + devices
                for n, k, start, step in axes
                if not start and step == 1
            ]
        )


@operation
class Pad(Primitive):
    """The operand with copies of a scalar around its elements and between them.

    ``padding_config`` gives (low, high, interior) for each axis: that many go before,
    after, and between each two neighbours. Negative ``low`` and ``high`` cut off, after
    the padding between has been done.
    """

    padding_config: PaddingConfig

    host_limit = MOVING_LIMIT
    work = moves

    def type_rule(self, x: ArrayType, value: ArrayType) -> Sequence[ArrayType]:
        if value.shape != () or value.dtype != x.dtype:
            raise TypeMismatch(
                "pad needs an array and a scalar of the same dtype, but got "
                f"{show_types((x, value))}."
            )
        if len(self.padding_config) != x.ndim:
            raise TypeMismatch(
                f"pad of {x} needs (low, high, interior) for each of its "
                f"{how_many(x.ndim, 'axis', 'axes')}, but got {self.padding_config}."
            )
        lengths = padded_lengths(self.padding_config, x.shape)
        for k, (n, config) in enumerate(zip(lengths, self.padding_config, strict=True)):
            if n < 0 or config[2] < 0:
                raise TypeMismatch(
                    f"pad of {x} by {config} along axis {k}: interior padding cannot "
                    "be negative, and no more can be cut off than there is."
                )
        return (x.with_shape(lengths),)

    def on_host(self, x: HostArray, value: HostArray) -> HostArray:
        shape, positions, kept = _padding(self.padding_config, x.shape)
        out = np.empty(shape, x.dtype)
        out[...] = value
        out[positions] = x[kept]
        return out

    def linearize(self, active: Sequence[bool], x: Value, value: Value) -> Linearized:
        def push(dx: Value | None, dvalue: Value | None) -> Sequence[Value | None]:
            dx = zeros(x.type) if dx is None else dx
            dvalue = scalar(0, x.type.dtype) if dvalue is None else dvalue
            return (self(dx, dvalue),)

        return (self(x, value),), push

    def transpose(
        self, cotangents: Values, x: Operand, value: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        return [
            self.cut_out(ct) if type(x) is Linear else None,
            self.sum_around(ct, x.type.shape) if type(value) is Linear else None,
        ]

    def cut_out(self, ct: Value) -> Value:
        """The elements of ``ct`` at the positions of the operand's elements."""
        config = self.padding_config
        steps = tuple([interior + 1 for _, _, interior in config])
        if any([low < 0 or high < 0 for low, high, _ in config]):
            around = Pad(tuple([(-low, -high, 0) for low, high, _ in config]))
            ct = around(ct, scalar(0, ct.type.dtype))
            return Slice((0,) * len(config), ct.type.shape, steps)(ct)
        starts = tuple([low for low, _, _ in config])
        pairs = zip(ct.type.shape, config, strict=True)
        return Slice(starts, tuple([n - high for n, (_, high, _) in pairs]), steps)(ct)

    def sum_around(self, ct: Value, shape: Shape) -> Any:
        """The sum of ``ct`` where there is no element of an operand of this shape."""
        around = where(self.element_mask(shape), scalar(0, ct.type.dtype), ct)
        return ReduceSum(tuple(range(ct.type.ndim)))(around)

    def element_mask(self, shape: Shape) -> Any:
        """The mask of elements of an operand of this shape, in the result."""
        elements = filled(True, ArrayType(shape, dtypes.bool_))
        return self(elements, scalar(False, dtypes.bool_))

    def reordered(self, orders: Sequence[Any]) -> Any:  # type: ignore[override]
        return with_axes_in_order(self, orders, ("padding_config",))

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        x, value = args
        if dims[1] is None:
            over_batch = Pad(insert(self.padding_config, dims[0], (0, 0, 0)))
            return (over_batch(x, value),), (dims[0],)
        x = batched(size, x, dims[0])
        padded = Pad(((0, 0, 0), *self.padding_config))(x, scalar(0, x.type.dtype))
        repeated = BroadcastInDim(padded.type.shape, (0,))
        inside = BroadcastInDim(padded.type.shape, tuple(range(1, x.type.ndim)))
        return (
            where(inside(self.element_mask(x.type.shape[1:])), padded, repeated(value)),
        ), (0,)

    def lower(self, ctx: "Lowering", x: HloValue, value: HloValue) -> HloResults:
        # Over devices, XLA may give an array of the length before where a padding cuts
        # off, and ends the process where it is between elements, too: a slice cuts off.
        mixed = any(
            [
                (between and low < 0) or (ctx.on_several_devices and min(low, high) < 0)
                for low, high, between in self.padding_config
            ]
        )
        config = self.grown if mixed else self.padding_config
        low, high, between = [tuple([c[k] for c in config]) for k in range(3)]
        (source, _), (out,) = ctx.in_types, ctx.out_types
        lengths = padded_lengths(config, source.shape)
        padded = ctx.op(
            "stablehlo.pad",
            [x, value],
            [out.with_shape(lengths)],
            edge_padding_low=low,
            edge_padding_high=high,
            interior_padding=between,
        )
        if not mixed:
            return padded
        ends = zip(lengths, self.padding_config, strict=True)
        return ctx.op(
            "stablehlo.slice",
            [padded],
            [out],
            start_indices=tuple([max(-low, 0) for low, _, _ in self.padding_config]),
            limit_indices=tuple([n - max(-high, 0) for n, (_, high, _) in ends]),
            strides=(1,) * out.ndim,
        )

    @property
    def grown(self) -> PaddingConfig:
        """The padding, nothing cut off."""
        return tuple(
            [(max(low, 0), max(high, 0), n) for low, high, n in self.padding_config]
        )


@lru_cache(16384)
def index_axis(shape: Shape, axis: int, k: int) -> Slice:
    """The operation that takes element ``k`` of an axis, which disappears."""
    starts, limits = insert((0,) * (len(shape) - 1), axis, k), list(shape)
    limits[axis] = k + 1
    return Slice(starts, tuple(limits), None, (axis,))


# -- shapes ----------------------------------------------------------------------------


def insert(values: Sequence[Any], position: int, value: Any) -> tuple[Any, ...]:
    """The values with one more, at ``position``."""
    return (*values[:position], value, *values[position:])


def collapsed_shape(
    who: str, x: ArrayType, lengths: Shape, collapsed: tuple[int, ...]
) -> Shape:
    """The lengths without those of the collapsed axes, along which one is taken."""
    if not collapsed:
        return lengths
    if not are_axes(collapsed, x.ndim) or any([lengths[a] != 1 for a in collapsed]):
        raise TypeMismatch(
            f"{who} of {x} takes {lengths} elements along its axes and cannot collapse "
            f"axes {collapsed}: they must be different axes along which it takes one."
        )
    return tuple([n for a, n in enumerate(lengths) if a not in collapsed])


def then_collapsed(op: Any) -> Callable[..., Values] | None:
    """A slice along all axes, and then without those that disappear, if some do."""
    if not op.collapsed:
        return None
    whole = op.replace(collapsed=())

    def in_two_steps(*args: Value) -> Values:
        x = whole(*args)
        kept = [n for k, n in enumerate(x.type.shape) if k not in op.collapsed]
        return [Reshape(tuple(kept))(x)]

    return in_two_steps


def restore(x: Value, lengths: Shape) -> Value:
    """``x`` with its collapsed axes back, of length one."""
    return x if x.type.shape == lengths else Reshape(lengths)(x)


def compact(part: HostArray, whole: HostArray) -> HostArray:
    """A part of an array on the host: a view, unless that would keep much alive.

    Large ones are contiguous, as what comes after expects.
    """
    if whole.size > 4 * part.size + 64:
        return part.copy()
    return part if part.size <= MOVING_LIMIT else np.ascontiguousarray(part)


def padded_lengths(config: PaddingConfig, shape: Shape) -> Shape:
    """The lengths that padding makes of ``shape``."""
    pairs = zip(shape, config, strict=True)
    return tuple(
        [
            n + low + high + (max(n - 1, 0) * gap if gap else 0)
            for n, (low, high, gap) in pairs
        ]
    )


@lru_cache(4096)
def _padding(config: PaddingConfig, shape: Shape) -> tuple[Shape, Any, Any]:
    """The padded shape, the indices that elements go to, and which elements do."""
    lengths = padded_lengths(config, shape)
    positions, kept = [], []
    for n, out, (low, _, interior) in zip(shape, lengths, config, strict=True):
        step = interior + 1
        first = -(min(low, 0) // step)
        last = max(first, min(n, (out - low + interior) // step))
        start = low + first * step
        positions.append(slice(start, start + (last - first) * step, step))
        kept.append(slice(first, last))
    return lengths, tuple(positions), tuple(kept)
