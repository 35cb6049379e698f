"""``CustomCall``: a function with derivative rules of its own, as one operation.

Its fields are functions, and no trace knows it. The rule that is called:

    forward mode      ``jvp``
    reverse mode      ``vjp`` if there is one, and else ``jvp``, transposed

Where that is not known yet, because a linear part is staged for later, the operation
leaves a ``LinearCall`` in it: run forwards that is ``jvp``, transposed it is
``vjp``. Once the operation is staged, ``fun`` is a jaxpr.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.array_like import Array
from covector.core.flat import arrays
from covector.core.jaxpr import Jaxpr
from covector.core.masks import Mask, scatter, select
from covector.core.primitive import operation
from covector.core.staging import stage
from covector.core.trace import Trace, current
from covector.core.types import ArrayType
from covector.ops.broadcasting import zeros
from covector.programs.custom_rules.batched_functions import Batch, OptionalOperands
from covector.programs.custom_rules.captured_tracers import CapturedTracers
from covector.programs.custom_rules.derivative_checks import same_results
from covector.programs.custom_rules.linear_call import (
    LinearCall,
    Pull,
    batch_pullback,
    no_forward_rule,
)
from covector.programs.custom_rules.result_masks import (
    append_to_jvp,
    append_to_vjp,
    further_results,
    select_jvp,
    select_vjp,
)
from covector.programs.higher_order.call import Inlined
from covector.programs.higher_order.partition import (
    Partition,
    Policy,
    with_all_inputs,
)
from covector.programs.higher_order.regions import Region, call_region
from covector.transforms.batch import batch_flat
from covector.transforms.linearize import SplitTrace

#: (primals, tangents) → (values, tangents); absent tangents are None
ForwardRule = Callable[[Sequence[Any], Sequence[Any]], tuple[Sequence[Any], Any]]


class Forward(NamedTuple):
    """The result of ``fwd``: values, array residuals, and ``bwd`` as a function."""

    outs: Sequence[Any]
    residuals: Sequence[Any]
    #: gives a cotangent, or None, for each operand
    bwd: Pull


#: (primals, which of them are active) → Forward
ReverseRule = Callable[[Sequence[Any], Sequence[bool]], Forward]


@operation
class CustomCall(Inlined):
    """Run ``fun``; differentiate by ``jvp`` and ``vjp``, of which one may be None."""

    name = "custom_derivatives_call"
    carries_functions = True
    rules_read_operands = True

    fun: Callable[..., Sequence[Any]] | Jaxpr
    jvp: ForwardRule | None
    vjp: ReverseRule | None
    #: whose rules these are, for messages
    who: str
    #: of the first operands, which are read by rules alone: they are not differentiated
    inert: tuple[bool, ...] = ()

    def __repr__(self) -> str:
        return f"CustomCall({self.who})"

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

    def stage(self, trace: Any, args: Sequence[Value]) -> Sequence[Any] | None:
        """Stage ``fun`` first, unless that is done: then None, to stage it as it is."""
        if isinstance(self.fun, Jaxpr):
            return None
        args = arrays(args, self.who)
        staged = stage(self.fun, [a.type for a in args], self.who)
        # What is still captured are large constants: the rules have their own.
        known = CapturedTracers(staged.captured, self.who)
        inert = (*[False] * len(staged.captured), *self.inert)
        op = self.with_captured(known).replace(fun=staged.jaxpr, inert=inert)
        return trace.process(op, [*staged.captured, *args])

    # -- derivatives -------------------------------------------------------------------

    def differentiate(
        self, parent: Trace, tangent_trace: Any, primals: Any, tangents: Any
    ) -> Any:
        forward = tangent_trace is parent
        if any(self.inert):
            mask = (*self.inert, *[False] * (len(tangents) - len(self.inert)))
            tangents = [None if m else t for t, m in zip(tangents, mask, strict=True)]
            if not any([t is not None for t in tangents]):
                current.trace = parent
                outs = parent.process(self, primals)
                return outs, [None] * len(outs)
        if self.jvp is not None and (forward or self.vjp is None):
            current.trace = parent if forward else SplitTrace(parent, tangent_trace)
            outs, out_tangents = self.jvp(primals, tangents)
            self._check_values(outs, f"the rule of {self.who}")
            if not forward and any([_owner(o) is tangent_trace for o in outs]):
                # The rule computed values and tangents together, in a jitted function
                # or a branch, which is staged as a whole.
                current.trace = parent
                outs = self.fun(*primals)
            return outs, out_tangents
        if forward:
            raise no_forward_rule(self.who)
        return self._leave_linear_call(parent, tangent_trace, primals, tangents)

    def _leave_linear_call(
        self, parent: Trace, tangent_trace: Trace, primals: Any, tangents: Any
    ) -> Any:
        current.trace = parent
        active = [t is not None for t in tangents]
        made = self.vjp(primals, active)  # type: ignore[misc]  one of the two is there
        self._check_values(made.outs, f"the forward rule of {self.who}")
        nonzero = [o.type.inexact for o in made.outs]
        types = tuple([o.type.strong() for o in made.outs if o.type.inexact])
        n, jvp = len(made.residuals), self.jvp

        def push(residuals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
            assert jvp is not None, "without it there is no push"
            _, found = jvp(residuals[n:], scatter(tangents, active))
            kept = select(found, nonzero)
            return [
                zeros(t) if x is None else x for x, t in zip(kept, types, strict=True)
            ]

        def pull(residuals: Sequence[Any], cotangents: Sequence[Value]) -> list[Array]:
            cts_in = made.bwd(residuals[:n], scatter(cotangents, nonzero))
            return select(cts_in, active)

        residuals = made.residuals if jvp is None else [*made.residuals, *primals]
        op = LinearCall(push if jvp else None, pull, len(residuals), types, self.who)
        current.trace = tangent_trace
        out_tangents = op(*residuals, *[t for t in tangents if t is not None])
        return made.outs, scatter(out_tangents, nonzero)

    def _check_values(self, outs: Sequence[Value], rule: str) -> None:
        """Raise where a rule returned another value than its function."""
        if isinstance(self.fun, Jaxpr):
            same_results(outs, self.fun.out_types, rule)

    # -- other forms -------------------------------------------------------------------

    def with_captured(self, over: CapturedTracers) -> "CustomCall":
        """This operation on what its functions close over, and then its operands."""
        fun, m = self.fun, len(over.captured)

        def fun_on_all(*values: Any) -> list[Any]:
            return over.run(lambda: fun(*values[m:]), values[:m])

        jvp = self.jvp and _forward_with_captured(self.jvp, over)
        vjp = self.vjp and _reverse_with_captured(self.vjp, over)
        inert = (*over.unused_by(fun), *self.inert)
        return CustomCall(fun_on_all, jvp, vjp, self.who, inert)

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        batch = Batch.of(self.fun, size, axis, args, dims, self.who)

        def fun(*values: Any) -> list[Array]:
            return batch.run(self.fun, values, dims)

        jvp = self.jvp and _batch_forward(self.jvp, batch)
        vjp = self.vjp and _batch_reverse(self.vjp, batch)
        outs = CustomCall(fun, jvp, vjp, self.who, self.inert)(*args)
        return outs, [batch.out_dim] * len(outs)

    # -- parts -------------------------------------------------------------------------

    def rebuild(self, programs: Sequence[Jaxpr], operands: Mask, results: Mask) -> Any:
        return self._select(programs[0], results)

    def _select(self, fun: Jaxpr, mask: Mask) -> "CustomCall":
        """With the masked results, by a program that may take more operands."""
        count = len(self.program.inputs)
        jvp = select_jvp(self.jvp, count, mask)
        vjp = select_vjp(self.vjp, count, mask)
        return CustomCall(fun, jvp, vjp, self.who, self.inert)

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition | None:
        """The rules stay what they are: kept values are a matter of the function."""
        keepable = (True,) * len(later)
        made = self.program.memo(with_all_inputs, later, policy, keepable)
        if not made.saved:
            return super().partition(types, later, policy)
        further = further_results(later, made.forward)
        jvp = append_to_jvp(self.jvp, further)
        vjp = append_to_vjp(self.vjp, further)
        return made._replace(
            forward=CustomCall(made.forward, jvp, vjp, self.who, self.inert),
            recompute=self._select(made.recompute, made.gives),
        )


def _owner(x: Any) -> Any:
    """The trace that a tracer belongs to; None of other values."""
    return getattr(x, "owner", None)


def _forward_with_captured(jvp: ForwardRule, over: CapturedTracers) -> ForwardRule:
    m = len(over.captured)

    def on_all(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        def flat() -> list[Any]:
            outs, out_tangents = jvp(primals[m:], tangents[m:])
            return [*outs, *out_tangents]

        active = [t is not None for t in tangents[:m]]
        found = over.run(flat, over.refuse_differentiated(primals[:m], active))
        return found[: len(found) // 2], found[len(found) // 2 :]

    return on_all


def _reverse_with_captured(vjp: ReverseRule, over: CapturedTracers) -> ReverseRule:
    m = len(over.captured)

    def on_all(primals: Sequence[Any], active: Sequence[bool]) -> Forward:
        made: list[Forward] = []

        def flat() -> list[Any]:
            made[:] = [vjp(primals[m:], active[m:])]
            return [*made[0].outs, *made[0].residuals]

        found = over.run(flat, over.refuse_differentiated(primals[:m], active[:m]))
        n, bwd = len(made[0].outs), made[0].bwd

        def bwd_on_all(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            held = over.refuse_differentiated(residuals[:m], active[:m])
            cts_in = over.run(lambda: bwd(residuals[m:], cts), held)
            return [*[None] * m, *cts_in]

        return Forward(found[:n], [*primals[:m], *found[n:]], bwd_on_all)

    return on_all


def _batch_forward(jvp: ForwardRule, batch: Batch) -> ForwardRule:
    def batched_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        packed = OptionalOperands(jvp, len(primals), tangents)
        pairs = [
            (t, d) for t, d in zip(tangents, batch.dims, strict=True) if t is not None
        ]
        values = [*primals, *[t for t, _ in pairs]]
        dims = [*batch.dims, *[d for _, d in pairs]]
        return packed.unpack(batch.run(packed, values, dims))

    return batched_rule


def _batch_reverse(vjp: ReverseRule, batch: Batch) -> ReverseRule:
    def batched_rule(primals: Sequence[Any], active: Sequence[bool]) -> Forward:
        made: list[Forward] = []

        def flat(*values: Any) -> list[Any]:
            made[:] = [vjp(values, active)]
            return [*made[0].outs, *made[0].residuals]

        values, found = batch_flat(flat, batch.size, primals, batch.dims, batch.axis)
        n = len(made[0].outs)
        bwd = batch_pullback(made[0].bwd, batch, found[n:], batch.dims)
        return Forward(batch.with_out_dim(values[:n], found[:n]), values[n:], bwd)

    return batched_rule
