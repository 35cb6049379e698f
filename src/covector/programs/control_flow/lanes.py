"""Lanes of a batched while loop: which still run, and which operands are per lane.

A loop over a batch runs until the last lane stops; a lane that has stopped keeps its
carry. Operands *per lane* have the axes of the lanes in front; the others are *shared*.
In a derivative it is not enough to drop what is computed for stopped lanes: an infinite
slope times a cotangent of zero is not a zero. So where a shared operand is
differentiated, stopped lanes are given the values of a running one, for which the step
has a meaning (``safe_operands``).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.core.convert import scalar
from covector.core.masks import Mask, drop, select
from covector.ops.broadcasting import BroadcastInDim, zeros
from covector.ops.extrema import max_
from covector.ops.reductions import ReduceMax
from covector.ops.selection import where


class Lanes(NamedTuple):
    """The axes of the lanes, in front of all operands that are per lane; without any,
    the loop is not batched and every operand is shared.

    ``per_lane`` is a mask of operands of a loop.
    """

    shape: tuple[int, ...] = ()
    per_lane: Mask = ()

    def mask(self, start: int, count: int) -> Mask:
        """The mask of the per-lane ones among ``count`` operands from ``start`` on."""
        if not self.shape:
            return (False,) * count
        return self.per_lane[start : start + count]

    def select(self, mask: Sequence[bool]) -> "Lanes":
        """For the operands in the mask only."""
        if not self.shape:
            return self
        return Lanes(self.shape, tuple(select(self.per_lane, mask)))

    def with_tangents(self, *masks: Sequence[bool]) -> "Lanes":
        """For groups of operands, each followed by tangents of those in its mask."""
        if not self.shape:
            return self
        rest, per_lane = iter(self.per_lane), []
        for mask in masks:
            group = [next(rest) for _ in mask]
            per_lane += [*group, *select(group, mask)]
        return Lanes(self.shape, tuple(per_lane))

    def with_count(self, index: int, per_lane: bool) -> "Lanes":
        """With a number of steps at this index among the operands."""
        if not self.shape:
            return self
        before, after = self.per_lane[:index], self.per_lane[index:]
        return Lanes(self.shape, (*before, per_lane, *after))

    def reverse(
        self, consts: Sequence[bool], carry: Sequence[bool], differentiated: Mask
    ) -> "Lanes":
        """For the reverse of a loop: the consts and the carry in these masks are its
        known operands, and each ``differentiated`` operand has a cotangent.
        """
        if not self.shape:
            return self
        known = select(self.per_lane, [*consts, *carry])
        return Lanes(self.shape, (*known, *select(self.per_lane, differentiated)))

    def adjoint(self, *masks: Sequence[bool]) -> "Lanes":
        """For the adjoint of a ``ReverseWhile``; the masks are of what is linear in its
        consts, primal carry and cotangent carry.
        """
        if not self.shape:
            return self
        rest = iter(self.per_lane)
        groups = [[next(rest) for _ in mask] for mask in masks]
        consts, primals, cts = [drop(*p) for p in zip(groups, masks, strict=True)]
        of_consts, of_primals, of_cts = [
            select(*p) for p in zip(groups, masks, strict=True)
        ]
        per_lane = (*consts, *primals, *of_cts, *cts, *of_consts, *of_primals)
        return Lanes(self.shape, per_lane)

    def must_batch(self, diverge: bool, count: int, consts: int) -> Mask:
        """Operands that a further batch axis must be added to: those already per lane
        or, once lanes ``diverge``, all after the consts.
        """
        if self.shape:
            return self.per_lane[:count]
        return tuple([diverge and k >= consts for k in range(count)])

    def add_axis(self, size: int, batched: Sequence[bool]) -> "Lanes":
        """With a batch axis in front, which the operands in the mask have."""
        per_lane = self.per_lane if self.shape else tuple(batched)
        return Lanes((size, *self.shape), per_lane)

    def most_steps(self, counts: Any) -> Any:
        """The largest of the lanes' numbers of steps; 0 where there is no lane."""
        if not self.shape:
            return counts
        axes = tuple(range(len(self.shape)))
        return max_(ReduceMax(axes)(counts), scalar(0, counts.type.dtype))


UNBATCHED = Lanes()


def select_running(
    per_lane: Sequence[bool], running: Any, new: Sequence[Any], old: Sequence[Any]
) -> list[Any]:
    """The new values of lanes that are running, the old ones of those that stopped.

    A value that is shared is new.
    """
    columns = zip(per_lane, new, old, strict=True)
    return [where(_expand(running, x), x, y) if o else x for o, x, y in columns]


def zero_stopped(
    per_lane: Sequence[bool], running: Any, values: Sequence[Any]
) -> list[Any]:
    """The values, with zeros for lanes that have stopped."""
    return select_running(per_lane, running, values, [zeros(x.type) for x in values])


def _expand(running: Any, x: Any) -> Any:
    """The mask of running lanes, with one bool for each element of ``x``."""
    shape = x.type.shape
    if len(shape) == running.type.ndim:
        return running
    return BroadcastInDim(shape, tuple(range(running.type.ndim)))(running)
