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
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.masks import Mask
from covector.programs.control_flow.scan import Scan
from covector.programs.remat.blocks import BYTE, CutProgram, total_bytes
from covector.programs.remat.checkpoint import Checkpoint
from covector.programs.remat.policies import checkpoint_policies
from covector.programs.remat.scan_segments import in_segments, segmentations

#: partial plans that are compared at each cut
MOST_PARTIAL = 48
#: what beginning a segment of a loop costs, in FLOPs
SEGMENT = 50_000


class Way(NamedTuple):
    """A way to take some blocks.

    kept    bytes kept until the backward pass, after blocks that are computed again,
            and after plain ones, which keep some of the same values
    live    bytes that are there besides when these blocks are computed again
    cost    of computing them again
    """

    kept: tuple[int, int]
    live: int
    cost: float
    is_plain: bool
    equations: Callable[[], list[Equation]]


class Partial(NamedTuple):
    """A plan for the blocks up to a cut: its bytes, its cost, its last way."""

    kept: int
    cost: float
    way: Way | None
    before: "Partial | None"

    @property
    def is_plain(self) -> bool:
        return self.way is None or self.way.is_plain

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
        self.blocks = self._cut.blocks

    # -- ways --------------------------------------------------------------------------

    @cached_property
    def _ways(self) -> list[list[tuple[int, Way]]]:
        """For each cut but the last, the ways of blocks from there, and where they
        end.
        """
        return [self._ways_from(a) for a in range(len(self.blocks))]

    def _ways_from(self, a: int) -> list[tuple[int, Way]]:
        block, start = self.blocks[a], self._cut.cuts[a]
        before = self._reads_before[a]
        plain = block.inside + total_bytes(block.reads - before)
        # Of what was computed again nothing is kept but what is read from here on.
        crossing = [v for v in self._reads_from[a] if self._cut.made_at[v] < start]
        kept = plain + total_bytes(crossing), plain
        written = functools.partial(list, block.equations)
        ways = [(a + 1, Way(kept, 0, 0.0, True, written))]
        entering: set[Var] = set()
        reads: set[Var] = set()
        inside, spent = 0, 0.0
        for b in range(a, len(self.blocks)):
            block, stop = self.blocks[b], self._cut.cuts[b + 1]
            read = {v for e in block.equations for v in e.inputs if type(v) is Var}
            entering |= {v for v in read if self._cut.made_at.get(v, start) < start}
            reads |= block.reads
            inside += block.inside
            spent += block.cost
            live = inside + total_bytes(reads - entering)
            kept = total_bytes(entering), total_bytes(entering - before)
            make = functools.partial(self._checkpoint, start, stop)
            ways.append((b + 1, Way(kept, live, spent, False, make)))
            if b == a and live and len(block.equations) == 1:
                loops = _loop_ways(block.equations[0], live, spent, kept)
                ways += [(a + 1, way) for way in loops]
        return ways

    @cached_property
    def _reads_before(self) -> list[frozenset[Var]]:
        """For each block, what the derivatives of those before it read."""
        reads = [b.reads for b in self.blocks]
        return list(accumulate(reads, frozenset.union, initial=frozenset()))

    @cached_property
    def _reads_from(self) -> list[frozenset[Var]]:
        """For each block, what its derivative and those after it read."""
        reads = [b.reads for b in reversed(self.blocks)]
        return list(accumulate(reads, frozenset.union))[::-1]

    def _checkpoint(self, start: int, stop: int) -> list[Equation]:
        program = self._cut.between(start, stop)
        op = program.memo(Checkpoint, checkpoint_policies.nothing_saveable, True)
        lines = [e.line for e in program.equations if e.line is not None]
        line = next(iter(lines), None)
        return [Equation(op, program.inputs, program.outputs, line)]

    # -- plans -------------------------------------------------------------------------

    @property
    def most(self) -> int:
        """The bytes that are kept where nothing is computed again."""
        return sum([ways[0][1].kept[True] for ways in self._ways])

    def least(self) -> int:
        """Nearly the smallest limit for which there is a plan."""
        low, high = 0, self.most
        while high - low > max(1, high // 64):
            middle = (low + high) // 2
            if self._is_feasible(middle):
                high = middle
            else:
                low = middle
        return high

    def _is_feasible(self, limit: int) -> bool:
        never = limit + 1
        kept = [[never, never] for _ in self._cut.cuts]
        kept[0] = [never, 0]
        for a, ways in enumerate(self._ways):
            for b, way in ways:
                both = [kept[a][k] + way.kept[k] for k in (False, True)]
                if (total := min(both)) + way.live <= limit:
                    kept[b][way.is_plain] = min(kept[b][way.is_plain], total)
        return min(kept[-1]) <= limit

    def plan(self, limit: int) -> Partial:
        """The plan within ``limit`` bytes that computes least again."""
        partial: list[list[Partial]] = [[] for _ in self._cut.cuts]
        partial[0] = [Partial(0, 0.0, None, None)]
        for a, ways in enumerate(self._ways):
            plain = [p for p in partial[a] if p.is_plain]
            partial[a] = _best(plain) + _best([p for p in partial[a] if not p.is_plain])
            for before in partial[a]:
                for b, way in ways:
                    kept = before.kept + way.kept[before.is_plain]
                    if kept + way.live <= limit:
                        made = Partial(kept, before.cost + way.cost, way, before)
                        partial[b].append(made)
        return min(partial[-1], key=lambda p: (p.cost, p.kept))

    def program(self, plan: Partial) -> Jaxpr:
        """The program with the segments of a plan as checkpoints."""
        jaxpr = self._cut.jaxpr
        equations = [e for way in plan.ways() for e in way.equations()]
        return Jaxpr(jaxpr.inputs, equations, jaxpr.outputs, jaxpr.name)


def _best(partial: list[Partial]) -> list[Partial]:
    """Those for which no other keeps less at a lower cost; of many, some of them."""
    found: list[Partial] = []
    for p in sorted(partial, key=lambda p: (p.kept, p.cost)):
        if not found or p.cost < found[-1].cost:
            found.append(p)
    if len(found) <= MOST_PARTIAL:
        return found
    last = len(found) - 1
    return [found[k * last // (MOST_PARTIAL - 1)] for k in range(MOST_PARTIAL)]


def _loop_ways(
    e: Equation, residuals: int, spent: float, entering: tuple[int, int]
) -> list[Way]:
    """A loop in segments of steps; ``entering`` are the bytes of its operands."""
    if not isinstance(e.op, Scan):
        return []
    # Cotangents of what is the same at every step are added up for each segment.
    shared = e.op.split(e.op.jaxpr.in_types)[0]
    for_each = SEGMENT + 3 * BYTE * sum([t.nbytes for t in shared])
    found = []
    for s in segmentations(e.op, residuals):
        kept = entering[0] + s.kept, entering[1] + s.kept
        again = spent * s.segment * s.count / e.op.length + s.count * for_each
        make = functools.partial(in_segments, e, s.segment, s.count)
        found.append(Way(kept, s.live, again, False, make))
    return found
