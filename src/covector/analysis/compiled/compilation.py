"""``compilation``: how long it took to trace, lower and compile a function, and why."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from covector.analysis.compiled import programs
from covector.analysis.compiled.collectives import Collective, collectives_of
from covector.analysis.walk import visits
from covector.core.jaxpr import Jaxpr
from covector.dispatch import recompiles
from covector.dispatch.jit import PjitFunction
from covector.programs.higher_order.regions import Kind

__all__ = ["Collective", "Compilation", "FunctionTime", "compilation"]


@dataclass(frozen=True)
class FunctionTime:
    """A jitted function, and the seconds it took to trace, with those it calls.

    ``calls`` is how often the program calls it.
    """

    name: str
    seconds: float
    calls: int


@dataclass(frozen=True)
class Compilation:
    """The seconds of each step, as they were measured when it was done.

    ``compile_s`` is None where the executable of an equal program was found in the
    cache, and the step was not done: then it is ``cached``. ``trace_s`` is None where
    nobody remembers. ``functions`` are the jitted functions that the program calls, the
    slowest to trace first.
    """

    trace_s: float | None
    lower_s: float
    compile_s: float | None
    cached: bool
    functions: tuple[FunctionTime, ...]
    recompiled_because: str | None
    collectives: tuple[Collective, ...]

    def to_dict(self) -> dict[str, Any]:
        """The times as data that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        def shown(seconds: float | None) -> str:
            return "not measured" if seconds is None else f"{1e3 * seconds:.1f} ms"

        compiled = "found in the cache" if self.cached else shown(self.compile_s)
        lines = [
            f"trace    {shown(self.trace_s)}",
            *[f"  {f.name}  {shown(f.seconds)}" for f in self.functions],
            f"lower    {shown(self.lower_s)}",
            f"compile  {compiled}",
        ]
        if self.recompiled_because:
            lines.append(f"compiled again: {self.recompiled_because}")
        lines += [f"  {each}" for each in self.collectives]
        return "\n".join(lines)


def compilation(fun: programs.Function) -> Callable[..., Compilation]:
    """The time that a function took to trace, lower and compile, and why it was again.

    Args:
      fun: a function of arrays, jitted or not; or what ``trace``, ``lower`` or
        ``compile`` of a jitted function returned: then it takes no arguments.

    Returns:
      a function of the arguments of ``fun`` (or ``ShapeDtypeStruct``s). What was
      traced or compiled for such arguments before is not again.

    Raises:
      ArgumentError: a compiled function was given, and arguments too.

    >>> import covector as cv, covector.numpy as cnp
    >>> inner = cv.jit(lambda x: cnp.sin(x) * 2)
    >>> times = compilation(lambda x: inner(x) + inner(x + 1))(cnp.ones(3))
    >>> [(f.name, f.calls) for f in times.functions]
    [('<lambda>', 2)]
    >>> times.trace_s >= times.functions[0].seconds
    True
    """

    def timed(*args: Any, **kwargs: Any) -> Compilation:
        subject = programs.compiled(fun, args, kwargs, "compilation")
        return compilation_of(subject, reason(fun, args, kwargs))

    return timed


def compilation_of(subject: programs.Subject, because: str | None) -> Compilation:
    """The times of a compiled function, which was compiled again for this reason."""
    program, jaxpr = subject.program, subject.jaxpr
    return Compilation(
        recompiles.trace_seconds.get(jaxpr),
        program.lowered.seconds,
        program.executable.compile_seconds,
        program.executable.compile_seconds is None,
        _functions(jaxpr),
        because,
        collectives_of(subject),
    )


def reason(
    fun: programs.Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str | None:
    """Why a jitted function was compiled again for these arguments, if it was."""
    if not isinstance(fun, PjitFunction):
        return None
    return recompiles.reason(fun, fun.signature(args, kwargs).key)


def _functions(jaxpr: Jaxpr) -> tuple[FunctionTime, ...]:
    """The functions that a program calls, and that were traced for it or before."""
    calls: dict[Jaxpr, int] = {}
    for visit in visits(jaxpr):
        for region in visit.equation.op.regions:
            if region.kind is Kind.CALL:
                calls[region.jaxpr] = calls.get(region.jaxpr, 0) + 1
    seconds = recompiles.trace_seconds
    made = [
        FunctionTime(called.name or "program", seconds[called], count)
        for called, count in calls.items()
        if called in seconds
    ]
    return tuple(sorted(made, key=lambda each: -each.seconds))
