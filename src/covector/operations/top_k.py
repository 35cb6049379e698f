"""``TopK``: the largest elements along an axis, in the order of their size.

XLA:CPU has a routine for float32 that looks at one element after the other, and sorts
whole rows of other numbers. There are quicker ways:

    one element           its place is that of the maximum
    few of a short row    maxima, one after the other, each without those before
    few of a long row     those of as many blocks of the row as have the largest maxima
    many of a large row   NumPy selects them

Measured on two cores, in ms, of float32:

    2 of 4096 × 8               0.30 → 0.06
    8 of 1000 × 10,000          21 → 4
    8 of 16,000,000             38 → 1.5
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, DType, HostArray, Value, Values
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.host_budget import CALL, PACE
from covector.core.number_info import bit_width
from covector.core.primitive import Linearized, ManyResults, operation
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch, how_many
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.argmax import Argmax
from covector.operations.arithmetic import add, mul
from covector.operations.bitwise import not_
from covector.operations.broadcasting import BroadcastInDim, move_axis
from covector.operations.casting import convert
from covector.operations.comparison import eq
from covector.operations.creation import Iota
from covector.operations.gathering import (
    Gather,
    GatherDimensionNumbers,
    GatherScatterMode,
)
from covector.operations.joining import Concatenate, Stack
from covector.operations.ordering import (
    canonical,
    float_of_key,
    is_packable,
    order_key,
    packed,
    position_of,
)
from covector.operations.reductions import ReduceMax, ReduceMin
from covector.operations.selection import where
from covector.operations.sorting import (
    FEW,
    Sort,
    along,
    comparisons,
    parts_on_host,
)
from covector.operations.sorting_on_host import first_of, is_quick, key_on_host
from covector.operations.transposing import Reshape
from covector.operations.tree_reduce import cut

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: how many maxima are taken one after the other, and of how long rows
_ROUNDS, _SHORT = 4, 32
#: elements from which blocks pay, and many from which they do so sooner
_LARGE, _VERY_LARGE = 2**14, 2**17
#: the part of a row, its length over this, from which on sorting it is as quick
_MOST = 8
#: elements of a block at least, and up to which ``ReduceMax`` makes columns of it
_SMALLEST, _COLUMNS = 4, 8
#: how many elements NumPy selects from an array at least, and how many elements of the
#: array are worth another one
_MANY, _ELEMENTS = 2**8, 2**9


@operation
class TopK(ManyResults):
    """The k largest elements along ``axis``, in descending order; and their positions.

    Of equal elements the first comes first, and NaN comes before all numbers. Indices
    are int32.
    """

    k: int
    axis: int

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if not (dtypes.is_real(x.dtype) or dtypes.is_bool(x.dtype)):
            raise DTypeError(f"top_k needs real numbers or bools, but got {x}.")
        if not 0 <= self.axis < x.ndim:
            raise TypeMismatch(
                f"top_k along axis {self.axis} of {x}: it must be an axis of the "
                "operand."
            )
        if not 0 <= self.k <= x.shape[self.axis]:
            raise TypeMismatch(
                f"top_k of {x} along axis {self.axis}: there are no {self.k} largest "
                f"of {how_many(x.shape[self.axis], 'element')}."
            )
        shape = (*x.shape[: self.axis], self.k, *x.shape[self.axis + 1 :])
        return x.with_shape(shape), ArrayType(shape, dtypes.int32)

    def prefers_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        (x,) = types
        quick = x.size < _LARGE and self._is_quick_on_host(x)
        return quick or super().prefers_host(types, outs)

    def host_time(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> float | None:
        (x,) = types
        return CALL + x.size / PACE if self._is_quick_on_host(x) else None

    def _is_quick_on_host(self, x: Any) -> bool:
        return self.k > 0 and is_quick(x.dtype, alone=False)

    def on_host(self, x: HostArray) -> Sequence[HostArray]:
        axis, count = self.axis, x.shape[self.axis]
        if x.size > FEW and self._is_quick_on_host(x):
            rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
            positions = np.moveaxis(first_of(~key_on_host(rows), self.k), -1, axis)
            return np.take_along_axis(x, positions, axis), positions
        # Ascending and stable in the mirror image is descending and stable.
        (key,) = parts_on_host(np.flip(x, axis))
        ascending = np.argsort(key, axis, "stable")
        largest = np.flip(ascending, axis)[(slice(None),) * axis + (slice(self.k),)]
        positions = (count - 1 - largest).astype(np.int32)
        return np.take_along_axis(x, positions, axis), positions

    def linearize(self, active: Sequence[bool], x: Value) -> Linearized:
        values, positions = self(x)
        return (values, positions), lambda dx: (along(dx, positions, self.axis), None)

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        axis = self.axis + (dim <= self.axis)
        return TopK(self.k, axis)(x), (dim, dim)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        (x,) = types
        return Work(flops=x.size * comparisons(max(self.k, 2)))

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (source,) = ctx.in_types
        if self.axis != source.ndim - 1:
            return ctx.through(self._along_last, x)
        if ctx.platform != "cpu":
            return self._by_xla(ctx, x, source.dtype)
        way = _way(self.k, source, ctx.is_of_one_cpu)
        if way is not None:
            return ctx.through(lambda x: _read(x, way(x, self.k)), x)
        if ctx.is_of_one_cpu and _is_much(self.k, source):
            return self._in_numpy(ctx, x)
        return self._by_xla(ctx, x, dtypes.float32)

    def _along_last(self, x: Value) -> Sequence[Array]:
        last = x.type.ndim - 1
        found = TopK(self.k, last)(move_axis(x, self.axis, last))
        return [move_axis(out, last, self.axis) for out in found]

    def _by_xla(self, ctx: "Lowering", x: HloValue, dtype: DType) -> HloResults:
        """XLA's operation, on the elements as numbers of ``dtype``."""
        (ranks,) = ctx.through(lambda x: [_ranks(convert(x, dtype))], x)
        values, positions = ctx.out_types
        ranked = [values.with_dtype(dtype), positions]
        found = ctx.op("chlo.top_k", [ranks], ranked, k=f"{self.k:d} : i64").results[1]
        return self._read_found(ctx, x, found)

    def _in_numpy(self, ctx: "Lowering", x: HloValue) -> HloResults:
        """A call of the host, by integers of which the least come first."""
        (keys,) = ctx.through(lambda x: [not_(order_key(x))], x)
        count = ctx.constant(self.k, ArrayType((), dtypes.int32))
        (found,) = ctx.call_numpy("first of", [keys, count], [ctx.out_types[1]])
        return self._read_found(ctx, x, found)

    def _read_found(self, ctx: "Lowering", x: HloValue, found: HloValue) -> HloResults:
        types = [*ctx.in_types, ctx.out_types[1]]
        return ctx.inline(stage(_read, types).jaxpr, [x, found])


