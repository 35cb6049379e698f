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
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.masks import Mask, select
from covector.programs.control_flow.scan import Scan
from covector.programs.higher_order.call import Call
from covector.programs.higher_order.regions import Kind
from covector.programs.remat.checkpoint import Checkpoint
from covector.programs.remat.policies import checkpoint_policies
from covector.programs.remat.scan_segments import in_segments, segmentations
from covector.transforms.linearize import LinearizedProgram, linearize_jaxpr

#: blocks that a program is cut into; planning takes the square of it
MOST_BLOCKS = 48
#: partial plans that are compared at each cut
MOST_PARTIAL = 48
#: what an operation costs, in FLOPs: reading or writing a byte, a transcendental
BYTE, TRANSCENDENTAL = 4, 10
#: what beginning a segment of a loop costs, in FLOPs
SEGMENT = 50_000
#: FLOPs for each element up to which the compiler computes a value where it is read
CHEAP = 2


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


class Block(NamedTuple):
    """Neighbouring equations, and the residuals of their derivative."""

    equations: tuple[Equation, ...]
    #: variables of the program that the derivative reads, without its inputs
    reads: frozenset[Var]
    #: bytes of the other residuals
    inside: int
    cost: float

    @property
    def residual_bytes(self) -> int:
        return self.inside + _bytes(self.reads)


class Draft:
    """A program, cut into blocks, for which plans are made."""

    def __init__(self, jaxpr: Jaxpr, active: Mask) -> None:
        self.jaxpr = jaxpr
        self._last_use = _last_uses(jaxpr)
        self._made = {v: i for i, e in enumerate(jaxpr.equations) for v in e.outputs}
        self.cuts = _cuts(jaxpr, self._last_use)
        self.blocks = self._measured(active)

    def _measured(self, active: Mask) -> list[Block]:
        moving = set(select(self.jaxpr.inputs, active))
        blocks = []
        for start, stop in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            program = self._program(start, stop)
            mask = tuple([v in moving for v in program.inputs])
            split = program.memo(linearize_jaxpr, mask)
            moving.update(select(program.outputs, split.nonzero))
            reads, inside = _kept_values(program, split)
            reads &= self._made.keys()
            equations = self.jaxpr.equations[start:stop]
            blocks.append(Block(equations, frozenset(reads), inside, cost(equations)))
        return blocks

    def _program(self, start: int, stop: int) -> Jaxpr:
        """The equations from ``start`` to before ``stop`` as a program."""
        equations = self.jaxpr.equations[start:stop]
        made = {v for e in equations for v in e.outputs}
        read = [a for e in equations for a in e.inputs if type(a) is Var]
        inputs = [v for v in dict.fromkeys(read) if v not in made]
        outputs = [
            v for e in equations for v in e.outputs if self._last_use.get(v, -1) >= stop
        ]
        return Jaxpr(inputs, equations, outputs, f"{self.jaxpr.name}_{start}")

    # -- ways --------------------------------------------------------------------------

    @cached_property
    def _ways(self) -> list[list[tuple[int, Way]]]:
        """For each cut but the last, the ways of blocks from there, and where they
        end.
        """
        return [self._ways_from(a) for a in range(len(self.blocks))]

    def _ways_from(self, a: int) -> list[tuple[int, Way]]:
        block, start = self.blocks[a], self.cuts[a]
        before = self._reads_before[a]
        plain = block.inside + _bytes(block.reads - before)
        # Of what was computed again nothing is kept but what is read from here on.
        crossing = [v for v in self._reads_from[a] if self._made[v] < start]
        kept = plain + _bytes(crossing), plain
        written = functools.partial(list, block.equations)
        ways = [(a + 1, Way(kept, 0, 0.0, True, written))]
        entering: set[Var] = set()
        reads: set[Var] = set()
        inside, spent = 0, 0.0
        for b in range(a, len(self.blocks)):
            block, stop = self.blocks[b], self.cuts[b + 1]
            read = {v for e in block.equations for v in e.inputs if type(v) is Var}
            entering |= {v for v in read if self._made.get(v, start) < start}
            reads |= block.reads
            inside += block.inside
            spent += block.cost
            live = inside + _bytes(reads - entering)
            kept = _bytes(entering), _bytes(entering - before)
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
        program = self._program(start, stop)
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
        kept = [[never, never] for _ in self.cuts]
        kept[0] = [never, 0]
        for a, ways in enumerate(self._ways):
            for b, way in ways:
                both = [kept[a][k] + way.kept[k] for k in (False, True)]
                if (total := min(both)) + way.live <= limit:
                    kept[b][way.is_plain] = min(kept[b][way.is_plain], total)
        return min(kept[-1]) <= limit

    def plan(self, limit: int) -> Partial:
        """The plan within ``limit`` bytes that computes least again."""
        partial: list[list[Partial]] = [[] for _ in self.cuts]
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
        jaxpr = self.jaxpr
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


