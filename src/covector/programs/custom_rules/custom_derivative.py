"""``custom_jvp`` and ``custom_vjp``: functions with derivative rules of users.

Here trees become flat: the rules are called with what users expect, what they return is
checked, and the flat ones go into a ``CustomCall``.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from covector import tree
from covector.core.annotations import Tangents, Untyped, Value
from covector.core.array_like import Array
from covector.core.flat import (
    FlatFunction,
    arrays,
    bind_arguments,
    check_functions,
    describe,
    hide,
    who_of,
    with_fixed,
)
from covector.core.masks import merge, present, present_mask, scatter, select
from covector.core.source import take_names
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.errors import (
    DTypeError,
    NotDifferentiable,
    TreeMismatch,
    TypeMismatch,
    how_many,
)
from covector.programs.custom_rules.captured_tracers import (
    SubstitutionTrace,
    call_with_captured,
)
from covector.programs.custom_rules.custom_call import CustomCall
from covector.programs.custom_rules.derivative_checks import (
    SymbolicZero,
    absent,
    called,
    checked,
    nondiff_indices,
    pair,
)
from covector.programs.custom_rules.linear_call import LinearCall
from covector.programs.custom_rules.ruled_program import Rule
from covector.transforms.linearize import SplitTrace
from covector.transforms.transpose import instantiate
from covector.tree.registry import PyTreeDef

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R")


class CustomFunction(Generic[P, R]):
    """A function with a rule for forward mode, one for reverse mode, or both."""

    fun: Callable[..., Any]
    #: the rules, as they were given
    jvp: Callable[..., Any] | None = None
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    #: whether each gets ``SymbolicZero`` for what is zero
    symbolic_zeros: bool = False
    symbolic_zeros_in_reverse: bool = False

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        who_of(type(self).__name__, fun)
        take_names(self, fun)
        self.fun: Callable[..., Any] = fun
        self.nondiff_argnums: tuple[int, ...] = nondiff_indices(
            fun, nondiff_argnums, nondiff_argnames
        )

    def defjvp(
        self, jvp: Callable[..., Any], symbolic_zeros: bool = False
    ) -> Callable[..., Any]:
        """Set the rule ``jvp(*nondiff, primals, tangents) → (value, tangent)``.

        Primals and tangents are tuples. With ``symbolic_zeros``, a tangent that is zero
        is a ``SymbolicZero`` and no array; such may be returned, too.
        """
        check_functions("defjvp", jvp=jvp)
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule per argument: ``jvp(tangent, value, *primals)``; None for zero."""
        given = enumerate(jvps)
        check_functions("defjvps", **{f"jvps[{k}]": f for k, f in given if f})
        function = cast(Callable[..., Any], self)

        def rule(primals: Any, tangents: Any) -> Any:
            value = function(*primals)
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

        self.jvp, self.symbolic_zeros = rule, False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rule ``fwd(*args) → (value, residuals)`` and ``bwd(*nondiff,
        residuals, cotangent) → tuple of cotangents``.

        Args:
          symbolic_zeros: ``fwd`` gets a ``CustomVJPPrimal`` (value, perturbed) for each
            array, and ``bwd`` a ``SymbolicZero`` for each cotangent that is zero.
          optimize_remat: accepted, and needs not be asked for: what ``fwd`` computes
            are ordinary operations, so a first pass under ``checkpoint``, which keeps
            no residuals, does not compute what only residuals need.
        """
        del optimize_remat
        check_functions("defvjp", fwd=fwd, bwd=bwd)
        self.fwd, self.bwd, self.symbolic_zeros_in_reverse = fwd, bwd, symbolic_zeros

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        who = who_of(type(self).__name__, self.fun)
        if self.jvp is None and self.fwd is None:
            name = called(self.fun)
            raise NotDifferentiable(
                f"{who} has no rule yet. Give it one with @{name}.defjvp, or with "
                f"{name}.defvjp(fwd, bwd), before calling it."
            )
        bound = bind_arguments(self.fun, args, kwargs)
        indices = self.nondiff_argnums
        if indices and indices[-1] >= len(bound):
            raise TypeMismatch(
                f"{who} has nondiff_argnums {', '.join(map(str, indices))}, but the "
                f"call has {how_many(len(bound), 'positional argument')}."
            )
        fixed = {i: bound[i] for i in indices}
        given = [a for i, a in enumerate(bound) if i not in fixed] if fixed else bound
        fun, fwd = self.fun, self.fwd
        if fixed:
            fun, fwd = with_fixed(fun, fixed), fwd and with_fixed(fwd, fixed)
        given, (fun, fwd, jvp) = hide(tuple(given), fun, fwd, self.jvp)
        leaves, in_tree = tree.flatten((given, {}))
        flat = FlatFunction(fun, in_tree, who)
        nondiff = tuple(fixed.values())
        jvp = jvp and _flat_jvp(self, jvp, nondiff, flat)
        vjp = fwd and _flat_vjp(self, fwd, nondiff, flat, jvp)
        outs = call_with_captured(
            CustomCall(flat, jvp, vjp, who), _operands(leaves, who)
        )
        return flat.out_tree.unflatten(outs)

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload  # of unknown parameters: mypy loses them in functools.partial
    def __get__(
        self: "CustomFunction[[Untyped, Untyped, Untyped, Untyped], R]",
        instance: object,
        owner: Any = None,
    ) -> "Callable[..., R]": ...
    @overload
    def __get__(
        self: "CustomFunction[Concatenate[Any, Rest], R]",
        instance: object,
        owner: Any = None,
    ) -> "Callable[Rest, R]": ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)


class custom_jvp(CustomFunction[P, R]):
    """A function whose derivative is given by a rule.

    Use it where the derivative of the formula overflows, is undefined at a point, or
    can be found with less work. The rule, set with ``defjvp``, takes the primals and
    the tangents as tuples and returns the value and its tangent, which must be linear
    in the tangents. It serves forward and reverse mode, and can itself be
    differentiated. With ``defvjp`` as well, reverse mode takes that: see
    ``custom_vjp``.

    Args:
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated, such as
        functions; the rule takes them first.

    Raises:
      NotDifferentiable: when it is called, if there is no rule.

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

    See also: ``custom_vjp``, ``covector.lax.custom_root``,
    ``covector.lax.stop_gradient``.
    """


class custom_vjp(CustomFunction[P, R]):
    """A function whose reverse-mode derivative is given by two functions.

    Set with ``defvjp(fwd, bwd)``: ``fwd`` takes the arguments and returns the value and
    residuals (any tree); ``bwd(residuals, cotangent)`` returns a tuple with one
    cotangent per argument, None for zero. With one argument it is ``(cotangent,)``.

    Forward mode (jvp, jacfwd, what linearize gives) needs a rule of its own, set with
    ``defjvp`` as for ``custom_jvp``. Then each mode takes its own rule: in a derivative
    of a derivative, forward over reverse runs ``fwd`` and ``bwd`` in forward mode, and
    reverse over forward differentiates the rule of ``defjvp`` in reverse.

    Args:
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated; ``fwd``
        takes them at their positions, ``bwd`` before the residuals.

    Raises:
      NotDifferentiable: there is no rule, or none for forward mode where that is run.
      TreeMismatch: ``bwd`` does not return a cotangent for each argument.

    >>> import covector as cv, covector.numpy as cnp
    >>> @cv.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (cnp.minimum(ct, 1.0),))
    >>> float(cv.grad(lambda x: 5 * clipped(x))(2.0))
    1.0

    See also: ``custom_jvp``, whose one rule serves both modes; ``custom_gradient``.
    """


def _operands(leaves: Sequence[Any], who: str) -> list[Array]:
    try:
        return arrays(leaves, who)
    except DTypeError as error:
        raise DTypeError(
            f"{error!s} If it is not to be differentiated, name the argument "
            "in nondiff_argnums or nondiff_argnames."
        ) from None


def _flat_jvp(
    custom: CustomFunction, jvp: Callable[..., Any], nondiff: tuple, flat: FlatFunction
) -> Rule:
    in_tree, who = flat.in_tree, f"the rule of {flat.who}"
    symbolic = custom.symbolic_zeros

    def rule(primals: Sequence[Value], tangents: Sequence[Value]) -> Any:
        filled = [
            absent(p.type, symbolic) if t is None else t
            for p, t in zip(primals, tangents, strict=True)
        ]
        given, _ = in_tree.unflatten(primals)
        tangents, _ = in_tree.unflatten(filled)
        value, tangent = pair(jvp(*nondiff, given, tangents), who, "(value, tangent)")
        outs, flat.out_tree = tree.flatten(value)
        outs = arrays(outs, who)
        tangents, found = tree.flatten(tangent)
        if found != flat.out_tree:
            raise TreeMismatch(
                f"{who} must return a tangent with the structure of the value, "
                f"{flat.out_tree}, but it returned {found}."
            )
        return outs, checked(tangents, [o.type for o in outs], who, "tangent")

    return rule


@dataclass(frozen=True, slots=True)
class CustomVJPPrimal:
    """A primal handed to ``fwd`` under ``symbolic_zeros``: its value, and whether it
    is differentiated. One leaf of a pytree.
    """

    value: Any
    perturbed: bool


def _flat_vjp(
    custom: CustomFunction,
    fwd: Callable[..., Any],
    nondiff: tuple,
    flat: FlatFunction,
    jvp: Rule | None,
) -> Rule:
    """``fwd``, and the tangents as a linear map whose transpose is ``bwd``."""
    in_tree, who = flat.in_tree, f"the forward rule of {flat.who}"
    bwd, symbolic = custom.bwd, custom.symbolic_zeros_in_reverse
    assert bwd is not None, "set with fwd"

    def rule(primals: Sequence[Value], tangents: Tangents) -> Any:
        active = present_mask(tangents)
        values = map(CustomVJPPrimal, primals, active) if symbolic else primals
        given, _ = in_tree.unflatten(values)
        value, kept = pair(_without_tangents(fwd, given), who, "(value, residuals)")
        leaves, out_tree = tree.flatten(value)
        outs, flat.out_tree = arrays(leaves, who), out_tree
        residuals, refilled = _split_arrays(kept)
        if True not in active:  # what a function closes over is differentiated
            return outs, [None] * len(outs)
        in_types, out_types = [p.type for p in primals], [o.type for o in outs]

        def pull(residuals: Sequence[Any], cts: Sequence[Value | None]) -> list[Any]:
            pairs = zip(scatter(cts, nonzero), out_types, strict=True)
            filled = [absent(t, symbolic) if ct is None else ct for ct, t in pairs]
            held = refilled(residuals[:count])
            cts_in = bwd(*nondiff, held, out_tree.unflatten(filled))
            return select(_cotangents(cts_in, in_tree, in_types, flat.who), active)

        def push(residuals: Sequence[Any], tangents: Sequence[Value]) -> Sequence[Any]:
            assert jvp is not None, "without it there is no push"
            _, found = jvp(residuals[count:], scatter(tangents, active))
            return list(map(instantiate, select(found, nonzero), types))

        nonzero = [t.inexact for t in out_types]
        types = tuple([t.strong() for t in out_types if t.inexact])
        count = len(residuals)
        if jvp is not None:
            residuals = [*residuals, *primals]
        op = LinearCall(push if jvp else None, pull, len(residuals), types, flat.who)
        operands = [*residuals, *present(tangents)]
        closes = isinstance(current.trace, SubstitutionTrace)
        out_tangents = call_with_captured(op, operands) if closes else op(*operands)
        return outs, scatter(out_tangents, nonzero)

    return rule


def _without_tangents(fwd: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The result of ``fwd``, run where no tangent is: in a split, beside them."""
    trace = current.trace
    if type(trace) is not SplitTrace:
        return fwd(*args)
    current.trace = trace.parent
    try:
        return fwd(*args)
    finally:
        current.trace = trace


