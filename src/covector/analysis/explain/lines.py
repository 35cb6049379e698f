"""From operations to the lines of the user's program, as a tree.

A line that runs inside of a loop, a branch or a call stands below the line of that. A
program that is written on the line of its call is not a line below it.
"""

import linecache
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from covector.analysis.explain.build import Operation
from covector.analysis.explain.data import (
    LineKind,
    ProgramEquation,
    ProgramLine,
    ProgramValue,
)
from covector.core.jaxpr import Equation
from covector.core.source import Line
from covector.errors import short_name
from covector.programs.higher_order.regions import Kind


@dataclass
class LineNode:
    """A line while its operations are being collected."""

    file: str
    line: int
    function: str
    scope: str
    parent: int | None
    times: int
    known: bool
    kind: LineKind = "line"
    equations: list[int] = field(default_factory=list)

    @property
    def source(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    @property
    def where(self) -> tuple[str, int, str]:
        return self.file, self.line, self.scope


class LineTree:
    """The lines, numbered in the order in which the program comes to them."""

    def __init__(self) -> None:
        self.nodes: list[LineNode] = []
        #: for each operation its line
        self.of_operation: list[int] = []
        self._found: dict[tuple[int | None, str, int, str], int] = {}
        self._places: dict[tuple[int, int, str], tuple[str, int, str, str]] = {}

    def add(self, operations: Sequence[Operation]) -> "LineTree":
        for number, operation in enumerate(operations):
            i = self._line(operation, operations)
            self.of_operation.append(i)
            self.nodes[i].equations.append(number)
        return self

    def _line(self, operation: Operation, operations: Sequence[Operation]) -> int:
        visit, parent = operation.visit, None
        file, line, function, scope = self._place(visit.line)
        if operation.around:
            outer = operation.around[-1]
            kind = _kind(operations[outer].equation)
            parent = self.of_operation[outer]
            around = self.nodes[parent]
            if kind == "call" and around.where == (file, line, scope):
                return parent
            if around.kind == "line" or kind == "loop":
                around.kind = kind
        key = parent, file, line, scope
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = len(self.nodes)
            times, known = visit.times, visit.known
            self.nodes.append(
                LineNode(file, line, function, scope, parent, times, known)
            )
        return found

    def _place(self, line: Line | None) -> tuple[str, int, str, str]:
        if line is None:
            return "", 0, "", ""
        # Code is equal, and has its hash, by all of its contents.
        key = id(line.code), line.offset, line.scope
        found = self._places.get(key)
        if found is None:
            name = _function_name(line.function)
            found = self._places[key] = line.file, line.number, name, line.scope
        return found


def _function_name(qualified: str) -> str:
    """The name of a function; of one without a name, that of what it is in as well."""
    name = short_name(qualified)
    if not name.startswith("<") or name == qualified:
        return name
    outer = short_name(qualified.removesuffix(f".<locals>.{name}"))
    return f"{outer}.{name}"


def _kind(e: Equation) -> LineKind:
    kinds = {region.kind for region in e.op.regions}
    if Kind.LOOP in kinds:
        return "loop"
    return "branch" if Kind.BRANCH in kinds else "call"


def sum_up(
    line: ProgramLine,
    equations: Sequence[ProgramEquation],
    values: Sequence[ProgramValue],
) -> ProgramLine:
    """A line with the costs of its operations, and the memory that these make.

    The result of a call, or of the last step of a loop, is another name of what an
    operation inside makes.
    """

    def is_new(i: int) -> bool:
        value = values[i]
        return all([values[k].bytes != value.bytes for k in value.ties])

    own = [equations[i] for i in line.equations]
    flops, moved = sum([e.flops for e in own]), sum([e.bytes for e in own])
    made = [i for e in own for i in e.outputs if is_new(i)]
    return replace(
        line,
        flops=flops,
        transcendentals=sum([e.transcendentals for e in own]),
        bytes=moved,
        intensity=flops / moved if moved else None,
        estimated_share=sum([e.estimated_share for e in own]),
        memory_made=sum([values[i].bytes for i in made]),
    )
