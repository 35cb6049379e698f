"""``jacobian``: forward, reverse, or mixed by blocks, whichever costs least.

A column of a Jacobian is one push of a unit tangent (forward), a row one pull of a unit
cotangent (reverse); all of them at once are one batch. ``jacobian`` looks at the linear
program of the function: which result depends on which argument, and how large each is.
Each block (result, argument) must be covered either by pushing that argument or by
pulling that result; the cheapest cover wins, and it may be a mixture.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec

from covector import tree
from covector.core import dtypes
from covector.core.annotations import PyTree
from covector.core.flat import FlatFunction, arrays, who_of
from covector.core.jaxpr import Var, run
from covector.core.primitive import Linear
from covector.core.types import ArrayType, show_types
from covector.errors import NotDifferentiable
from covector.ops.broadcasting import batched, move_axis, zeros
from covector.ops.casting import convert
from covector.ops.comparison import eq
from covector.ops.creation import Iota
from covector.ops.slicing import Slice
from covector.ops.transposing import Reshape
from covector.transforms.batch import batch_flat
from covector.transforms.checks import Argnums, check_differentiable
from covector.transforms.derivatives import as_argnums, choose_arguments
from covector.transforms.linearize import Linearization, linearize_flat
from covector.transforms.transpose import backward

P = ParamSpec("P")

#: leaves up to which all covers are tried
_MOST_LEAVES = 12


class JacobianPlan(NamedTuple):
    """The plan by which a Jacobian is computed.

    ``forward`` and ``reverse`` are the paths of the arguments that are pushed and of
    the results that are pulled; ``passes`` is the number of unit directions in all.
    """

    forward: tuple[str, ...]
    reverse: tuple[str, ...]
    passes: int

    def __str__(self) -> str:
        parts = []
        if self.forward:
            parts.append(f"forward over {', '.join(self.forward)}")
        if self.reverse:
            parts.append(f"reverse over {', '.join(self.reverse)}")
        how = " and ".join(parts) or "nothing to do"
        return f"{how}: {self.passes} directions"


class _Problem(NamedTuple):
    """A linearised function, flat, and the trees around it."""

    linear: Linearization
    in_tree: Any
    out_tree: Any
    in_types: list[ArrayType]
    out_types: list[ArrayType]
    single: bool
    aux: Any
    holomorphic: bool

    def allows(self, pushed: Sequence[int], pulled: Sequence[int]) -> bool:
        """Whether unit directions say all: one of a complex number does so only for a
        holomorphic function.
        """
        return self.holomorphic or not self.complex_types(pushed, pulled)

    def complex_types(
        self, pushed: Sequence[int], pulled: Sequence[int]
    ) -> list[ArrayType]:
        types = [self.in_types[j] for j in pushed] + [self.out_types[i] for i in pulled]
        return [t for t in types if dtypes.is_complex(t.dtype)]


def jacobian(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, PyTree]:
    """The Jacobian of ``fun``, each block computed in the cheaper mode.

    Returns:
      A function with the arguments of ``fun``. Its result has the tree of the result of
      ``fun``, and at each leaf the tree of the argument; a block has the shape of the
      result followed by that of the argument. Its ``plan(*args)`` says how it is worked
      out.

    >>> import covector as cv, covector.numpy as cnp
    >>> f = cv.jacobian(lambda x: cnp.sum(x ** 2))
    >>> f(cnp.arange(3.0)).tolist()
    [0.0, 2.0, 4.0]
    >>> print(f.plan(cnp.arange(3.0)))
    reverse over result: 1 directions
    """
    return _jacobian(
        fun, argnums, has_aux, holomorphic, allow_int, "jacobian", _cheapest
    )


def jacfwd(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]:
    """The Jacobian of ``fun`` by forward mode: for few arguments and many results.

    The result is laid out as that of ``jacobian``.

    >>> import covector as cv, covector.numpy as cnp
    >>> cv.jacfwd(lambda x: x ** 2)(cnp.arange(2.0)).tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """
    return _jacobian(fun, argnums, has_aux, holomorphic, False, "jacfwd", _all_forward)


def jacrev(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, PyTree]:
    """The Jacobian of ``fun`` by reverse mode: for many arguments and few results.

    The result is laid out as that of ``jacobian``.

    >>> import covector as cv, covector.numpy as cnp
    >>> cv.jacrev(lambda x: x ** 2)(cnp.arange(2.0)).tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """
    return _jacobian(
        fun, argnums, has_aux, holomorphic, allow_int, "jacrev", _all_reverse
    )


def hessian(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]:
    """The Hessian of ``fun``: forward mode over its gradient.

    >>> import covector as cv, covector.numpy as cnp
    >>> cv.hessian(lambda x: cnp.sum(x ** 3))(cnp.arange(2.0)).tolist()
    [[0.0, 0.0], [0.0, 6.0]]
    """
    return jacfwd(
        jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic
    )


def _jacobian(
    fun: Any,
    argnums: Argnums,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    name: str,
    choose: Callable[["_Problem"], tuple[list[int], list[int]]],
) -> Callable[..., Any]:
    who = who_of(name, fun)
    argnums = as_argnums(argnums, who)

    def problem(args: Any, kwargs: Any) -> _Problem:
        chosen, partial = choose_arguments(fun, argnums, args, kwargs, who)
        leaves, in_tree = tree.flatten((chosen, {}))
        leaves = arrays(leaves, who)
        if not allow_int:
            check_differentiable(leaves, holomorphic, who, in_tree, argnums)
        flat = FlatFunction(partial, in_tree, who, has_aux)
        active = [x.type.inexact for x in leaves]
        outs, linear = linearize_flat(flat, leaves, active, who)
        for o in outs:
            if not (dtypes.is_complex(o.type.dtype) if holomorphic else o.type.inexact):
                wanted = "complex" if holomorphic else "floating-point"
                raise NotDifferentiable(
                    f"{who} needs {wanted} results, but one is {o.type}. Convert it, "
                    "or return it beside the others with has_aux=True."
                )
        return _Problem(
            linear,
            in_tree,
            flat.out_tree,
            [x.type for x in leaves],
            [o.type for o in outs],
            isinstance(argnums, int),
            flat.aux,
            holomorphic,
        )

    def chosen(p: _Problem) -> tuple[list[int], list[int]]:
        pushed, pulled = choose(p)
        if p.allows(pushed, pulled):
            return pushed, pulled
        raise NotDifferentiable(
            f"{who} would take one derivative per complex number of "
            f"{show_types(p.complex_types(pushed, pulled))}, which is enough only for "
            "holomorphic functions (holomorphic=True). For others use jacfwd with real "
            "arguments, jacrev with real results, or real and imaginary parts."
        )

    @functools.wraps(fun)
    def whole(*args: Any, **kwargs: Any) -> Any:
        p = problem(args, kwargs)
        blocks = _blocks(p, *chosen(p))
        rows = []
        for i in range(len(p.out_types)):
            row = [blocks[i, j] for j in range(len(p.in_types))]
            (given, _) = p.in_tree.unflatten(row)
            rows.append(given[0] if p.single else tuple(given))
        result = p.out_tree.unflatten(rows)
        return (result, p.aux) if has_aux else result

    def plan(*args: Any, **kwargs: Any) -> JacobianPlan:
        p = problem(args, kwargs)
        pushed, pulled = chosen(p)
        return JacobianPlan(
            tuple([_argument_name(p, j, argnums) for j in pushed]),
            tuple(
                [f"result{tree.keystr(tree.leaf_path(p.out_tree, i))}" for i in pulled]
            ),
            sum([p.in_types[j].size for j in pushed])
            + sum([p.out_types[i].size for i in pulled]),
        )

    whole.plan = plan  # type: ignore[attr-defined]
    return whole


def _argument_name(p: _Problem, j: int, argnums: Argnums) -> str:
    path = tree.leaf_path(p.in_tree, j)
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    return f"argument {nums[path[1].idx]}{tree.keystr(path[2:])}"


# -- which mode for which block --------------------------------------------------------


def _all_forward(p: _Problem) -> tuple[list[int], list[int]]:
    return list(range(len(p.in_types))), []


def _all_reverse(p: _Problem) -> tuple[list[int], list[int]]:
    return [], list(range(len(p.out_types)))


def _cheapest(p: _Problem) -> tuple[list[int], list[int]]:
    """The arguments to push and the results to pull that cover all blocks at least
    cost.
    """
    depends = _dependence(p)
    ins = [j for j, t in enumerate(p.in_types) if t.inexact]
    if len(ins) > _MOST_LEAVES:
        real = tuple([j for j in ins if p.allows([j], [])])
        candidates: Any = [(), real, tuple(ins)]
    else:
        candidates = itertools.chain.from_iterable(
            itertools.combinations(ins, n) for n in range(len(ins) + 1)
        )

    def pulled(pushed: Sequence[int]) -> list[int]:
        rest = set(ins) - set(pushed)
        return [i for i, needs in enumerate(depends) if needs & rest]

    def cost(pushed: Sequence[int]) -> float:
        if not p.allows(pushed, pulled(pushed)):
            return math.inf
        forward = sum([p.in_types[j].size for j in pushed])
        return forward + sum([p.out_types[i].size for i in pulled(pushed)])

    best = min(candidates, key=cost)
    return list(best), pulled(best)


def _dependence(p: _Problem) -> list[set[int]]:
    """For each result, the arguments that it depends on."""
    jaxpr, residuals, nonzero = p.linear
    ins = iter([j for j, t in enumerate(p.in_types) if t.inexact])
    reach: dict[Var, set[int]] = {
        v: {next(ins)} for v in jaxpr.inputs[len(residuals) :]
    }
    for equation in jaxpr.equations:
        found: set[int] = set()
        for a in equation.inputs:
            if type(a) is Var:
                found |= reach.get(a, set())
        reach.update(dict.fromkeys(equation.outputs, found))
    outs = iter(jaxpr.outputs)
    return [reach.get(next(outs), set()) if m else set() for m in nonzero]


# -- the blocks ------------------------------------------------------------------------


def _blocks(p: _Problem, pushed: Sequence[int], pulled: Sequence[int]) -> dict:
    """Block (result, argument) by index, zeros where nothing is known to move.

    A block that is pushed is weak where its result is, as a tangent; others where their
    argument is, as a cotangent.
    """
    blocks: dict[tuple[int, int], Any] = {}
    if pushed:
        blocks |= _push_units(p, pushed)
    if pulled:
        blocks |= _pull_units(p, pulled)
    for i, o in enumerate(p.out_types):
        for j, t in enumerate(p.in_types):
            block = blocks.get((i, j))
            if block is None:
                block = zeros(ArrayType((*o.shape, *t.shape), o.dtype))
            weak = o.weak if j in pushed else t.weak
            blocks[i, j] = convert(block, block.type.dtype, weak)
    return blocks


def _units(types: Sequence[ArrayType]) -> list[Any]:
    """For arrays of these types, all unit directions, stacked in front."""
    total = sum([t.size for t in types])
    units, start = [], 0
    for t in types:
        row = Iota(dtypes.int32, (total, t.size), 0)()
        column = Iota(dtypes.int32, (total, t.size), 1)()
        unit = convert(eq(row, column + start), t.dtype, t.weak)
        units.append(Reshape((total, *t.shape))(unit))
        start += t.size
    return units


def _push_units(p: _Problem, pushed: Sequence[int]) -> dict:
    jaxpr, residuals, nonzero = p.linear
    pushed = [j for j in pushed if p.in_types[j].inexact]
    units = dict(zip(pushed, _units([p.in_types[j] for j in pushed]), strict=True))
    total = sum([p.in_types[j].size for j in pushed])

    def push(*given: Any) -> list[Any]:
        found = iter(given)
        tangents = [
            next(found) if j in units else zeros(t.strong())
            for j, t in enumerate(p.in_types)
            if t.inexact
        ]
        return run(jaxpr, [*residuals, *tangents])

    outs, dims = batch_flat(push, total, list(units.values()), [0] * len(units))
    columns = iter([batched(total, x, d) for x, d in zip(outs, dims, strict=True)])
    blocks = {}
    for i, m in enumerate(nonzero):
        if not m:
            continue
        column, start = next(columns), 0
        for j in pushed:
            size = p.in_types[j].size
            part = _rows(column, start, start + size)
            blocks[i, j] = _behind(part, p.out_types[i].shape, p.in_types[j].shape)
            start += size
    return blocks


def _pull_units(p: _Problem, pulled: Sequence[int]) -> dict:
    jaxpr, residuals, nonzero = p.linear
    pulled = [i for i in pulled if nonzero[i]]
    units = dict(zip(pulled, _units([p.out_types[i] for i in pulled]), strict=True))
    total = sum([p.out_types[i].size for i in pulled])
    tangent_types = [v.type for v in jaxpr.inputs[len(residuals) :]]

    def pull(*given: Any) -> list[Any]:
        found = iter(given)
        cts_out = [
            next(found) if i in units else None for i, m in enumerate(nonzero) if m
        ]
        args = [*residuals, *[Linear(t) for t in tangent_types]]
        cts_in = backward(jaxpr, args, cts_out)[len(residuals) :]
        return [
            zeros(t) if ct is None else ct
            for ct, t in zip(cts_in, tangent_types, strict=True)
        ]

    if not pulled:
        return {}
    outs, dims = batch_flat(pull, total, list(units.values()), [0] * len(units))
    rows = [batched(total, x, d) for x, d in zip(outs, dims, strict=True)]
    blocks = {}
    active = [j for j, t in enumerate(p.in_types) if t.inexact]
    for j, row in zip(active, rows, strict=True):
        start = 0
        for i in pulled:
            o = p.out_types[i]
            part = _rows(row, start, start + o.size)
            blocks[i, j] = Reshape((*o.shape, *p.in_types[j].shape))(part)
            start += o.size
    return blocks


def _rows(x: Any, start: int, stop: int) -> Any:
    if (start, stop) == (0, x.type.shape[0]):
        return x
    rest = x.type.shape[1:]
    return Slice((start,) + (0,) * len(rest), (stop, *rest))(x)


def _behind(x: Any, out_shape: tuple[int, ...], in_shape: tuple[int, ...]) -> Any:
    """``[n, *out]`` as ``[*out, *in]``."""
    return Reshape((*out_shape, *in_shape))(move_axis(x, 0, x.type.ndim - 1))
