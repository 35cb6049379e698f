"""Blocks: a program cut where few bytes cross, and what each block costs and keeps.

What the derivative of a block keeps is counted as the compiler keeps it: a residual
that is cheap to compute from other values stands for these.
"""

from collections.abc import Iterable
from typing import NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, makers
from covector.core.masks import Mask, select
from covector.programs.control_flow.scan import Scan
from covector.programs.higher_order.regions import Kind
from covector.transforms.linearize import LinearizedProgram, linearize_jaxpr

#: blocks that a program is cut into; planning takes the square of it
MOST_BLOCKS = 48
#: what an operation costs, in FLOPs: writing a byte, a transcendental function
BYTE, TRANSCENDENTAL = 4, 10
#: FLOPs for each element up to which the compiler computes a value where it is read
CHEAP = 2


class Block(NamedTuple):
    """Neighbouring equations, and the residuals of their derivative."""

    equations: tuple[Equation, ...]
    #: the variables that enter it, and those that its derivative reads; without the
    #: inputs of the program, which are there anyway
    takes: frozenset[Var]
    reads: frozenset[Var]
    #: bytes of the other residuals
    inside: int
    cost: float


class CutProgram:
    """A program in blocks: block k is from equation ``cuts[k]`` to ``cuts[k + 1]``."""

    def __init__(self, jaxpr: Jaxpr, active: Mask) -> None:
        self.jaxpr = jaxpr
        self._last_use = _last_uses(jaxpr)
        #: the number of the equation that makes a variable
        self.made_at = {v: i for i, e in enumerate(jaxpr.equations) for v in e.outputs}
        self.cuts = _cuts(jaxpr, self._last_use)
        self.blocks = self._measured(active)

    def _measured(self, active: Mask) -> list[Block]:
        moving = set(select(self.jaxpr.inputs, active))
        blocks = []
        for start, stop in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            program = self.between(start, stop)
            mask = tuple([v in moving for v in program.inputs])
            split = program.memo(linearize_jaxpr, mask)
            moving.update(select(program.outputs, split.nonzero))
            reads, inside = _kept_values(program, split)
            made = self.made_at.keys()
            takes, reads = [frozenset(made & vs) for vs in (program.inputs, reads)]
            equations = program.equations
            blocks.append(Block(equations, takes, reads, inside, cost(equations)))
        return blocks

    def between(self, start: int, stop: int) -> Jaxpr:
        """The equations from ``start`` to before ``stop`` as a program."""
        equations = self.jaxpr.equations[start:stop]
        made = {v for e in equations for v in e.outputs}
        read = [a for e in equations for a in e.inputs if type(a) is Var]
        inputs = [v for v in dict.fromkeys(read) if v not in made]
        outputs = [
            v for e in equations for v in e.outputs if self._last_use.get(v, -1) >= stop
        ]
        return Jaxpr(inputs, equations, outputs, f"{self.jaxpr.name}_{start}")


def _kept_values(
    program: Jaxpr, split: LinearizedProgram[Jaxpr]
) -> tuple[set[Var], int]:
    """The values that the derivative of a block keeps: inputs and outputs, and bytes of
    other values.

    A residual that is cheap to compute from other values stands for these, as the
    compiler computes it where it is read.
    """
    primal = split.primal
    made_by = primal.memo(makers)
    kept: set[Var] = set()
    for source in split.residual_sources:
        v = primal.inputs[source] if source >= 0 else primal.outputs[~source]
        sources = _sources(v, made_by)
        kept |= sources if total_bytes(sources) <= 2 * v.type.nbytes else {v}
    pairs = [
        *zip(primal.inputs, program.inputs, strict=True),
        *zip(primal.outputs, program.outputs, strict=False),
    ]
    names: dict[Var, Var] = {v: name for v, name in pairs if type(v) is Var}
    reads = {names[v] for v in kept if v in names}
    return reads, total_bytes([v for v in kept if v not in names])


def _sources(v: Var, made_by: dict[Var, Equation]) -> set[Var]:
    """The values from which a value is cheap to compute."""
    found: set[Var] = set()
    reached, seen = [v], set[Var]()
    while reached:
        v = reached.pop()
        if v in seen:
            continue
        seen.add(v)
        e = made_by.get(v)
        if e is not None and _is_cheap(e):
            reached += [a for a in e.inputs if type(a) is Var]
        else:
            found.add(v)
    return found


def _is_cheap(e: Equation) -> bool:
    """Whether few operations on single elements make the results."""
    work = None if e.op.regions else e.work
    if work is None or work.transcendentals or work.program is not None:
        return False
    return work.flops <= CHEAP * sum([v.type.size for v in e.outputs])


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


# -- costs -----------------------------------------------------------------------------


def cost(equations: Iterable[Equation]) -> float:
    """The cost of equations in FLOPs, and of bytes as so many; a loop of unknown length
    costs one step.
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
    work = e.work
    moved = BYTE * sum([v.type.nbytes for v in e.outputs])
    if work is None:
        return moved
    return work.flops + TRANSCENDENTAL * work.transcendentals + moved


def _program_cost(jaxpr: Jaxpr) -> float:
    return jaxpr.memo(_cost_of_program)


def _cost_of_program(jaxpr: Jaxpr) -> float:
    return cost(jaxpr.equations)


def total_bytes(variables: Iterable[Var]) -> int:
    """The bytes of the values of variables."""
    return sum([v.type.nbytes for v in variables])
