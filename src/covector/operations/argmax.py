"""The index of the largest or the smallest element along an axis.

``Argmax`` and ``Argmin`` take the first of equal elements, and NaN before all others.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, HostArray, LinearMaps, Value, Values
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.number_info import iinfo
from covector.core.primitive import Primitive, operation
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add, mul, sub
from covector.operations.bitwise import and_, not_, or_
from covector.operations.broadcasting import BroadcastInDim, reduced_type
from covector.operations.casting import convert
from covector.operations.comparison import eq, lt
from covector.operations.creation import Iota
from covector.operations.gathering import (
    Gather,
    GatherDimensionNumbers,
    GatherScatterMode,
)
from covector.operations.ordering import is_packable, order_key, packed, position_of
from covector.operations.reductions import (
    ReduceMax,
    ReduceMaxOfNumbers,
    ReduceMin,
)
from covector.operations.selection import where
from covector.operations.transposing import Reshape

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: elements from which a search in blocks pays; what is no longer is searched by columns
_LARGE, _ROW = 2**15, 32
#: how long rows are that are searched as such; and blocks of columns, at least
_LONG, _SHORTEST = 256, 3
#: elements from which rows without blocks are counted; up to which float32 counts
_MANY, _LONGEST = 2**14, 2**24


@operation
class _Place(Primitive):
    """The index of an extremum along ``axis``, which disappears, in ``index_dtype``."""

    axis: int
    index_dtype: Any

    #: whether the largest element is wanted, or the smallest
    largest = True

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if not (dtypes.is_real(x.dtype) or dtypes.is_bool(x.dtype)):
            raise DTypeError(f"{self.name} needs real numbers or bools, but got {x}.")
        if not dtypes.is_integer(self.index_dtype):
            raise DTypeError(
                f"{self.name} gives an index and needs an integer index_dtype, but got "
                f"{dtypes.short_name(self.index_dtype)}."
            )
        out = reduced_type(self.name, x, (self.axis,))
        length, limit = x.shape[self.axis], iinfo(self.index_dtype).max
        if length == 0:
            raise TypeMismatch(
                f"{self.name} over axis {self.axis} of {x}: no element is the "
                f"{'largest' if self.largest else 'smallest'} of none."
            )
        if int(length) - 1 > limit:
            raise TypeMismatch(
                f"{self.name} over axis {self.axis} of {x}: the index_dtype "
                f"{dtypes.short_name(self.index_dtype)} counts to {limit} only."
            )
        return (ArrayType(out.shape, self.index_dtype),)

    def on_host(self, x: HostArray) -> HostArray:
        found = x.argmax(self.axis) if self.largest else x.argmin(self.axis)
        return found.astype(self.index_dtype)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [None]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        axis = self.axis + (dim <= self.axis)
        return (type(self)(axis, self.index_dtype)(x),), (dim - (dim > axis),)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(flops=types[0].size - outs[0].size)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (source,) = ctx.in_types
        if ctx.platform == "cpu":
            search = self._search(source)
            if search is not None:
                return ctx.through(lambda x: [search(x)], x)
        (key,) = ctx.through(lambda x: [self._key(x)], x)
        return self._least_pair(ctx, key)

    def _search(self, x: ArrayType) -> Callable[[Value], Any] | None:
        """How it is found by other operations on a CPU; None if by pairs."""
        floating, is_row = dtypes.is_floating(x.dtype), self.axis == x.ndim - 1
        length, is_static = x.shape[self.axis], type(x.size) is int
        if is_static and x.size >= _LARGE and length > _ROW:
            if is_row and length >= _LONG:
                block = _divisor(length, 4, _ROW) if floating else None
                by_blocks = self._by_blocks
            else:
                block = _divisor(length, 1 / 4, _SHORTEST)
                by_blocks = self._by_blocks_of_keys
            if block:
                return lambda x: by_blocks(x, block)
        if is_row and length > _ROW:
            if not floating:
                return None  # they are compared side by side in any case
            if is_static and x.size >= _MANY and length <= _LONGEST:
                return self._by_counting
        return self._least_packed if is_packable(x.dtype) else None

    def _by_blocks_of_keys(self, x: Value, length: int) -> Value:
        """In blocks that are searched by columns.

        XLA:CPU reduces columns as it compares: a subnormal number is zero.
        """
        return Argmin(self.axis, self.index_dtype)._by_blocks(self._key(x), length)

    def _by_blocks(self, x: Value, length: int) -> Value:
        """The first block that has the extremum; then where it is in that block.

        XLA:CPU reads floats for a plain extremum as fast as memory gives them.
        """
        axis, shape = self.axis, x.type.shape
        before, after = shape[:axis], shape[axis + 1 :]
        count = shape[axis] // length
        blocks = Reshape((*before, count, length, *after))(x)
        extremum = ReduceMax if self.largest else ReduceMin
        block = type(self)(axis, dtypes.int32)(extremum((axis + 1,))(blocks))
        rows = tuple([k for k in range(len(shape) + 1) if k not in (axis, axis + 1)])
        numbers = GatherDimensionNumbers(
            (axis,), (axis,), (axis,), rows, tuple(range(len(rows)))
        )
        sizes = tuple([length if k == axis + 1 else 1 for k in range(len(shape) + 1)])
        read = Gather(numbers, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)
        found = read(blocks, Reshape((*block.type.shape, 1))(block))
        position = type(self)(axis, dtypes.int32)(found)
        first = mul(block, scalar(length, dtypes.int32))
        return convert(add(first, position), self.index_dtype)

    def _by_counting(self, x: Value) -> Value:
        """How far from the end of its row an element like the extremum is, at most.

        XLA:CPU compares floats side by side, but not pairs with their positions.
        """
        axis, (*_, length) = self.axis, x.type.shape
        extremum = (ReduceMax if self.largest else ReduceMin)((axis,))(x)
        rows = BroadcastInDim(x.type.shape, tuple(range(axis)))
        found = eq(self._key(x), rows(self._key(extremum)))
        count, none = scalar(length, dtypes.float32), scalar(0, dtypes.float32)
        left = sub(count, Iota(dtypes.float32, x.type.shape, axis)())
        most = ReduceMaxOfNumbers((axis,))(where(found, left, none))
        return convert(sub(count, most), self.index_dtype)

    def _key(self, x: Value) -> Value:
        """Integer keys, the least of which is that of the wanted element."""
        key = order_key(x, nan_first=not self.largest)
        return not_(key) if self.largest else key

    def _least_packed(self, x: Value) -> Value:
        """The index in the least integer of a key and an index: eight times as fast."""
        both = packed(self._key(x), self.axis)
        return position_of(ReduceMin((self.axis,))(both), self.index_dtype)

    def _least_pair(self, ctx: "Lowering", key: HloValue) -> HloValue:
        """The index beside the least key, of equal ones the first."""
        (source,), (out,) = ctx.in_types, ctx.out_types
        position = ctx.op(
            "stablehlo.iota",
            [],
            [source.with_dtype(out.dtype)],
            iota_dimension=f"{self.axis} : i64",
        )
        wide = not is_packable(source.dtype)
        k, p = ArrayType((), dtypes.int64 if wide else dtypes.int32), out.with_shape(())
        starts = [ctx.constant(iinfo(t.dtype).max, t) for t in (k, p)]
        op = ctx.op(
            "stablehlo.reduce",
            [key, position, *starts],
            [out.with_dtype(k.dtype), out],
            regions=1,
            dimensions=(self.axis,),
        )
        earlier = stage(_earlier, [k, p, k, p]).jaxpr
        ctx.region(op, 0, [k, p, k, p], lambda inner, *xy: inner.inline(earlier, xy))
        return op.results[1]


@lru_cache
def _divisor(n: int, roots: float, least: int) -> int | None:
    """A divisor of n of about so many of its square roots, or not less than ``least``;
    None if there is none.
    """
    lengths = [k for k in range(least, n // 8 + 1) if n % k == 0]
    if n > np.iinfo(np.int32).max or not lengths:
        return None
    return min(lengths, key=lambda k: abs(math.log(k / (roots * math.sqrt(n)))))


def _earlier(k1: Value, p1: Value, k2: Value, p2: Value) -> Sequence[Array]:
    """The pair of a key and an index that comes before the other."""
    first = or_(lt(k1, k2), and_(eq(k1, k2), lt(p1, p2)))
    return [where(first, k1, k2), where(first, p1, p2)]


class Argmax(_Place):
    """The index of the first largest element along ``axis``, or of the first NaN."""


class Argmin(_Place):
    """The index of the first smallest element along ``axis``, or of the first NaN."""

    largest = False
