"""Traces, as packages of the field ask for them.

    get_opaque_trace_state()       equal as long as the same trace is current
    take_current_trace()           the current trace; for the block, no other is
    set_current_trace(trace)       for the block, this one is

``Trace`` is the base of traces that packages write. One is told of each operation, with
its primitive and its parameters by their names in the field:

    class Counting(Trace):
        def __init__(self, parent_trace):
            self.parent_trace, self.count = parent_trace, 0

        def process_primitive(self, primitive, tracers, params):
            self.count += 1
            with set_current_trace(self.parent_trace):
                return primitive.bind(*tracers, **params)

For covector it is a trace like any other, between the trace below and the operations.
"""

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from covector.compat.linear_util import wrap_init
from covector.compat.operation_primitives import primitive_of
from covector.compat.operations.programs import RuleFunction
from covector.compat.programs import params_of
from covector.core import trace as core
from covector.core.convert import as_array
from covector.core.references import Ref
from covector.core.trace import current, was_computed_while_tracing
from covector.core.types import ArrayType
from covector.errors import MissingRule
from covector.lowering.evaluate import base
from covector.programs.custom_rules.custom_call import CustomCall


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


def set_current_trace(trace: core.Trace, check_leaks: bool = False) -> Any:
    """Make a trace the current one for a block."""
    return core.as_current(trace)


@contextlib.contextmanager
def take_current_trace() -> Iterator[core.Trace]:
    """The current trace; for the block, operations are just evaluated."""
    before = current.trace
    with core.as_current(base):
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


# -- traces that packages write --------------------------------------------------------


def _wanted(method: str) -> Callable[..., Any]:
    """The method of a class that cannot do without one of its own."""

    def unable(self: Any, primitive: Any, *_: Any, **__: Any) -> Any:
        raise MissingRule(
            f"{type(self).__name__} cannot process {primitive.name}: give the class "
            f"the method {method}."
        )

    return unable


class Trace(core.Trace):
    """A meaning for operations, which are told by their names in the field.

    The attribute ``parent_trace`` is the trace below. It is the current one while this
    one is told of an operation. The methods give a result, or the list of results: of a
    primitive, and of a function that has a rule for derivatives, or for reverse mode.
    """

    parent_trace: Any = None

    process_primitive = _wanted("process_primitive(primitive, tracers, params)")
    process_custom_jvp_call = _wanted(
        "process_custom_jvp_call(primitive, fun, jvp, tracers, *, symbolic_zeros)"
    )
    process_custom_vjp_call = _wanted(
        "process_custom_vjp_call(primitive, fun, fwd, bwd, tracers, out_trees, "
        "symbolic_zeros)"
    )

    def stage_value(self, val: Any) -> Any:
        """A value from outside, as this trace has it."""
        return val

    def full_raise(self, x: Any) -> Any:
        """``x`` as a tracer."""
        return x if isinstance(x, core.Tracer) else self.stage_value(x)

    # -- as a trace of covector --------------------------------------------------------

    @property
    def parent(self) -> Any:  # type: ignore[override]
        return self.parent_trace if self.parent_trace is not None else base

    axes: Any = property(lambda self: self.parent.axes)
    checked_axes: Any = property(lambda self: self.parent.checked_axes)
    mesh: Any = property(lambda self: self.parent.mesh)

    def process(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        tracers = [as_array(a, op.name) for a in args]
        types = [x.type for x in tracers]
        plainer = op.written_out(types)
        if plainer is not None:
            return plainer(*tracers)
        primitive = primitive_of(op, types)
        with core.as_current(self.parent):
            if isinstance(op, CustomCall):
                return list(self._process_rules(primitive, op, tracers))
            params = params_of(primitive, op, types)
            found = self.process_primitive(primitive, tracers, params)
        if not primitive.multiple_results:
            return [found]
        numbered = zip(primitive.results_of(op, types), found, strict=True)
        ours = {n: x for n, x in numbered if type(n) is int}
        return [ours[n] for n in sorted(ours)]

    def _process_rules(self, primitive: Any, op: CustomCall, tracers: Any) -> Any:
        fun, rule = wrap_init(op.fun), RuleFunction(op)
        given: Any = {"symbolic_zeros": False}
        if op.vjp is None:
            return self.process_custom_jvp_call(primitive, fun, rule, tracers, **given)
        given["out_trees"] = None
        return self.process_custom_vjp_call(
            primitive, fun, rule, rule, tracers, **given
        )
