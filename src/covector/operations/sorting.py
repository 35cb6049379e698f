"""Sorting along an axis: ``Sort`` of several arrays together.

Numbers ascend; −0 and 0 are equal, NaN is larger than all others, and complex numbers
are ordered by their real parts, then by their imaginary parts. The order of results is
that of the operands: sorting moves elements, and its derivative moves tangents the same
way.
"""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, HostArray, Value, Values
from covector.core.array_like import Array
from covector.core.primitive import Linearized, ManyResults, operation
from covector.core.staging import stage
from covector.core.types import ArrayType, show_types
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch, how_many
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.bitwise import and_, or_
from covector.operations.broadcasting import align
from covector.operations.casting import convert
from covector.operations.comparison import eq, lt
from covector.operations.complex import imag, real
from covector.operations.creation import Iota
from covector.operations.gathering import (
    Gather,
    GatherDimensionNumbers,
    GatherScatterMode,
)
from covector.operations.ordering import (
    is_packable,
    is_plain,
    order_key,
    order_words,
    packed,
    position_of,
)
from covector.operations.sorting_on_host import (
    is_quick,
    is_sorted_by_numpy,
    sort_alone,
    sort_together,
)
from covector.operations.transposing import Reshape

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: rows from this length on are sorted faster by XLA:CPU's stable algorithm
_LONG = 4096
#: elements from which on, in rows of which length, compiled programs call NumPy
_MANY, _ROW = 2048, 16
#: keys by which operands are sorted one after the other, and not all at once
_MOST_KEYS = 8
#: elements up to which the stable algorithms of NumPy are the quickest
FEW = 1024


