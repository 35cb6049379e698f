"""``checkpoint``: trade memory for computation in reverse mode.

The intermediate values of a checkpointed function are not saved for the derivative but
recomputed from its inputs, except those that a *policy* says are worth saving. So its
derivative is partitioned (``higher_order/partition.py``): forward, to the results and
saved values; backward, from the inputs and saved values to the residuals. The second is
a call that XLA compiles separately, since otherwise it would see that the same was
computed before, and keep it after all.
"""

import functools
import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from covector.core.annotations import (
    AxisName,
    BatchDims,
    Batched,
    MemorySize,
    Value,
    Values,
)
from covector.core.array_like import Array
from covector.core.flat import who_of
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask
from covector.core.primitive import Linearized, Primitive, operation
from covector.core.source import wraps
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.errors import ArgumentError
from covector.lowering.hlo import HloResults, HloValue
from covector.programs.higher_order.call import Call, Inlined, call
from covector.programs.higher_order.dead_code import dce
from covector.programs.higher_order.jaxpr_passes import without_effects
from covector.programs.higher_order.partition import (
    Partition,
    Policy,
    of_call,
    partition,
)
from covector.programs.jit.arguments import JitSpec, Keys, complete_argnums
from covector.programs.jit.jit import PjitFunction
from covector.programs.remat.policies import checkpoint_policies
from covector.transforms.batch import batch_jaxpr
from covector.transforms.gradients import bind_gradients
from covector.transforms.linearize import LinearizedProgram, linearize_jaxpr
from covector.transforms.vmap import bind_chunks

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Recomputed(Inlined):
    """Run ``jaxpr``; its derivative computes again what it does not keep."""

    jaxpr: Jaxpr

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        program, out_dims = self.jaxpr.memo(batch_jaxpr, size, tuple(dims), None, axis)
        return self.replace(jaxpr=program)(*args), out_dims

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        return self.replace(jaxpr=programs[0])

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition:
        """One that is not differentiated here is a call like any other."""
        return of_call(self.jaxpr, later, policy, call)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.call(self.jaxpr, operands)


@operation
class Checkpoint(Recomputed):
    """Run ``jaxpr``; keep for its derivative only what ``policy`` says."""

    name = "checkpoint"

    jaxpr: Jaxpr
    policy: Policy
    prevent_cse: bool = True

    def __repr__(self) -> str:
        return f"Checkpoint({self.jaxpr.name})"

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        settings = tuple(active), self.policy, self.prevent_cse
        split = self.jaxpr.memo(linearize_checkpoint, *settings)
        return split.at(primals, lambda op, args: op(*args))


def linearize_checkpoint(
    jaxpr: Jaxpr, active: Mask, policy: Policy, separate: bool
) -> LinearizedProgram[Call]:
    """Calls of a program and of its derivative, which computes residuals again and may
    be compiled separately (memoise on the program).

    ``primal`` gives the outputs and what the policy keeps; the residuals between the
    two are that, and the inputs from which the others are computed.
    """
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
    now = tuple([not m for m in later])
    parts = whole.memo(partition, later, policy, now)
    kept = (True,) * (len(parts.forward.outputs) - len(later))
    forward = parts.forward.memo(dce, (*now, *kept))
    recompute = parts.recompute.memo(without_effects)
    known = len(recompute.inputs)

    def recompute_and_push(*values: Value) -> list[Any]:
        given = run(recompute, values[:known])
        return run(split.linear, [*given, *values[known:]])

    tangent_types = split.linear.in_types[len(residuals) :]
    program = restage(
        recompute_and_push,
        [*recompute.in_types, *tangent_types],
        f"{jaxpr.name}_recomputed",
    )
    sources = [
        i if i >= ~count + 1 else i + len(residuals) for i in parts.residual_sources
    ]
    parts = call(forward), call(program, separate)
    return LinearizedProgram(*parts, tuple(sources), split.nonzero)


