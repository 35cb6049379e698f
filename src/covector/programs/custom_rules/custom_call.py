"""``CustomCall``: a function with derivative rules of its own, as one operation.

Its fields are functions, and no trace knows it. The rule that is called:

    forward mode      ``jvp``
    reverse mode      ``vjp`` if there is one, and else ``jvp``

Both take primals and tangents. In reverse mode the tangents are staged (``SplitTrace``)
and what the rule made of them is transposed: of a ``vjp`` that is a ``LinearCall``, so
that the transpose is the user's ``bwd``. Once the operation is staged, ``fun`` is a
jaxpr.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from covector.core.annotations import (
    AxisName,
    BatchDims,
    Batched,
    Tangents,
    Value,
    Values,
)
from covector.core.array_like import Array
from covector.core.flat import arrays
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import present_mask
from covector.core.primitive import operation
from covector.core.references import values_of
from covector.core.staging import Staged, StagingTrace, stage
from covector.core.trace import Trace, current
from covector.errors import RefError
from covector.operations.broadcasting import batched
from covector.programs.custom_rules.batched_functions import Batch, lanes_differ
from covector.programs.custom_rules.captured_tracers import (
    CapturedTracers,
    differentiated_error,
)
from covector.programs.custom_rules.derivative_checks import same_results
from covector.programs.custom_rules.linear_call import no_forward_rule
from covector.programs.custom_rules.ruled_program import Rule, RuledProgram, halves
from covector.programs.higher_order.regions import Region, call_region
from covector.transforms.linearize import SplitTrace


@operation
class CustomCall(RuledProgram):
    """Run ``fun``; differentiate by ``jvp`` and ``vjp``, of which one may be None.

    A rule takes primals and tangents, and gives values and their tangents; None is
    zero.
    """

    name = "custom_derivatives_call"
    carries_functions = True

    fun: Callable[..., Sequence[Any]] | Jaxpr
    jvp: Rule | None
    vjp: Rule | None
    #: whose rules these are, for messages
    who: str
    #: of the first operands, which are read by rules alone: they are not differentiated
    inert: tuple[bool, ...] = ()

    @property
    def program(self) -> Jaxpr:
        assert isinstance(self.fun, Jaxpr), "staged before it is typed"
        return self.fun

    @cached_property
    def regions(self) -> Sequence[Region]:
        """None before the function is traced: then nothing is known of it."""
        return (call_region(self.fun),) if isinstance(self.fun, Jaxpr) else ()

    def evaluate(self, *args: Value) -> Sequence[Array]:
        return self.fun(*args)

    def stage(self, trace: StagingTrace, args: Sequence[Value]) -> Sequence[Any] | None:
        """Stage ``fun`` first, unless that is done: then None, to stage it as it is."""
        if isinstance(self.fun, Jaxpr):
            return None
        args = arrays(args, self.who)
        types = [a.type for a in args]
        staged = stage(self.fun, types, self.who, references=True)
        if staged.changed:
            raise RefError(
                f"{self.who} writes to a reference made outside of it, "
                f"{staged.changed[0].type!r}, inside of a program that is being "
                "traced, where its rules might run in its place. Return the value, "
                "and write it where the function is called."
            )
        staged = Staged(staged.jaxpr, values_of(staged.captured))
        # What is still captured are large constants: the rules have their own.
        known = CapturedTracers(staged.captured, self.who)
        inert = (*[False] * len(staged.captured), *self.inert)
        op = self.with_captured(known).replace(fun=staged.jaxpr, inert=inert)
        return trace.process(op, [*staged.captured, *args])

    # -- derivatives -------------------------------------------------------------------

    def differentiate(
        self, parent: Trace, tangent_trace: Any, primals: Values, tangents: Tangents
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        current.trace = parent
        forward = tangent_trace is parent
        if any(self.inert):
            mask = (*self.inert, *[False] * (len(tangents) - len(self.inert)))
            tangents = [None if m else t for t, m in zip(tangents, mask, strict=True)]
            if not any(present_mask(tangents)):
                outs = parent.process(self, primals)
                return outs, [None] * len(outs)
        rule = self.jvp if forward or self.vjp is None else self.vjp
        if rule is None:
            raise no_forward_rule(self.who)
        if not forward:
            current.trace = SplitTrace(parent, tangent_trace)
        outs, out_tangents = rule(primals, tangents)
        if isinstance(self.fun, Jaxpr):
            which = "rule" if rule is self.jvp else "forward rule"
            same_results(outs, self.fun.out_types, f"the {which} of {self.who}")
        if not forward and any([_owner(o) is tangent_trace for o in outs]):
            # The rule computed values and tangents together, in a jitted function or a
            # branch, which is staged as a whole.
            current.trace = parent
            outs = self.fun(*primals)
        return outs, out_tangents

    # -- other forms -------------------------------------------------------------------

    def adapted(
        self, fun: Callable[..., Any], adapt: Callable[[Rule], Rule]
    ) -> "CustomCall":
        jvp, vjp = self.jvp and adapt(self.jvp), self.vjp and adapt(self.vjp)
        return CustomCall(fun, jvp, vjp, self.who, self.inert)

    def with_captured(self, over: CapturedTracers) -> "CustomCall":
        """This operation on what its functions close over, and then its operands."""
        fun, m = self.fun, len(over.captured)

        def fun_on_all(*values: Value) -> list[Any]:
            return over.run(lambda: fun(*values[m:]), values[:m])

        def adapt(rule: Rule) -> Rule:
            def on_all(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
                active = present_mask(tangents[:m])
                values = over.refuse(primals[:m], active, differentiated_error)
                given = primals[m:], tangents[m:]
                return halves(over.run(lambda: chain(*rule(*given)), values))

            return on_all

        inert = (*over.unused_by(fun), *self.inert)
        return self.adapted(fun_on_all, adapt).replace(inert=inert)

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        types = [a.type for a in args]
        batched_out = any(present_mask(dims))
        batched_out = batched_out or lanes_differ(self.fun, size, axis, types, self.who)
        batch = Batch(size, axis, batched_out, self.who)

        def fun(*values: Value) -> list[Array]:
            return batch.run(self.fun, values, dims)

        def adapt(rule: Rule) -> Rule:
            # The adjoint may communicate: it has the cotangent of each lane.
            per_lane = rule is self.vjp and batch.batched_out

            def over_batch(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
                n, values, value_dims = len(primals), [*primals], [*dims]
                for t, d in zip(tangents, dims, strict=True):
                    if t is not None and d is None and per_lane:
                        t, d = batched(size, t, None), 0  # noqa: PLW2901
                    values.append(t)
                    value_dims.append(None if t is None else d)

                def flat(*xs: Any) -> Any:
                    return chain(*rule(xs[:n], xs[n:]))

                return halves(batch.run(flat, values, value_dims))

            return over_batch

        outs = self.adapted(fun, adapt)(*args)
        return outs, [batch.out_dim] * len(outs)

    def with_further(self, fun: Jaxpr, further: Jaxpr) -> "CustomCall":
        """Further results have no tangents."""

        def adapt(rule: Rule) -> Rule:
            def appended(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
                outs, out_tangents = rule(primals, tangents)
                none = [None] * len(further.outputs)
                return [*outs, *run(further, primals)], [*out_tangents, *none]

            return appended

        return self.adapted(fun, adapt)


def _owner(x: Any) -> Any:
    """The trace that a tracer belongs to; None of other values."""
    return getattr(x, "owner", None)
