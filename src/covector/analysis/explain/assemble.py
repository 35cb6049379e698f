"""The parts of an explanation, put together from the analyses of one program."""

from collections.abc import Sequence
from typing import Any

from covector.analysis.explain import data
from covector.analysis.explain.build import BEFORE, Operation, Wiring, byte_count, wire
from covector.analysis.explain.lines import LineNode, LineTree
from covector.analysis.explain.origin import Origin
from covector.core.show import operation_parts
from covector.lowering.placement import MeshPlacement
from covector.version import __version__


def assemble(origin: Origin) -> dict[str, Any]:
    """The fields of an explanation."""
    jaxpr = origin.jaxpr
    wiring = wire(jaxpr, origin.argument_names)
    lines = LineTree().add(wiring.operations)
    placement = origin.traced.placement
    on_mesh = isinstance(placement, MeshPlacement)
    device = placement.mesh.flat_devices[0] if on_mesh else placement
    equations = _equations(wiring.operations, lines)
    made = _lines(lines.nodes, wiring)
    return {
        "version": data.VERSION,
        "name": origin.traced.fun_name,
        "platform": device.platform,
        "device": str(placement),
        "covector": __version__,
        "totals": data.Totals(
            equations=len(equations),
            argument_bytes=sum([byte_count(t) for t in jaxpr.in_types]),
            result_bytes=sum([byte_count(t) for t in jaxpr.out_types]),
        ),
        "machine": None,
        "lines": made,
        "equations": equations,
        "values": tuple(wiring.values),
        "results": tuple(map(data.Result, origin.result_names, wiring.results)),
        "memory": data.Memory((), data.Peak(BEFORE, 0, ())),
        "graph": data.Graph((), 0, (), 0),
        "optimisation": None,
        "roofline": None,
        "compilation": data.Compilation(),
    }


def _equations(
    operations: Sequence[Operation], lines: LineTree
) -> tuple[data.ProgramEquation, ...]:
    pairs = zip(operations, lines.of_operation, strict=True)
    return tuple([_equation(operation, line) for operation, line in pairs])


def _equation(operation: Operation, line: int) -> data.ProgramEquation:
    name, parameters = operation_parts(operation.equation.op)
    return data.ProgramEquation(
        operation=name,
        parameters=parameters,
        inputs=operation.inputs,
        outputs=operation.outputs,
        line=line,
        around=operation.around,
        times=operation.visit.times,
        flops=0,
        bytes=0,
        level=0,
        critical=False,
        fusion=None,
    )


def _lines(nodes: Sequence[LineNode], wiring: Wiring) -> tuple[data.ProgramLine, ...]:
    return tuple([_line(node, wiring) for node in nodes])


def _line(node: LineNode, wiring: Wiring) -> data.ProgramLine:
    made = [i for e in node.equations for i in wiring.operations[e].outputs]
    return data.ProgramLine(
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
        memory_made=sum([wiring.values[i].bytes for i in made]),
        memory_kept=0,
        equations=tuple(node.equations),
    )
