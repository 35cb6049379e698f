"""Rolls of large arrays on the CPU.

XLA:CPU writes each roll to memory, and a step of a partial differential equation, or of
a cellular automaton, has many. So an array that is rolled along its last axis gets
*margins*, once for all its rolls: copies of what comes around the end. A roll is a
slice of it then, and a part of the kernel that reads it.

    x               0 1 2 3 4 5 6 7
    with margins    6 7 0 1 2 3 4 5 6 7 0 1
    rolled by 1       7 0 1 2 3 4 5 6

Along other axes XLA:CPU rolls well, but for short integers. Measured on two cores, in
ms, of float32 unless said, as XLA has it and as here:

    differences of 5 points, 1024²                      1.1 → 0.5
    … 10 steps in a loop                                9.7 → 4.3
    … of 7 points, 128³, 10 steps                        71 → 47
    … of 5 points of 1,000,000 numbers, 10 steps         27 → 4.0
    Life on 1024², 10 generations                        60 → 6
    … of int8                                           7.6 → 2.0
    gradient of a function of differences, 10 steps     330 → 84
"""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.staging import restage
from covector.core.types import ArrayType, Shape
from covector.lowering import hlo
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.barrier import optimization_barrier
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.comparison import lt
from covector.operations.creation import Iota
from covector.operations.selection import where
from covector.operations.slicing import Pad, Slice
from covector.operations.transposing import Reshape

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: axes, in order, and a place along each: what lies behind comes to the front
Cuts: TypeAlias = Sequence[tuple[int, int]]

#: bytes from which on all this pays
_LARGE = 1 << 16
#: The shortest margins, which rolls by up to so many places share. Others are a power
#: of two, and at least so many times shorter than the axis.
_SHORTEST, _TIMES = 8, 8
#: axes besides the last one; for each there are twice as many shifted arrays
_MOST_OTHERS = 2


def is_better(x: ArrayType) -> bool:
    """Whether a roll of an array of this type should be lowered here."""
    size = x.size  # perhaps not known yet
    is_large = type(size) is int and size * x.storage.itemsize >= _LARGE
    return is_large and not dtypes.is_key(x.dtype)


def lower(op: Any, ctx: "Lowering", x: HloValue) -> HloResults:
    """Lower ``op``, a ``Roll`` that moves something, of a large array."""
    (type_,) = ctx.in_types
    cuts = op.cuts(type_.shape)
    axis, cut = cuts[-1]
    length = type_.shape[axis]
    margin = max(_SHORTEST, 1 << (min(cut, length - cut) - 1).bit_length())
    has_margins = margin * _TIMES <= length and len(cuts) <= _MOST_OTHERS + 1
    is_short = type_.storage.kind in "biu" and type_.storage.itemsize < 4
    is_chosen = False
    if length == type_.size:
        if has_margins:
            return _of_margins(op, ctx, x, (length,), margin)
    elif axis == type_.ndim - 1:
        is_chosen = len(cuts) == 1
        pays = is_chosen or is_short or hlo.is_argument(x) or _is_rolled_again(ctx)
        if has_margins and pays:
            return _of_margins(op, ctx, x, type_.shape, margin)
    else:
        is_chosen = is_short and len(cuts) <= _MOST_OTHERS
    rolled = functools.partial(_chosen, cuts=cuts) if is_chosen else op.by_parts
    return ctx.through(lambda x: [rolled(x)], x)


def _is_rolled_again(ctx: "Lowering") -> bool:
    """Whether the operand is rolled along its last axis more than once."""
    (x,), kind = ctx.equation.inputs, type(ctx.equation.op)
    rolls = [e for e in ctx.jaxpr.equations if type(e.op) is kind and e.inputs[0] is x]
    return len([e for e in rolls if e.op.shifts[-1]]) > 1  # type: ignore[attr-defined]


def _of_margins(
    op: Any, ctx: "Lowering", x: HloValue, rows: Shape, margin: int
) -> HloResults:
    """A slice of ``x``, seen as ``rows``, with margins; and that along other axes."""
    (type_,) = ctx.in_types
    *others, (_, cut) = op.cuts(type_.shape)
    *shape, length = rows
    start = margin + (cut if cut <= length // 2 else cut - length)

    def widened(x: Value) -> Sequence[Value]:
        # XLA would see that a slice of it is one of the array, and roll that.
        return optimization_barrier(op.with_margins(Reshape(rows)(x), margin))

    def rolled(wide: Value) -> Sequence[Value]:
        lows = [0] * len(shape)
        part = Slice((*lows, start), (*shape, start + length))(wide)
        return [_chosen(Reshape(type_.shape)(part), others)]

    known = x, margin
    if known not in ctx.shared:
        (ctx.shared[known],) = ctx.through(widened, x)
    wide_type = type_.with_shape((*shape, length + 2 * margin))
    return ctx.inline(restage(rolled, [wide_type]), [ctx.shared[known]])


def _chosen(x: Value, cuts: Cuts) -> Value:
    """``x`` rolled, as a choice between it shifted to the one and the other side."""
    return _of_shifted(x, cuts, [0] * x.type.ndim)


def _of_shifted(x: Value, cuts: Cuts, by: Sequence[int]) -> Value:
    if not cuts:
        pad = Pad(tuple([(k, -k, 0) for k in by]))
        return pad(x, scalar(0, x.type.dtype)) if any(by) else x
    (axis, cut), *others = cuts
    shape, behind = x.type.shape, x.type.shape[axis] - cut
    back, forth = [
        _of_shifted(x, others, [*by[:axis], k, *by[axis + 1 :]]) for k in (-cut, behind)
    ]
    end = BroadcastInDim(shape, ())(scalar(behind, dtypes.int32))
    return where(lt(Iota(dtypes.int32, shape, axis)(), end), back, forth)
