"""The parts of an explanation, put together from the analyses of one program."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from covector.analysis.compiled.changes import changes_of
from covector.analysis.compiled.compilation import compilation_of
from covector.analysis.costs.count import EquationCost, added, cost
from covector.analysis.costs.machine import machine_limits
from covector.analysis.explain import data
from covector.analysis.explain.attribution import Attribution
from covector.analysis.explain.build import Operation, wire
from covector.analysis.explain.compiled_parts import (
    CompiledParts,
    Measured,
    alone,
    compilation,
    compiled_parts,
    machine_of,
    optimisation,
)
from covector.analysis.explain.lines import LineNode, LineTree, sum_up
from covector.analysis.explain.origin import Origin
from covector.analysis.explain.program_parts import held, order
from covector.core.jaxpr import Equation
from covector.core.show import operation_parts
from covector.lowering.placement import MeshPlacement
from covector.version import __version__


def assemble(origin: Origin, measured: Measured | None = None) -> dict[str, Any]:
    """The fields of an explanation; ``measured`` are the times of a run."""
    program = _program(origin)
    placement = origin.traced.placement
    on_mesh = isinstance(placement, MeshPlacement)
    device = placement.mesh.flat_devices[0] if on_mesh else placement
    limits = machine_limits(device)
    weights = alone(program.equations, program.dtypes, limits)
    attribution = Attribution(
        program.lines, program.equations, origin.kernel_parts, weights
    )
    found = compiled_parts(origin.plan, attribution, limits, measured)
    kernels = attribution.kernel_of_each(len(program.equations))
    equations = tuple(
        [
            replace(e, estimated_share=share, fusion=kernel)
            for e, share, kernel in zip(
                program.equations, found.shares, kernels, strict=True
            )
        ]
    )
    lines = [_with_shares(line, equations, found) for line in program.lines]
    return {
        "version": data.VERSION,
        "name": origin.traced.fun_name,
        "platform": device.platform,
        "device": str(placement),
        "covector": __version__,
        "totals": replace(
            program.totals,
            compiled_peak_bytes=origin.subject.program.executable.memory_use().peak,
            lower_bound_s=found.roofline.lower_bound_s,
            measured_s=None if measured is None else measured.seconds,
        ),
        "machine": machine_of(limits),
        "lines": tuple(lines),
        "equations": equations,
        "values": program.values,
        "results": program.results,
        "memory": program.memory,
        "graph": program.graph,
        "optimisation": optimisation(
            changes_of(origin.subject, origin.module, origin.plan),
            attribution,
            found.fusions,
        ),
        "roofline": found.roofline,
        "compilation": compilation(
            compilation_of(origin.subject, origin.because), attribution
        ),
    }


def _with_shares(
    line: data.ProgramLine,
    equations: Sequence[data.ProgramEquation],
    found: CompiledParts,
) -> data.ProgramLine:
    measured = found.measured
    return replace(
        line,
        estimated_share=sum([equations[i].estimated_share for i in line.equations]),
        measured_share=None
        if measured is None
        else sum([measured[i] for i in line.equations]),
    )


@dataclass(frozen=True)
class _Program:
    """Facts about a program before it is compiled; ``dtypes`` are those that
    equations compute in.
    """

    lines: list[data.ProgramLine]
    equations: tuple[data.ProgramEquation, ...]
    dtypes: list[str]
    values: tuple[data.ProgramValue, ...]
    results: tuple[data.Result, ...]
    totals: data.Totals
    memory: data.Memory
    graph: data.Graph


def _program(origin: Origin) -> _Program:
    jaxpr = origin.jaxpr
    wiring = wire(jaxpr, origin.argument_names, origin.donated)
    tree = LineTree().add(wiring.operations)
    costs = cost(jaxpr).equations
    graph = order(jaxpr, wiring, [c.amount.flops for c in costs])
    memory, kept = held(jaxpr, wiring, tree.of_operation, origin.donated)
    facts = map(_equation, wiring.operations, tree.of_operation, costs)
    equations = tuple(
        [
            replace(e, level=graph.levels[i], critical=i in graph.critical)
            for i, e in enumerate(facts)
        ]
    )
    lines = [
        replace(_line(node, equations, wiring.values), memory_kept=kept.get(i, 0))
        for i, node in enumerate(tree.nodes)
    ]
    totals = replace(
        _totals(costs),
        peak_bytes=memory.peak.bytes,
        argument_bytes=sum([t.nbytes for t in jaxpr.in_types]),
        result_bytes=sum([t.nbytes for t in jaxpr.out_types]),
    )
    return _Program(
        lines,
        equations,
        [_dtype(o.equation) for o in wiring.operations],
        tuple(wiring.values),
        tuple(map(data.Result, origin.result_names, wiring.results)),
        totals,
        memory,
        graph.graph,
    )


def _dtype(e: Equation) -> str:
    """The element type that an equation computes in, as far as its operands tell."""
    types = [a.type for a in (*e.inputs, *e.outputs)]
    return getattr(types[0].dtype, "name", "") if types else ""


def _totals(costs: Sequence[EquationCost]) -> data.Totals:
    total = added([c.amount for c in costs])
    return data.Totals(
        equations=len(costs),
        flops=total.flops,
        transcendentals=total.transcendentals,
        bytes=total.bytes,
        intensity=total.intensity,
    )


def _equation(
    operation: Operation, line: int, cost: EquationCost
) -> data.ProgramEquation:
    name, parameters = operation_parts(operation.equation.op)
    amount = cost.amount
    return data.ProgramEquation(
        operation=name,
        parameters=parameters,
        inputs=operation.inputs,
        outputs=operation.outputs,
        line=line,
        around=operation.around,
        times=operation.visit.times,
        flops=amount.flops,
        transcendentals=amount.transcendentals,
        bytes=amount.bytes,
        estimated_share=0,
        level=0,
        critical=False,
        fusion=None,
    )


def _line(
    node: LineNode,
    equations: Sequence[data.ProgramEquation],
    values: Sequence[data.ProgramValue],
) -> data.ProgramLine:
    return sum_up(
        data.ProgramLine(
            file=node.file,
            line=node.line,
            function=node.function,
            scope=node.scope,
            source=node.source,
            parent=node.parent,
            kind=node.kind,
            times=node.times,
            times_known=node.known,
            flops=0,
            transcendentals=0,
            bytes=0,
            intensity=None,
            estimated_share=0,
            measured_share=None,
            memory_made=0,
            memory_kept=0,
            equations=tuple(node.equations),
        ),
        equations,
        values,
    )
