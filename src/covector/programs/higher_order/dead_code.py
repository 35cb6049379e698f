"""Dead-code elimination: jaxprs without unused results, at any depth.

Equations without a used result and without lasting effects are removed. An operation
that carries jaxprs, with some results unused, is rebuilt around jaxprs that compute
only the used ones; of a loop those are the ones that the used part of the carry depends
on after any number of steps.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, used_inputs
from covector.core.masks import Mask, indices, present, select
from covector.core.primitive import Primitive
from covector.programs.higher_order.regions import Kind, Region


def dce(jaxpr: Jaxpr, wanted: Mask) -> Jaxpr:
    """The program that gives the masked outputs, of the same inputs (memoise on the
    program).
    """
    return jaxpr if all(wanted) else without_dead(jaxpr, wanted, _with_results)


def without_dead(
    jaxpr: Jaxpr, wanted: Mask, kept: Callable[[Equation, Mask], Equation]
) -> Jaxpr:
    """The program of the equations that the masked outputs need, or that have lasting
    effects; of each, what ``kept(equation, used)`` leaves for the results in a mask.
    """
    outputs = select(jaxpr.outputs, wanted)
    read = {v for v in outputs if type(v) is Var}
    equations = []
    for e in reversed(jaxpr.equations):
        used = tuple([v in read for v in e.outputs])
        if e.op.pure and not any(used):
            continue
        left = kept(e, used)
        equations.append(left)
        read.update([a for a in left.inputs if type(a) is Var])
    return Jaxpr(jaxpr.inputs, equations[::-1], outputs, jaxpr.name)


def _with_results(e: Equation, used: Mask) -> Equation:
    return e if all(used) else trimmed_equation(e, used)


def trimmed_equation(e: Equation, used: Mask) -> Equation:
    """The equation for these results, without operands that they do not need."""
    made = trimmed(e.op, used, len(e.inputs))
    if made is None or (all(made.operands) and all(made.results)):
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
    found = Reading(op, used, _inputs_read, num_operands)
    operands = tuple([i in found.operands for i in range(num_operands)])
    results = tuple([i in found.results for i in range(len(used))])
    return Trimmed(op.rebuild(found.programs(), operands, results), operands, results)


def _inputs_read(program: Jaxpr, wanted: Mask) -> Sequence[bool]:
    return used_inputs(program.memo(dce, wanted))


class Reading:
    """The operands and results of an operation that are read, if the ``used`` results
    are.

    ``inputs_read(program, outputs)`` gives the mask of the inputs that the masked
    outputs of a program need. Rules of users read the first ``read_by_rules`` operands.
    """

    def __init__(
        self,
        op: Any,
        used: Mask,
        inputs_read: Callable[[Jaxpr, Mask], Sequence[bool]],
        read_by_rules: int = 0,
    ) -> None:
        self.op = op
        self.regions = [r for r in op.regions if r.kind is not Kind.RULE]
        self.operands = set(op.deciding_operands)
        if op.rules_read_operands:
            self.operands.update(range(read_by_rules))
        self.results = set(indices(used))
        self._inputs_read = inputs_read
        while self._grows():
            pass

    def _grows(self) -> bool:
        """Follow what is read through the regions once; whether that is more now."""
        before = len(self.operands), len(self.results)
        for region in self.regions:
            needed = self.needed(region)
            read = self._inputs_read(region.jaxpr, needed)
            self.operands.update(present(select(region.operands, read)))
            # What comes back from a loop of no steps is what went in.
            self.operands.update(present(select(region.feeds, needed)))
            self.results.update(present(select(region.results, needed)))
        self.results = self.op.inseparable(self.results)
        return before != (len(self.operands), len(self.results))

    def programs(self) -> list[Jaxpr]:
        """The programs that give what is read, of what is read."""
        found = []
        for region in self.regions:
            program = region.jaxpr.memo(dce, self.needed(region))
            read = [i is None or i in self.operands for i in region.operands]
            found.append(_with_inputs(program, read))
        return found

    def needed(self, region: Region) -> Mask:
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
