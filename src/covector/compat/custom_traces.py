"""``Trace``: the base of traces that packages of the field write.

A trace is told of each operation by ``process_primitive``, with the primitive and its
parameters by their names in the field:

    class Counting(Trace):
        def __init__(self, parent_trace):
            self.parent_trace, self.count = parent_trace, 0

        def process_primitive(self, primitive, tracers, params):
            self.count += 1
            with set_current_trace(self.parent_trace):
                return primitive.bind(*tracers, **params)

For covector it is a trace like any other, between the trace below and the operations.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.compat.linear_util import wrap_init
from covector.compat.operation_primitives import (
    OperationPrimitive,
    expansion,
    primitive_of,
)
from covector.compat.operations.programs import RuleFunction
from covector.compat.programs import params_of
from covector.compat.traces import set_current_trace
from covector.core import trace as core
from covector.core.convert import as_array
from covector.errors import MissingRule
from covector.lowering.evaluate import base
from covector.programs.custom_rules.custom_call import CustomCall


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
        by_others = expansion(op, types)
        if by_others is not None:
            return by_others(*tracers)
        primitive = primitive_of(op, types)
        with set_current_trace(self.parent):
            if isinstance(op, CustomCall):
                return list(self._process_rules(primitive, op, tracers))
            params = params_of(primitive, op, types)
            found = self.process_primitive(primitive, tracers, params)
        if not primitive.multiple_results:
            return [found]
        if not isinstance(primitive, OperationPrimitive):
            return list(found)
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
