"""``LinearCall``: a linear map that is given by two functions, itself and its adjoint.

It is what a reverse-mode rule leaves in a linear program, where the adjoint is the
user's ``bwd``, and what ``linear_call`` makes of two functions.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from covector import tree
from covector.core.annotations import (
    AxisName,
    BatchDims,
    Batched,
    Tangents,
    Value,
    Values,
)
from covector.core.array_like import Array
from covector.core.flat import FlatFunction, arrays, check_functions, describe, who_of
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import present_mask
from covector.core.primitive import Linear, Operand, operation
from covector.core.staging import Staged, StagingTrace, stage
from covector.core.trace import Trace, current
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import NotDifferentiable, TreeMismatch
from covector.lowering.placement import Meshes, meshes_of
from covector.lowering.spelling import HloResults, HloValue
from covector.programs.custom_rules.batched_functions import Batch
from covector.programs.custom_rules.captured_tracers import (
    CapturedTracers,
    call_with_captured,
)
from covector.programs.custom_rules.derivative_checks import checked
from covector.programs.higher_order.program_primitive import ProgramPrimitive
from covector.programs.higher_order.regions import Region, call_region
from covector.transforms.batch import batch_flat
from covector.transforms.linearize import jvp_flat
from covector.transforms.transpose import instantiate
from covector.tree.registry import PyTreeDef

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: (residuals, tangents) → tangents
Push = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
#: (residuals, cotangents) → cotangents; in both, None is zero
Pull = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


@operation
class LinearCall(ProgramPrimitive):
    """The linear map ``push`` with the adjoint ``pull``; operands: residuals, tangents.

    Where there is no ``push``, the map can be transposed but not run.
    """

    carries_functions = True

    push: Push | Jaxpr | None
    pull: Pull
    residual_count: int
    out_types: tuple[ArrayType, ...]
    who: str

    def __repr__(self) -> str:
        return f"LinearCall({self.who})"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        if isinstance(self.push, Jaxpr):
            return self.push.out_types
        return self.out_types

    @cached_property
    def regions(self) -> Sequence[Region]:
        return (call_region(self.push),) if isinstance(self.push, Jaxpr) else ()

    def evaluate(self, *args: Value) -> Sequence[Array]:
        if self.push is None:
            raise no_forward_rule(self.who)
        if isinstance(self.push, Jaxpr):
            return run(self.push, args)
        return self.push(args[: self.residual_count], args[self.residual_count :])

    def stage(self, trace: StagingTrace, args: Sequence[Value]) -> Sequence[Any] | None:
        """With ``push`` as a program where axes are named, since it may communicate.

        Elsewhere a rule of the user is not run that nobody may ask for.
        """
        if self.push is None or isinstance(self.push, Jaxpr) or not trace.axes:
            return None
        args = arrays(args, self.who)
        staged = stage(self.evaluate, [a.type for a in args], self.who)
        op = self.with_captured(CapturedTracers(staged.captured, self.who)).replace(
            push=staged.jaxpr
        )
        return trace.process(op, [*staged.captured, *args])

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:  # type: ignore[override]
        """That of ``push``, where it is a function, and none of ``regions``."""
        if self.push is None or isinstance(self.push, Jaxpr):
            return super().work(types, outs)
        return Work(program=self.traced(tuple(types)).jaxpr)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        if isinstance(self.push, Jaxpr):
            return ctx.inline(self.push, operands)
        push, captured, _ = self.traced(tuple(ctx.in_types))
        constants = [ctx.constant(x.host(), x.type) for x in captured]
        return ctx.inline(push, [*constants, *operands])

    def traced(self, types: tuple[ArrayType, ...]) -> Staged:
        """The program that ``push`` is lowered to, and the arrays that it captures."""
        found = self._traced.get(types)
        if found is None:
            found = self._traced[types] = stage(self.evaluate, types, self.name)
        return found

    @cached_property
    def _traced(self) -> dict[tuple[ArrayType, ...], Staged]:
        return {}

    def meshes_within(self, types: tuple[ArrayType, ...]) -> Meshes:
        """The meshes of what ``push`` runs, which is a function until it is lowered."""
        if self.push is None or isinstance(self.push, Jaxpr):
            return ()
        return self.traced(types).jaxpr.memo(meshes_of)

    def differentiate(
        self, parent: Trace, tangent_trace: Trace, primals: Values, tangents: Tangents
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Linear in the tangents among its operands; as ``push`` is in residuals."""
        n = self.residual_count
        active_tangents = [*tangents[:n], *[None] * len(tangents[n:])]
        current.trace = parent
        outs, out_tangents = jvp_flat(
            self.evaluate, primals, active_tangents, parent.name, tangent_trace
        )
        if any(present_mask(tangents[n:])):
            current.trace = tangent_trace
            pairs = zip(tangents[n:], primals[n:], strict=True)
            filled = [instantiate(t, p.type.strong()) for t, p in pairs]
            pushed = self(*primals[:n], *filled)
            out_tangents = [
                t if m is None else m + t
                for m, t in zip(out_tangents, pushed, strict=True)
            ]
        return outs, out_tangents

    def with_captured(self, over: CapturedTracers) -> "LinearCall":
        """This operation on what its functions close over, and then its operands."""
        m = len(over.captured)

        def on_all(fun: Callable[..., Any]) -> Any:
            return lambda res, xs: over.run(lambda: fun(res[m:], xs), res[:m])

        return self.replace(
            push=self.push and on_all(self.push),
            pull=on_all(self.pull),
            residual_count=m + self.residual_count,
        )

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Operand
    ) -> Sequence[Value | None]:
        n = self.residual_count
        return [*[None] * n, *self.pull(args[:n], cotangents)]

    def linear_in(self, args: Sequence[Operand]) -> bool:
        return Linear not in map(type, args[: self.residual_count])

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        n = self.residual_count
        batched_out = any(present_mask(dims))
        batch = Batch(size, axis, batched_out, self.who)
        out_types = self.out_types
        if batched_out:
            out_types = tuple([t.with_axis(0, size) for t in out_types])

        def push(residuals: Any, tangents: Any) -> list[Array]:
            return batch.run(self.evaluate, [*residuals, *tangents], dims)

        def pull(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            """Cotangents of an operand that all lanes share are summed."""
            ct_dims = [None if ct is None else batch.out_dim for ct in cotangents]
            cts_in, found = batch_flat(
                lambda *xs: self.pull(xs[:n], xs[n:]),
                size,
                [*residuals, *cotangents],
                [*dims[:n], *ct_dims],
                axis,
            )
            columns = zip(cts_in, found, dims[n:], strict=True)
            return [x if x is None else batch.summed(x, d, to) for x, d, to in columns]

        batched_push = push if self.push is not None else None
        outs = LinearCall(batched_push, pull, n, out_types, self.who)(*args)
        return outs, [batch.out_dim] * len(outs)


def no_forward_rule(who: str) -> NotDifferentiable:
    """The error for forward mode through a function with only a reverse rule."""
    name = who.partition(" (")[0].replace(" of ", ".").rpartition(".")[2]
    name = name if name.isidentifier() else "f"
    return NotDifferentiable(
        f"forward-mode differentiation (jvp, jacfwd, linearize) of {who}, which has "
        "only a reverse-mode rule. Give it one for forward mode as well:\n\n"
        f"    @{name}.defjvp\n"
        f"    def rule(primals, tangents): return {name}(*primals), ...  # its tangent"
        "\n\nor use custom_jvp, whose one rule serves both modes; or grad, vjp, jacrev."
    )


def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """``fun(residual_args, linear_args)``, with a transpose of its own.

    Args:
      fun: linear in its second argument.
      fun_transpose: takes ``residual_args`` and a cotangent shaped like the result, and
        gives one shaped like ``linear_args``.

    The derivative is the same map of the tangents, and in reverse mode
    ``fun_transpose``. What the residuals contribute is the derivative of ``fun``.

    Raises:
      TreeMismatch: ``fun_transpose`` gives a tree that ``linear_args`` has not.

    >>> import covector as cv
    >>> divide = lambda r, x: x / r
    >>> float(cv.grad(lambda x: linear_call(divide, divide, 4.0, x))(3.0))
    0.25
    """
    who = who_of("linear_call", fun)
    check_functions("linear_call", fun_transpose=fun_transpose)
    residuals, res_tree = tree.flatten(residual_args)
    leaves, in_tree = tree.flatten(linear_args)
    residuals, leaves = arrays(residuals, who), arrays(leaves, who)
    both = tree.structure(((residual_args, linear_args), {}))
    flat = FlatFunction(fun, both, who)
    in_types = [x.type for x in leaves]
    staged = stage(flat, [x.type for x in (*residuals, *leaves)], who)
    out_types = tuple([t.strong() for t in staged.jaxpr.out_types])

    def push(res: Sequence[Value], tangents: Sequence[Value]) -> Sequence[Array]:
        return flat(*res, *tangents)

    def pull(res: Sequence[Value], cts: Sequence[Value]) -> list[Array]:
        filled = map(instantiate, cts, out_types)
        ct = flat.out_tree.unflatten(filled)
        cts_in = fun_transpose(res_tree.unflatten(res), ct)
        return _cotangents(cts_in, in_tree, in_types, f"the transpose of {who}")

    op = LinearCall(push, pull, len(residuals), out_types, who)
    outs = call_with_captured(op, [*residuals, *leaves])
    return flat.out_tree.unflatten(outs)


def _cotangents(
    cts_in: Any, in_tree: PyTreeDef, in_types: Sequence[ArrayType], who: str
) -> list[Array]:
    """The checked cotangent of each leaf of ``linear_args``, from a transpose."""
    found, found_tree = tree.flatten(cts_in)
    if found_tree != in_tree:
        raise TreeMismatch(
            f"{who} must give a cotangent with the structure of linear_args, "
            f"{in_tree}, but it returned {describe(cts_in)}."
        )
    return checked(found, in_types, who, "cotangent")
