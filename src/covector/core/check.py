"""The checker of jaxprs: run after every pass while testing.

A program is well formed when

    each variable is defined once, before it is read;
    operands have types that their operation accepts, and results the types it gives;
    what is not a variable is a concrete array;
    and the same holds of the programs that its operations carry.
"""

from typing import Any

from covector.core.array import ConcreteArray
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.show import nested_programs, show_jaxpr, show_operation
from covector.core.types import show_types
from covector.core.varying import types_of_results
from covector.errors import CovectorError, MalformedProgram


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raise MalformedProgram when ``jaxpr`` is not well formed; it is checked once."""
    jaxpr.memo(_checked)


def _checked(jaxpr: Jaxpr) -> bool:
    defined: set[Var] = set()
    try:
        _define(jaxpr.inputs, defined, "the inputs")
        for equation in jaxpr.equations:
            who = show_operation(equation.op)
            _check_read(equation.inputs, defined, who)
            _check_types(equation, who)
            _define(equation.outputs, defined, who)
        _check_read(jaxpr.outputs, defined, "return")
    except MalformedProgram as error:
        error.add_note(show_jaxpr(jaxpr, lines=True))
        raise
    return True


def _define(variables: Any, defined: set[Var], who: str) -> None:
    for v in variables:
        if v in defined:
            raise MalformedProgram(
                f"{who}: a variable of type {v.type} is defined a second time."
            )
        defined.add(v)


def _check_read(atoms: Any, defined: set[Var], who: str) -> None:
    for a in atoms:
        if type(a) is Var and a not in defined:
            raise MalformedProgram(
                f"{who} reads a variable of type {a.type} that nothing before it "
                "defines."
            )
        if type(a) is not Var and type(a) is not ConcreteArray:
            raise MalformedProgram(
                f"{who} reads a {type(a).__name__}, which is neither a variable of the "
                "program nor a concrete array."
            )


def _check_types(equation: Equation, who: str) -> None:
    for nested in nested_programs(equation.op):
        check_jaxpr(nested)
    types = tuple([a.type for a in equation.inputs])
    try:
        wanted = types_of_results(
            equation.op, types, [v.type for v in equation.outputs]
        )
    except CovectorError as error:
        raise MalformedProgram(
            f"{who} does not accept its operands, {show_types(types)}."
        ) from error
    given = tuple([v.type for v in equation.outputs])
    if given != wanted:
        raise MalformedProgram(
            f"{who} of {show_types(types)} gives {show_types(wanted)}, but its results "
            f"are recorded as {show_types(given)}."
        )
