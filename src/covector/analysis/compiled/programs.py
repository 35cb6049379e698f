"""From a function and its arguments to its compiled program, with the right lines.

Equal programs share an executable, whatever lines of the source they were written on.
So the lines in an executable may be those of another function with the same content;
then the program is compiled anew, only to be looked at.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

from covector.analysis.compiled.hlo import Module, place_of
from covector.analysis.compiled.reading import parse
from covector.analysis.walk import visits
from covector.core.flat import argument_path
from covector.core.jaxpr import Jaxpr
from covector.dispatch.jit import PjitFunction, jit
from covector.dispatch.stages import Compiled, Lowered, Traced
from covector.errors import ArgumentError
from covector.lowering.compiled import CompiledProgram
from covector.runtime import modules

#: a function, jitted or not, or a stage of a jitted one
Function = Callable[..., Any] | Traced | Lowered | Compiled


class Subject(NamedTuple):
    """A compiled function that is looked at; ``fun`` knows the names of its arguments,
    where they are known.
    """

    traced: Traced
    program: CompiledProgram
    fun: Any = None

    @property
    def jaxpr(self) -> Jaxpr:
        """The program as it was traced."""
        return self.program.lowered.jaxpr

    def optimised(self) -> Module:
        """The compiled program, with the lines of this program."""
        module = parse(self.program.executable.as_text())
        places = lines_of(self.jaxpr)
        if places and not {o.place for o in module.origins} <= places:
            module = parse(self.program.compile_anew().executable.as_text())
        return module

    def given(self) -> Module:
        """The program that XLA was given."""
        message = self.program.lowered.hlo().as_serialized_hlo_module_proto()
        return parse(modules.hlo_text(message))

    def argument(self, number: int) -> str:
        """A parameter of the module in words: ``argument w['bias']``."""
        i = self.program.lowered.kept[number] - len(self.traced.program.captured)
        if i < 0:
            return "a value that the function closes over"
        return argument_path(self.traced.in_tree, i, self.fun)


def compiled(
    fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any], who: str
) -> Subject:
    """A function and what its calls run; it is compiled if it was not called before.

    Raises:
      ArgumentError: a stage was given, which has its arguments, and arguments too.
    """
    if isinstance(fun, Traced | Lowered | Compiled):
        if args or kwargs:
            raise ArgumentError(
                f"{who} was given a {type(fun).__name__.lower()} function, which knows "
                f"its arguments, and arguments too. Leave them out: {who}(…)()."
            )
        return _of_stage(fun)
    if isinstance(fun, MethodType) and isinstance(fun.__func__, PjitFunction):
        fun, args = fun.__func__, (fun.__self__, *args)
    jitted = fun if isinstance(fun, PjitFunction) else jit(fun)
    made = _of_stage(jitted.trace(*args, **kwargs))
    # Static arguments are left out of the tree, so names would be those of others.
    return made if jitted.spec.static else made._replace(fun=jitted.fun)


def _of_stage(stage: Traced | Lowered | Compiled) -> Subject:
    if isinstance(stage, Compiled):
        return Subject(stage.traced, stage._compiled)
    traced = stage if isinstance(stage, Traced) else stage.traced
    known = traced.program.compiled.get(traced.placement)
    if known is not None:
        return Subject(traced, known)
    lowered = stage if isinstance(stage, Lowered) else stage.lower()
    return Subject(traced, lowered.compile()._compiled)


def lines_of(jaxpr: Jaxpr) -> set[tuple[str, int, str]]:
    """The files, lines and functions that the equations of a program come from."""
    lines = {visit.equation.line for visit in visits(jaxpr)}
    return {place_of(line) for line in lines if line is not None}
