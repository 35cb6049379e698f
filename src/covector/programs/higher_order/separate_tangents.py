"""Separation of tangents: programs of which no operation mixes tangents with values.

A program that takes tangents beside values is transposed later, and an operation with
``process_split`` treats the two differently. In a trace that knows the tangents, a
``SplitTrace``, it does so where it is called; inside of loops and branches it is asked
here, of what depends on the tangents that the program takes.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.annotations import Values
from covector.core.jaxpr import Jaxpr, Var, read
from covector.core.masks import Mask, fixpoint, present, select
from covector.core.source import attributes_lines_of_equations, running
from covector.core.staging import restage
from covector.core.trace import current
from covector.programs.higher_order.jaxpr_passes import forward_slice
from covector.programs.higher_order.regions import Kind


def separate(op: Any, mask: Sequence[bool]) -> tuple[Any, set[int]]:
    """The operation around separated programs, for masked operands that are tangents,
    and the numbers of the results that depend on them.
    """
    regions = [region for region in op.regions if region.kind is not Kind.RULE]

    def step(tangents: Mask) -> tuple[Any, Sequence[bool]]:
        programs: dict[Jaxpr, Jaxpr] = {}
        results: set[int] = set()
        after = list(tangents)
        for region in regions:
            taken = tuple([i is not None and tangents[i] for i in region.operands])
            programs[region.jaxpr], outs = region.jaxpr.memo(separated, taken)
            results.update(present(select(region.results, outs)))
            for i in present(select(region.feeds, outs)):
                after[i] = True
        return (programs, results), after

    (programs, results), _ = fixpoint(mask, step)
    changed = any([old is not new for old, new in programs.items()])
    made = op.with_programs(lambda p: programs.get(p, p)) if changed else op
    return made, results


def separated(jaxpr: Jaxpr, tangents: Mask) -> tuple[Jaxpr, Mask]:
    """The separated program, and the mask of the outputs that depend on the masked
    inputs, which are tangents (memoise on the program).
    """
    found = set(select(jaxpr.inputs, tangents))
    if not found or not jaxpr.memo(_mixes):
        found = jaxpr.memo(forward_slice, tangents)
        program = jaxpr
    else:
        types, name = jaxpr.in_types, jaxpr.name
        program = restage(lambda *args: _run(jaxpr, args, found), types, name)
    return program, tuple([type(o) is Var and o in found for o in jaxpr.outputs])


def _mixes(jaxpr: Jaxpr) -> bool:
    """Whether there is an operation that is to be separated, at any depth."""
    return any(
        [
            any([region.jaxpr.memo(_mixes) for region in e.op.regions])
            if e.op.regions
            else e.op.process_split is not None
            for e in jaxpr.equations
        ]
    )


@attributes_lines_of_equations()
def _run(jaxpr: Jaxpr, args: Sequence[Any], tangents: set[Var]) -> Values:
    """The outputs; all variables that depend on tangents are added to these."""
    env: dict[Any, Any] = dict(zip(jaxpr.inputs, args, strict=True))
    outer = running.equation
    try:
        for e in jaxpr.equations:
            running.equation = e
            operands = read(env, e.inputs)
            mask = [type(a) is Var and a in tangents for a in e.inputs]
            outs, dependent = _separate_results(e.op, mask, operands)
            env.update(zip(e.outputs, outs, strict=True))
            tangents.update([e.outputs[k] for k in dependent])
    finally:
        running.equation = outer
    return read(env, jaxpr.outputs)


def _separate_results(
    op: Any, mask: list[bool], operands: list[Any]
) -> tuple[Values, set[int]]:
    """Results, and the numbers of those that depend on tangents."""
    dependent: set[int] | None = None
    if not any(mask):
        dependent = set()
    elif op.regions:
        op, dependent = separate(op, mask)
    elif op.process_split is not None:
        return op.process_split(mask, *operands), op.tangent_results(mask)
    outs = current.trace.process(op, operands)
    return outs, set(range(len(outs))) if dependent is None else dependent
