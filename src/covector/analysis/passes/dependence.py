"""``dependence``: what depends on chosen inputs, and what chosen outputs need.

Two sweeps over the program, at any depth. Forward from the inputs, a result depends on
an operand if the programs that may give it do; all results do of operations without
programs. Backward from the outputs it is the same. In a loop both go on until nothing
is added, over any number of steps. What decides (the predicate of a branch, the test of
a loop) is something that all results depend on.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from covector.analysis.passes.programs import as_program, chosen
from covector.core.jaxpr import Atom, Equation, Jaxpr, Var
from covector.core.masks import Mask, indices, select
from covector.programs.higher_order.dead_code import Reading
from covector.programs.higher_order.regions import Kind, Region, operands_after_steps

__all__ = ["Dependence", "dependence"]


class Dependence(NamedTuple):
    """The part of a program that depends on chosen inputs and that chosen outputs need.

    inputs   the mask of the inputs: those that were chosen, if the outputs need them
    results  for each equation, at any depth, the mask of its results; in the order of
             ``covector.analysis.walk.visits``
    outputs  the mask of the outputs: those that were chosen, if they depend on the
             inputs
    """

    inputs: Mask
    results: tuple[Mask, ...]
    outputs: Mask

    @property
    def equations(self) -> tuple[int, ...]:
        """The numbers of the equations that take part, at any depth."""
        return tuple(indices(map(any, self.results)))


def dependence(
    jaxpr: Jaxpr,
    inputs: Sequence[int] | None = None,
    outputs: Sequence[int] | None = None,
) -> Dependence:
    """The dependents of chosen inputs, the sources of chosen outputs, or, for both, the
    slice of the program between them.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.
      inputs: the numbers of inputs, from which dependence begins. By default it does
        not matter what values come from.
      outputs: the numbers of outputs that are needed. By default it does not matter
        what values are for.

    Raises:
      ArgumentError: a function was given, or an input or output that there is not.

    >>> import covector as cv, covector.numpy as cnp
    >>> def f(x, y):
    ...     return cnp.sin(x) * cnp.cos(y), cnp.tan(x)
    >>> program = cv.make_jaxpr(f)(1.0, 2.0)
    >>> [e.op.name for e in program.equations]
    ['sin', 'cos', 'mul', 'tan']
    >>> dependence(program, inputs=[0]).equations
    (0, 2, 3)
    >>> dependence(program, outputs=[0]).equations
    (0, 1, 2)
    >>> between = dependence(program, inputs=[0], outputs=[0])
    >>> between.equations, between.inputs, between.outputs
    ((0, 2), (True, False), (True, False))
    """
    program = as_program("dependence", jaxpr)
    given = chosen("dependence", "inputs", inputs, len(program.inputs))
    wanted = chosen("dependence", "outputs", outputs, len(program.outputs))
    forward = _everything if inputs is None else _forward
    backward = _everything if outputs is None else _backward
    reached, needed = program.memo(forward, given), program.memo(backward, wanted)
    masks = zip(
        _at_any_depth(program, forward, given),
        _at_any_depth(program, backward, wanted),
        strict=True,
    )
    return Dependence(
        _both(given, needed.mask(program.inputs)),
        tuple([_both(*pair) for pair in masks]),
        _both(wanted, reached.mask(program.outputs)),
    )


def _both(x: Sequence[bool], y: Sequence[bool]) -> Mask:
    return tuple([a and b for a, b in zip(x, y, strict=True)])


class _Sweep(NamedTuple):
    """The findings of a sweep in one program.

    values  its variables that take part
    inside  for an equation that takes part, the masks with which the sweep begins in
            the programs that it carries: of their inputs forward, outputs backward
    """

    values: set[Var]
    inside: dict[Equation, list[Mask]]

    def mask(self, atoms: Sequence[Atom]) -> Mask:
        return tuple([type(a) is Var and a in self.values for a in atoms])


def _regions(e: Equation) -> list[Region]:
    return [r for r in e.op.regions if r.kind is not Kind.RULE]


def _at_any_depth(
    jaxpr: Jaxpr, sweep: Callable[[Jaxpr, Mask], _Sweep], mask: Mask | None
) -> Iterator[Mask]:
    """The masks of the results of all equations, in the order of ``visits``; None where
    the sweep does not come.
    """
    found: _Sweep = _Sweep(set(), {}) if mask is None else jaxpr.memo(sweep, mask)
    for e in jaxpr.equations:
        yield found.mask(e.outputs)
        regions = _regions(e)
        inside = found.inside.get(e, [None] * len(regions))
        for region, begins in zip(regions, inside, strict=True):
            yield from _at_any_depth(region.jaxpr, sweep, begins)


def _everything(jaxpr: Jaxpr, mask: Mask) -> _Sweep:
    values = {*jaxpr.inputs, *[v for e in jaxpr.equations for v in e.outputs]}
    return _Sweep(values, {e: [()] * len(_regions(e)) for e in jaxpr.equations})


# -- forward ---------------------------------------------------------------------------


def _forward(jaxpr: Jaxpr, mask: Mask) -> _Sweep:
    found = _Sweep(set(select(jaxpr.inputs, mask)), {})
    for e in jaxpr.equations:
        operands = found.mask(e.inputs)
        if any(operands):
            regions = _regions(e)
            operands = operands_after_steps(regions, operands, _outputs_reached)
            results = _results_reached(e, operands)
            found.values.update(select(e.outputs, results))
            found.inside[e] = [tuple(map(bool, r.taken(operands))) for r in regions]
    return found


def _outputs_reached(region: Region, operands: set[int]) -> Mask:
    begins = tuple([i in operands for i in region.operands])
    return region.jaxpr.memo(_forward, begins).mask(region.jaxpr.outputs)


def _results_reached(e: Equation, operands: Mask) -> list[bool]:
    op: Any = e.op
    regions, every = _regions(e), [True] * len(e.outputs)
    if not regions or any([operands[i] for i in op.deciding_operands]):
        return every
    results = [False] * len(e.outputs)
    for region in regions:
        reached = _outputs_reached(region, set(indices(operands)))
        if any(select(reached, region.decides)):
            return every
        for result, operand, depends in zip(
            region.results, region.feeds, reached, strict=True
        ):
            if result is not None:
                # What comes back from a loop of no steps is what went in.
                went_in = operand is not None and operands[operand]
                results[result] = results[result] or depends or went_in
    return results


# -- backward --------------------------------------------------------------------------


def _backward(jaxpr: Jaxpr, mask: Mask) -> _Sweep:
    outputs = select(jaxpr.outputs, mask)
    found = _Sweep({a for a in outputs if type(a) is Var}, {})
    for e in reversed(jaxpr.equations):
        used = found.mask(e.outputs)
        if not any(used):
            continue
        needed = e.inputs
        if _regions(e):
            reading = Reading(e.op, used, _inputs_needed)
            needed = [e.inputs[i] for i in reading.operands]
            found.inside[e] = [reading.needed(r) for r in reading.regions]
        found.values.update([a for a in needed if type(a) is Var])
    return found


def _inputs_needed(program: Jaxpr, outputs: Mask) -> Mask:
    return program.memo(_backward, outputs).mask(program.inputs)
