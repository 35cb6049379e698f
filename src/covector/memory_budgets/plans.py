"""Plans: which parts of a program are computed again in the backward pass.

A program is cut into blocks where few bytes cross. A plan takes the blocks in order,
each in one of three ways:

    plain       its residuals are kept; nothing is computed again
    segment     with neighbours, a checkpoint: kept are the values that enter it
    a loop      in segments of steps (``scan_segments``): kept is a carry for each

In the backward pass, a segment is computed again when its turn comes, so all of its
residuals are there at once, and those of segments before it are not. With ``kept``
bytes from all parts up to the end of a segment, and ``live`` bytes of residuals in it,
a plan needs max(kept + live). ``Draft.plan`` minimises what is computed again under a
limit on that, by dynamic programming over the blocks (decision 25).
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.masks import Mask
from covector.memory_budgets.blocks import BYTE, CutProgram, total_bytes
from covector.memory_budgets.scan_segments import in_segments, segmentations
from covector.programs.control_flow.scan import Scan
from covector.programs.remat.checkpoint import Checkpoint
from covector.programs.remat.policies import checkpoint_policies

#: partial plans that are compared at each cut
MOST_PARTIAL = 48
#: what beginning a segment of a loop costs, in FLOPs
SEGMENT = 50_000


class Way(NamedTuple):
    """A way to take some blocks.

    kept    values of the program that are kept until the backward pass
    other   bytes that are kept besides
    live    bytes that are there besides when these blocks are computed again
    cost    of computing them again
    """

    kept: frozenset[Var]
    other: int
    live: int
    cost: float
    equations: Callable[[], list[Equation]]


class Partial(NamedTuple):
    """A plan for the blocks up to a cut: what it keeps, its cost, its last way."""

    kept: frozenset[Var] = frozenset()
    bytes: int = 0
    cost: float = 0.0
    way: Way | None = None
    before: "Partial | None" = None

    def then(self, way: Way) -> "Partial":
        """The plan with a further way."""
        added = total_bytes(way.kept - self.kept) + way.other
        cost = self.cost + way.cost
        return Partial(self.kept | way.kept, self.bytes + added, cost, way, self)

    def ways(self) -> list[Way]:
        """All ways, in the order of the program."""
        found, partial = [], self
        while partial.before is not None and partial.way is not None:
            found.append(partial.way)
            partial = partial.before
        return found[::-1]


class Draft:
    """A program, cut into blocks, for which plans are made."""

    def __init__(self, jaxpr: Jaxpr, active: Mask) -> None:
        self._cut = CutProgram(jaxpr, active)
        #: for each cut but the last, the ways of blocks from there, and where they end
        self._ways = [self._ways_from(a) for a in range(len(self._cut.blocks))]

    def _ways_from(self, a: int) -> list[tuple[int, Way]]:
        block, start = self._cut.blocks[a], self._cut.cuts[a]
        written = functools.partial(list, block.equations)
        ways = [(a + 1, Way(block.reads, block.inside, 0, 0.0, written))]
        entering, reads, inside, spent = frozenset(), frozenset(), 0, 0.0
        for b in range(a, len(self._cut.blocks)):
            block, stop = self._cut.blocks[b], self._cut.cuts[b + 1]
            entering |= {v for v in block.takes if self._cut.made_at[v] < start}
            reads |= block.reads
            inside += block.inside
            spent += block.cost
            live = inside + total_bytes(reads - entering)
            make = functools.partial(self._checkpoint, start, stop)
            ways.append((b + 1, Way(entering, 0, live, spent, make)))
            if b == a and live and len(block.equations) == 1:
                loops = _loop_ways(block.equations[0], live, spent, entering)
                ways += [(a + 1, way) for way in loops]
        return ways

    def _checkpoint(self, start: int, stop: int) -> list[Equation]:
        program = self._cut.between(start, stop)
        op = program.memo(Checkpoint, checkpoint_policies.nothing_saveable, True)
        lines = [e.line for e in program.equations if e.line is not None]
        line = next(iter(lines), None)
        return [Equation(op, program.inputs, program.outputs, line)]

    @property
    def most(self) -> int:
        """The bytes that are kept where nothing is computed again."""
        plain = [ways[0][1] for ways in self._ways]
        return functools.reduce(Partial.then, plain, Partial()).bytes

    def least(self) -> int:
        """Nearly the smallest limit for which there is a plan."""
        low, high = 0, self.most
        while high - low > max(1, high // 64):
            middle = (low + high) // 2
            if self._plans(middle, 1)[-1]:
                high = middle
            else:
                low = middle
        return high

    def plan(self, limit: int) -> Partial:
        """The plan within ``limit`` bytes that computes least again."""
        return min(self._plans(limit)[-1], key=lambda p: (p.cost, p.bytes))

    def _plans(self, limit: int, most: int = MOST_PARTIAL) -> list[list[Partial]]:
        """For each cut, plans up to there: those that keep least, and cheaper ones."""
        found: list[list[Partial]] = [[] for _ in self._cut.cuts]
        found[0] = [Partial()]
        for a, ways in enumerate(self._ways):
            found[a] = _best(found[a], most)
            for before in found[a]:
                for b, way in ways:
                    # In most cases that is known without the sets.
                    if before.bytes + way.other + way.live <= limit:
                        made = before.then(way)
                        if made.bytes + way.live <= limit:
                            found[b].append(made)
        return found

    def program(self, plan: Partial) -> Jaxpr:
        """The program with the segments of a plan as checkpoints."""
        jaxpr = self._cut.jaxpr
        equations = [e for way in plan.ways() for e in way.equations()]
        return Jaxpr(jaxpr.inputs, equations, jaxpr.outputs, jaxpr.name)


def _best(plans: list[Partial], most: int) -> list[Partial]:
    """Those for which no other keeps less at a lower cost; of many, some of them."""
    found: list[Partial] = []
    for p in sorted(plans, key=lambda p: (p.bytes, p.cost)):
        if not found or p.cost < found[-1].cost:
            found.append(p)
    if len(found) <= most:
        return found
    last = len(found) - 1
    return [found[k * last // max(1, most - 1)] for k in range(most)]


def _loop_ways(
    e: Equation, residuals: int, spent: float, entering: frozenset[Var]
) -> list[Way]:
    """A loop in segments of steps, of which the operands are kept as well."""
    if not isinstance(e.op, Scan):
        return []
    # Cotangents of what is the same at every step are added up for each segment.
    shared = e.op.split(e.op.jaxpr.in_types)[0]
    for_each = SEGMENT + 3 * BYTE * sum([t.nbytes for t in shared])
    found = []
    for s in segmentations(e.op, residuals):
        again = spent * s.segment * s.count / e.op.length + s.count * for_each
        make = functools.partial(in_segments, e, s.segment, s.count)
        found.append(Way(entering, s.kept, s.live, again, make))
    return found
