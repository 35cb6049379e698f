"""Treeverse: visit the states of a loop from the last to the first, keeping few.

A step cannot be undone, but it can be taken again from an earlier state that was kept.
The states that are kept form a stack, from the first state up to near the one wanted:

    state   0 . . . . . . . . . . . . 14 . . . . . . . . 23 . . . 27 . 29
    stack   [0]                       [1]                [2]      [3]  [4] ← top: visit

Above the top the states were visited. To visit the one before, take the top off; if the
next one lies too far below, climb from there, putting states on the stack on the way.
How far to climb before the next is put there decides how often steps are taken again:
at the binomial distances of Griewank and Walther (Algorithm 799: revolve, ACM TOMS
26:1, 2000). With s snapshots no step is taken more than r times as long as there are no
more steps than

    β(s, r) = (s + r)! / (s! r!),

and no other choice takes fewer in all. With 64 snapshots, β is 65, 2,145, 47,905 and
814,385 for r from 1 to 4.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.operations.arithmetic import add, div, mul, sub
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.casting import convert
from covector.operations.comparison import gt, lt
from covector.operations.dynamic_slicing import DynamicSlice, DynamicUpdateSlice
from covector.operations.extrema import max_, min_
from covector.operations.selection import where

Values = list[Any]

#: ``loop(test, step, *carry)``: the carry of ``step`` for which the test fails
Loop = Callable[..., Values]


def visit_backwards(
    loop: Loop,
    count: Value,
    snapshots: int,
    advance: Callable[[Any, Values], Values],
    visit: Callable[[Any, Values, Values], Values],
    start: Values,
    found: Values,
) -> Values:
    """``found = visit(k, state k, found)`` for k from ``count - 1`` to 0.

    State k + 1 is ``advance(k, state k)``, from ``start``, which is state 0.
    """
    climb = _Climb(loop, snapshots, advance)
    size, one = len(start), _int(1)

    def step(left: Value, top: Value, indices: Value, *rest: Value) -> Values:
        last = sub(left, one)
        top, indices, *stacks = climb(last, top, indices, *rest[:size])
        state = [_read(s, top) for s in stacks]
        after = visit(last, state, [*rest[size:]])
        return [last, sub(top, one), indices, *stacks, *after]

    zero = _int(0)
    indices, *stacks = [_stack(x, snapshots + 1) for x in (zero, *start)]
    carry = (count, zero, indices, *stacks, *found)
    return loop(lambda left, *_: gt(left, zero), step, *carry)[3 + size :]


class _Climb:
    """Steps taken again, from the top of a stack to a state that becomes its top.

    The stack is the number of its top, the indices of its states in the loop, and the
    states: an array for each leaf of one.
    """

    def __init__(
        self, loop: Loop, snapshots: int, advance: Callable[[Any, Values], Values]
    ) -> None:
        self.loop, self.snapshots, self.advance = loop, snapshots, advance

    def __call__(self, last: Value, *stack: Value) -> Values:
        return self.loop(
            lambda top, indices, *_: lt(_read(indices, top), last),
            lambda top, indices, *stacks: self.rise(last, top, indices, stacks),
            *stack,
        )

    def rise(
        self, last: Value, top: Value, indices: Value, stacks: Sequence[Value]
    ) -> Values:
        """As far as the next state that is kept."""
        one, index = _int(1), _read(indices, top)
        length = sub(add(last, one), index)
        free = sub(_int(self.snapshots), top)
        end = add(index, stride(self.loop, length, free))
        _, *state = self.loop(
            lambda k, *_: lt(k, end),
            lambda k, *state: [add(k, one), *self.advance(k, [*state])],
            index,
            *[_read(s, top) for s in stacks],
        )
        above = add(top, one)
        pairs = zip(stacks, state, strict=True)
        return [above, _write(indices, end, above), *[_write(*p, above) for p in pairs]]


def stride(loop: Loop, length: Value, free: Value) -> Value:
    """The distance from a state to the next one that is to be kept, an int32.

    ``length``, at least 2, are the states from this one on that are still to be
    visited, ``free`` the snapshots for them, this one included. With r the least number
    for which β(free, r) ≥ length, at most β(free, r - 1) of them may lie below the next
    one, and at most β(free - 1, r) above; this takes as many below as leave β(free - 1,
    r - 1) above.
    """
    one, last = _float(1), sub(length, _int(1))
    slots = convert(free, dtypes.float32)
    alone = lt(free, _int(2))
    wanted = where(alone, one, convert(length, dtypes.float32))

    def more(r: Value, fits: Value, _: Value) -> Values:
        r = add(r, one)
        return [r, div(mul(fits, add(slots, r)), r), fits]

    # In floating point, where nothing overflows: what is rounded is the best choice,
    # and any choice is right.
    r, _, below = loop(lambda r, fits, _: lt(fits, wanted), more, _float(0), one, one)
    above = div(mul(below, slots), sub(add(slots, r), one))
    best = convert(min_(below, sub(wanted, above)), dtypes.int32)
    return where(alone, last, min_(max_(best, _int(1)), last))


def _int(value: int) -> Value:
    return scalar(value, dtypes.int32)


def _float(value: int) -> Value:
    return scalar(value, dtypes.float32)


def _stack(x: Value, size: int) -> Value:
    """A stack for ``size`` values like ``x``, which is the first of them."""
    shape = x.type.shape
    return BroadcastInDim((size, *shape), tuple(range(1, len(shape) + 1)))(x)


def _read(stack: Value, index: Value) -> Value:
    shape = stack.type.shape[1:]
    return DynamicSlice((1, *shape), (0,))(stack, index, *[_int(0)] * len(shape))


def _write(stack: Value, x: Value, index: Value) -> Value:
    return DynamicUpdateSlice((0,))(stack, x, index, *[_int(0)] * x.type.ndim)
