"""``checkpoint``: trade memory for computation in reverse mode.

What a checkpointed function computed on the way is not kept for the derivative but
computed again from its inputs, except what a *policy* says is worth keeping. A policy
is two prunes
of one program: forward, to the results and what is saved; backward, to the residuals,
from the inputs and what was saved. The second is a call that XLA compiles apart, since
otherwise it would see that the same was computed before, and keep it after all.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from covector import tree
from covector.core.jaxpr import Equation, Jaxpr, Var, needed_equations, read, run
from covector.core.primitive import Primitive, operation
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.core.varying import Axes, Varying, of_programs
from covector.lowering.tokens import with_token
from covector.programs.arguments import JitSpec, static_places
from covector.programs.call import Call, call, named_axes
from covector.programs.effects import silent
from covector.programs.jit import Jitted
from covector.transforms.batch import batch_jaxpr
from covector.transforms.linearize import LinearizedJaxpr, linearize_jaxpr
from covector.transforms.transpose import backward

#: (operation, *operand types, **parameters) → whether its results are worth keeping
Policy = Callable[..., Any]


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

    def vary(self, types: Sequence[ArrayType], tracked: Axes) -> Varying:
        return of_programs(self.jaxpr.in_types)

    def evaluate(self, *args: Any) -> Sequence[Any]:
        return run(self.jaxpr, args)

    def linearize(self, active: Any, *primals: Any) -> Any:
        parts = self.jaxpr.memo(divide, tuple(active), self.policy)
        outs = call(parts.forward)(*primals)
        count = len(self.jaxpr.outputs)
        saved = outs[count:]

        def push(*tangents: Any) -> Any:
            given = [t for t in tangents if t is not None]
            again = call(parts.backward, self.prevent_cse)
            moved = iter(again(*primals, *saved, *given))
            return [next(moved) if m else None for m in parts.moving]

        return outs[:count], push

    def transpose(self, cotangents: Any, *args: Any) -> Any:
        return backward(self.jaxpr, args, cotangents)

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
        return ctx.inline(self.jaxpr, operands)


@dataclass(frozen=True)
class Divided:
    """A checkpointed program in two parts.

    ``forward`` gives the outputs and what is saved; ``backward`` takes the inputs, what
    was saved and the tangents of the active inputs, and gives those of the moving
    outputs.
    """

    forward: Jaxpr
    backward: Jaxpr
    moving: tuple[bool, ...]


def divide(jaxpr: Jaxpr, active: tuple[bool, ...], policy: Policy) -> Divided:
    """The two prunes of a program (memoise on the program)."""
    if policy is not checkpoint_policies.nothing_saveable:
        jaxpr = jaxpr.memo(calls_opened)
    split = jaxpr.memo(linearize_jaxpr, active)
    primal, count = split.primal, len(jaxpr.outputs)
    residuals = _residual_atoms(split)
    needed = needed_equations(primal.equations, residuals)
    saved = [
        v
        for e in needed
        if policy(e.op, *[a.type for a in e.inputs], **e.op.parameters)
        for v in e.outputs
    ]
    outputs = [*primal.outputs[:count], *saved]
    forward = Jaxpr(
        primal.inputs, needed_equations(primal.equations, outputs), outputs, jaxpr.name
    )
    again = Jaxpr(
        (*primal.inputs, *saved),
        needed_equations(primal.equations, residuals, saved),
        residuals,
        f"{jaxpr.name}_again",
    ).memo(silent)
    known = len(again.inputs)

    def recompute_and_move(*values: Any) -> list[Any]:
        return run(split.linear, [*run(again, values[:known]), *values[known:]])

    tangent_types = split.linear.in_types[len(residuals) :]
    staged = stage(
        recompute_and_move,
        [*again.in_types, *tangent_types],
        f"{jaxpr.name}_recomputed",
    )
    assert not staged.captured, "a jaxpr is closed"
    return Divided(forward, staged.jaxpr, split.moving)


def calls_opened(jaxpr: Jaxpr) -> Jaxpr:
    """The program with the programs that it calls written into it, where a policy sees
    their operations.
    """
    equations: list[Equation] = []

    def write(program: Jaxpr, atoms: Sequence[Any]) -> list[Any]:
        env = dict(zip(program.inputs, atoms, strict=True))
        for e in program.equations:
            operands = read(env, e.inputs)
            if isinstance(e.op, Call) and not e.op.separate:
                outs = write(e.op.jaxpr, operands)
            else:
                outs = [Var(v.type) for v in e.outputs]
                equations.append(Equation(e.op, operands, outs, e.line))
            env.update(zip(e.outputs, outs, strict=True))
        return read(env, program.outputs)

    outputs = write(jaxpr, jaxpr.inputs)
    return Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)


def _residual_atoms(split: LinearizedJaxpr) -> list[Any]:
    """The residuals as variables of the primal program."""
    primal = split.primal
    return [
        primal.inputs[i] if i >= 0 else primal.outputs[~i]
        for i in split.residual_places
    ]


@operation
class Name(Primitive):
    """The operand itself, under a name that checkpoint policies can refer to."""

    label: str

    @property
    def parameters(self) -> dict[str, Any]:
        return {"name": self.label}

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        return (x,)

    def on_host(self, x: Any) -> Any:
        return x

    def differential(self, out: Any, x: Any) -> Any:
        return [self]

    def transpose(self, cotangents: Any, x: Any) -> Any:
        return [cotangents[0]]

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return (self(*args),), dims

    def lower(self, ctx: Any, x: Any) -> Any:
        return x


def checkpoint_name(x: Any, name: str) -> Any:
    """``x``, under a name that the policies ``save_only_these_names`` … refer to.

    >>> import covector as cv
    >>> float(checkpoint_name(cv.numpy.float32(2), "activations"))
    2.0
    """
    return tree.map(Name(name), x)


class checkpoint_policies:
    """What a checkpointed function keeps for its derivative, besides its inputs.

    A policy is a function of an operation, the types of its operands and its
    parameters; these are the usual ones, and functions that make them.
    """

    @staticmethod
    def everything_saveable(*_: Any, **__: Any) -> bool:
        """Keep everything: no recomputation."""
        return True

    @staticmethod
    def nothing_saveable(*_: Any, **__: Any) -> bool:
        """Keep nothing but the inputs."""
        return False

    @staticmethod
    def dots_saveable(op: Any, *_: Any, **__: Any) -> bool:
        """Keep the results of matrix products."""
        return op.name in ("dot_general", "conv_general_dilated")

    checkpoint_dots = dots_saveable

    @staticmethod
    def dots_with_no_batch_dims_saveable(op: Any, *_: Any, **parameters: Any) -> bool:
        """Keep the results of matrix products that are not batched, as those of
        weights.
        """
        if op.name != "dot_general":
            return False
        _, (lhs_batch, rhs_batch) = parameters["dimension_numbers"]
        return not lhs_batch and not rhs_batch

    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Keep what ``checkpoint_name`` gave one of these names."""
        return _NamePolicy(frozenset(names), inside=True)

    @staticmethod
    def save_any_names_but_these(*names: str) -> Policy:
        """Keep what ``checkpoint_name`` gave any other name."""
        return _NamePolicy(frozenset(names), inside=False)

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        """Keep everything but what has one of these names."""
        return _EitherPolicy((_unnamed, _NamePolicy(frozenset(names), inside=False)))

    @staticmethod
    def save_from_both_policies(first: Policy, second: Policy) -> Policy:
        """Keep what either policy keeps."""
        return _EitherPolicy((first, second))

    @staticmethod
    def save_and_offload_only_these_names(
        *,
        names_which_can_be_saved: Sequence[str],
        names_which_can_be_offloaded: Sequence[str],
        offload_src: str,
        offload_dst: str,
    ) -> Policy:
        """Keep both lists of names; on devices without a second memory in place."""
        return _NamePolicy(
            frozenset([*names_which_can_be_saved, *names_which_can_be_offloaded]), True
        )

    @staticmethod
    def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
        """Keep unbatched matrix products; in place if there is no other memory."""
        return checkpoint_policies.dots_with_no_batch_dims_saveable


@dataclass(frozen=True)
class _NamePolicy:
    names: frozenset[str]
    inside: bool

    def __call__(self, op: Any, *_: Any, **__: Any) -> bool:
        return isinstance(op, Name) and (op.label in self.names) == self.inside


@dataclass(frozen=True)
class _EitherPolicy:
    policies: tuple[Policy, ...]

    def __call__(self, op: Any, *types: Any, **parameters: Any) -> bool:
        return any([bool(p(op, *types, **parameters)) for p in self.policies])


def _unnamed(op: Any, *_: Any, **__: Any) -> bool:
    return not isinstance(op, Name)


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
