"""Programs with the equations of those that they call in place of the calls."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from covector.core.jaxpr import Atom, Equation, Jaxpr, Var, read, replaced
from covector.core.source import Line

#: the program whose equations are to stand in place of an equation, if there is one
Called: TypeAlias = Callable[[Equation], Jaxpr | None]


def inlined(jaxpr: Jaxpr, called: Called) -> Jaxpr:
    """The program with the equations of called ones in place of the calls, at any
    depth; itself if there are none (memoise on the program).
    """
    if all([called(e) is None for e in jaxpr.equations]):
        return jaxpr
    values: dict[Var, Atom] = {}
    equations: list[Equation] = []
    for e in jaxpr.equations:
        inputs, program = replaced(values, e.inputs), called(e)
        if program is None:
            equations.append(Equation(e.op, inputs, e.outputs, e.line))
            continue
        program = program.memo(inlined, called)
        inside = dict(zip(program.inputs, inputs, strict=True))
        equations += _copies(program, inside, e.line)
        values.update(zip(e.outputs, read(inside, program.outputs), strict=True))
    outputs = replaced(values, jaxpr.outputs)
    return Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)


def _copies(
    jaxpr: Jaxpr, values: dict[Var, Atom], line: Line | None
) -> Iterator[Equation]:
    """The equations of a program that is called on this line, with new variables."""
    for e in jaxpr.equations:
        outputs = [Var(v.type) for v in e.outputs]
        yield Equation(e.op, read(values, e.inputs), outputs, _inside(line, e.line))
        values.update(zip(e.outputs, outputs, strict=True))


def _inside(around: Line | None, line: Line | None) -> Line | None:
    """A line of a function that is called on another, in the named scope of that."""
    if line is None or around is None or not around.scope:
        return line or around
    scopes = [scope for scope in (around.scope, line.scope) if scope]
    return line._replace(scope="/".join(scopes))
