"""A scan in segments of steps, of which only the carry before each is kept.

    steps   0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13
    kept    carry     carry     carry       residuals of each step

The derivative computes a segment again from its carry, and keeps residuals for one
segment at a time. Steps that are left over, at the end, are plain.
"""

import math
from typing import Any, NamedTuple

from covector.core.annotations import Value
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.masks import in_groups
from covector.core.staging import restage
from covector.operations.joining import Concatenate
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape
from covector.programs.control_flow.scan import Scan, stacked_type
from covector.programs.higher_order.call import call
from covector.programs.remat.checkpoint import Checkpoint
from covector.programs.remat.policies import checkpoint_policies

#: parts of the steps that may be in segments
PARTS = tuple([k / 8 for k in range(8, 0, -1)])
#: lengths of segments, in multiples of that which needs least
LENGTHS = (1, 2, 4, 8, 16)


class Segmentation(NamedTuple):
    """``count`` segments of ``segment`` steps: bytes that are kept, and there besides
    while a segment is computed again.
    """

    segment: int
    count: int
    kept: int
    live: int


def segmentations(op: Scan, residuals: int) -> list[Segmentation]:
    """Ways to run a scan of which the derivative keeps so many bytes in all."""
    length = op.length
    if length < 2:
        return []
    step = residuals / length
    _, carry, xs = op.split(op.jaxpr.in_types)
    state = sum([t.nbytes for t in carry])
    stacked = sum([t.nbytes for t in xs]) * length
    best = math.isqrt(int(length * state / max(step, 1)))
    found = []
    lengths = [min(max(best, 1) * k, length // 2) for k in LENGTHS]
    for segment in dict.fromkeys([1, *[_near_divisor(length, k) for k in lengths]]):
        for part in PARTS:
            count = int(part * length / segment)
            left = length - count * segment
            if count > 0:
                # What enters a part of the steps is copied.
                copies = stacked if left else 0
                kept = int(count * state + left * step) + copies
                live = max(0, int((segment - left) * step))
                found.append(Segmentation(segment, count, kept, live))
    return list(dict.fromkeys(found))


def _near_divisor(length: int, segment: int) -> int:
    """A divisor of ``length`` near ``segment``, if there is one."""
    near = range(segment, max(0, segment // 2), -1)
    return next((k for k in near if length % k == 0), segment)


def in_segments(e: Equation, segment: int, count: int) -> list[Equation]:
    """A scan as one whose first steps are in ``count`` segments."""
    op: Any = e.op
    program = op.jaxpr.memo(_in_segments, op, segment, count)
    return [Equation(call(program), e.inputs, e.outputs, e.line)]


def _in_segments(jaxpr: Jaxpr, op: Scan, segment: int, count: int) -> Jaxpr:
    """The program of a scan with this body, its first steps in segments (memoise on the
    body).
    """
    consts, carry, xs = op.split(jaxpr.in_types)
    outer, steps = _outer(op, segment, count), segment * count
    sizes = (steps, op.length - steps)

    def whole(*args: Value) -> list[Any]:
        consts, state, xs = op.split(args)
        pairs = [_parts(x, sizes, op.reverse) for x in xs]
        first = [_by_segments(x, segment, count) for x, _ in pairs]
        state, ys = in_groups(outer(*consts, *state, *first), len(state))
        if segment > 1:
            ys = [Reshape((steps, *y.type.shape[2:]))(y) for y in ys]
        if sizes[1]:
            rest = jaxpr.memo(Scan, sizes[1], *op.counts, op.reverse, op.unroll)
            outs = rest(*consts, *state, *[x for _, x in pairs])
            state, more = in_groups(outs, len(state))
            halves = (more, ys) if op.reverse else (ys, more)
            ys = [Concatenate(0)(*pair) for pair in zip(*halves, strict=True)]
        return [*state, *ys]

    types = [*consts, *carry, *[stacked_type(t, op.length) for t in xs]]
    return restage(whole, types, f"{jaxpr.name}_in_segments")


def _outer(op: Scan, segment: int, count: int) -> Scan:
    """The scan over segments, each of which keeps its operands."""
    jaxpr = op.jaxpr
    if segment == 1:
        steps = jaxpr
    else:
        inner = jaxpr.memo(Scan, segment, *op.counts, op.reverse, op.unroll)
        consts, carry, xs = op.split(jaxpr.in_types)
        types = [*consts, *carry, *[stacked_type(t, segment) for t in xs]]
        steps = restage(inner, types, f"{jaxpr.name}_segment")
    kept = steps.memo(Checkpoint, checkpoint_policies.nothing_saveable, False)
    body = restage(kept, steps.in_types, steps.name)
    return body.memo(Scan, count, *op.counts, op.reverse, 1)


def _parts(x: Value, sizes: tuple[int, int], reverse: bool) -> tuple[Value, Any]:
    """The elements of the steps that come first, and those of the others, if any."""
    if not sizes[1]:
        return x, None
    cut, end = sizes[1] if reverse else sizes[0], sum(sizes)
    one, other = rows_of(x, 0, cut), rows_of(x, cut, end)
    return (other, one) if reverse else (one, other)


def rows_of(x: Value, start: int, stop: int) -> Value:
    """The elements from ``start`` to before ``stop`` along the first axis."""
    shape = x.type.shape
    if (start, stop) == (0, shape[0]):
        return x
    return Slice((start, *(0,) * (len(shape) - 1)), (stop, *shape[1:]))(x)


def _by_segments(x: Value, segment: int, count: int) -> Value:
    if segment == 1:
        return x
    return Reshape((count, segment, *x.type.shape[1:]))(x)
