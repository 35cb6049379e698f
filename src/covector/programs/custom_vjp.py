"""``custom_vjp``: a function whose reverse-mode derivative is given by two functions.

    fwd(*primals)                value and residuals, where it is differentiated
    bwd(residuals, cotangent)    cotangents of the primals

``CustomVJP`` is an ordinary operation whose fields are functions. Differentiating it
runs ``fwd`` and leaves one linear operation, ``PullBack``, whose adjoint is ``bwd``.
That one can
be transposed and batched but not run forwards: there is no rule for it.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector import tree
from covector.core.array_like import Array
from covector.core.flat import FlatFunction, arrays, bind_arguments, describe, who_of
from covector.core.jaxpr import Jaxpr
from covector.core.primitive import operation
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.errors import NotDifferentiable, TreeMismatch, TypeMismatch
from covector.ops.broadcasting import batched, zeros
from covector.programs.closures import (
    Written,
    being_written,
    call_custom,
    holds_tracer,
    refuse_captured,
)
from covector.programs.custom_call import CustomCall
from covector.programs.pull_back import PullBack, batched_bwd
from covector.programs.rules import (
    SymbolicZero,
    absent,
    checked,
    nondiff_places,
    over_batch,
    same_results,
    set_apart,
)
from covector.transforms.batch import batch_flat
from covector.transforms.linearize import moves


class Forward(NamedTuple):
    """What ``fwd`` gave: values, array residuals, and how to call ``bwd`` with them."""

    outs: Sequence[Any]
    residuals: list[Any]
    #: (residuals, cotangents with None for zero) → cotangents with None for zero
    bwd: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


@operation
class CustomVJP(CustomCall):
    """Run ``fun``; differentiate by ``fwd``. ``jaxpr`` is ``fun`` once written down."""

    name = "custom_vjp_call"

    fun: Callable[..., Sequence[Any]]
    fwd: Callable[[Sequence[Any], Sequence[bool]], Forward]
    who: str
    jaxpr: Jaxpr | None = None
    still: int = 0

    def closed_rule(self, fwd: Any, n: int, m: int, jaxpr: Jaxpr) -> Any:
        def fwd_on_all(primals: Any, active: Any) -> Forward:
            refuse_captured(
                [p if a else None for p, a in zip(primals[:m], active, strict=False)],
                self.who,
            )
            made = fwd(primals[n:m], primals[m:], active[m:])
            same_results(made.outs, jaxpr.out_types, f"the forward rule of {self.who}")
            return made._replace(
                bwd=lambda res, cts: [*[None] * m, *made.bwd(res, cts)]
            )

        return fwd_on_all

    def written_rules(self, types: Sequence[ArrayType]) -> tuple[Callable, list[Any]]:
        """``fwd`` as a function of (captured, primals, active), and what was captured.

        Rules that close over no traced value stay Python functions; others are written
        down now, both, for they share residuals.
        """
        name = f"rule of {self.who}"
        if being_written(name) or not holds_tracer(self.fwd):
            return lambda _, primals, active: self.fwd(primals, active), []
        active = [moves(t) and i >= self.still for i, t in enumerate(types)]
        made: list[Forward] = []

        def flat_fwd(*primals: Any) -> list[Any]:
            made[:] = [self.fwd(primals, active)]
            return [*made[0].outs, *made[0].residuals]

        fwd = Written(flat_fwd, types, name)
        count = len(made[0].outs)
        out_types = fwd.jaxpr.out_types[:count]
        res_types = fwd.jaxpr.out_types[count:]
        given = [moves(t) for t in out_types]
        marks: list[bool] = []

        def flat_bwd(*values: Any) -> list[Any]:
            cts = iter(values[len(res_types) :])
            leaving = made[0].bwd(
                values[: len(res_types)], [next(cts) if g else None for g in given]
            )
            marks[:] = [ct is not None for ct in leaving]
            return [ct for ct in leaving if ct is not None]

        ct_types = [t.strong() for t, g in zip(out_types, given, strict=True) if g]
        bwd = Written(flat_bwd, [*res_types, *ct_types], name)
        n = len(fwd.captured)

        def closed(captured: Any, primals: Any, _: Any) -> Forward:
            values = fwd(captured[:n], primals)
            outs, residuals = values[:count], values[count:]

            def closed_bwd(res: Any, cts: Any) -> Sequence[Any]:
                held, res = res[: len(bwd.captured)], res[len(bwd.captured) :]
                filled = [
                    zeros(t.strong()) if ct is None else ct
                    for ct, t, g in zip(cts, out_types, given, strict=True)
                    if g
                ]
                leaving = iter(bwd(held, [*res, *filled]))
                return [next(leaving) if m else None for m in marks]

            return Forward(outs, [*captured[n:], *residuals], closed_bwd)

        return closed, [*fwd.captured, *bwd.captured]

    def differentiate(
        self, parent: Any, tangent_trace: Any, primals: Any, tangents: Any
    ) -> Any:
        current.trace = parent
        active = [t is not None for t in tangents]
        made = self.fwd(primals, active)
        current.trace = tangent_trace
        out_types = tuple([o.type for o in made.outs])
        moving = [moves(t) for t in out_types]
        pull = PullBack(
            made.bwd, len(made.residuals), tuple(active), out_types, self.who
        )
        moved = iter(pull(*made.residuals, *[t for t in tangents if t is not None]))
        return made.outs, [next(moved) if m else None for m in moving]

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        over = functools.partial(over_batch, size=size, axis=axis)

        def fun(*values: Any) -> list[Any]:
            return over(self.fun, values, dims)

        def fwd(primals: Any, active: Any) -> Forward:
            made: list[Forward] = []

            def flat(*values: Any) -> list[Any]:
                made[:] = [self.fwd(values, active)]
                return [*made[0].outs, *made[0].residuals]

            values, found = batch_flat(flat, size, primals, dims, axis)
            count = len(made[0].outs)
            outs = [batched(size, x, d) for x, d in zip(values, found, strict=True)][
                :count
            ]
            bwd = batched_bwd(made[0].bwd, size, axis, found[count:], dims)
            return Forward(outs, values[count:], bwd)

        outs = CustomVJP(fun, fwd, self.who, None, self.still)(*args)
        return outs, [0] * len(outs)


class CustomVJPPrimal(NamedTuple):
    """A primal handed to ``fwd`` under ``symbolic_zeros``: its value, and whether it
    moves.
    """

    value: Any
    perturbed: bool


class custom_vjp:
    """A function whose reverse-mode derivative is given by two functions.

    Set with ``defvjp(fwd, bwd)``: ``fwd`` takes the arguments and returns the value and
    residuals (any tree); ``bwd(residuals, cotangent)`` returns a tuple with one
    cotangent per argument, None for zero.

    Args:
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated; ``fwd``
        takes them in their places, ``bwd`` before the residuals.

    >>> import covector as cv, covector.numpy as cnp
    >>> @cv.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (cnp.minimum(ct, 1.0),))
    >>> float(cv.grad(lambda x: 5 * clipped(x))(2.0))
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
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rule.

        With ``symbolic_zeros``, ``fwd`` gets ``CustomVJPPrimal`` pairs (value,
        perturbed) and ``bwd`` gets ``SymbolicZero`` for cotangents that are zero.
        """
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        who = who_of("custom_vjp", self.fun)
        if self.fwd is None or self.bwd is None:
            raise NotDifferentiable(
                f"{who} has no rule yet. Give it one with "
                f"{self.fun.__name__}.defvjp(fwd, bwd) before calling it."
            )
        args = bind_arguments(self.fun, args, kwargs)
        fixed, given, fun = set_apart(self.fun, args, self.nondiff_argnums)
        _, _, fwd = set_apart(self.fwd, args, self.nondiff_argnums)
        leaves, in_tree = tree.flatten((given, {}))
        flat = FlatFunction(fun, in_tree, who)
        flat_fwd = self._flat_fwd(fwd, fixed, in_tree, flat, who)
        outs = call_custom(CustomVJP(flat, flat_fwd, who), arrays(leaves, who))
        return flat.out_tree.unflatten(outs)

    def _flat_fwd(
        self, fwd: Any, fixed: Any, in_tree: Any, flat: FlatFunction, who: str
    ) -> Callable[[Sequence[Any], Sequence[bool]], Forward]:
        def flat_fwd(primals: Sequence[Any], active: Sequence[bool]) -> Forward:
            if self.symbolic_zeros:
                pairs = [
                    CustomVJPPrimal(p, a) for p, a in zip(primals, active, strict=True)
                ]
                given, _ = in_tree.unflatten([_Pair(p) for p in pairs])
                given = tree.map(lambda p: p.pair, given)
            else:
                given, _ = in_tree.unflatten(primals)
            out = fwd(*given)
            if not isinstance(out, tuple | list) or len(out) != 2:
                raise TypeMismatch(
                    f"the forward rule of {who} must return a pair (value, residuals), "
                    f"but it returned {describe(out)}."
                )
            outs, flat.out_tree = tree.flatten(out[0])
            outs = arrays(outs, who)
            leaves, res_tree = tree.flatten(out[1])
            # Residuals that are not arrays stay what they are: bwd gets them back as
            # given.
            kept = [isinstance(x, Array) for x in leaves]
            static = [None if k else x for x, k in zip(leaves, kept, strict=True)]
            types = [o.type for o in outs]
            in_types = [p.type for p in primals]

            def flat_bwd(res: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
                found = iter(res)
                everything = [
                    next(found) if k else x for x, k in zip(static, kept, strict=True)
                ]
                residuals = res_tree.unflatten(everything)
                return self._pull(
                    fixed,
                    residuals,
                    cts,
                    (flat.out_tree, types, in_tree, in_types),
                    who,
                )

            residuals = [x for x, k in zip(leaves, kept, strict=True) if k]
            return Forward(outs, residuals, flat_bwd)

        return flat_fwd

    def _pull(
        self, fixed: Any, residuals: Any, cts: Sequence[Any], signature: Any, who: str
    ) -> list[Any]:
        """Call the user's ``bwd`` and check what it gives."""
        assert self.bwd is not None, "checked by the call"
        out_tree, out_types, in_tree, in_types = signature
        filled = [
            absent(t, self.symbolic_zeros) if ct is None else ct
            for ct, t in zip(cts, out_types, strict=True)
        ]
        leaving = self.bwd(*fixed, residuals, out_tree.unflatten(filled))
        arguments = in_tree.children()[0]
        if not isinstance(leaving, tuple | list) or len(leaving) != len(
            arguments.children()
        ):
            raise TreeMismatch(
                f"the backward rule of {who} must return a tuple with one cotangent "
                f"per argument ({len(arguments.children())}), but it returned "
                f"{describe(leaving)}."
            )
        flat = tree.flatten_prefix(
            tuple(leaving),
            arguments,
            f"the cotangents from the backward rule of {who}",
            of="the arguments",
            is_leaf=lambda x: x is None or isinstance(x, SymbolicZero),
        )
        return [
            checked(ct, t, f"the backward rule of {who}", "cotangent")
            for ct, t in zip(flat, in_types, strict=True)
        ]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class _Pair:
    """Keeps a pair together as one leaf."""

    def __init__(self, pair: CustomVJPPrimal) -> None:
        self.pair = pair
