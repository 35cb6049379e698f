"""From a traced program to the equations and values of an explanation.

The walk over the program gives each equation, and what is around it. An equation of a
program that is carried twice is two here: each run has values of its own.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.analysis.explain.data import ProgramValue
from covector.analysis.walk import Visit, visits
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.show import letters
from covector.programs.higher_order.regions import Kind, Region

#: the position at which arguments are born
BEFORE = -1


class _Value:
    """A value while its uses are being collected."""

    __slots__ = ("argument", "born", "dies", "made_by", "ties", "type", "used_by")

    def __init__(self, type: Any, born: int, argument: str | None = None) -> None:
        self.type = type
        self.argument = argument
        self.born = self.dies = born
        self.made_by: int | None = None
        self.used_by: list[int] = []
        self.ties: list[int] = []


class Operation(NamedTuple):
    """An equation, and the numbers of all that belongs to it."""

    visit: Visit
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    around: tuple[int, ...]

    @property
    def equation(self) -> Equation:
        return self.visit.equation


class Wiring(NamedTuple):
    """A program at all depths, with a number for each equation and each value."""

    operations: list[Operation]
    values: list[ProgramValue]
    #: for each output of the program its value; None for constants
    results: list[int | None]
    #: the values of the variables of the outermost program
    variables: dict[Var, int]


class _Builder:
    """Numbers equations and values in the order of the walk, and ties the values."""

    def __init__(
        self, jaxpr: Jaxpr, arguments: Sequence[str], donated: Sequence[int]
    ) -> None:
        self.jaxpr = jaxpr
        self.operations: list[Operation] = []
        self.values: list[_Value] = []
        #: by depth, the numbers of the equations around, and the variables in scope
        self.around: list[int] = []
        self.scopes: list[dict[Var, int]] = [{}]
        #: equations that carry programs, and the variables in them
        self.carriers: dict[int, dict[Var, int]] = {}
        #: the last equation inside of each of them
        self.ends: dict[int, int] = {}
        for v, argument in zip(jaxpr.inputs, arguments, strict=True):
            self.scopes[0][v] = self.new(_Value(v.type, BEFORE, argument))
        #: arguments that stay alive, since the caller has them
        self.kept = sorted(set(range(len(jaxpr.inputs))) - set(donated))

    def new(self, value: _Value) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def made(self, v: Var, by: int) -> int:
        value = _Value(v.type, by)
        value.made_by = by
        return self.new(value)

    def visit(self, visit: Visit) -> None:
        """Number an equation; those around it were visited before."""
        e, depth, number = visit.equation, len(visit.around), len(self.operations)
        del self.around[depth:], self.scopes[depth + 1 :]
        scope = self.scopes[depth]
        inputs = tuple([scope[a] for a in e.inputs if type(a) is Var])
        for i in dict.fromkeys(inputs):
            self.values[i].used_by.append(number)
            self.values[i].dies = number
        for carrier in self.around:
            self.ends[carrier] = number
        outputs = tuple([self.made(v, number) for v in e.outputs])
        scope.update(zip(e.outputs, outputs, strict=True))
        around = tuple(self.around)
        self.operations.append(Operation(visit, inputs, outputs, around))
        if e.op.regions:
            self.around.append(number)
            self.scopes.append(self.enter(e, scope, number))

    def enter(self, e: Equation, scope: dict[Var, int], number: int) -> dict[Var, int]:
        """The inputs of the programs that an equation runs."""
        inside: dict[Var, int] = {}
        for region in e.op.regions:
            if region.kind is Kind.RULE:
                continue
            for v, i in zip(region.jaxpr.inputs, region.operands, strict=True):
                known = inside.get(v)
                new = self.new(_Value(v.type, number)) if known is None else known
                inside[v] = new
                operand = None if i is None else e.inputs[i]
                if type(operand) is Var:
                    self.values[new].ties.append(scope[operand])
        self.carriers[number], self.ends[number] = inside, number
        return inside

    def tie(self) -> None:
        """Tie the results of what carries programs to what these give, and the inputs
        of a loop to what the step before gives.
        """
        for number, inside in self.carriers.items():
            operation = self.operations[number]
            self.feed(operation, inside)
            for region in operation.equation.op.regions:
                self.tie_region(region, operation, inside, self.ends[number])
            self.tie_decisions(operation)

    def feed(self, operation: Operation, inside: dict[Var, int]) -> None:
        """Tie what a step gives to the inputs of the next in all programs that take the
        operand: the test of a loop takes what the body gives.
        """
        regions = operation.equation.op.regions
        inputs: dict[int | None, list[int]] = {}
        for region in regions:
            for v, operand in zip(region.jaxpr.inputs, region.operands, strict=True):
                if v in inside:
                    inputs.setdefault(operand, []).append(inside[v])
        for region in regions:
            for atom, operand in zip(region.jaxpr.outputs, region.feeds, strict=True):
                if operand is not None and type(atom) is Var and atom in inside:
                    for value in inputs.get(operand, ()):
                        self.tied(value, inside[atom])

    def tie_region(
        self, region: Region, operation: Operation, inside: dict[Var, int], end: int
    ) -> None:
        ties = zip(region.jaxpr.outputs, region.results, region.decides, strict=True)
        for atom, result, decides in ties:
            given = inside.get(atom) if type(atom) is Var else None
            if given is None:
                continue
            self.values[given].dies = end
            if result is not None:
                self.tied(operation.outputs[result], given)
            if decides and region.kind is Kind.LOOP:
                for output in operation.outputs:
                    self.tied(output, given)

    def tie_decisions(self, operation: Operation) -> None:
        """Operands that no program takes decide which one runs, or how often."""
        op = operation.equation.op
        taken = {i for region in op.regions for i in region.operands}
        numbers = iter(operation.inputs)
        for i, atom in enumerate(operation.equation.inputs):
            value = next(numbers) if type(atom) is Var else None
            if value is not None and i not in taken:
                for output in operation.outputs:
                    self.tied(output, value)

    def tied(self, value: int, source: int) -> None:
        ties = self.values[value].ties
        if source not in ties:
            ties.append(source)

    def wiring(self) -> Wiring:
        for visit in visits(self.jaxpr):
            self.visit(visit)
        self.tie()
        outer = self.scopes[0]
        found = [outer[a] if type(a) is Var else None for a in self.jaxpr.outputs]
        for i in (*found, *self.kept):
            if i is not None:
                self.values[i].dies = len(self.operations)
        values = list(map(self.value, range(len(self.values))))
        return Wiring(self.operations, values, found, outer)

    def value(self, i: int) -> ProgramValue:
        v = self.values[i]
        return ProgramValue(
            letters(i),
            str(v.type),
            v.type.nbytes,
            v.made_by,
            v.argument,
            tuple(v.used_by),
            v.born,
            v.dies,
            tuple(v.ties),
        )


def wire(jaxpr: Jaxpr, arguments: Sequence[str], donated: Sequence[int] = ()) -> Wiring:
    """Number the equations and values of a program; ``arguments`` names its inputs, of
    which the ``donated`` ones are given up.
    """
    return _Builder(jaxpr, arguments, donated).wiring()
