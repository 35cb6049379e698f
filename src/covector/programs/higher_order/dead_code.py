"""Dead-code elimination: jaxprs without unused results, at any depth.

Equations without a used result and without lasting effects are removed. An operation
that carries jaxprs, with some results unused, is rebuilt around jaxprs that compute
only the used ones; of a loop those are the ones that the used part of the carry depends
on after any number of steps.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, used_inputs
from covector.core.masks import Mask, present, select
from covector.core.primitive import Primitive
from covector.programs.higher_order.regions import Kind, Region


def dce(jaxpr: Jaxpr, wanted: Mask) -> Jaxpr:
    """The program that gives the masked outputs, of the same inputs (memoise on the
    program).
    """
    if all(wanted):
        return jaxpr
    outputs = select(jaxpr.outputs, wanted)
    read = {v for v in outputs if type(v) is Var}
    equations = []
    for e in reversed(jaxpr.equations):
        used = tuple([v in read for v in e.outputs])
        if e.op.pure and not any(used):
            continue
        kept = e if all(used) else _with_results(e, used)
        equations.append(kept)
        read.update([a for a in kept.inputs if type(a) is Var])
    return Jaxpr(jaxpr.inputs, equations[::-1], outputs, jaxpr.name)


def _with_results(e: Equation, used: Mask) -> Equation:
    made = trimmed(e.op, used, len(e.inputs))
    if made is None:
        return e
    inputs, outputs = select(e.inputs, made.operands), select(e.outputs, made.results)
    return Equation(made.op, inputs, outputs, e.line)


class Trimmed(NamedTuple):
    """An operation on the masked operands, that gives the masked results."""

    op: Primitive
    operands: Mask
    results: Mask


def trimmed(op: Primitive, used: Mask, num_operands: int) -> Trimmed | None:
    """The operation for the ``used`` results, and for others that these depend on; None
    where it must stay as it is.
    """
    if op.rebuild is None:
        return None
    found = _Reading(op, used, num_operands)
    while found.grows():
        pass
    operands = tuple([i in found.operands for i in range(num_operands)])
    results = tuple([i in found.results for i in range(len(used))])
    return Trimmed(op.rebuild(found.programs(), operands, results), operands, results)


class _Reading:
    """The operands and results of an operation that are used, if some results are."""

    def __init__(self, op: Any, used: Mask, num_operands: int) -> None:
        self.op = op
        self.regions = [r for r in op.regions if r.kind is not Kind.RULE]
        everything = op.rules_read_operands
        self.operands = set(range(num_operands) if everything else op.deciding_operands)
        self.results = {i for i, u in enumerate(used) if u}

    def grows(self) -> bool:
        """Follow what is read through the regions once; whether that is more now."""
        before = len(self.operands), len(self.results)
        for region in self.regions:
            needed = self._needed(region)
            program = region.jaxpr.memo(dce, needed)
            self.operands.update(present(select(region.operands, used_inputs(program))))
            # What comes back from a loop of no steps is what went in.
            self.operands.update(present(select(region.feeds, needed)))
            self.results.update(present(select(region.results, needed)))
        self.results = self.op.inseparable(self.results)
        return before != (len(self.operands), len(self.results))

    def programs(self) -> list[Jaxpr]:
        """The programs that give what is read, of what is read."""
        found = []
        for region in self.regions:
            program = region.jaxpr.memo(dce, self._needed(region))
            read = [i is None or i in self.operands for i in region.operands]
            found.append(_with_inputs(program, read))
        return found

    def _needed(self, region: Region) -> Mask:
        """The mask of the used outputs: results, fed to the next step, or the test."""
        return tuple(
            [
                decides or result in self.results or operand in self.operands
                for decides, result, operand in zip(
                    region.decides, region.results, region.feeds, strict=True
                )
            ]
        )


def _with_inputs(program: Jaxpr, mask: Sequence[bool]) -> Jaxpr:
    inputs = select(program.inputs, mask)
    return Jaxpr(inputs, program.equations, program.outputs, program.name)