def _ranks(x: Value) -> Value:
    return canonical(x) if dtypes.is_floating(x.type.dtype) else x


def _read(x: Value, positions: Any) -> Sequence[Any]:
    """The elements at these positions of the last axis, and the positions."""
    return [along(x, positions, x.type.ndim - 1), positions]


# -- ways to find positions on a CPU ---------------------------------------------------


def _way(count: int, x: ArrayType, alone: bool) -> Callable[[Value, int], Any] | None:
    """What finds the positions by other operations; None if a routine does. ``alone``:
    in a program of one CPU, which may call NumPy.
    """
    length, packable = x.shape[-1], is_packable(x.dtype)
    if count == 1:
        return _of_maximum
    if type(x.size) is int:
        if packable and 0 < count <= _ROUNDS and length <= _SHORT:
            return _by_rounds
        if alone and 0 < count * _for_each(count, x) <= length:
            return _by_blocks
        if alone and packable and _is_much(count, x):
            return None if length > _MOST * count else _by_sorting
    return None if _has_routine(x.dtype) or not x.size else _by_sorting


def _has_routine(dtype: DType) -> bool:
    """Whether XLA:CPU has one: for float32, in which narrower numbers have their order;
    it sorts others, and takes ten times as long as ``Sort``.
    """
    return is_packable(dtype) and not (
        dtypes.is_integer(dtype) and bit_width(dtype) == 32
    )


def _for_each(count: int, x: ArrayType) -> float:
    """How long a row is at least, for each element wanted of it, where blocks pay."""
    if x.size < _LARGE:
        return math.inf
    few = count <= _ROUNDS or not is_packable(x.dtype)
    return 16 if few or x.size >= _VERY_LARGE else 256


def _is_much(count: int, x: ArrayType) -> bool:
    """Whether NumPy selects so many of each row faster than XLA, the call included."""
    if not count:
        return False  # and a row may have no elements
    chosen = x.size // x.shape[-1] * count
    return chosen >= _MANY + x.size // _ELEMENTS


