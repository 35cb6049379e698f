"""``ReduceWindow``: reduction over sliding windows by an arbitrary combiner.

The combiner is a jaxpr on two scalars, as in ``Reduce``, and starts from the initial
values. Padding and the holes of dilation contain no elements and are never combined.
Windows are built from slices (``slide``), since XLA would combine their elements in an
order of its choice (decision 15).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import BatchDims, Batched, Value, Values
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.jaxpr import Jaxpr
from covector.core.primitive import Linearized, ManyResults, Primitive, operation
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.lowering.hlo import HloResults, HloValue
from covector.ops.arithmetic import Add
from covector.ops.bitwise import and_, or_
from covector.ops.broadcasting import BroadcastInDim, align
from covector.ops.extrema import Max, Min
from covector.ops.joining import Stack
from covector.ops.slicing import Pad, Slice
from covector.ops.transposing import Reshape
from covector.ops.window_reductions import ReduceWindowSum, Windowed, slide
from covector.ops.window_selection import ReduceWindowMax, ReduceWindowMin
from covector.programs.control_flow.combiners import (
    choose,
    combined,
    looks_associative,
    reduce_in_order,
)
from covector.programs.control_flow.reduce import (
    REDUCTIONS,
    is_known,
    single_operation,
    unbatched_type,
)
from covector.programs.higher_order.call import call
from covector.programs.higher_order.regions import Region, rule_region

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

_REDUCTIONS: dict[type[Primitive], Any] = {
    Add: ReduceWindowSum,
    Max: ReduceWindowMax,
    Min: ReduceWindowMin,
}


def reduce_windows_flat(
    jaxpr: Jaxpr,
    operands: Sequence[Value],
    initial: Sequence[Value],
    fields: Sequence[Any],
) -> Sequence[Array]:
    """Windows of operands reduced by a combining program, from these initial values."""
    op = single_operation(jaxpr)
    if op and type(op) in _REDUCTIONS and not _is_complex_extremum(op, operands):
        _, identity = REDUCTIONS[type(op)]
        (start,) = initial
        out = _REDUCTIONS[type(op)](*fields)(*operands)
        known = is_known(start, identity(out.type.dtype))
        return [out if known else op(start, out)]
    return jaxpr.memo(_make, *fields)(*operands, *initial)


@operation
class ReduceWindow(ManyResults, Windowed):
    """k operands of one shape and k initial scalars, reduced over sliding windows."""

    interned = False

    jaxpr: Jaxpr

    @cached_property
    def regions(self) -> Sequence[Region]:
        """The program combines two elements: its inputs are no operands."""
        return (rule_region(self.jaxpr),)

    def __repr__(self) -> str:
        return f"ReduceWindow({self.jaxpr.name}, {self.window_dimensions})"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        shape = self.num_positions(types[0])
        return [ArrayType(shape, t.dtype) for t in types[: len(types) // 2]]

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        types = tuple([x.type for x in primals])
        return call(self._by_slices(types)).linearize(active, *primals)

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        k = len(args) // 2
        if set(dims[k:]) != {None}:
            types = [
                a.type if d is None else unbatched_type(a.type, d)
                for a, d in zip(args, dims, strict=True)
            ]
            return call(self._by_slices(tuple(types))).batch(size, args, dims)
        operands = align(size, args[:k], dims[:k])
        return self.over_batch(0)(*operands, *args[k:]), [0] * k

    def over_batch(self, dim: int) -> "ReduceWindow":
        fields = list(super().over_batch(dim).parameters.values())
        return self.jaxpr.memo(_make, *fields[:5])

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        rank = len(self.window_dimensions)
        if not rank:
            # XLA forgets the initial value of what it takes for no reduction at all.
            k = len(ctx.out_types)
            return ctx.inline(self.jaxpr, (*operands[k:], *operands[:k]))
        return ctx.inline(self._by_slices(tuple(ctx.in_types)), operands)

    def _by_slices(self, types: tuple[ArrayType, ...]) -> Jaxpr:
        fields = list(self.parameters.values())[:5]
        return self.jaxpr.memo(sliding_program, *fields, types)


def _make(jaxpr: Jaxpr, *fields: Any) -> ReduceWindow:
    return ReduceWindow(*fields, jaxpr=jaxpr)


def _is_complex_extremum(op: Any, operands: Sequence[Value]) -> bool:
    return type(op) is not Add and dtypes.is_complex(operands[0].type.dtype)


def sliding_program(jaxpr: Jaxpr, *fields_and_types: Any) -> Jaxpr:
    """The reduction as a program of whole arrays (memoise on the combining program)."""
    *fields, types = fields_and_types
    op, k = _make(jaxpr, *fields), len(types) // 2
    out_types = op.type_rule(*types)

    def reduced(*args: Any) -> Sequence[Any]:
        starts = [
            BroadcastInDim(t.shape, ())(i)
            for i, t in zip(args[k:], out_types, strict=True)
        ]
        if not out_types[0].size or not types[0].size:
            return starts
        padded = _with_holes(op, args[:k])
        if not jaxpr.memo(looks_associative):
            present, taps = _split(_taps(op, padded), k)
            return reduce_in_order(jaxpr, taps, starts, present)
        whole = slide(
            lambda a, b: _where_present(jaxpr, a, b),
            padded,
            op.inside,
            op.window_dimensions,
        )
        present, found = _split(whole, k)
        outs = combined(jaxpr, starts, found)
        return outs if present is None else choose(present, outs, starts)

    return stage(reduced, types, f"reduce_window_{jaxpr.name}").jaxpr


def _with_holes(op: ReduceWindow, xs: Sequence[Any]) -> list[Any]:
    """The operands with gaps and margins; if there are any, behind an array that is
    true at their elements.

    What is in the gaps is never used, but combined with others on the way. That they
    are elements of the operands keeps its derivative as finite as theirs.
    """
    if not any(map(any, op.margins)):
        return list(xs)
    first = [Reshape(())(Slice((0,) * x.type.ndim, (1,) * x.type.ndim)(x)) for x in xs]
    known = BroadcastInDim(xs[0].type.shape, ())(scalar(True, dtypes.bool_))
    present = Pad(op.margins)(known, scalar(False, dtypes.bool_))
    return [present, *[Pad(op.margins)(x, f) for x, f in zip(xs, first, strict=True)]]


def _split(values: Sequence[Any], k: int) -> tuple[Any, Sequence[Any]]:
    """The mask of the positions that hold elements, or None, and the k arrays."""
    return (values[0], values[1:]) if len(values) > k else (None, values)


def _where_present(jaxpr: Jaxpr, a: Sequence[Any], b: Sequence[Any]) -> Sequence[Any]:
    """Two arrays combined where both have elements; else what one of them has."""
    (some, xs), (others, ys) = [_split(v, len(jaxpr.outputs)) for v in (a, b)]
    both = combined(jaxpr, xs, ys)
    if some is None:
        return both
    of_one = choose(some, xs, ys)
    return [or_(some, others), *choose(and_(some, others), both, of_one)]


def _taps(op: ReduceWindow, padded: Sequence[Any]) -> Sequence[Any]:
    """The elements that all windows meet at once, along a new first axis."""
    axes = zip(op.inside, padded[0].type.shape, op.window_dimensions, strict=True)
    spans = [(w.num_positions(n, k) - 1) * w.stride + 1 for w, n, k in axes]
    cuts = []
    for position in np.ndindex(*op.window_dimensions):
        low = [k * w.rhs_dilation for k, w in zip(position, op.inside, strict=True)]
        high = [a + span for a, span in zip(low, spans, strict=True)]
        cuts.append(Slice(tuple(low), tuple(high), op.window_strides))
    return [Stack(0)(*[cut(x) for cut in cuts]) for x in padded]
