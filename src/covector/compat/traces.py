"""Traces, as packages of the field ask for them.

    get_opaque_trace_state()       equal as long as the same trace is current
    take_current_trace()           the current trace; for the block, no other is
    set_current_trace(trace)       for the block, this one is

``custom_traces.py`` has the base of those that packages write.
"""

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from covector.core import trace as core
from covector.core.convert import as_array
from covector.core.references import Ref
from covector.core.trace import current, was_computed_while_tracing
from covector.core.types import ArrayType
from covector.lowering.evaluate import base


class _Tracers(type(core.Tracer)):
    """The class of ``Tracer``: all tracers of covector are instances of that."""

    def __instancecheck__(cls, x: object) -> bool:
        if cls is not Tracer:
            return super().__instancecheck__(x)
        return isinstance(x, core.Tracer) or was_computed_while_tracing(x)


class Tracer(core.Tracer, metaclass=_Tracers):
    """A stand-in for an array. Subclasses give it what their trace needs.

    What covector computed while it traced, from constants, is an instance as well,
    although its value is known.
    """

    __slots__ = ("_aval", "_trace")

    def __init__(self, trace: Any, aval: ArrayType) -> None:
        self._trace = trace  # type: ignore[misc]
        self._aval = aval

    aval: Any = property(lambda self: self._aval)
    owner: Any = property(lambda self: self._trace)
    type: Any = property(lambda self: self.aval)

    def full_lower(self) -> Any:
        return self


class TraceTag:
    """An identity, for traces to tell their own tracers by."""


def get_opaque_trace_state(convention: Any = None) -> "weakref.ref[core.Trace]":
    """What is equal as long as the same trace is current."""
    return weakref.ref(current.trace)


def trace_state_clean() -> bool:
    """Whether no transformation is running."""
    return current.trace is base


def find_top_trace(xs: Any = None) -> core.Trace:
    """The current trace."""
    return current.trace


@contextlib.contextmanager
def set_current_trace(trace: core.Trace, check_leaks: bool = False) -> Iterator[None]:
    """Make a trace the current one for a block."""
    before, current.trace = current.trace, trace
    try:
        yield
    finally:
        current.trace = before


@contextlib.contextmanager
def take_current_trace() -> Iterator[core.Trace]:
    """The current trace; for the block, operations are just evaluated."""
    before = current.trace
    with set_current_trace(base):
        yield before


def full_lower(x: Any) -> Any:
    """``x`` as what it is below traces that do nothing with it."""
    return x.full_lower() if isinstance(x, Tracer) and hasattr(x, "full_lower") else x


def get_aval(x: Any) -> Any:
    """The type of an array, of what can be made one, or of a reference."""
    return x.type if isinstance(x, Ref) else as_array(x).type


def get_referent(x: Any) -> Any:
    """What counts where something is passed twice: a reference is one object."""
    return x
