"""The parts of an explanation, put together from the analyses of one program."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from covector.analysis.costs.count import EquationCost, added, cost
from covector.analysis.explain import data
from covector.analysis.explain.build import Operation, wire
from covector.analysis.explain.lines import LineNode, LineTree, sum_up
from covector.analysis.explain.origin import Origin
from covector.analysis.explain.program_parts import held, order
from covector.core.show import operation_parts
from covector.lowering.placement import MeshPlacement
from covector.version import __version__


def assemble(origin: Origin) -> dict[str, Any]:
    """The fields of an explanation."""
    jaxpr = origin.jaxpr
    wiring = wire(jaxpr, origin.argument_names)
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
    placement = origin.traced.placement
    on_mesh = isinstance(placement, MeshPlacement)
    device = placement.mesh.flat_devices[0] if on_mesh else placement
    arguments = sum([t.nbytes for t in jaxpr.in_types])
    results = sum([t.nbytes for t in jaxpr.out_types])
    return {
        "version": data.VERSION,
        "name": origin.traced.fun_name,
        "platform": device.platform,
        "device": str(placement),
        "covector": __version__,
        "totals": replace(
            _totals(costs),
            peak_bytes=memory.peak.bytes,
            argument_bytes=arguments,
            result_bytes=results,
        ),
        "machine": None,
        "lines": tuple(lines),
        "equations": equations,
        "values": tuple(wiring.values),
        "results": tuple(map(data.Result, origin.result_names, wiring.results)),
        "memory": memory,
        "graph": graph.graph,
        "optimisation": None,
        "roofline": None,
        "compilation": data.Compilation(),
    }


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
