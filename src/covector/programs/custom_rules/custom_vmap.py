"""``custom_vmap``: a function with a batching rule of its own.

``CustomVmap`` is an operation that carries the function, traced, and the rule. A
batch asks the rule. Its derivative is again such an operation: the rule of the
derivative is the derivative of the rule. Reverse mode transposes the program of that.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from types import MethodType
from typing import Any

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
from covector.core.flat import (
    FlatFunction,
    arrays,
    bind_arguments,
    check_functions,
    who_of,
)
from covector.core.jaxpr import Jaxpr, needed_equations, run
from covector.core.masks import merge, present_mask, scatter, select
from covector.core.primitive import operation
from covector.core.source import function_name, take_names
from covector.core.staging import restage, stage
from covector.core.trace import Trace, current
from covector.core.types import ArrayType
from covector.errors import MissingRule, TreeMismatch, TypeMismatch
from covector.lowering.evaluate import base
from covector.operations.broadcasting import batched, in_front
from covector.programs.control_flow.control_flow_api import Loop, ScanSpec
from covector.programs.custom_rules.captured_tracers import (
    CapturedTracers,
    batched_error,
    traced_values,
)
from covector.programs.custom_rules.derivative_checks import called, pair
from covector.programs.custom_rules.ruled_program import Rule, RuledProgram, halves
from covector.programs.higher_order.call import call
from covector.transforms.batch import batch_jaxpr, front_dims
from covector.transforms.derivatives import instantiate_tangent
from covector.transforms.linearize import linearize_flat


@operation
class CustomVmap(RuledProgram):
    """Run ``jaxpr``; over a batch, ``rule``.

    That takes operands, which of them are batched, in front, and the size of the batch.
    It gives results, and which of them are batched.
    """

    name = "custom_vmap_call"

    jaxpr: Jaxpr
    rule: Rule
    who: str

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        mask = present_mask(dims)
        outs, batched_outs = self.rule(in_front(args, dims), mask, size)
        return outs, list(front_dims(batched_outs))

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        """The rule, which has the whole batch at hand; the function where all share its
        arguments.
        """
        if any(present_mask(dims)):
            return self.batch(size, args, dims)
        program, out_dims = self.jaxpr.memo(batch_jaxpr, size, tuple(dims), None, axis)
        return call(program)(*args), out_dims

    def differentiate(
        self, parent: Trace, tangent_trace: Trace, primals: Values, tangents: Tangents
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        current.trace = parent
        outs = self(*primals)
        active = present_mask(tangents)
        program = self.jaxpr.memo(pushed_jaxpr, active)
        op = CustomVmap(program, _pushed_rule(self.rule, active), self.who)
        current.trace = tangent_trace
        out_tangents = iter(op(*primals, *[t for t in tangents if t is not None]))
        return outs, [next(out_tangents) if o.type.inexact else None for o in outs]

    def adapted(self, fun: Jaxpr, adapt: Callable[[Rule], Rule]) -> "CustomVmap":
        return CustomVmap(fun, adapt(self.rule), self.who)

    def with_further(self, fun: Jaxpr, further: Jaxpr) -> "CustomVmap":
        """Further results are all batched."""

        def appended(values: Sequence[Any], mask: Sequence[bool], size: int) -> Any:
            outs, out_mask = self.rule(values, mask, size)
            force = (True,) * len(further.outputs)
            dims = tuple(front_dims(mask))
            program, _ = further.memo(batch_jaxpr, size, dims, force)
            return [*outs, *run(program, values)], [*out_mask, *force]

        return CustomVmap(fun, appended, self.who)


def pushed_jaxpr(jaxpr: Jaxpr, active: tuple[bool, ...]) -> Jaxpr:
    """From primals and active tangents to the tangents of all differentiable results
    (memoise on the program). It is linear in the tangents, and so can be transposed.
    """
    given = [t.strong() for t, a in zip(jaxpr.in_types, active, strict=True) if a]

    def flat(*values: Value) -> list[Any]:
        return _pushed(lambda *xs: run(jaxpr, xs), active, values)

    made = restage(flat, [*jaxpr.in_types, *given], f"{jaxpr.name}_pushed")
    needed = needed_equations(made.equations, made.outputs)
    return Jaxpr(made.inputs, needed, made.outputs, made.name)


def _pushed(
    fun: Callable[..., Any], active: Sequence[bool], values: Sequence[Any]
) -> list[Any]:
    """The tangents of a flat function, of its differentiable results.

    By linearization, so that rules for reverse mode are there when this is transposed.
    """
    n = len(active)
    outs, linear = linearize_flat(fun, values[:n], active)
    out_tangents = scatter(
        run(linear.jaxpr, [*linear.residuals, *values[n:]]), linear.nonzero
    )
    return [
        instantiate_tangent(t, o.type.strong())
        for t, o in zip(out_tangents, outs, strict=True)
        if o.type.inexact
    ]


def _pushed_rule(rule: Rule, active: Sequence[bool]) -> Rule:
    """The rule of the derivative: the derivative of the rule."""

    def over(values: Sequence[Any], mask: Sequence[bool], size: int) -> Any:
        n = len(active)
        tangent_mask = merge(mask[n:], active, [False] * n)
        # A primal and its tangent are of one type, so both are batched or neither is.
        primal_mask = [m or t for m, t in zip(mask[:n], tangent_mask, strict=True)]
        wanted = [*primal_mask, *select(primal_mask, active)]
        operands = [
            batched(size, x, None) if w and not m else x
            for x, m, w in zip(values, mask, wanted, strict=True)
        ]
        found: list[bool] = []

        def results(*xs: Any) -> Sequence[Any]:
            outs, batched_outs = rule(xs, primal_mask, size)
            pairs = zip(outs, batched_outs, strict=True)
            found[:] = [a for o, a in pairs if o.type.inexact]
            return outs

        return _pushed(results, active, operands), found

    return over


class custom_vmap:
    """A function whose ``vmap`` is given by a rule.

    The rule, set with ``def_vmap``, is called with ``(axis_size, in_batched, *args)``.
    Batched arguments have the batch axis in front; ``in_batched`` has a bool for each
    leaf of each argument. It returns ``(out, out_batched)``: the result, with the batch
    axis in front where ``out_batched`` (a bool, or a tree of them) says so.

    The derivative in forward mode is again such a function: its rule is the derivative
    of the rule. In reverse mode the function as it is written is transposed, so
    ``vmap(grad(f))`` has the gradient of that, while ``grad`` of ``vmap(f)`` has the
    gradient of the rule. For rules in both directions use ``custom_vjp``, with ``fwd``
    and ``bwd`` that call functions with batching rules.

    >>> import covector as cv, covector.numpy as cnp
    >>> @custom_vmap
    ... def shifted(x, y):
    ...     return x + y
    >>> @shifted.def_vmap
    ... def rule(axis_size, in_batched, x, y):
    ...     return x + y + 100, True
    >>> cv.vmap(shifted, in_axes=(0, None))(cnp.arange(3), 1).tolist()
    [101, 102, 103]
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_functions("custom_vmap", fun=fun)
        take_names(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule ``(axis_size, in_batched, *args) → (out, out_batched)``."""
        check_functions("def_vmap", vmap_rule=vmap_rule)
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        who = who_of("custom_vmap", self.fun)
        leaves, in_tree = tree.flatten((bind_arguments(self.fun, args, kwargs), {}))
        leaves = arrays(leaves, who)
        flat = FlatFunction(self.fun, in_tree, who)
        outs = flat(*leaves) if current.trace is base else self._apply(flat, leaves)
        return flat.out_tree.unflatten(outs)

    def _apply(self, flat: FlatFunction, leaves: Sequence[Value]) -> Sequence[Array]:
        """The operation, on what the function and the rule close over, and leaves."""
        over = CapturedTracers(traced_values([self.fun, self.vmap_rule]), flat.who)
        m = len(over.captured)

        def fun(*values: Value) -> list[Array]:
            return over.run(lambda: flat(*values[m:]), values[:m])

        operands = [*over.captured, *leaves]
        staged = stage(fun, [x.type for x in operands], flat.who)
        known, types = len(staged.captured), staged.jaxpr.out_types

        def rule(values: Values, mask: Sequence[bool], size: int) -> Any:
            values, mask = values[known:], mask[known:]

            def flat_rule() -> Iterable[Any]:
                return chain(*self._run_rule(values[m:], mask[m:], size, flat, types))

            captured = over.refuse(values[:m], mask[:m], batched_error)
            return halves(over.run(flat_rule, captured))

        op = CustomVmap(staged.jaxpr, rule, flat.who)
        return op(*staged.captured, *operands)

    def _run_rule(
        self,
        values: Values,
        mask: Sequence[bool],
        size: int,
        flat: FlatFunction,
        types: Sequence[ArrayType],
    ) -> tuple[list[Any], list[bool]]:
        """The rule as ``CustomVmap`` calls it, with checks of what it returns."""
        who = f"the batching rule of {flat.who}"
        if self.vmap_rule is None:
            raise MissingRule(
                f"{flat.who} has no batching rule yet. Give it one with "
                f"@{called(self.fun)}.def_vmap before it is called under vmap."
            )
        args, _ = flat.in_tree.unflatten(values)
        in_batched, _ = flat.in_tree.unflatten(mask)
        found = self.vmap_rule(size, list(in_batched), *args)
        out, out_batched = pair(found, who, "(out, out_batched)")
        outs, out_tree = tree.flatten(out)
        if out_tree != flat.out_tree:
            raise TreeMismatch(
                f"{who} must return a result with the structure of that of the "
                f"function, {flat.out_tree}, but it returned {out_tree}."
            )
        out_mask = tree.flatten_prefix(
            out_batched, out_tree, f"out_batched from {who}", of="the result"
        )
        outs = arrays(outs, flat.who)
        for i, (x, is_batched) in enumerate(zip(outs, out_mask, strict=True)):
            path = tree.keystr(tree.leaf_path(out_tree, i))
            _check_result(f"the result{path}", who, x, is_batched, types[i], size)
        return outs, out_mask

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def _check_result(
    which: str, who: str, x: Any, is_batched: Any, one: ArrayType, size: int
) -> None:
    if not isinstance(is_batched, bool):
        raise TypeMismatch(
            f"out_batched from {who} holds bools, but it has {is_batched!r} for "
            f"{which}."
        )
    wanted = one.with_axis(0, size) if is_batched else one
    if (x.type.shape, x.type.dtype) != (wanted.shape, wanted.dtype):
        batch = f"batched over {size}" if is_batched else "the same for the whole batch"
        raise TypeMismatch(
            f"{who} says that {which} is {batch}, which is {wanted.strong()}, but it "
            f"returned {x.type.strong()}."
        )


def sequential_vmap(fun: Callable[..., Any]) -> custom_vmap:
    """``fun``, which ``vmap`` runs on one lane of the batch after the other.

    For functions that could not be run on a batch at once, or should not, for the
    memory that this takes.

    >>> import covector as cv, covector.numpy as cnp
    >>> cv.vmap(sequential_vmap(lambda x: x + 1))(cnp.arange(3)).tolist()
    [1, 2, 3]
    """
    sequential = custom_vmap(fun)
    loop = Loop(who_of("sequential_vmap", fun), function_name(fun))

    @sequential.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, bool]:
        leaves, in_tree = tree.flatten(args)
        mask = tree.leaves(tuple(in_batched))
        mapped = select(leaves, mask)

        def lane(_: Any, values: Sequence[Any]) -> tuple[tuple, Any]:
            args = in_tree.unflatten(merge(values, mask, leaves))
            return (), sequential(*args)

        return loop.scan(lane, (), mapped, ScanSpec(axis_size))[1], True

    return sequential
