"""Memory and graph of a traced program, under the numbers of an explanation."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from covector.analysis.costs.count import of_equation
from covector.analysis.explain import data
from covector.analysis.explain.build import BEFORE, Wiring
from covector.analysis.passes.levels import critical_path, topological_levels
from covector.analysis.passes.liveness import liveness
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.programs.higher_order.regions import Kind


def _weight(e: Equation) -> float:
    """The cost of an equation on the critical path: 1, and its operations on elements.

    One function for all programs, since they remember their path for it.
    """
    amount = of_equation(e).amount
    return 1 + amount.flops + amount.transcendentals


class Order(NamedTuple):
    """The level of each equation, those on the critical path, and the graph."""

    levels: list[int]
    critical: set[int]
    graph: data.Graph


def outermost(wiring: Wiring) -> list[int]:
    """The numbers of the equations that no other carries."""
    return [i for i, o in enumerate(wiring.operations) if not o.around]


def order(jaxpr: Jaxpr, wiring: Wiring, flops: Sequence[float]) -> Order:
    """The level of each equation in its program, and the longest chain."""
    levels: dict[int, int] = {}
    chains: set[int] = set()
    for program in _programs(jaxpr):
        of = topological_levels(program).of
        levels.update(zip(map(id, program.equations), of, strict=True))
        chain = critical_path(program, _weight).equations
        chains.update([id(program.equations[i]) for i in chain])
    critical: set[int] = set()
    for i, o in enumerate(wiring.operations):
        if id(o.equation) in chains and critical.issuperset(o.around[-1:]):
            critical.add(i)
    path = tuple([i for i in outermost(wiring) if i in critical])
    inside = {i for k in path for i in _inside(wiring, k)} & critical
    groups = tuple(map(len, topological_levels(jaxpr).groups))
    length = sum([flops[i] for i in {*path, *inside}])
    graph = data.Graph(groups, max(groups, default=0), path, length)
    return Order([levels[id(o.equation)] for o in wiring.operations], critical, graph)


def _inside(wiring: Wiring, carrier: int) -> Iterator[int]:
    """The equations inside of one, which follow it."""
    for i in range(carrier + 1, len(wiring.operations)):
        if carrier not in wiring.operations[i].around:
            return
        yield i


def _programs(jaxpr: Jaxpr) -> list[Jaxpr]:
    """The program and those that it runs, at any depth, each once."""
    found = {id(jaxpr): jaxpr}
    waiting = [jaxpr]
    while waiting:
        for e in waiting.pop().equations:
            for region in e.op.regions:
                if region.kind is not Kind.RULE and id(region.jaxpr) not in found:
                    found[id(region.jaxpr)] = region.jaxpr
                    waiting.append(region.jaxpr)
    return list(found.values())


class Held(NamedTuple):
    """The memory curve, and what each line holds at the peak."""

    memory: data.Memory
    kept: dict[int, float]


def held(
    jaxpr: Jaxpr, wiring: Wiring, lines: Sequence[int], donated: Sequence[int]
) -> Held:
    """The values alive after each of the outermost equations; ``lines`` are theirs."""
    found = liveness(jaxpr, donated)
    positions = outermost(wiring)
    peak = found.peak
    kept: dict[int, float] = {}
    values: list[data.PeakValue] = []
    for each in peak.values:
        if type(each.value) is not Var or not each.nbytes:
            continue
        value = wiring.variables[each.value]
        maker = made_by(wiring, value)
        line = None if maker is None else lines[maker]
        values.append(data.PeakValue(value, each.nbytes, line))
        if line is not None:
            kept[line] = kept.get(line, 0) + each.nbytes
    at = positions[peak.position] if peak.position >= 0 else BEFORE
    if peak.inside:
        kept[lines[at]] = kept.get(lines[at], 0) + peak.inside
    curve = tuple(zip(positions, found.curve, strict=True))
    memory = data.Memory(curve, data.Peak(at, peak.nbytes, tuple(values)))
    return Held(memory, kept)


def made_by(wiring: Wiring, value: int) -> int | None:
    """The innermost equation that makes a value; that of a call is one inside of it."""
    maker = wiring.values[value].made_by
    while maker is not None:
        size = wiring.values[value].bytes
        inner = [
            i
            for i in wiring.values[value].ties
            if wiring.values[i].bytes == size
            and maker in wiring.operations[wiring.values[i].made_by or 0].around
            and wiring.values[i].made_by is not None
        ]
        if not inner:
            break
        value = inner[0]
        maker = wiring.values[value].made_by
    return maker
