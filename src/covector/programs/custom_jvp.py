"""``custom_jvp``: a function with a derivative rule of its own, for both modes.

``CustomJVP`` is an ordinary operation whose fields are functions; no trace knows it.
Its rule is run on primals and tangents. In reverse mode the tangents are tracers of the
linear program, so what the rule computes from primals alone is computed at once.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from covector import tree
from covector.core.flat import FlatFunction, arrays, bind_arguments, describe, who_of
from covector.core.jaxpr import Jaxpr
from covector.core.primitive import operation
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.errors import NotDifferentiable, TreeMismatch, TypeMismatch
from covector.ops.broadcasting import zeros
from covector.programs.closures import (
    Written,
    being_written,
    call_custom,
    holds_tracer,
    refuse_captured,
)
from covector.programs.custom_call import CustomCall
from covector.programs.rules import (
    absent,
    checked,
    nondiff_places,
    over_batch,
    same_results,
    set_apart,
)
from covector.transforms.linearize import SplitTrace, moves

#: (primals, tangents) → (values, tangents), flat; absent tangents are None
FlatRule = Callable[[Sequence[Any], Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]


@operation
class CustomJVP(CustomCall):
    """Run ``fun``; differentiate by ``rule``. ``jaxpr`` is ``fun``, written down."""

    name = "custom_jvp_call"

    fun: Callable[..., Sequence[Any]]
    rule: FlatRule
    who: str
    jaxpr: Jaxpr | None = None
    still: int = 0

    def closed_rule(self, rule: Any, n: int, m: int, jaxpr: Jaxpr) -> FlatRule:
        def rule_on_all(primals: Any, tangents: Any) -> Any:
            refuse_captured(tangents[:m], self.who)
            outs, moved = rule(primals[n:m], primals[m:], tangents[m:])
            same_results(outs, jaxpr.out_types, f"the rule of {self.who}")
            return outs, moved

        return rule_on_all

    def written_rules(self, types: Sequence[ArrayType]) -> tuple[Callable, list[Any]]:
        """The rule as ``rule(captured, primals, tangents)``, and what it captured.

        A rule that closes over no traced value stays a Python function.
        """
        name = f"rule of {self.who}"
        # A rule that calls its own function must not be written down for ever.
        if being_written(name) or not holds_tracer(self.rule):
            return lambda _, primals, tangents: self.rule(primals, tangents), []
        moving = [moves(t) and i >= self.still for i, t in enumerate(types)]
        marks: list[bool] = []

        def flat(*values: Any) -> list[Any]:
            primals, given = values[: len(types)], iter(values[len(types) :])
            outs, moved = self.rule(
                primals, [next(given) if m else None for m in moving]
            )
            marks[:] = [t is not None for t in moved]
            return [*outs, *[t for t in moved if t is not None]]

        tangent_types = [t.strong() for t, m in zip(types, moving, strict=True) if m]
        written = Written(flat, [*types, *tangent_types], name)

        def rule(captured: Any, primals: Any, tangents: Any) -> Any:
            given = [
                zeros(p.type.strong()) if t is None else t
                for p, t, m in zip(primals, tangents, moving, strict=True)
                if m
            ]
            values = written(captured, [*primals, *given])
            moved = iter(values[len(marks) :])
            return values[: len(marks)], [next(moved) if m else None for m in marks]

        return rule, written.captured

    def differentiate(
        self, parent: Any, tangent_trace: Any, primals: Any, tangents: Any
    ) -> Any:
        together = tangent_trace is parent
        current.trace = parent if together else SplitTrace(parent, tangent_trace)
        return self.rule(primals, tangents)

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        over = functools.partial(over_batch, size=size, axis=axis)

        def fun(*values: Any) -> list[Any]:
            return over(self.fun, values, dims)

        def rule(primals: Any, tangents: Any) -> Any:
            given = [t is not None for t in tangents]
            marks: list[bool] = []

            def flat(*values: Any) -> list[Any]:
                ts = iter(values[len(primals) :])
                outs, moved = self.rule(
                    values[: len(primals)], [next(ts) if g else None for g in given]
                )
                marks[:] = [t is not None for t in moved]
                return [*outs, *[t for t in moved if t is not None]]

            present = [t for t in tangents if t is not None]
            tangent_dims = [d for d, g in zip(dims, given, strict=True) if g]
            values = over(flat, [*primals, *present], [*dims, *tangent_dims])
            moved = iter(values[len(marks) :])
            return values[: len(marks)], [next(moved) if m else None for m in marks]

        outs = CustomJVP(fun, rule, self.who, None, self.still)(*args)
        return outs, [0] * len(outs)


class custom_jvp:
    """A function whose derivative is given by a rule.

    The rule, set with ``defjvp``, takes the primals and the tangents as tuples and
    returns the value and its tangent, which must be linear in the tangents. It serves
    forward and reverse mode, and can itself be differentiated.

    Args:
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated; the rule
        takes them first.

    >>> import covector as cv, covector.numpy as cnp
    >>> @cv.custom_jvp
    ... def log1pexp(x):
    ...     return cnp.log(1 + cnp.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return log1pexp(x), dx * (1 - 1 / (1 + cnp.exp(x)))
    >>> float(cv.grad(log1pexp)(100.0))
    1.0
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = nondiff_places(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Any:
        """Set the rule: ``jvp(*nondiff, primals, tangents) → (value, tangent)``."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule per argument: ``jvp(tangent, value, *primals)``; None for zero."""

        def rule(primals: Any, tangents: Any) -> Any:
            value = self(*primals)
            parts = [
                jvp(t, value, *primals)
                for jvp, t in zip(jvps, tangents, strict=True)
                if jvp is not None
            ]
            if not parts:
                return value, tree.map(lambda v: absent(v.type, False), value)
            total = functools.reduce(
                lambda a, b: tree.map(lambda x, y: x + y, a, b), parts
            )
            return value, total

        self.jvp = rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise NotDifferentiable(
                f"{who_of('custom_jvp', self.fun)} has no rule yet. Give it one with "
                f"@{self.fun.__name__}.defjvp before calling it."
            )
        who = who_of("custom_jvp", self.fun)
        args = bind_arguments(self.fun, args, kwargs)
        fixed, given, fun = set_apart(self.fun, args, self.nondiff_argnums)
        leaves, in_tree = tree.flatten((given, {}))
        flat = FlatFunction(fun, in_tree, who)
        rule = self._flat_rule(fixed, in_tree, flat, who)
        outs = call_custom(CustomJVP(flat, rule, who), arrays(leaves, who))
        return flat.out_tree.unflatten(outs)

    def _flat_rule(
        self, fixed: Any, in_tree: Any, flat: FlatFunction, who: str
    ) -> FlatRule:
        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            assert self.jvp is not None, "checked by the call"
            filled = [
                absent(p.type, self.symbolic_zeros) if t is None else t
                for p, t in zip(primals, tangents, strict=True)
            ]
            given, _ = in_tree.unflatten(primals)
            moved, _ = in_tree.unflatten(filled)
            out = self.jvp(*fixed, given, moved)
            if not isinstance(out, tuple | list) or len(out) != 2:
                raise TypeMismatch(
                    f"the rule of {who} must return a pair (value, tangent), but it "
                    f"returned {describe(out)}."
                )
            outs, flat.out_tree = tree.flatten(out[0])
            outs = arrays(outs, who)
            ts, t_tree = tree.flatten(out[1])
            if t_tree != flat.out_tree:
                raise TreeMismatch(
                    f"the rule of {who} must return a tangent with the structure of "
                    f"the value, {flat.out_tree}, but it returned {t_tree}."
                )
            return outs, [
                checked(t, o.type, f"the rule of {who}", "tangent")
                for t, o in zip(ts, outs, strict=True)
            ]

        return rule

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)
