"""``checkpoint``: trade memory for computation in reverse mode.

The intermediate values of a checkpointed function are not saved for the derivative but
recomputed from its inputs, except those that a *policy* says are worth saving. So its
derivative is partitioned (``partition.py``): forward, to the results and saved values;
backward, from the inputs and saved values to the residuals. The second is a call that
XLA compiles separately, since otherwise it would see that the same was computed before,
and keep it after all.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from covector.core.flat import who_of
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import present, scatter, select
from covector.core.primitive import Linear, Primitive, operation
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.core.varying import Axes, Varying, of_programs
from covector.errors import ArgumentError
from covector.lowering.tokens import with_token
from covector.programs.higher_order.call import Call, call, named_axes
from covector.programs.higher_order.effects import without_effects
from covector.programs.jit.arguments import JitSpec, static_places
from covector.programs.jit.jit import Jitted
from covector.programs.remat.partition import (
    Partition,
    Policy,
    dce,
    partition,
    partition_operation,
)
from covector.programs.remat.policies import checkpoint_policies
from covector.transforms.batch import batch_jaxpr
from covector.transforms.linearity import is_linear
from covector.transforms.linearize import linearize_jaxpr
from covector.transforms.transpose import backward


@operation
class Checkpoint(Primitive):
    """Run ``jaxpr``; keep for its derivative only what ``policy`` says."""

    interned = False
    multiple_results = True
    name = "checkpoint"

    jaxpr: Jaxpr
    policy: Policy
    prevent_cse: bool = True

    def __repr__(self) -> str:
        return f"Checkpoint({self.jaxpr.name})"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return self.jaxpr.out_types

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        return of_programs(self.jaxpr.in_types)

    def evaluate(self, *args: Any) -> Sequence[Any]:
        return run(self.jaxpr, args)

    def linearize(self, active: Any, *primals: Any) -> Any:
        parts = self.jaxpr.memo(partition_derivative, tuple(active), self.policy)
        outs = call(parts.forward)(*primals)
        known = [*select(primals, parts.reads), *[outs[k] for k in parts.saved]]

        def push(*tangents: Any) -> Any:
            recompute = call(parts.backward, self.prevent_cse)
            return scatter(recompute(*known, *present(tangents)), parts.nonzero)

        return outs[: len(self.jaxpr.outputs)], push

    def transpose(self, cotangents: Any, *args: Any) -> Any:
        return backward(self.jaxpr, args, cotangents)

    def linear_in(self, args: Any) -> bool:
        linear = tuple([type(a) is Linear for a in args])
        return is_linear(self.jaxpr, linear)

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        program, out_dims = self.jaxpr.memo(batch_jaxpr, size, tuple(dims), None, axis)
        return Checkpoint(program, self.policy, self.prevent_cse)(*args), out_dims

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.jaxpr.memo(named_axes)

    def with_token(self) -> tuple[Call, int]:
        return call(self.jaxpr.memo(with_token)), 0

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return ctx.call(self.jaxpr, operands)


class PartitionedDerivative(NamedTuple):
    """A checkpointed program and its derivative, in two parts.

    ``forward`` returns the outputs and saved values; ``backward`` takes the inputs in
    the mask ``reads``, the results of ``forward`` at the indices ``saved``, and the
    tangents of the active inputs, and returns those of the outputs in ``nonzero``.
    """

    forward: Jaxpr
    backward: Jaxpr
    reads: tuple[bool, ...]
    saved: tuple[int, ...]
    nonzero: tuple[bool, ...]


def partition_derivative(
    jaxpr: Jaxpr, active: tuple[bool, ...], policy: Policy
) -> PartitionedDerivative:
    """The derivative of a program, partitioned by a policy (memoise on the program)."""
    split = jaxpr.memo(linearize_jaxpr, active)
    primal, count = split.primal, len(jaxpr.outputs)
    residuals = split.residuals(primal.inputs, primal.outputs)
    whole = Jaxpr(
        primal.inputs,
        primal.equations,
        [*primal.outputs[:count], *residuals],
        jaxpr.name,
    )
    later = (*[False] * count, *[True] * len(residuals))
    parts = whole.memo(partition, later, policy, tuple([not m for m in later]))
    saved = [True] * (len(parts.forward.outputs) - len(later))
    forward = parts.forward.memo(dce, (*[not m for m in later], *saved))
    recompute = parts.recompute.memo(without_effects)
    known = len(recompute.inputs)

    def recompute_and_push(*values: Any) -> list[Any]:
        return run(split.linear, [*run(recompute, values[:known]), *values[known:]])

    tangent_types = split.linear.in_types[len(residuals) :]
    program = restage(
        recompute_and_push,
        [*recompute.in_types, *tangent_types],
        f"{jaxpr.name}_recomputed",
    )
    indices = [k if k < count else k - len(residuals) for k in parts.saved]
    return PartitionedDerivative(
        forward, program, parts.reads, tuple(indices), split.nonzero
    )


@partition_operation.register
def _(op: Checkpoint, later: tuple[bool, ...], policy: Policy) -> Partition:
    """One that is not differentiated here is a call like any other."""
    made = op.jaxpr.memo(partition, later, policy, (True,) * len(later))
    return made._replace(forward=call(made.forward), recompute=call(made.recompute))


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool = False,
) -> Any:
    """``fun``, keeping little for its derivative: the rest is computed again.

    Args:
      policy: what to keep besides the inputs, from ``checkpoint_policies``; nothing by
        default.
      prevent_cse: compile the second computation apart, so that the compiler does not
        find out that it is one. Inside ``scan`` this is not needed.
      static_argnums, static_argnames: arguments that are part of the program.
      concrete: must be False. Values are not known while the program is made.

    Raises:
      ArgumentError: ``concrete`` is True.

    >>> import covector as cv, covector.numpy as cnp
    >>> float(cv.grad(cv.checkpoint(lambda x: cnp.sin(cnp.sin(x))))(0.0))
    1.0
    """
    if fun is None:
        return functools.partial(
            checkpoint,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            concrete=concrete,
        )
    if concrete:
        raise ArgumentError(
            f"{who_of('checkpoint', fun)}: concrete=True is not supported, since the "
            "values of arguments are not known when the program is written down. Name "
            "those that Python decides by in static_argnums or static_argnames, or use "
            "covector.lax.cond."
        )
    kept = policy or checkpoint_policies.nothing_saveable
    nums, names = static_places(fun, static_argnums, static_argnames, "checkpoint")
    traced = Jitted(fun, JitSpec(nums, names), "checkpoint")

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        signature = traced.signature(args, kwargs)
        program = traced.program(signature, signature.key())
        operation = program.jaxpr.memo(Checkpoint, kept, prevent_cse)
        outs = operation(*program.captured, *signature.leaves)
        return program.out_tree.unflatten(outs)

    return checkpointed
