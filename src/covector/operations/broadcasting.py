"""Broadcasting to new axes, and its adjoint, summing axes away.

``BroadcastInDim`` ⇄ ``ReduceSum``. Also here: what every rule needs to bring operands
to one shape (``unbroadcast``, ``broadcast_like``) or one batch axis (``move_axis``,
``align``).
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import (
    Batched,
    DType,
    HostArray,
    LinearMaps,
    Value,
    Values,
)
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.primitive import Operand, Primitive, operation
from covector.core.types import ArrayType, Shape
from covector.core.varying import pvary_like
from covector.core.work import Work, moves
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.transposing import Transpose, are_axes

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

Dims = Sequence[int | None]

#: elements from which the CPU adds them up in other ways
_LARGE = 2**12
#: elements of a row from which YNNPACK takes longer than XLA to add it to others
_LONG_ROW = 2**15


@operation
class BroadcastInDim(Primitive):
    """The operand broadcast to ``shape``, its axis k becoming axis ``axes[k]``.

    An axis of length 1 is repeated; axes not named are new.
    """

    shape: Shape
    axes: tuple[int, ...]
    work = moves
    repeats = True

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        fits = len(self.axes) == x.ndim and all(
            0 <= a < len(self.shape) and n in (1, self.shape[a])
            for n, a in zip(x.shape, self.axes, strict=False)
        )
        if not fits or list(self.axes) != sorted(set(self.axes)):
            raise TypeMismatch(
                f"broadcast_in_dim cannot broadcast {x} to the shape {self.shape} with "
                f"its axes at {self.axes}: each axis needs an increasing position, "
                "and there its length or 1."
            )
        return (x.with_shape(self.shape),)

    def host_function(self, x: ArrayType) -> Callable[..., HostArray]:  # type: ignore[override]
        return self._repeating(x.shape)

    def on_host(self, x: HostArray) -> HostArray:
        return self._repeating(x.shape)(x)

    def _repeating(self, given: Shape) -> Callable[..., HostArray]:
        """The function of NumPy arrays of this shape."""
        shape, lengths = self.shape, [1] * len(self.shape)
        for a, n in zip(self.axes, given, strict=True):
            lengths[a] = n

        def repeat(x: HostArray) -> HostArray:
            out = np.empty(shape, x.dtype)
            out[...] = x.reshape(lengths) if given else x
            return out

        return repeat

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        (ct,) = cotangents
        new = tuple([a for a in range(len(self.shape)) if a not in self.axes])
        ct = ReduceSum(new)(ct) if new else ct
        repeated = tuple(
            [
                k
                for k, n in enumerate(x.type.shape)
                if n == 1 and self.shape[self.axes[k]] != 1
            ]
        )
        if repeated:
            kept = tuple([k for k in range(x.type.ndim) if k not in repeated])
            ct = BroadcastInDim(x.type.shape, kept)(ReduceSum(repeated)(ct))
        return [ct]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        x = move_axis(x, dim, 0)
        axes = (0, *[a + 1 for a in self.axes])
        return (BroadcastInDim((size, *self.shape), axes)(x),), (0,)

    def of_elements(self, x: ArrayType) -> Primitive | None:  # type: ignore[override]
        return None if x.shape else BroadcastInDim((), ())

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return ctx.broadcast(x, ctx.out_types[0], self.axes)


@operation
class ReduceSum(Primitive):
    """The sum over ``axes``, which disappear; integers wrap around."""

    axes: tuple[int, ...]

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if not dtypes.is_numeric(x.dtype):
            raise DTypeError(
                f"reduce_sum needs numbers, but got {x}; count_nonzero counts"
            )
        return (reduced_type("reduce_sum", x, self.axes),)

    def host_function(self, x: ArrayType) -> Callable[..., HostArray]:  # type: ignore[override]
        if _is_short(x.dtype):
            return self.on_host
        return partial(np.add.reduce, axis=self.axes, dtype=x.dtype)

    def on_host(self, x: HostArray) -> HostArray:
        if x.dtype.itemsize <= 2 and _is_short(x.dtype):
            return np.add.reduce(x, self.axes, np.float32).astype(x.dtype)
        return np.add.reduce(x, self.axes, x.dtype)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def reordered(self, orders: Sequence[Any]) -> Any:  # type: ignore[override]
        return reduced_in_order(self, orders)

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        (ct,) = cotangents
        kept = tuple([k for k in range(x.type.ndim) if k not in self.axes])
        return [BroadcastInDim(x.type.shape, kept)(ct)]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return batch_reduction(type(self), self.axes, args, dims)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(flops=max(types[0].size - outs[0].size, 0))

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (source,), (out,) = ctx.in_types, ctx.out_types
        if not _is_short(source.dtype):
            return _lower_sum(ctx, x, out, self.axes)
        # Rounded to few bits at each step, a long sum would drift.
        wide = source.with_dtype(dtypes.float32)
        x = ctx.op("stablehlo.convert", [x], [wide])
        total = _lower_sum(ctx, x, out.with_dtype(dtypes.float32), self.axes)
        return ctx.op("stablehlo.convert", [total], [out])


def _is_short(dtype: DType) -> bool:
    """Whether numbers of this dtype are added up in float32."""
    return dtype.itemsize <= 2 and dtypes.is_floating(dtype)


def reduced_type(who: str, x: ArrayType, axes: tuple[int, ...]) -> ArrayType:
    """``x`` without ``axes``, which must be different axes of it."""
    if not are_axes(axes, x.ndim):
        raise TypeMismatch(
            f"{who} over axes {axes} of {x}: they must be different axes, from 0 to "
            f"{x.ndim - 1}."
        )
    return x.with_shape(tuple([n for k, n in enumerate(x.shape) if k not in axes]))


def batch_reduction(
    reduce: Any, axes: tuple[int, ...], args: Sequence[Value], dims: Sequence[int]
) -> Any:
    """A reduction of a batch: the same axes, counted past the batch axis."""
    (x,), (dim,) = args, dims
    moved = tuple([a + (a >= dim) for a in axes])
    return (reduce(moved)(x),), (dim - sum([a < dim for a in moved]),)


def _lower_sum(
    ctx: "Lowering", x: HloValue, out: ArrayType, axes: tuple[int, ...]
) -> HloValue:
    """While lowering: the sum over axes, formed in the dtype of the result."""
    element = ArrayType((), out.dtype)
    zero, pair = ctx.constant(0, element), [element, element]

    if _adds_long_rows(ctx.in_types[0], axes):
        ctx.module.module.adds_long_rows = True

    def reduce(x: HloValue, out: ArrayType, axes: tuple[int, ...]) -> HloValue:
        op = ctx.op("stablehlo.reduce", [x, zero], [out], regions=1, dimensions=axes)
        ctx.region(
            op, 0, pair, lambda c, a, b: [c.op("stablehlo.add", [a, b], [element])]
        )
        return op.results[0]

    source = ctx.in_types[0].with_dtype(out.dtype)
    if ctx.platform != "cpu" or type(source.size) is not int or source.size < _LARGE:
        return reduce(x, out, axes)
    # Many programs have none.
    from covector.operations import sums_on_cpu  # noqa: PLC0415

    return sums_on_cpu.lower(ctx, x, (source, out), axes, reduce)


def _adds_long_rows(x: ArrayType, axes: tuple[int, ...]) -> bool:
    """Whether what a sum adds up are long rows, and not the elements of rows."""
    length = math.prod(x.shape[max(axes, default=x.ndim) + 1 :])
    known = type(length) is int  # and not symbolic
    return known and length >= _LONG_ROW and dtypes.is_floating(x.dtype)


# -- other orders of axes -------------------------------------------------------------


def with_axes_in_order(
    op: Any, orders: Sequence[Any], fields: Sequence[str] = ()
) -> tuple[Any, list[Any], Any]:
    """``reordered`` where all operands and the result have the same axes, of which
    ``fields`` have one entry each.
    """
    order = next(filter(None, orders))
    moved = {f: tuple([getattr(op, f)[k] for k in order]) for f in fields}
    other = type(op)(**(op.parameters | moved)) if fields else op
    return other, [order] * len(orders), order


def reduced_in_order(op: Any, orders: Sequence[Any]) -> tuple[Any, list[Any], Any]:
    """``reordered`` of a reduction over ``axes``."""
    (order,) = orders
    axes = tuple(sorted([order.index(a) for a in op.axes]))
    kept = [k for k in order if k not in op.axes]
    return type(op)(axes), [order], tuple([sorted(kept).index(k) for k in kept])


# -- bringing operands together --------------------------------------------------------


def unbroadcast(cotangent: Value, type: ArrayType) -> Value:
    """The cotangent of an operand that may have been a broadcast scalar."""
    if cotangent.type.shape == type.shape:
        return cotangent
    return ReduceSum(tuple(range(cotangent.type.ndim)))(cotangent)


def broadcast_like(x: Value, out: Value) -> Any:
    """A scalar brought to the shape of ``out``; anything else has it already."""
    if x.type.shape == out.type.shape:
        return x
    return BroadcastInDim(out.type.shape, ())(x)


def filled(value: Any, type: ArrayType) -> Value:
    """An array of ``type`` with one value everywhere."""
    x = scalar(value, type.dtype)
    x = BroadcastInDim(type.shape, ())(x) if type.ndim else x
    return pvary_like(x, type) if type.varying else x


def zeros(type: ArrayType) -> Value:
    """An array of zeros of this type, for an absent tangent or cotangent."""
    return filled(0, type)


def move_axis(x: Value, source: int, destination: int) -> Value:
    """``x`` with one axis moved."""
    if source == destination:
        return x
    order = [k for k in range(x.type.ndim) if k != source]
    order.insert(destination, source)
    return Transpose(tuple(order))(x)


def batched(size: int, x: Value, dim: int | None, to: int = 0) -> Value:
    """``x`` with its batch axis, at ``dim``, moved to ``to``; None: repeated there."""
    if dim is not None:
        return move_axis(x, dim, to)
    shape = (*x.type.shape[:to], size, *x.type.shape[to:])
    return BroadcastInDim(shape, tuple([k + (k >= to) for k in range(x.type.ndim)]))(x)


def align(size: int, args: Sequence[Value], dims: Dims) -> list[Array]:
    """All operands with a batch axis in front, as most ``batch`` rules want them.

    ``size`` and ``dims`` are those that the rule got; an operand without a batch axis
    is repeated.
    """
    return [batched(size, x, d) for x, d in zip(args, dims, strict=True)]


def in_front(args: Sequence[Value], dims: Dims) -> list[Any]:
    """The operands, those with a batch axis with it in front."""
    pairs = zip(args, dims, strict=True)
    return [x if d is None else move_axis(x, d, 0) for x, d in pairs]


def align_masked(
    size: int, args: Sequence[Value], dims: Dims, mask: Sequence[bool]
) -> list[Any]:
    """The operands in the mask with a batch axis in front, the others as they are."""
    columns = zip(args, dims, mask, strict=True)
    return [batched(size, x, d) if m else x for x, d, m in columns]


def align_elementwise(
    size: int, args: Sequence[Value], dims: Dims
) -> tuple[list[Any], int]:
    """Operands of an elementwise operation over a batch, and where the batch axis is.

    Scalars that are not batched stay scalars; everything else comes to one shape.
    """
    positions = {d for d in dims if d is not None}
    ranks = [x.type.ndim - (d is not None) for x, d in zip(args, dims, strict=True)]
    rank = max(ranks)
    if len(positions) == 1 and all(
        [
            (r == rank) if d is not None else r == 0
            for r, d in zip(ranks, dims, strict=True)
        ]
    ):
        return list(args), positions.pop()
    aligned = []
    for x, d, r in zip(args, dims, ranks, strict=True):
        if d is None and r == 0:
            aligned.append(x)
        elif r == rank:
            aligned.append(batched(size, x, d))
        else:
            full = next(
                a.type.without_axis(d_).shape
                for a, d_, r_ in zip(args, dims, ranks, strict=True)
                if r_ == rank
            )
            aligned.append(BroadcastInDim((size, *full), (0,))(x))
    return aligned, 0
