"""Cumulative operations on CPUs, as loops along the axis.

XLA:CPU compiles a loop over few numbers to one kernel, which keeps them in registers,
and then a loop beats any tree: what is combined at each step is a *slab*, all
elements at one index along the axis. It is best about eight numbers wide, or contiguous
in memory. The array is seen as (before, n, after):

    after ≥ 16                 one loop; the slab is contiguous before · after > 8
    a loop over blocks of rows, for each a loop along the axis
      and n short              the axis is brought to the front, and back
      and n · after ≤ 16       no loop: all elements take each of the axis, or not
    before · after ≤ 4         the axis is cut into parts, which run side by side; what
      and n long               came before each part is combined with it afterwards
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.lowering.spelling import HloValue
from covector.operations.arithmetic import add, mul
from covector.operations.broadcasting import BroadcastInDim, filled, move_axis
from covector.operations.comparison import ge, le
from covector.operations.creation import Iota
from covector.operations.extrema import max_, min_
from covector.operations.joining import Concatenate
from covector.operations.selection import where
from covector.operations.slicing import Pad
from covector.operations.transposing import Reshape
from covector.operations.tree_reduce import cut

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: numbers that are best combined at each step, if they are not contiguous
_WIDTH = 8
#: numbers from which contiguous ones make a good slab
_CONTIGUOUS = 16
#: up to this length an axis is transposed; from the other on it is cut into parts
_SHORT, _LONG = 64, 2048
#: up to so many contiguous numbers there is no loop, if combining two takes little
_VERY_SHORT, _LITTLE = 16, (add, mul, max_, min_)

INDEX = ArrayType((), dtypes.int32)


def lower_on_cpu(op: Any, ctx: "Lowering", x: HloValue) -> HloValue:
    """A cumulative operation as StableHLO for XLA:CPU."""
    (type_,) = ctx.in_types
    n = type_.shape[op.axis]
    before = math.prod(type_.shape[: op.axis])
    after = math.prod(type_.shape[op.axis + 1 :])
    known = type(type_.size) is int  # and no size of it symbolic
    if known and before * after <= _WIDTH // 2 and n >= _LONG:
        parts = _WIDTH // (before * after)
        return ctx.through(lambda x: [_in_parts(op, x, parts)], x)
    many = not known or after >= _CONTIGUOUS
    rows = before if many else max(1, _WIDTH // after)
    if known and rows < before and n <= _SHORT:
        if n * after <= _VERY_SHORT and op.combine in _LITTLE:
            return ctx.through(lambda x: [_at_once(op, x)], x)
        return ctx.through(lambda x: [_in_front(op, x)], x)
    flat = ArrayType((before, n, after), type_.dtype)
    x = ctx.op("stablehlo.reshape", [x], [flat])
    if known and rows < before:
        out = _over_blocks(op, ctx, x, flat, rows)
    else:
        out = _along(op, ctx, x, flat)
    return ctx.op("stablehlo.reshape", [out], [type_])


def _at_once(op: Any, x: Value) -> Value:
    """The operation on all elements at once: step by step, those that are not before
    an element of the axis are combined with it.
    """
    axis, shape = op.axis, x.type.shape
    place = Iota(dtypes.int32, shape, axis)()
    order = range(shape[axis])
    first, *rest = reversed(order) if op.reverse else order
    total = _repeated(x, axis, first)
    for k in rest:
        here = scalar(k, dtypes.int32)
        reached = le(place, here) if op.reverse else ge(place, here)
        total = where(reached, op.combine(total, _repeated(x, axis, k)), total)
    return total


def _repeated(x: Value, axis: int, k: int) -> Value:
    """``x`` with element ``k`` along an axis in place of all."""
    shape = x.type.shape
    kept = tuple([a for a in range(len(shape)) if a != axis])
    one = Reshape(tuple([shape[a] for a in kept]))(cut(x, axis, k, k + 1))
    return BroadcastInDim(shape, kept)(one)


def _in_front(op: Any, x: Value) -> Value:
    """The operation with its axis brought to the front, and back."""
    out = type(op)(0, op.reverse)(move_axis(x, op.axis, 0))
    return move_axis(out, 0, op.axis)


def _in_parts(op: Any, x: Value, parts: int) -> Value:
    """The operation on equal blocks of the axis, and on the totals of the blocks."""
    axis, shape = op.axis, x.type.shape
    n = shape[axis]
    identity = op.identity(x.type.dtype)
    length = -(-n // parts)
    if (missing := parts * length - n) > 0:
        config = [(0, 0, 0)] * x.type.ndim
        config[axis] = (missing, 0, 0) if op.reverse else (0, missing, 0)
        x = Pad(tuple(config))(x, scalar(identity, x.type.dtype))
    split = (*shape[:axis], parts, length, *shape[axis + 1 :])
    inner = type(op)(axis + 1, op.reverse)(Reshape(split)(x))
    end = 0 if op.reverse else length - 1
    totals = cut(inner, axis + 1, end, end + 1)
    up_to = op(totals)
    nothing = filled(identity, cut(totals, axis, 0, 1).type)
    if op.reverse:
        earlier = Concatenate(axis)(cut(up_to, axis, 1, parts), nothing)
    else:
        earlier = Concatenate(axis)(nothing, cut(up_to, axis, 0, parts - 1))
    repeated = BroadcastInDim(split, tuple(range(len(split))))(earlier)
    out = Reshape((*shape[:axis], parts * length, *shape[axis + 1 :]))(
        op.combine(repeated, inner)
    )
    return cut(out, axis, missing, missing + n) if op.reverse else cut(out, axis, 0, n)


def _along(op: Any, ctx: "Lowering", x: HloValue, type_: ArrayType) -> HloValue:
    """One loop along the axis of (before, n, after), a slab at each step."""
    before, n, after = type_.shape
    slab = type_.with_shape((before, 1, after))
    step = stage(lambda total, new: [op.combine(total, new)], [slab, slab]).jaxpr
    start = ctx.constant(op.identity(type_.dtype), slab)

    def body(
        inner: "Lowering", i: HloValue, total: HloValue, out: HloValue
    ) -> Sequence[Any]:
        position = i
        if op.reverse:
            last = inner.constant(n - 1, INDEX)
            position = inner.op("stablehlo.subtract", [last, i], [INDEX])
        zero = inner.constant(0, INDEX)
        new = _read(inner, out, (zero, position, zero), slab)
        (total,) = inner.inline(step, [total, new])
        return [total, _write(inner, out, total, (zero, position, zero), type_)]

    return counted_loop(ctx, n, [start, x], [slab, type_], body)[1]


def _over_blocks(
    op: Any, ctx: "Lowering", x: HloValue, type_: ArrayType, rows: int
) -> HloValue:
    """A loop over blocks of rows, and for each one a loop along the axis.

    The last block reaches back to be as large as the others, since reads and writes
    that would leave the array are moved into it: some rows are computed twice.
    """
    block = type_.with_shape((rows, *type_.shape[1:]))

    def body(inner: "Lowering", i: HloValue, out: HloValue) -> Sequence[Any]:
        zero, count = inner.constant(0, INDEX), inner.constant(rows, INDEX)
        row = inner.op("stablehlo.multiply", [i, count], [INDEX])
        part = _along(op, inner, _read(inner, x, (row, zero, zero), block), block)
        return [_write(inner, out, part, (row, zero, zero), type_)]

    turns = -(-type_.shape[0] // rows)
    return counted_loop(ctx, turns, [ctx.constant(0, type_)], [type_], body)[0]


def counted_loop(
    ctx: "Lowering",
    turns: int,
    start: Sequence[Any],
    types: Sequence[ArrayType],
    body: Callable[..., Sequence[Any]],
) -> Sequence[Any]:
    """``values = body(i, *values)`` for i from 0 up to ``turns``."""
    all_types = [INDEX, *types]
    op = ctx.op(
        "stablehlo.while", [ctx.constant(0, INDEX), *start], all_types, regions=2
    )

    def more(inner: "Lowering", i: HloValue, *_: Any) -> Sequence[Any]:
        less = "#stablehlo<comparison_direction LT>"
        end, flag = inner.constant(turns, INDEX), ArrayType((), dtypes.bool_)
        return [
            inner.op("stablehlo.compare", [i, end], [flag], comparison_direction=less)
        ]

    def turn(inner: "Lowering", i: HloValue, *values: Any) -> Sequence[Any]:
        outs = body(inner, i, *values)
        one = inner.constant(1, INDEX)
        return [inner.op("stablehlo.add", [i, one], [INDEX]), *outs]

    ctx.region(op, 0, all_types, more)
    ctx.region(op, 1, all_types, turn)
    return op.results[1:]


def _read(
    ctx: "Lowering", x: HloValue, position: Sequence[Any], type_: ArrayType
) -> HloValue:
    return ctx.op(
        "stablehlo.dynamic_slice", [x, *position], [type_], slice_sizes=type_.shape
    )


def _write(
    ctx: "Lowering",
    x: HloValue,
    part: HloValue,
    position: Sequence[Any],
    type_: ArrayType,
) -> HloValue:
    return ctx.op("stablehlo.dynamic_update_slice", [x, part, *position], [type_])
