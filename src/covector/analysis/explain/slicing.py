"""The part of an explanation that an output needs, or that depends on an input.

What is left is numbered anew. Costs of lines are sums over the operations that are
left, and shares remain shares of the whole program.
"""

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from covector.analysis.explain import data
from covector.analysis.explain.data import Data
from covector.analysis.explain.lines import sum_up
from covector.analysis.explain.origin import Origin
from covector.analysis.passes.dependence import dependence
from covector.analysis.walk import visits
from covector.core.jaxpr import Jaxpr, Var
from covector.errors import ArgumentError, did_you_mean

#: a path such as ``params['w']``, of all leaves below it, or the number of a leaf
Leaf = str | int


def chosen_equations(
    origin: Origin, output: Leaf | None, input: Leaf | None
) -> list[int]:
    """The numbers of the equations that take part, in the whole program."""
    jaxpr = origin.jaxpr
    inputs = None if input is None else _inputs(origin, input)
    outputs = None if output is None else _outputs(origin, output)
    found = dependence(jaxpr, inputs, outputs)
    taking_part = set(found.equations)
    if outputs is None:
        known = {v for v, m in zip(jaxpr.inputs, found.inputs, strict=True) if m}
        taking_part.update(_without_results(jaxpr, taking_part, known))
    return sorted(taking_part)


def _without_results(
    jaxpr: Jaxpr, taking_part: Container[int], known: set[Var]
) -> Iterator[int]:
    """The equations without results, as a print, of which an operand takes part."""
    for i, visit in enumerate(visits(jaxpr)):
        e = visit.equation
        if i in taking_part:
            known.update(e.outputs)
        takes = [type(a) is Var and a in known for a in e.inputs]
        if not e.outputs and any(takes):
            yield i
        for region in e.op.regions:
            pairs = zip(region.jaxpr.inputs, region.taken(takes), strict=True)
            known.update([v for v, taken in pairs if taken])


def restrict(
    whole: Data, equations: Iterable[int]
) -> tuple[dict[str, Any], Sequence[int]]:
    """The fields of the explanation of some equations and those that carry them, and
    the numbers that these had.
    """
    kept = set(equations)
    kept.update([k for i in kept for k in whole.equations[i].around])
    values = {
        v
        for i in kept
        for v in (*whole.equations[i].inputs, *whole.equations[i].outputs)
    }
    part = _Part(whole, sorted(kept), sorted(values))
    return part.fields(), part.order


# -- leaves by path or number ----------------------------------------------------------


def _outputs(origin: Origin, leaf: Leaf) -> list[int]:
    if isinstance(leaf, str) and not leaf.startswith(("result", "reference")):
        leaf = f"result{leaf}"
    return _chosen(origin.result_names, leaf, "output")


def _inputs(origin: Origin, leaf: Leaf) -> list[int]:
    if isinstance(leaf, int) and leaf >= 0:
        leaf += len(origin.traced.program.captured)
    return _chosen(origin.argument_names, leaf, "input")


def _chosen(paths: Sequence[str], leaf: Leaf, option: str) -> list[int]:
    found = [i for i, path in enumerate(paths) if _is_at(path, i, leaf)]
    if not found:
        near = did_you_mean(leaf, paths) if isinstance(leaf, str) else ""
        shown = ", ".join(paths[:8]) + (", …" if len(paths) > 8 else "")
        raise ArgumentError(
            f"slice: {option} must be the path of a leaf, or of what holds leaves, or "
            f"the number of a leaf, but got {leaf!r}. There are {len(paths)}: "
            f"{shown}.{near}"
        )
    return found


def _is_at(path: str, number: int, leaf: Leaf) -> bool:
    if isinstance(leaf, str):
        return path == leaf or path.startswith((f"{leaf}[", f"{leaf}."))
    return number == leaf


# -- the part, numbered anew -----------------------------------------------------------

Numbers = dict[int, int]


def _numbered(kept: Iterable[int]) -> Numbers:
    return {old: new for new, old in enumerate(kept)}


def _present(old: Iterable[int], numbers: Numbers) -> tuple[int, ...]:
    return tuple([numbers[i] for i in old if i in numbers])


