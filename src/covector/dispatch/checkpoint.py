"""``checkpoint``: a function that keeps little for its derivative.

It is traced once per signature, as by ``jit``, and its program becomes the operation
``Checkpoint`` (``programs/remat``), or one that stays within a budget of memory.
"""

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack, overload

from covector.core.annotations import MemorySize, decorating
from covector.core.array_like import Array
from covector.core.flat import who_of
from covector.core.jaxpr import Jaxpr
from covector.core.source import wraps
from covector.dispatch.arguments import JitSpec, Keys, complete_argnums
from covector.dispatch.jit import PjitFunction
from covector.errors import ArgumentError
from covector.programs.higher_order.partition import Policy
from covector.transforms.gradients import bind_gradients
from covector.transforms.vmap import bind_chunks

P = ParamSpec("P")
R = TypeVar("R")


class CheckpointOptions(TypedDict, total=False):
    """The keyword arguments of ``checkpoint``, for its overloads."""

    prevent_cse: bool
    policy: Policy | None
    static_argnums: int | Sequence[int]
    static_argnames: str | Iterable[str]
    concrete: bool
    memory: MemorySize | None


@overload
def checkpoint(
    fun: Callable[P, R], **options: Unpack[CheckpointOptions]
) -> Callable[P, R]: ...
@overload
def checkpoint(
    fun: None = None, **options: Unpack[CheckpointOptions]
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@decorating
def checkpoint(
    fun: Callable[..., Any],
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
    from covector.programs.remat.checkpoint import Checkpoint  # noqa: PLC0415  if asked
    from covector.programs.remat.policies import (  # noqa: PLC0415  if asked
        checkpoint_policies,
    )

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
