"""``CustomCall``: a function with derivative rules of its own, as one operation.

Its fields are functions, and no trace knows it. Which rule is asked:

    forward mode      ``jvp``
    reverse mode      ``vjp`` if there is one, and else ``jvp``, transposed

What does not say yet which of the two it will be, because it writes down a linear part
for later, leaves a ``LinearCall``: run forwards it is ``jvp``, transposed it is
``vjp``. Once the operation is written down, ``fun`` is a program.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.flat import arrays
from covector.core.jaxpr import Jaxpr
from covector.core.masks import scatter
from covector.core.primitive import Linear, Primitive, operation
from covector.core.staging import stage
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.core.varying import Axes, Varying, of_programs
from covector.lowering.tokens import with_token
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
from covector.programs.higher_order.call import call, named_axes
from covector.transforms.batch import batch_flat
from covector.transforms.linearity import is_linear
from covector.transforms.linearize import SplitTrace
from covector.transforms.transpose import backward

#: (primals, tangents) → (values, tangents); absent tangents are None
ForwardRule = Callable[[Sequence[Any], Sequence[Any]], tuple[Sequence[Any], Any]]


class Forward(NamedTuple):
    """What ``fwd`` gave: values, array residuals, and how to call ``bwd`` with them."""

    outs: Sequence[Any]
    residuals: Sequence[Any]
    #: gives a cotangent, or None, for each operand
    bwd: Pull


#: (primals, which of them move) → Forward
ReverseRule = Callable[[Sequence[Any], Sequence[bool]], Forward]


@operation
class CustomCall(Primitive):
    """Run ``fun``; differentiate by ``jvp`` and ``vjp``, of which one may be None."""

    interned = False
    multiple_results = True
    name = "custom_derivatives_call"
    carries_functions = True

    fun: Callable[..., Sequence[Any]] | Jaxpr
    jvp: ForwardRule | None
    vjp: ReverseRule | None
    #: whose rules these are, for messages
    who: str
    #: of the first operands, which are read by rules alone: they do not move results
    inert: tuple[bool, ...] = ()

    def __repr__(self) -> str:
        return f"CustomCall({self.who})"

    @property
    def program(self) -> Jaxpr:
        assert isinstance(self.fun, Jaxpr), "written down before it is typed"
        return self.fun

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return self.program.out_types

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        if isinstance(self.fun, Jaxpr):
            return of_programs(self.fun.in_types)
        return of_programs(types)

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.fun.memo(named_axes) if isinstance(self.fun, Jaxpr) else ()

    def evaluate(self, *args: Any) -> Sequence[Any]:
        return self.fun(*args)

    def stage(self, trace: Any, args: Sequence[Any]) -> Sequence[Any] | None:
        """Once written down, as it is; before, the form that is."""
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
        self, parent: Any, tangent_trace: Any, primals: Any, tangents: Any
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
            outs, moved = self.jvp(primals, tangents)
            self._check_values(outs, f"the rule of {self.who}")
            if not forward and any([_owner(o) is tangent_trace for o in outs]):
                # The rule computed values and tangents together, in a jitted function
                # or a branch, which is written down as a whole.
                current.trace = parent
                outs = self.fun(*primals)
            return outs, moved
        if forward:
            raise no_forward_rule(self.who)
        return self._leave_linear_call(parent, tangent_trace, primals, tangents)

    def _leave_linear_call(
        self, parent: Any, tangent_trace: Any, primals: Any, tangents: Any
    ) -> Any:
        current.trace = parent
        active = [t is not None for t in tangents]
        made = self.vjp(primals, active)  # type: ignore[misc]  one of the two is there
        self._check_values(made.outs, f"the forward rule of {self.who}")
        moving = [o.type.inexact for o in made.outs]
        types = tuple([o.type.strong() for o in made.outs if o.type.inexact])
        n, jvp = len(made.residuals), self.jvp

        def push(residuals: Sequence[Any], moved: Sequence[Any]) -> list[Any]:
            assert jvp is not None, "without it there is no push"
            _, found = jvp(residuals[n:], scatter(moved, active))
            kept = [t for t, m in zip(found, moving, strict=True) if m]
            return [
                zeros(t) if x is None else x for x, t in zip(kept, types, strict=True)
            ]

        def pull(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            cts_in = made.bwd(residuals[:n], scatter(cotangents, moving))
            return [ct for ct, a in zip(cts_in, active, strict=True) if a]

        residuals = made.residuals if jvp is None else [*made.residuals, *primals]
        op = LinearCall(push if jvp else None, pull, len(residuals), types, self.who)
        current.trace = tangent_trace
        moved = op(*residuals, *[t for t in tangents if t is not None])
        return made.outs, scatter(moved, moving)

    def _check_values(self, outs: Sequence[Any], rule: str) -> None:
        """Raise where a rule returned another value than its function."""
        if isinstance(self.fun, Jaxpr):
            same_results(outs, self.fun.out_types, rule)

    def transpose(self, cotangents: Any, *args: Any) -> Any:
        return backward(self.program, args, cotangents)

    def linear_in(self, args: Any) -> bool:
        linear = tuple([type(a) is Linear for a in args])
        return is_linear(self.program, linear)

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

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        batch = Batch.of(self.fun, size, axis, args, dims, self.who)

        def fun(*values: Any) -> list[Any]:
            return batch.run(self.fun, values, dims)

        jvp = self.jvp and _batch_forward(self.jvp, batch)
        vjp = self.vjp and _batch_reverse(self.vjp, batch)
        outs = CustomCall(fun, jvp, vjp, self.who, self.inert)(*args)
        return outs, [batch.out_dim] * len(outs)

    def with_token(self) -> tuple[Primitive, int]:
        return call(self.program.memo(with_token)), 0

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return ctx.inline(self.fun, operands)


def _owner(x: Any) -> Any:
    """The trace that a tracer belongs to; None of other values."""
    return getattr(x, "owner", None)


def _forward_with_captured(jvp: ForwardRule, over: CapturedTracers) -> ForwardRule:
    m = len(over.captured)

    def on_all(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        def flat() -> list[Any]:
            outs, moved = jvp(primals[m:], tangents[m:])
            return [*outs, *moved]

        moving = [t is not None for t in tangents[:m]]
        found = over.run(flat, over.refuse_differentiated(primals[:m], moving))
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
        return Forward(batch.placed(values[:n], found[:n]), values[n:], bwd)

    return batched_rule