class _Part:
    """Some equations and values of an explanation, under new numbers."""

    def __init__(
        self, whole: Data, equations: Sequence[int], values: Sequence[int]
    ) -> None:
        self.whole, self.order = whole, equations
        self.equations, self.values = _numbered(equations), _numbered(values)
        lines = {whole.equations[i].line for i in equations}
        self.lines = _numbered(sorted(lines))
        fusions = {whole.equations[i].fusion for i in equations} - {None}
        self.fusions = _numbered(sorted(fusions))  # type: ignore[type-var]

    def fields(self) -> dict[str, Any]:
        whole = self.whole
        equations = tuple([self.equation(whole.equations[i]) for i in self.equations])
        values = tuple([self.value(whole.values[i]) for i in self.values])
        held: dict[int | None, float] = {}
        for v in whole.memory.peak.values:
            if v.value in self.values:
                held[v.line] = held.get(v.line, 0) + v.bytes
        lines = [
            self.line(whole.lines[i], equations, values, held.get(i, 0))
            for i in self.lines
        ]
        return {
            "version": whole.version,
            "name": whole.name,
            "platform": whole.platform,
            "device": whole.device,
            "covector": whole.covector,
            "totals": self.totals(equations, values),
            "machine": whole.machine,
            "lines": tuple(lines),
            "equations": equations,
            "values": values,
            "results": self.results(),
            "memory": self.memory(),
            "graph": self.graph(equations),
            "optimisation": self.optimisation(),
            "roofline": self.roofline(),
            "compilation": self.compilation(),
        }

    def position(self, old: int) -> int:
        """The number of the last equation that is left up to this one."""
        if old >= len(self.whole.equations):
            return len(self.equations)
        return bisect_right(self.order, old) - 1

    def equation(self, e: data.ProgramEquation) -> data.ProgramEquation:
        return replace(
            e,
            inputs=_present(e.inputs, self.values),
            outputs=_present(e.outputs, self.values),
            line=self.lines[e.line],
            around=_present(e.around, self.equations),
            fusion=None if e.fusion is None else self.fusions[e.fusion],
        )

    def value(self, v: data.ProgramValue) -> data.ProgramValue:
        return replace(
            v,
            made_by=None if v.made_by is None else self.equations.get(v.made_by),
            used_by=_present(v.used_by, self.equations),
            born=self.position(v.born),
            dies=self.position(v.dies),
            ties=_present(v.ties, self.values),
        )

    def line(
        self,
        line: data.ProgramLine,
        equations: Sequence[data.ProgramEquation],
        values: Sequence[data.ProgramValue],
        held: float,
    ) -> data.ProgramLine:
        parent = None if line.parent is None else self.lines[line.parent]
        kept = _present(line.equations, self.equations)
        left = replace(line, equations=kept, parent=parent, memory_kept=held)
        made = sum_up(left, equations, values)
        if line.measured_share is None or not line.estimated_share:
            return made
        part = made.estimated_share / line.estimated_share
        return replace(made, measured_share=line.measured_share * part)

    def totals(
        self,
        equations: Sequence[data.ProgramEquation],
        values: Sequence[data.ProgramValue],
    ) -> data.Totals:
        flops = sum([e.flops for e in equations])
        moved = sum([e.bytes for e in equations])
        made = [r.value for r in self.whole.results if r.value in self.values]
        return replace(
            self.whole.totals,
            equations=len(equations),
            flops=flops,
            transcendentals=sum([e.transcendentals for e in equations]),
            bytes=moved,
            intensity=flops / moved if moved else None,
            argument_bytes=sum([v.bytes for v in values if v.argument is not None]),
            result_bytes=sum(
                [self.whole.values[i].bytes for i in made if i is not None]
            ),
        )

    def results(self) -> tuple[data.Result, ...]:
        return tuple(
            [
                replace(r, value=self.values[r.value])
                for r in self.whole.results
                if r.value is not None and r.value in self.values
            ]
        )

    def memory(self) -> data.Memory:
        """The curve of the whole program, where an operation of it is left."""
        curve, peak = self.whole.memory.curve, self.whole.memory.peak
        values = tuple(
            [
                replace(v, value=self.values[v.value], line=self.known(v.line))
                for v in peak.values
                if v.value in self.values
            ]
        )
        held = replace(peak, position=self.position(peak.position), values=values)
        kept = [(self.equations[i], size) for i, size in curve if i in self.equations]
        return data.Memory(tuple(kept), held)

    def graph(self, equations: Sequence[data.ProgramEquation]) -> data.Graph:
        levels = [0] * len(self.whole.graph.levels)
        for e in equations:
            if not e.around and e.level < len(levels):
                levels[e.level] += 1
        path = _present(self.whole.graph.critical_path, self.equations)
        flops = sum([equations[i].flops for i in path])
        return data.Graph(tuple(levels), max(levels, default=0), path, flops)

    def known(self, line: int | None) -> int | None:
        return None if line is None else self.lines.get(line)

    def with_line(self, items: Iterable[Any]) -> tuple[Any, ...]:
        """The items at a line that is left, under its new number."""
        return tuple(
            [replace(x, line=self.lines[x.line]) for x in items if x.line in self.lines]
        )

    def with_lines(self, items: Iterable[Any]) -> tuple[Any, ...]:
        pairs = [(x, _present(x.lines, self.lines)) for x in items]
        return tuple([replace(x, lines=lines) for x, lines in pairs if lines])

    def optimisation(self) -> data.Optimisation | None:
        whole = self.whole.optimisation
        if whole is None:
            return None
        kept = [whole.fusions[i] for i in self.fusions]
        return replace(
            whole,
            changes=self.with_lines(whole.changes),
            not_done=self.with_line(whole.not_done),
            fusions=tuple(
                [replace(f, lines=_present(f.lines, self.lines)) for f in kept]
            ),
        )

    def roofline(self) -> data.Roofline | None:
        whole = self.whole.roofline
        if whole is None:
            return None
        kept = [
            replace(f, fusion=self.fusions[f.fusion])
            for f in whole.fusions
            if f.fusion in self.fusions
        ]
        bound = sum([f.lower_bound_s for f in kept])
        return data.Roofline(tuple(kept), bound, self.with_line(whole.gains))

    def compilation(self) -> data.Compilation:
        whole = self.whole.compilation
        return replace(whole, collectives=self.with_line(whole.collectives))
