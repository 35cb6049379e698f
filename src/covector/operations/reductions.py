"""Reductions: all elements along some axes become one, and the axes disappear.

``ReduceSum`` is in ``broadcasting``, beside its adjoint. The indices of extrema are in
``argmax``. The reduction of no elements is the identity of the combining operation: −∞
for a maximum, 1 for a product, all ones for ``and``.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, DType, HostArray, Value, Values
from covector.core.convert import scalar
from covector.core.number_info import finfo, iinfo
from covector.core.primitive import Linearized, Primitive, operation
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import DTypeError
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add, div, mul
from covector.operations.bitwise import and_, or_, xor
from covector.operations.broadcasting import (
    BroadcastInDim,
    ReduceSum,
    batch_reduction,
    reduced_in_order,
    reduced_type,
)
from covector.operations.casting import convert
from covector.operations.comparison import eq, ge, gt, lt, ne
from covector.operations.extrema import max_, min_
from covector.operations.identities import computed_once
from covector.operations.selection import where
from covector.operations.transposing import Reshape, Transpose
from covector.operations.tree_reduce import fold, with_jvp

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Reduction(Primitive):
    """The elements along ``axes`` combined into one."""

    axes: tuple[int, ...]

    #: the operation on two elements, associative and commutative
    combine = add

    def identity(self, dtype: DType) -> Any:
        """The identity of the combination."""
        raise self._missing("identity", "reducing", [])

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if not self.combine.accepts(x.dtype):
            raise DTypeError(f"{self.name} needs {self.combine.accepted}, but got {x}.")
        return (reduced_type(self.name, x, self.axes),)

    def host_function(self, x: ArrayType) -> Callable[..., HostArray]:  # type: ignore[override]
        if x.size and x.dtype in self.combine.vectors and x.inexact:
            return partial(self.combine.on_host.reduce, axis=self.axes)
        return self.on_host

    def on_host(self, x: HostArray) -> HostArray:
        reduce = self.combine.on_host.reduce
        if x.size:
            out = reduce(x, self.axes)
        else:
            start = np.asarray(self.identity(x.dtype)).astype(x.dtype)
            out = reduce(x, self.axes, initial=start)
        return out if out.dtype is x.dtype else out.astype(x.dtype)

    def reordered(self, orders: Sequence[Any]) -> Any:  # type: ignore[override]
        return reduced_in_order(self, orders)

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return batch_reduction(type(self), self.axes, args, dims)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return self.combine.each.times(max(types[0].size - outs[0].size, 0))

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return self.reduce(ctx, x, self.combine)

    def reduce(
        self, ctx: "Lowering", x: HloValue, combine: Callable[[Any, Any], Any]
    ) -> HloValue:
        """The StableHLO reduction by a function of two elements."""
        element = ArrayType((), ctx.out_types[0].dtype)
        if not _is_collective(combine, element.dtype):
            x = ctx.replicated(x, ctx.in_types[0])
        start = ctx.constant(self.identity(element.dtype), element)
        op = ctx.op("stablehlo.reduce", [x, start], regions=1, dimensions=self.axes)
        combining(ctx, op, combine, element)
        return op.results


def _is_collective(combine: Any, dtype: DType) -> bool:
    """Whether devices can combine what each has of the elements."""
    if combine is add or combine is mul:
        return True
    if combine is max_ or combine is min_:
        return not dtypes.is_complex(dtype)
    return dtypes.is_bool(dtype) and combine is not xor


def combining(ctx: "Lowering", op: Any, combine: Any, element: ArrayType) -> None:
    """Fill the region of a reduction with a function of two elements."""
    pair = [element, element]
    jaxpr = stage(lambda x, y: [combine(x, y)], pair).jaxpr
    ctx.region(op, 0, pair, lambda inner, *xy: inner.inline(jaxpr, xy))


class _Extremum(Reduction):
    """The common base of ``ReduceMax`` and ``ReduceMin``.

    NaN wins. Complex numbers are ordered by their real parts, then by their imaginary
    parts. Elements that tie for the extremum share its derivative evenly.
    """

    #: whether the first of two wins, and NaN is none
    beats = gt

    def linearize(self, active: Sequence[bool], x: Value) -> Linearized:
        x = computed_once(x)
        out = self(x)
        kept = tuple([k for k in range(x.type.ndim) if k not in self.axes])
        hits = convert(eq(x, BroadcastInDim(x.type.shape, kept)(out)), x.type.dtype)
        total = ReduceSum(self.axes)
        count = total(hits)
        return (out,), lambda dx: (div(total(mul(dx, hits)), count),)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (source,) = ctx.in_types
        floating = dtypes.is_floating(source.dtype)
        if ctx.platform != "cpu" or not floating:
            return super().lower(ctx, x)
        if ctx.module.over is not None:
            return self._with_nan_apart(ctx, x)
        # Many programs have none.
        from covector.operations import extrema_on_cpu  # noqa: PLC0415

        return extrema_on_cpu.reduce(self, ctx, x)

    def _with_nan_apart(self, ctx: "Lowering", x: HloValue) -> Any:
        """Over several devices: what parts have in common must be a plain extremum."""
        (out,) = ctx.out_types
        plain = self.reduce(ctx, x, self.combine)
        (nan,) = ctx.through(lambda x: [ReduceOr(self.axes)(ne(x, x))], x)
        return ctx.op("stablehlo.select", [nan, ctx.constant(np.nan, out), *plain])

    def exactly(self, ctx: "Lowering", x: HloValue) -> HloValue:
        """Reduce with a comparison, which XLA:CPU does not take for an extremum.

        It leaves extrema of 4096 floats or more to a library that loses NaN.
        """

        def choose(x: Value, y: Value) -> Value:
            return where(or_(self.beats(x, y), ne(x, x)), x, y)

        return self.reduce(ctx, x, choose)

    def of_bits(self, most: Value, least: Value, far: Value, as_float: Any) -> Value:
        """The extremum of floats, from three of their bits.

        As signed integers, those of negative floats come first, from −0 to −∞ and NaN,
        and then those of positive ones, from 0 to ∞ and NaN: ``least`` and ``most``.
        As unsigned ones, those of negative floats come last: ``far``.
        """
        raise self._missing("of_bits", "reducing", [])


class ReduceMax(_Extremum):
    """The largest element along ``axes``; −∞ (False, the least integer) of none."""

    combine = max_

    def identity(self, dtype: DType) -> Any:
        return lowest(dtype)

    def of_bits(self, most: Value, least: Value, far: Value, as_float: Any) -> Value:
        positive = ge(most, scalar(0, most.type.dtype))
        found = where(positive, as_float(most), as_float(least))
        return where(ne(as_float(far), as_float(far)), as_float(far), found)


class ReduceMaxOfNumbers(ReduceMax):
    """The largest element along ``axes`` where none is NaN; else NaN or any element.

    For what is subtracted from the elements again: XLA:CPU need not look for NaN.
    """

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return self.reduce(ctx, x, self.combine)


class ReduceMin(_Extremum):
    """The smallest element along ``axes``; ∞ (True, the largest integer) of none."""

    combine, beats = min_, lt

    def identity(self, dtype: DType) -> Any:
        return highest(dtype)

    def of_bits(self, most: Value, least: Value, far: Value, as_float: Any) -> Value:
        negative = lt(least, scalar(0, least.type.dtype))
        found = where(negative, as_float(far), as_float(least))
        return where(ne(as_float(most), as_float(most)), as_float(most), found)


class ReduceProd(Reduction):
    """The product of the elements along ``axes``; integers wrap around.

    Its derivative is that of a tree of products, which divides by no element and so is
    right where some are zero.
    """

    combine = mul

    def identity(self, dtype: DType) -> Any:
        return 1

    def on_host(self, x: HostArray) -> HostArray:
        if is_short_float(x.dtype):
            return np.multiply.reduce(x, self.axes, np.float32).astype(x.dtype)
        return np.multiply.reduce(x, self.axes, x.dtype)

    def linearize(self, active: Sequence[bool], x: Value) -> Linearized:
        kept = [k for k in range(x.type.ndim) if k not in self.axes]
        shape = tuple([x.type.shape[k] for k in kept])
        count = x.type.size // max(math.prod(shape), 1)
        if not count or not x.type.size:
            return (self(x),), lambda dx: (None,)
        if self.axes[:1] == (0,):
            order, merged, axis = (*self.axes, *kept), (count, *shape), 0
        else:
            order, merged, axis = (*kept, *self.axes), (*shape, count), len(kept)
        reorder, merge = Transpose(order), Reshape(merged)
        out, push = fold(with_jvp(mul), merge(reorder(x)), axis, commutes=True)
        return (out,), lambda dx: (push(merge(reorder(dx))),)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (source,), (out,) = ctx.in_types, ctx.out_types
        if not is_short_float(out.dtype):
            return super().lower(ctx, x)
        # A product rounded to few bits at each step would drift.
        wide = dtypes.float32
        return ctx.through(lambda x: [convert(self(convert(x, wide)), source.dtype)], x)


class ReduceAnd(Reduction):
    """The bits that all elements along ``axes`` have set; all bits, of none."""

    combine = and_

    def identity(self, dtype: DType) -> Any:
        return -1


class ReduceOr(Reduction):
    """The bits that any element along ``axes`` has set."""

    combine = or_

    def identity(self, dtype: DType) -> Any:
        return 0


class ReduceXor(Reduction):
    """The bits that an odd number of elements along ``axes`` have set."""

    combine = xor

    def identity(self, dtype: DType) -> Any:
        return 0


# -- limits ----------------------------------------------------------------------------


def lowest(dtype: DType) -> Any:
    """The lower bound of the numbers of this dtype."""
    return _bound(dtype, -1)


def highest(dtype: DType) -> Any:
    """The upper bound of the numbers of this dtype."""
    return _bound(dtype, 1)


def _bound(dtype: Any, sign: int) -> Any:
    if dtypes.is_bool(dtype):
        return sign > 0
    if dtypes.is_integer(dtype):
        return iinfo(dtype).max if sign > 0 else iinfo(dtype).min
    if dtypes.is_complex(dtype):
        return complex(sign * np.inf, sign * np.inf)
    limits = finfo(dtype)
    # Some narrow floats have no infinity.
    infinite = np.isinf(np.asarray(np.inf).astype(dtype))
    return sign * np.inf if infinite else (limits.max if sign > 0 else limits.min)


def is_short_float(dtype: DType) -> bool:
    """Whether numbers of this dtype are added up and multiplied in float32."""
    return dtype.itemsize <= 2 and dtypes.is_floating(dtype)
