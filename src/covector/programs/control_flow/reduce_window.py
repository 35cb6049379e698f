"""Reduction over sliding windows by an arbitrary combiner.

The combiner is a jaxpr on two scalars, as in ``reduce``, and starts from the initial
values. Padding and the holes of dilation contain no elements and are never combined.
Windows are built from slices (``slide``), since XLA would combine their elements in an
order of its choice (decision 15).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.jaxpr import Jaxpr
from covector.core.primitive import Primitive
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.ops.arithmetic import Add
from covector.ops.bitwise import and_, or_
from covector.ops.broadcasting import BroadcastInDim
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
from covector.programs.control_flow.reduce import REDUCTIONS, is_known, single_operation
from covector.programs.higher_order.call import call

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
    types = tuple([x.type.strong() for x in (*operands, *initial)])
    return call(jaxpr.memo(sliding_program, types, *fields))(*operands, *initial)


def _is_complex_extremum(op: Any, operands: Sequence[Value]) -> bool:
    return type(op) is not Add and dtypes.is_complex(operands[0].type.dtype)


def sliding_program(jaxpr: Jaxpr, types: tuple[ArrayType, ...], *fields: Any) -> Jaxpr:
    """The reduction as a program of whole arrays (memoise on the combining program)."""
    op, k = Windowed(*fields), len(types) // 2
    shape = op.num_positions(types[0])

    def reduced(*args: Any) -> Sequence[Any]:
        starts = [BroadcastInDim(shape, ())(i) for i in args[k:]]
        if not starts[0].type.size or not types[0].size:
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


def _with_holes(op: Windowed, xs: Sequence[Any]) -> list[Any]:
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


def _taps(op: Windowed, padded: Sequence[Any]) -> Sequence[Any]:
    """The elements that all windows meet at once, along a new first axis."""
    axes = zip(op.inside, padded[0].type.shape, op.window_dimensions, strict=True)
    spans = [(w.num_positions(n, k) - 1) * w.stride + 1 for w, n, k in axes]
    cuts = []
    for position in np.ndindex(*op.window_dimensions):
        low = [k * w.rhs_dilation for k, w in zip(position, op.inside, strict=True)]
        high = [a + span for a, span in zip(low, spans, strict=True)]
        cuts.append(Slice(tuple(low), tuple(high), op.window_strides))
    return [Stack(0)(*[cut(x) for cut in cuts]) for x in padded]
