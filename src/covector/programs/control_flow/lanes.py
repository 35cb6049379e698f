"""Members of a batch, each of which takes steps of its own for as long as it goes.

A loop over a batch runs until the last member stops; who has stopped keeps what it has.
Arrays that a member has of its *own* have the axes of the members in front; the others
are *shared*. In a derivative it is not enough to drop what is computed for those that
stand: an infinite slope times a cotangent of zero is not a zero. So where something
shared is moved, the ones that stand are given values of a member that goes, for which
the step has a meaning (``stand_ins``).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.core.convert import scalar
from covector.ops.broadcasting import BroadcastInDim, zeros
from covector.ops.extrema import max_
from covector.ops.reductions import ReduceMax
from covector.ops.selection import where

Marks = tuple[bool, ...]


class Members(NamedTuple):
    """The axes of the members, in front of all that is their own; without any, there is
    one, and everything is shared.

    ``own`` marks operands of a loop.
    """

    shape: tuple[int, ...] = ()
    own: Marks = ()

    def marks(self, start: int, count: int) -> Marks:
        """Which of ``count`` operands from ``start`` on are own."""
        return self.own[start : start + count] if self.shape else (False,) * count

    def among(self, kept: Sequence[bool]) -> "Members":
        """For some of the operands only."""
        own = [o for o, k in zip(self.own, kept, strict=bool(self.shape)) if k]
        return Members(self.shape, tuple(own))

    def beside(self, *groups: Sequence[bool]) -> "Members":
        """For groups of operands, each with tangents of those that are marked after."""
        if not self.shape:
            return self
        given, own = iter(self.own), []
        for marks in groups:
            mine = [next(given) for _ in marks]
            own += [*mine, *[o for o, m in zip(mine, marks, strict=True) if m]]
        return Members(self.shape, tuple(own))

    def with_count(self, place: int, own: bool) -> "Members":
        """With a number of steps at this place among the operands."""
        if not self.shape:
            return self
        return Members(self.shape, (*self.own[:place], own, *self.own[place:]))

    def adjoint_of_loop(
        self, consts: Sequence[bool], carry: Sequence[bool], moving: Sequence[bool]
    ) -> "Members":
        """For the way back through a loop with these consts and this carry as its path,
        and a state for each operand that is ``moving``.
        """
        if not self.shape:
            return self
        marks = [*consts, *carry]
        return Members(self.shape, (*self.among(marks).own, *self.among(moving).own))

    def adjoint(self, *groups: tuple[Sequence[bool], Sequence[bool]]) -> "Members":
        """For the adjoint of a ``Rewind``, of whose consts, path and state the known
        and the linear ones are given.
        """
        (consts, of_consts), (path, of_path), (state, of_state) = groups
        own = (*consts, *path, *of_state, *state, *of_consts, *of_path)
        return Members(self.shape, own) if self.shape else self

    def forced(self, differ: bool, count: int, consts: int) -> Marks:
        """Which operands a further batch is to be had of: all that are own, or will be
        where members ``differ`` for the first time.
        """
        if self.shape:
            return self.own[:count]
        return tuple([differ and k >= consts for k in range(count)])

    def over(self, size: int, marks: Sequence[bool]) -> "Members":
        """With a batch in front; ``marks`` says of what there is one."""
        return Members((size, *self.shape), self.own if self.shape else tuple(marks))

    def most(self, counts: Any) -> Any:
        """The largest of a number that each member has; 0 where there is none."""
        if not self.shape:
            return counts
        axes = tuple(range(len(self.shape)))
        return max_(ReduceMax(axes)(counts), scalar(0, counts.type.dtype))


ALONE = Members()


def keep(
    own: Sequence[bool], going: Any, new: Sequence[Any], old: Sequence[Any]
) -> list[Any]:
    """What is new for members that go, and what was for those that stand.

    What is shared is new.
    """
    columns = zip(own, new, old, strict=True)
    return [where(_beside(going, x), x, y) if o else x for o, x, y in columns]


def only_going(own: Sequence[bool], going: Any, values: Sequence[Any]) -> list[Any]:
    """Zeros in the place of what belongs to members that stand."""
    return keep(own, going, values, [zeros(x.type) for x in values])


def _beside(going: Any, x: Any) -> Any:
    """One bool for each element of ``x``."""
    shape = x.type.shape
    if len(shape) == going.type.ndim:
        return going
    return BroadcastInDim(shape, tuple(range(going.type.ndim)))(going)