def _kept_values(
    program: Jaxpr, split: LinearizedProgram[Jaxpr]
) -> tuple[set[Var], int]:
    """What the derivative of a block keeps: its inputs and outputs, and the bytes of
    other values.

    A residual that is cheap to compute from other values stands for these, as the
    compiler computes it where it is read.
    """
    primal = split.primal
    makers = {v: e for e in primal.equations for v in e.outputs}
    kept: set[Var] = set()
    for source in split.residual_sources:
        v = primal.inputs[source] if source >= 0 else primal.outputs[~source]
        sources = _sources(v, makers)
        kept |= sources if _bytes(sources) <= 2 * v.type.nbytes else {v}
    names: dict[Var, Var] = dict(zip(primal.inputs, program.inputs, strict=True))
    names |= dict(zip(primal.outputs, program.outputs, strict=False))
    reads = {names[v] for v in kept if v in names}
    return reads, _bytes([v for v in kept if v not in names])


def _sources(v: Var, makers: dict[Var, Equation]) -> set[Var]:
    """The values from which a value is cheap to compute."""
    found: set[Var] = set()
    reached, seen = [v], set[Var]()
    while reached:
        v = reached.pop()
        if v in seen:
            continue
        seen.add(v)
        e = makers.get(v)
        if e is not None and _is_cheap(e):
            reached += [a for a in e.inputs if type(a) is Var]
        else:
            found.add(v)
    return found


def _is_cheap(e: Equation) -> bool:
    """Whether few operations on single elements make the results."""
    if e.op.regions or e.op.work is None:
        return False
    types, outs = tuple([a.type for a in e.inputs]), tuple([v.type for v in e.outputs])
    work = e.op.work(types, outs)
    if work is None or work.transcendentals or work.program is not None:
        return False
    return work.flops <= CHEAP * sum([t.size for t in outs])


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


# -- cuts ------------------------------------------------------------------------------


def _last_uses(jaxpr: Jaxpr) -> dict[Var, int]:
    """Where each variable is read last: the number of the equation, or one behind."""
    found = {
        a: i for i, e in enumerate(jaxpr.equations) for a in e.inputs if type(a) is Var
    }
    end = len(jaxpr.equations)
    return found | {a: end for a in jaxpr.outputs if type(a) is Var}


def _cuts(jaxpr: Jaxpr, last_use: dict[Var, int]) -> list[int]:
    """Numbers of equations between which blocks are, from 0 to behind the last.

    They are where fewest bytes cross, each among its neighbours. A loop is a block.
    """
    count = len(jaxpr.equations)
    if count <= MOST_BLOCKS:
        return list(range(count + 1))
    change, mass = [0] * (count + 2), [0]
    cuts = {0, count}
    for i, e in enumerate(jaxpr.equations):
        for v in e.outputs:
            change[i + 1] += v.type.nbytes
            change[max(i, last_use.get(v, i)) + 1] -= v.type.nbytes
        mass.append(mass[-1] + sum([v.type.nbytes for v in e.outputs]))
        if isinstance(e.op, Scan):
            cuts |= {i, i + 1}
    crossing, best = 0, dict[int, tuple[int, int]]()
    for i in range(count + 1):
        crossing += change[i]
        window = mass[i] * MOST_BLOCKS // max(1, mass[-1])
        best[window] = min(best.get(window, (crossing, i)), (crossing, i))
    return sorted(cuts | {i for _, i in best.values()})


def without_calls(jaxpr: Jaxpr) -> Jaxpr:
    """The program with the calls of jitted functions written out (memoise on it)."""
    equations: list[Equation] = []

    def write(program: Jaxpr, values: Sequence[object]) -> list[object]:
        env: dict[object, object] = dict(zip(program.inputs, values, strict=True))
        for e in program.equations:
            inputs = [env[a] if type(a) is Var else a for a in e.inputs]
            if type(e.op) is Call and not e.op.separate:
                outs = write(e.op.jaxpr, inputs)
            else:
                outs = [Var(v.type) for v in e.outputs]
                equations.append(Equation(e.op, inputs, outs, e.line))
            env.update(zip(e.outputs, outs, strict=True))
        return [env[a] if type(a) is Var else a for a in program.outputs]

    outputs = write(jaxpr, jaxpr.inputs)
    return Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)


# -- costs -----------------------------------------------------------------------------


def cost(equations: Iterable[Equation]) -> float:
    """What equations cost, in FLOPs and what takes as long; a loop of unknown length as
    one step of it.
    """
    return sum([_cost_of(e) for e in equations])


def _cost_of(e: Equation) -> float:
    inside = [
        _program_cost(region.jaxpr) * (e.op.length if isinstance(e.op, Scan) else 1)
        for region in e.op.regions
        if region.kind is not Kind.RULE
    ]
    if inside:
        return sum(inside)
    types = tuple([a.type for a in e.inputs])
    outs = tuple([v.type for v in e.outputs])
    work = None if e.op.work is None else e.op.work(types, outs)
    moved = BYTE * sum([t.nbytes for t in outs])
    if work is None:
        return moved
    return work.flops + TRANSCENDENTAL * work.transcendentals + moved


def _program_cost(jaxpr: Jaxpr) -> float:
    return jaxpr.memo(_cost_of_program)


def _cost_of_program(jaxpr: Jaxpr) -> float:
    return cost(jaxpr.equations)


def _bytes(variables: Iterable[Var]) -> int:
    return sum([v.type.nbytes for v in variables])