def _of_maximum(x: Value, _: int) -> Any:
    axis = x.type.ndim - 1
    found = Argmax(axis, dtypes.int32)(x)
    return Reshape((*found.type.shape, 1))(found)


def _by_rounds(x: Value, count: int) -> Any:
    """Least integers of a key and a position, of which no two are equal."""
    axis, shape = x.type.ndim - 1, x.type.shape
    left = packed(not_(order_key(x)), axis)
    gone = scalar(np.iinfo(np.int64).max, dtypes.int64)
    found = [ReduceMin((axis,))(left)]
    rows = BroadcastInDim(shape, tuple(range(axis)))
    while len(found) < count:
        left = where(eq(left, rows(found[-1])), gone, left)
        found.append(ReduceMin((axis,))(left))
    return position_of(Stack(axis)(*found), dtypes.int32)


def _by_blocks(x: Value, count: int) -> Any:
    """The first of what is in the blocks with the largest maxima.

    For an element of another block there is a larger one in each of these, or an equal
    one before it. What is left of a row behind whole blocks is looked at in any case.
    """
    axis, (*rows, length) = x.type.ndim - 1, x.type.shape
    size = _block_size(length, count)
    blocks = length // size
    end = blocks * size
    maxima = _maxima(Reshape((*rows, blocks, size))(cut(x, axis, 0, end)))
    (chosen,) = Sort(axis)(_largest(maxima, count))
    starts = mul(chosen, scalar(size, dtypes.int32))
    flat = Reshape((*rows, count * size))
    positions = flat(_counted_from(starts, size))
    candidates = flat(_slices(x, starts, size))
    if end < length:
        rest = Iota(dtypes.int32, (*rows, length - end), axis)()
        rest = add(rest, scalar(end, dtypes.int32))
        positions = Concatenate(axis)(positions, rest)
        candidates = Concatenate(axis)(candidates, cut(x, axis, end, length))
    return along(positions, _largest(candidates, count), axis)


def _maxima(blocks: Value) -> Value:
    """Numbers in the order of the largest of each block, along the last axis.

    XLA:CPU takes subnormal numbers for zero. ``ReduceMax`` compares the bits of floats
    in rows, but not in columns, which short rows are made.
    """
    dtype, axis = blocks.type.dtype, blocks.type.ndim - 1
    maximum = ReduceMax((axis,))
    if not dtypes.is_floating(dtype) or blocks.type.shape[-1] > _COLUMNS:
        return maximum(blocks)
    keys = maximum(order_key(blocks))
    if dtype == dtypes.float32:
        return float_of_key(keys, dtype)
    return convert(keys, dtypes.float32) if bit_width(dtype) <= 16 else keys


def _largest(x: Value, count: int) -> Any:
    """The positions of the largest elements along the last axis."""
    return TopK(count, x.type.ndim - 1)(x)[1]


def _block_size(length: int, count: int) -> int:
    """The length of blocks for which both are few: blocks, and candidates in those that
    are chosen. Divisors are preferred: the rest of a row is a candidate, too.
    """
    best = math.sqrt(length / count)
    sizes = range(max(_SMALLEST, int(best / 2)), int(2 * best) + 1)
    return min(sizes, key=lambda size: length // size + count * size + length % size)


def _counted_from(starts: Any, count: int) -> Any:
    """So many integers from each of these on, along a last axis."""
    shape = (*starts.type.shape, count)
    each = BroadcastInDim(shape, tuple(range(len(shape) - 1)))(starts)
    return add(each, Iota(dtypes.int32, shape, len(shape) - 1)())


def _slices(x: Value, starts: Any, size: int) -> Any:
    """So many elements of each row from each of its starts on, along a last axis."""
    axis = x.type.ndim - 1
    rows = tuple(range(axis))
    numbers = GatherDimensionNumbers((axis + 1,), (), (axis,), rows, rows)
    sizes = (*[1] * axis, size)
    take = Gather(numbers, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)
    return take(x, Reshape((*starts.type.shape, 1))(starts))


def _by_sorting(x: Value, count: int) -> Any:
    """The first of all positions, sorted with the elements."""
    axis = x.type.ndim - 1
    counted = Iota(dtypes.int32, x.type.shape, axis)()
    _, order = Sort(axis)(not_(order_key(x)), counted)
    return cut(order, axis, 0, count)