@operation
class Sort(ManyResults):
    """The operands, of one shape, put in the order of the first ``num_keys`` of them.

    Elements move along ``dimension``, together in all operands; the first operand
    decides, where it ties the second, and so on. If ``is_stable``, elements that are
    equal in all keys keep their order. Operands that are not keys may be of any type.
    """

    dimension: int
    is_stable: bool = True
    num_keys: int = 1

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        if not 1 <= self.num_keys <= len(types):
            raise TypeMismatch(
                f"sort by {how_many(self.num_keys, 'key')} needs at least one, and "
                f"that many operands, but got {show_types(types) or 'none'}."
            )
        if any([t.shape != types[0].shape for t in types]):
            raise TypeMismatch(
                f"sort needs operands of one shape, but got {show_types(types)}."
            )
        if not 0 <= self.dimension < types[0].ndim:
            raise TypeMismatch(
                f"sort along axis {self.dimension} of {types[0]}: it must be an axis "
                "of the operand, counted from 0."
            )
        for t in types[: self.num_keys]:
            if not (dtypes.is_numeric(t.dtype) or dtypes.is_bool(t.dtype)):
                raise DTypeError(
                    f"sort needs numbers or bools to sort by, but got {t}. Other "
                    "operands of any type can be put in their order."
                )
        return types

    def prefers_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        return self._is_quick_on_host(types) or super().prefers_host(types, outs)

    def host_time(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> None:
        return None  # by several keys, NumPy takes as long as compiling

    def _is_quick_on_host(self, xs: Sequence[Any]) -> bool:
        return self.num_keys == 1 and is_quick(xs[0].dtype, len(xs) == 1)

    def on_host(self, *xs: HostArray) -> Sequence[HostArray]:
        if xs[0].size > FEW and self._is_quick_on_host(xs):
            if len(xs) == 1:
                return [sort_alone(xs[0], self.dimension)]
            return sort_together(xs, self.dimension)
        if len(xs) == 1 and dtypes.is_of_numpy(xs[0].dtype) and xs[0].dtype.kind != "c":
            return [np.sort(xs[0], self.dimension, "stable")]
        keys = [part for x in xs[: self.num_keys] for part in parts_on_host(x)]
        order = np.lexsort(keys[::-1], self.dimension)
        return [np.take_along_axis(x, order, self.dimension) for x in xs]

    def linearize(self, active: Sequence[bool], *xs: Value) -> Linearized:
        axis, shape = self.dimension, xs[0].type.shape
        positions = Iota(dtypes.int32, shape, axis)()
        *outs, order = self(*xs, positions)

        def push(*tangents: Value | None) -> Sequence[Any]:
            return [dx if dx is None else along(dx, order, axis) for dx in tangents]

        return outs, push

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        over_batch = Sort(self.dimension + 1, self.is_stable, self.num_keys)
        return over_batch(*align(size, args, dims)), [0] * len(args)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        x = types[0]
        compared = self.num_keys * comparisons(x.shape[self.dimension])
        return Work(flops=x.size * compared)

    def lower(self, ctx: "Lowering", *xs: HloValue) -> HloResults:
        first, alone = ctx.in_types[0], len(xs) == 1
        keys = ctx.in_types[: self.num_keys]
        is_key = alone and not dtypes.is_floating(first.dtype)
        if ctx.is_of_one_cpu and _are_many(first, self.dimension):
            if alone and is_sorted_by_numpy(first.dtype):
                return self._in_numpy(ctx, xs[0])
            if len(keys) <= _MOST_KEYS:
                return self._by_packed_keys(ctx, xs)
        few = len(keys) == 1 and is_packable(first.dtype)
        if ctx.platform == "cpu" and few and not is_key:
            return self._by_packed_keys(ctx, xs)
        return self._by_comparison(ctx, xs)

    def _in_numpy(self, ctx: "Lowering", x: HloValue) -> HloResults:
        """A call of the host: ten times as fast."""
        (source,), axis = ctx.in_types, self.dimension
        further = []
        if dtypes.is_floating(source.dtype):
            further = ctx.through(lambda x: [is_plain(x)], x)
        before, after = prod(source.shape[:axis]), prod(source.shape[axis + 1 :])
        rows = source.with_shape((before, source.shape[axis], after))
        given = ctx.op("stablehlo.reshape", [x], [rows])
        (found,) = ctx.call_numpy("sort", [given, *further], [rows], {0: 0})
        return ctx.op("stablehlo.reshape", [found], [source])

    def _by_packed_keys(self, ctx: "Lowering", xs: Sequence[Any]) -> HloResults:
        """The indices sorted with the keys, then the operands gathered: six times as
        fast. Operands that count are the indices.
        """
        from covector.lowering import hlo  # noqa: PLC0415  it imports MLIR

        axis = self.dimension
        counting = [hlo.counts_along(x, axis) for x in xs]

        def by_packed_keys(*xs: Value) -> Sequence[Array]:
            order = self._order(xs[: self.num_keys])
            return [
                convert(order, x.type.dtype) if counts else along(x, order, axis)
                for x, counts in zip(xs, counting, strict=True)
            ]

        return ctx.through(by_packed_keys, *xs)

    def _order(self, keys: Sequence[Value]) -> Any:
        """The indices of elements in their order. Of several words of 32 bits the last
        is sorted by first: the others keep the order of what is equal in them.
        """
        axis, order = self.dimension, None
        length = keys[0].type.shape[axis]
        long = type(length) is not int or length >= _LONG  # or symbolic
        for word in reversed([word for x in keys for word in order_words(x)]):
            key = word if order is None else along(word, order, axis)
            (both,) = Sort(axis, long)(packed(key, axis))
            found = position_of(both, dtypes.int32)
            order = found if order is None else along(order, found, axis)
        return order

    def _by_comparison(self, ctx: "Lowering", xs: Sequence[Any]) -> HloValue:
        elements = [t.with_shape(()).strong() for t in ctx.in_types for _ in range(2)]
        op = ctx.op(
            "stablehlo.sort",
            xs,
            ctx.out_types,
            regions=1,
            dimension=f"{self.dimension} : i64",
            is_stable="true" if self.is_stable else "false",
        )
        keys = 2 * self.num_keys
        before = stage(_comes_before, elements[:keys]).jaxpr
        ctx.region(op, 0, elements, lambda inner, *xy: inner.inline(before, xy[:keys]))
        return op.results


def parts_on_host(x: HostArray) -> Sequence[HostArray]:
    """The NumPy keys in the order of ``x``, the most significant first."""
    if dtypes.is_complex(x.dtype):
        return [x.real, x.imag]
    if not dtypes.is_of_numpy(x.dtype):  # NumPy does not know where NaN belongs
        return [x.astype(np.float32 if dtypes.is_floating(x.dtype) else np.int32)]
    return [x]


def _comes_before(*pairs: Value) -> Sequence[Array]:
    """Whether x₁ … xₖ come before y₁ … yₖ; the operands are x₁, y₁, x₂, y₂, ….

    x₁ < y₁, or x₁ = y₁ and what is said of the rest.
    """
    compared = []
    for x, y in zip(pairs[::2], pairs[1::2], strict=True):
        if dtypes.is_complex(x.type.dtype):
            compared += [(real(x), real(y)), (imag(x), imag(y))]
        else:
            compared.append((x, y))
    keys = [(order_key(x), order_key(y)) for x, y in compared]
    *rest, last = keys
    less = lt(*last)
    for x, y in reversed(rest):
        less = or_(lt(x, y), and_(eq(x, y), less))
    return [less]


def along(x: Value, positions: Any, axis: int) -> Value:
    """The elements of ``x`` at indices along an axis, which each row has its own of."""
    rows = x.type.shape
    if not rows[axis]:
        return x
    others = tuple([k for k in range(len(rows)) if k != axis])
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    sizes = tuple([1 if n else 0 for n in rows])
    take = Gather(numbers, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)
    return take(x, Reshape((*positions.type.shape, 1))(positions))


def _are_many(x: ArrayType, axis: int) -> bool:
    """Whether NumPy sorts so many elements faster than XLA, the call included."""
    return x.size >= _MANY and x.shape[axis] >= _ROW


def comparisons(length: int) -> int:
    """About how many an element takes part in while so many are sorted: ⌈log₂ n⌉."""
    return max(length - 1, 0).bit_length()