def _split_arrays(kept: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The arrays of a tree, and the function from arrays to the tree; other leaves stay
    as they are.
    """
    leaves, treedef = tree.flatten(kept)
    mask = [isinstance(x, Array) for x in leaves]
    static = [None if m else x for x, m in zip(leaves, mask, strict=True)]

    def refilled(held: Sequence[Any]) -> Any:
        return treedef.unflatten(merge(held, mask, static))

    return select(leaves, mask), refilled


def _cotangents(
    cts_in: Any, in_tree: PyTreeDef, in_types: Sequence[ArrayType], who: str
) -> list[Array]:
    """The checked cotangent of each leaf of the arguments, from ``bwd``."""
    arguments = in_tree.children()[0]
    count = len(arguments.children())
    if not isinstance(cts_in, tuple | list) or len(cts_in) != count:
        raise TreeMismatch(
            f"the backward rule of {who} must return a tuple with one cotangent per "
            f"argument ({count}), but it returned {describe(cts_in)}."
        )
    found = tree.flatten_prefix(
        tuple(cts_in),
        arguments,
        f"the cotangents from the backward rule of {who}",
        of="the arguments",
        is_leaf=lambda x: x is None or isinstance(x, SymbolicZero),
    )
    return checked(found, in_types, f"the backward rule of {who}", "cotangent")


def custom_vjp_primal_tree_values(primals: Any) -> Any:
    """The values in a tree of ``CustomVJPPrimal``, as ``fwd`` gets with
    ``symbolic_zeros``.

    >>> custom_vjp_primal_tree_values([CustomVJPPrimal(1.0, True), 2.0])
    [1.0, 2.0]
    """

    def is_pair(x: Any) -> bool:
        return isinstance(x, CustomVJPPrimal)

    return tree.map(lambda x: x.value if is_pair(x) else x, primals, is_leaf=is_pair)
