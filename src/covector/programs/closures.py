"""What custom rules close over.

A rule is a Python function, run when something is differentiated. If it closes over
values of a trace that has ended by then, they are gone. So a function is searched for
such values when it is written down, and a rule that has some is written down with it.
"""

import contextlib
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr, run
from covector.core.staging import stage
from covector.core.trace import Trace, Tracer, current, within
from covector.core.types import ArrayType
from covector.errors import NotDifferentiable
from covector.lowering.evaluate import base

#: how many objects are looked at before the search gives up
_MOST = 2000


def holds_tracer(x: Any) -> bool:
    """Whether a traced value, of a trace that is still running, is found in ``x`` or in
    what the function ``x`` closes over.
    """
    queue, seen = [x], {id(x)}
    while queue and len(seen) < _MOST:
        found = queue.pop()
        if isinstance(found, Tracer):
            if within(found.owner, current.trace):
                return True
            continue
        for part in _parts(found):
            if id(part) not in seen:
                seen.add(id(part))
                queue.append(part)
    return False


def call_custom(op: Any, leaves: list[Any]) -> Any:
    """The results of a custom operation, which may close over traced values."""
    if current.trace is not base and holds_tracer([op.fun, op.parameters]):
        op, leaves = op.written(leaves)
    return op(*leaves)


def being_written(name: str) -> bool:
    """Whether a function of this name is being written down just now."""
    trace: Trace | None = current.trace
    while trace is not None:
        if trace.name == name:
            return True
        trace = trace.parent
    return False


def _parts(x: Any) -> list[Any]:
    if x is None or isinstance(x, int | float | str | type | types.ModuleType | Trace):
        return []
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, types.MethodType):
        return [x.__func__, x.__self__]
    if isinstance(x, types.FunctionType):
        cells = []
        for cell in x.__closure__ or ():
            with contextlib.suppress(ValueError):  # of a cell that is still empty
                cells.append(cell.cell_contents)
        defaults = [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        return cells + defaults
    if isinstance(x, dict):
        return list(x.values())
    if isinstance(x, list | tuple | set | frozenset):
        return list(x)
    return list(getattr(x, "__dict__", {}).values())


class Written:
    """A flat function written down, with what it captured as leading arguments."""

    def __init__(
        self, fun: Callable[..., Any], types: Sequence[ArrayType], name: str
    ) -> None:
        staged = stage(fun, types, name)
        self.jaxpr: Jaxpr = staged.jaxpr
        self.captured: list[Any] = staged.captured

    def __call__(self, captured: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        return run(self.jaxpr, [*captured, *args])


def refuse_captured(tangents: Sequence[Any], who: str) -> None:
    """Raise where a rule would silently ignore a moving value that it closes over."""
    for t in tangents:
        if t is not None:
            raise NotDifferentiable(
                f"{who} closes over a value of type {t.type} that is being "
                "differentiated, and its rule does not say how that moves the result. "
                "Pass the value as an argument."
            )
