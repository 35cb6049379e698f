"""From a ``Jaxpr`` that anyone may have made, to a program of covector.

One that shows a program of covector, and is still as it was, is that program, with all
that was compiled for it. Any other is run on tracers, equation by equation.
"""

import math
from operator import is_
from typing import Any

from covector.compat.jaxprs import ClosedJaxpr, Jaxpr, jaxpr_as_fun, programs_in
from covector.core.jaxpr import Jaxpr as Program
from covector.core.staging import Staged, stage
from covector.core.types import show_types
from covector.errors import ArgumentError


class Origin:
    """The program that a ``Jaxpr`` shows, and what the ``Jaxpr`` was then."""

    def __init__(self, program: Program, shown: ClosedJaxpr) -> None:
        self.program = program
        self.parts = _parts(shown)

    def is_still(self, shown: ClosedJaxpr) -> bool:
        """Whether nothing of it has been replaced since."""
        now = _parts(shown)
        return len(now) == len(self.parts) and all(map(is_, now, self.parts))


def _parts(program: ClosedJaxpr | Jaxpr) -> list[Any]:
    """All that a program is made of, in order; each program in it once."""
    found: list[Any] = []
    queue, seen = [program], {id(program)}
    while queue:
        program = queue.pop()
        if isinstance(program, ClosedJaxpr):
            found += program.consts
        found += [*program.constvars, *program.invars, *program.outvars]
        for eqn in program.eqns:
            found += [eqn.primitive, *eqn.invars, *eqn.outvars]
            found += [*eqn.params, *eqn.params.values()]
            for part in programs_in(eqn.params):
                if id(part) not in seen:
                    seen.add(id(part))
                    queue.append(part)
    return found


def as_closed(program: ClosedJaxpr | Jaxpr) -> ClosedJaxpr:
    """A program without consts, closed."""
    if isinstance(program, ClosedJaxpr):
        return program
    if program.constvars:
        raise ArgumentError(
            f"a Jaxpr with {len(program.constvars)} constvars is a parameter of an "
            "equation, which has no values for them. Close it over them first: "
            "ClosedJaxpr(jaxpr, consts), or convert_constvars_jaxpr(jaxpr)."
        )
    closed = ClosedJaxpr(program, ())
    closed.origin = program.origin
    return closed


def staged(program: ClosedJaxpr | Jaxpr, name: str = "") -> Staged:
    """The program of covector, and the traced values among its consts, which are its
    leading inputs.
    """
    closed = as_closed(program)
    if closed.origin is not None and closed.origin.is_still(closed):
        return Staged(closed.origin.program, [])
    name = name or closed.debug_info.func_name
    return stage(jaxpr_as_fun(closed), closed.in_avals, name, math.inf)


def restaged(value: Any, who: str) -> Any:
    """A parameter of an operation, with programs of covector for those in it."""
    if type(value) is tuple:
        return tuple([restaged(v, who) for v in value])
    if not isinstance(value, ClosedJaxpr | Jaxpr):
        return value
    program, captured, _ = staged(value)
    if captured:
        raise ArgumentError(
            f"{who} is given a program with traced values among its consts "
            f"({show_types(x.type for x in captured)}). Pass them to the equation as "
            "operands: make inputs of the constvars with convert_constvars_jaxpr."
        )
    return program