@overload
def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool = False,
    memory: MemorySize | None = None,
) -> Callable[P, R]: ...
@overload
def checkpoint(
    fun: None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool = False,
    memory: MemorySize | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool = False,
    memory: MemorySize | None = None,
) -> Any:
    """``fun``, keeping little for its derivative: the rest is computed again.

    Use it for a layer, or the step of a ``scan``, where memory is short. Values and
    derivatives are the same.

    Args:
      policy: what to keep besides the inputs, from ``checkpoint_policies``; nothing by
        default.
      prevent_cse: compile the recomputation separately, so that the compiler does not
        find out that it is one. Inside ``scan`` this is not needed.
      static_argnums, static_argnames: arguments that are part of the program. With
        one that cannot be hashed it is traced in each call.
      concrete: must be False. Values are not known while the program is made.
      memory: in place of a policy, the most that the compiled program of values and
        gradients may need, with arguments and results: a number of bytes, or such as
        ``"1.5GB"``. As little is computed again as that allows.

    Raises:
      ArgumentError: ``concrete`` is True, or ``memory`` comes with a policy.
      OverBudget: when it is differentiated, if no plan stays within ``memory``.

    >>> import covector as cv, covector.numpy as cnp
    >>> float(cv.grad(cv.checkpoint(lambda x: cnp.sin(cnp.sin(x))))(0.0))
    1.0

    See also: ``covector.checkpoint_policies``, ``covector.lax.scan``.
    """
    if fun is None:
        return functools.partial(
            checkpoint,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            concrete=concrete,
            memory=memory,
        )
    who = who_of("checkpoint", fun)
    if concrete:
        raise ArgumentError(
            f"{who}: concrete=True is not supported, since the "
            "values of arguments are not known when the program is traced. Name "
            "those that Python decides by in static_argnums or static_argnames, or use "
            "covector.lax.cond."
        )
    if policy is not None and not callable(policy):
        raise ArgumentError(
            f"{who} needs a policy that is a function, but got {policy!r}. Take one of "
            "covector.checkpoint_policies, such as dots_saveable."
        )
    if memory is not None and policy is not None:
        raise ArgumentError(
            f"{who} takes policy= or memory=, not both: with a budget of memory it "
            "decides by itself what is kept."
        )
    static = complete_argnums(fun, who, static_argnums, static_argnames)
    if memory is not None:
        return run_as(fun, memory_budgets().within_memory(memory, who), who, static)
    kept = policy or checkpoint_policies.nothing_saveable
    return run_as(fun, lambda p: p.memo(Checkpoint, kept, prevent_cse), who, static)


def run_as(
    fun: Callable[..., Any],
    operation_of: Callable[[Jaxpr], Any],
    who: str,
    static: Keys = (),
) -> Callable[..., Any]:
    """``fun``, traced, as the operation that is made of its program."""
    spec = JitSpec(static)
    kept = PjitFunction(fun, spec, who)

    @wraps(fun)
    def run_operation(*args: Any, **kwargs: Any) -> Any:
        traced = kept
        if static:
            rest, named, statics = spec.split(args, kwargs)
            if not all([_may_be_static(value) for _, _, value in statics]):
                # No program is found again by them: they are part of the function.
                traced = PjitFunction(spec.with_statics(fun, statics), JitSpec(), who)
                args, kwargs = rest, named
        signature = traced.signature(args, kwargs)
        program = traced.program(signature)
        operation = operation_of(program.jaxpr)
        outs = operation(*program.operands(signature.leaves, None, who, False))
        results = program.results(signature.leaves, outs, False)
        return program.out_tree.unflatten(results)

    return run_operation


def _may_be_static(value: Any) -> bool:
    """Whether a program is found by a value; of an array, ``signature`` says it all."""
    try:
        hash(value)
    except TypeError:
        return isinstance(value, Array)
    return True


# -- budgets of memory -----------------------------------------------------------------


def memory_budgets() -> Any:
    """The layer above this one that keeps them, imported for the first budget."""
    return importlib.import_module("covector.memory_budgets.functions")


bind_chunks(lambda *args: memory_budgets().in_chunks(*args))
bind_gradients(lambda *args: memory_budgets().gradient_within(*args))
