"""From a function and its arguments to its compiled program, with the right lines.

Equal programs share an executable, whatever lines of the source they were written on.
So the lines in an executable may be those of another function with the same content;
then the program is compiled anew, only to be looked at.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any

from covector.analysis.compiled.hlo import Module, parse, place_of
from covector.analysis.walk import visits
from covector.core.jaxpr import Jaxpr
from covector.errors import ArgumentError
from covector.lowering.compile import CompiledProgram
from covector.programs.jit.jit import PjitFunction, jit
from covector.programs.jit.stages import Compiled, Lowered, Traced

#: a function, jitted or not, or a stage of a jitted one
Subject = Callable[..., Any] | Traced | Lowered | Compiled


def traced(subject: Subject, args: tuple, kwargs: dict[str, Any], who: str) -> Traced:
    """The traced program of a subject.

    Raises:
      ArgumentError: a stage was given, which has its arguments, and arguments too.
    """
    if isinstance(subject, Traced | Lowered | Compiled):
        if args or kwargs:
            raise ArgumentError(
                f"{who} was given a {type(subject).__name__.lower()} function, which "
                "knows the types of its arguments, and arguments too. Leave them out: "
                f"{who}(…)()."
            )
        return subject if isinstance(subject, Traced) else subject._traced
    if isinstance(subject, MethodType) and isinstance(subject.__func__, PjitFunction):
        subject, args = subject.__func__, (subject.__self__, *args)
    fun = subject if isinstance(subject, PjitFunction) else jit(subject)
    return fun.trace(*args, **kwargs)


def compiled(
    subject: Subject, args: tuple, kwargs: dict[str, Any], who: str
) -> CompiledProgram:
    """The compiled program of a subject: that which its calls run, if there is one."""
    program = traced(subject, args, kwargs, who)
    if isinstance(subject, Compiled):
        return subject._compiled
    known = program.program.compiled.get(program.placement)
    if known is not None:
        return known
    lowered = subject if isinstance(subject, Lowered) else program.lower()
    return lowered.compile()._compiled


def optimised(program: CompiledProgram) -> Module:
    """The HLO that XLA made of a program, with the lines of this program."""
    module = parse(program.executable.as_text())
    places = lines_of(program.lowered.jaxpr)
    if places and not {o.place for o in module.origins} <= places:
        module = parse(program.compile_anew().executable.as_text())
    return module


def lines_of(jaxpr: Jaxpr) -> set[tuple[str, int, str]]:
    """The files, lines and functions that the equations of a program come from."""
    lines = {visit.equation.line for visit in visits(jaxpr)}
    return {place_of(line) for line in lines if line is not None}
