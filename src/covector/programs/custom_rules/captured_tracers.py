"""Captured tracers: values of running traces that functions with rules close over.

A rule is a Python function that runs when something is differentiated or batched, and
by then the traces whose values it closes over may have ended. So the closure is
searched for tracers when the function is called; they become operands, and whenever one
of the functions runs, ``SubstitutionTrace`` replaces them by their current values.
"""

import contextlib
import functools
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr
from covector.core.primitive import Primitive
from covector.core.references import Ref
from covector.core.trace import Trace, Tracer, current, in_scope
from covector.core.types import ArrayType
from covector.errors import AxisError, CovectorError, NotDifferentiable
from covector.lowering.evaluate import base

#: how many objects are looked at before the search gives up
_MOST = 2000
#: what holds no traced values, or none that functions could use
_WITHOUT = (
    int,
    float,
    str,
    type,
    types.ModuleType,
    Trace,
    Array,
    ArrayType,
    Jaxpr,
    Ref,  # it is read when the function runs
)


def traced_values(x: Any) -> list[Tracer]:
    """The values of running traces in ``x``, or in what the function ``x`` closes
    over.
    """
    if current.trace is base:
        return []
    return _search(x)[0]


def _search(x: Any) -> tuple[list[Tracer], bool]:
    """The traced values that are reached from ``x``, and whether these are all."""
    queue, seen, found = [x], {id(x)}, []
    while queue and len(seen) < _MOST:
        part = queue.pop()
        if isinstance(part, Tracer):
            if in_scope(part, current.trace):
                found.append(part)
            continue
        for inner in _parts(part):
            if id(inner) not in seen:
                seen.add(id(inner))
                queue.append(inner)
    return found, not queue


def _refusal(x: Tracer) -> "Refused | None":
    """The refusal of ``x`` in a rule that is running, or in what that calls, if any."""
    trace: Trace | None = current.trace
    while trace is not None:
        found = trace.meanings.get(id(x))
        if found is not None:
            return found if isinstance(found, Refused) else None
        trace = trace.parent
    return None


def _parts(x: Any) -> list[Any]:
    if x is None or isinstance(x, _WITHOUT):
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
    slots = getattr(type(x), "__slots__", ())
    named = (slots,) if isinstance(slots, str) else slots
    held = [getattr(x, name, None) for name in named if name != "__dict__"]
    return [*held, *getattr(x, "__dict__", {}).values()]


class SubstitutionTrace(Trace):
    """``parent``, with other values in place of captured tracers."""

    def __init__(self, parent: Trace, meanings: dict[int, Any]) -> None:
        self.parent = parent
        self.axes, self.mesh = parent.axes, parent.mesh
        self.checked_axes = parent.checked_axes
        self.name = parent.name
        self.meanings = meanings

    def value(self, x: Any) -> Any:
        found = self.meanings.get(id(x), x)
        if isinstance(found, Refused):
            raise found.error(x.type)
        return found

    def written_outside(self, x: Any) -> Any:
        return self.value(x)

    def process(self, op: Primitive, args: Sequence[Value]) -> Sequence[Array]:
        args = [self.value(a) for a in args]
        current.trace = self.parent
        try:
            return self.parent.process(op, args)
        finally:
            current.trace = self


class Refused(NamedTuple):
    """Stands where a rule would silently ignore how a closed-over value differs."""

    error: Callable[[ArrayType], CovectorError]


class CapturedTracers:
    """Tracers that functions close over, and a way to run these on current values."""

    def __init__(self, found: Sequence[Any], who: str) -> None:
        refusals = [_refusal(x) for x in found]
        pairs = list(zip(found, refusals, strict=True))
        self.captured = [x for x, why in pairs if why is None]
        self.refused = [(x, why) for x, why in pairs if why is not None]
        self.who = who

    def unused_by(self, fun: Callable[..., Any]) -> list[bool]:
        """Mask of ``captured``: what is out of the reach of one of the functions."""
        reached, complete = _search(fun)
        used = {id(x) for x in reached}
        return [complete and id(x) not in used for x in self.captured]

    def run(self, fun: Callable[[], Iterable[Any]], values: Sequence[Any]) -> list[Any]:
        """The arrays (and None) that ``fun`` returns with these captured values."""
        pairs = [*zip(self.captured, values, strict=True), *self.refused]
        parent = current.trace
        trace = SubstitutionTrace(parent, {id(x): value for x, value in pairs})
        current.trace = trace
        try:
            return [trace.value(x) for x in fun()]
        finally:
            current.trace = parent
            trace.alive = False

    def refuse(
        self,
        values: Sequence[Any],
        mask: Sequence[bool],
        error: Callable[[str, ArrayType], CovectorError],
    ) -> list[Any]:
        """The values, of which those in the mask raise an error where they are used."""
        refused = Refused(functools.partial(error, self.who))
        return [refused if m else x for x, m in zip(values, mask, strict=True)]


def differentiated_error(who: str, type: ArrayType) -> CovectorError:
    """The error of a derivative rule that uses such a value."""
    return NotDifferentiable(
        f"{who} closes over a value of type {type} that is being differentiated, or "
        "takes it as a nondiff argument, and its rule does not give a derivative with "
        "respect to it. Pass the value as an argument that is differentiated."
    )


def batched_error(who: str, type: ArrayType) -> CovectorError:
    """The error of a batching rule that uses such a value."""
    return AxisError(
        f"the batching rule of {who} closes over a value of type {type} that differs "
        "over the batch. Pass the value as an argument."
    )


def call_with_captured(op: Any, operands: list[Any]) -> Any:
    """The results of an operation whose functions may close over traced values."""
    found = traced_values(list(op.parameters.values()))
    if found:
        over = CapturedTracers(found, op.who)
        op, operands = op.with_captured(over), [*over.captured, *operands]
    return op(*operands)
