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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeVar, overload

from covector import tree
from covector.core import dtypes
from covector.core.annotations import PyTree
from covector.core.flat import FlatFunction, arrays, chosen_path, who_of
from covector.core.jaxpr import Var
from covector.core.source import wraps
from covector.core.types import show_types
from covector.errors import NotDifferentiable, how_many
from covector.transforms.checks import Argnums, check_differentiable
from covector.transforms.gradients import as_argnums, choose_arguments
from covector.transforms.jacobian_blocks import LinearizedFunction, jacobian_blocks
from covector.transforms.linearize import linearize_flat

if TYPE_CHECKING:
    from covector.transforms.derivative_types import Jacobian

P = ParamSpec("P")
R = TypeVar("R")

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
        parts: list[str] = []
        if self.forward:
            parts.append(f"forward over {', '.join(self.forward)}")
        if self.reverse:
            parts.append(f"reverse over {', '.join(self.reverse)}")
        how = " and ".join(parts) or "nothing to do"
        return f"{how}: {self.passes} directions"


@overload
def jacobian(  # pyright: ignore[reportOverlappingOverload]
    fun: Callable[P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> "Jacobian[P, R]": ...
@overload
def jacobian(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, PyTree]: ...
def jacobian(  # pyright: ignore[reportInconsistentOverload]
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, PyTree]:
    """The Jacobian of ``fun``, each block computed in the cheaper mode.

    Args:
      argnums: the positional argument, or arguments, to differentiate with respect to.
      has_aux: ``fun`` returns a pair, of what is differentiated and anything else.
      holomorphic: ``fun`` is complex differentiable; arguments and result are complex.
      allow_int: accept integer arguments, whose derivative is of dtype float0.

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

    See also: ``jacfwd``, ``jacrev``, ``hessian``.
    """
    return _jacobian(
        fun, argnums, has_aux, holomorphic, allow_int, "jacobian", _cheapest
    )


@overload
def jacfwd(  # pyright: ignore[reportOverlappingOverload]
    fun: Callable[P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> "Jacobian[P, R]": ...
@overload
def jacfwd(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]: ...
def jacfwd(  # pyright: ignore[reportInconsistentOverload]
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]:
    """The Jacobian of ``fun`` by forward mode: for few arguments and many results.

    The result is laid out as that of ``jacobian``: axes of the result, then of the
    argument.

    Args:
      argnums: the positional argument, or arguments, to differentiate with respect to.
      has_aux: ``fun`` returns a pair, of what is differentiated and anything else.
      holomorphic: ``fun`` is complex differentiable; arguments and result are complex.

    >>> import covector as cv, covector.numpy as cnp
    >>> cv.jacfwd(lambda x: x ** 2)(cnp.arange(2.0)).tolist()
    [[0.0, 0.0], [0.0, 2.0]]

    See also: ``jacobian``, which takes the cheaper mode; ``jacrev``, ``jvp``.
    """
    return _jacobian(fun, argnums, has_aux, holomorphic, None, "jacfwd", _all_forward)


@overload
def jacrev(  # pyright: ignore[reportOverlappingOverload]
    fun: Callable[P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> "Jacobian[P, R]": ...
@overload
def jacrev(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, PyTree]: ...
def jacrev(  # pyright: ignore[reportInconsistentOverload]
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, PyTree]:
    """The Jacobian of ``fun`` by reverse mode: for many arguments and few results.

    The result is laid out as that of ``jacobian``: axes of the result, then of the
    argument. It holds all of them at once; for a product with a vector use ``vjp``.

    Args:
      argnums, has_aux, holomorphic: as for ``jacfwd``.
      allow_int: accept integer arguments, whose derivative is of dtype float0.

    >>> import covector as cv, covector.numpy as cnp
    >>> cv.jacrev(lambda x: x ** 2)(cnp.arange(2.0)).tolist()
    [[0.0, 0.0], [0.0, 2.0]]

    See also: ``jacobian``, which takes the cheaper mode; ``jacfwd``, ``grad``.
    """
    return _jacobian(
        fun, argnums, has_aux, holomorphic, allow_int, "jacrev", _all_reverse
    )


@overload
def hessian(  # pyright: ignore[reportOverlappingOverload]
    fun: Callable[P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> "Jacobian[P, R]": ...
@overload
def hessian(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]: ...
def hessian(  # pyright: ignore[reportInconsistentOverload]
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]:
    """The Hessian of ``fun``: forward mode over its gradient.

    For a product with a vector v, without the matrix, use
    ``jvp(grad(fun), (x,), (v,))[1]``.

    Args:
      fun: returns a scalar; of an array, there is one Hessian for each element.
      argnums, has_aux, holomorphic: as for ``jacfwd``.

    Returns:
      A function whose result has, for an argument ``[n]``, the shape ``[n, n]``; for a
      tree, it is that tree with such a tree at each leaf.

    >>> import covector as cv, covector.numpy as cnp
    >>> cv.hessian(lambda x: cnp.sum(x ** 3))(cnp.arange(2.0)).tolist()
    [[0.0, 0.0], [0.0, 6.0]]

    See also: ``jvp``, ``grad``, ``jacobian``.
    """
    gradient = _jacobian(
        fun, argnums, has_aux, holomorphic, None, "hessian", _all_reverse
    )
    return _jacobian(
        gradient, argnums, has_aux, holomorphic, None, "hessian", _all_forward
    )


def _jacobian(
    fun: Any,
    argnums: Argnums,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool | None,
    name: str,
    choose: Callable[["LinearizedFunction"], tuple[list[int], list[int]]],
) -> Callable[..., Any]:
    who = who_of(name, fun)
    made = _Jacobian(
        fun, as_argnums(argnums, who), has_aux, holomorphic, allow_int, who, choose
    )

    @wraps(fun)
    def whole(*args: Any, **kwargs: Any) -> Any:
        return made.value(made.problem(args, kwargs))

    def plan(*args: Any, **kwargs: Any) -> JacobianPlan:
        return made.plan(made.problem(args, kwargs))

    whole.plan = plan  # type: ignore[attr-defined]
    return whole


class _Jacobian(NamedTuple):
    """The Jacobian of a function: how it is linearised, and in which directions."""

    fun: Any
    argnums: Argnums
    has_aux: bool
    holomorphic: bool
    #: None where the function that the user called has no such option
    allow_int: bool | None
    who: str
    choose: Callable[[LinearizedFunction], tuple[list[int], list[int]]]

    def problem(self, args: Any, kwargs: Any) -> LinearizedFunction:
        """The function, linearised at these arguments."""
        who, argnums, holomorphic = self.who, self.argnums, self.holomorphic
        chosen, partial = choose_arguments(self.fun, argnums, args, kwargs, who)
        leaves, in_tree = tree.flatten((chosen, {}))
        path = functools.partial(chosen_path, in_tree, argnums=argnums, fun=self.fun)
        leaves = arrays(leaves, who, path)
        if not self.allow_int:
            has_option = self.allow_int is not None
            check_differentiable(leaves, holomorphic, who, path, has_option)
        flat = FlatFunction(partial, in_tree, who, self.has_aux)
        active = [x.type.inexact for x in leaves]
        outs, linear = linearize_flat(flat, leaves, active, who)
        for o in outs:
            if not (dtypes.is_complex(o.type.dtype) if holomorphic else o.type.inexact):
                wanted = "complex" if holomorphic else "floating-point"
                raise NotDifferentiable(
                    f"{who} needs {how_many(wanted, 'result')}, but one is {o.type}. "
                    "Convert it, or return it beside the others with has_aux=True."
                )
        return LinearizedFunction(
            linear,
            in_tree,
            flat.out_tree,
            [x.type for x in leaves],
            [o.type for o in outs],
            isinstance(argnums, int),
            flat.aux,
            holomorphic,
        )

    def directions(self, p: LinearizedFunction) -> tuple[list[int], list[int]]:
        """The arguments to push tangents of, and the results to pull cotangents of."""
        pushed, pulled = self.choose(p)
        if p.allows(pushed, pulled):
            return pushed, pulled
        raise NotDifferentiable(
            f"{self.who} would take one derivative per complex number of "
            f"{show_types(p.complex_types(pushed, pulled))}, which is enough only for "
            "holomorphic functions (holomorphic=True). For others use jacfwd with real "
            "arguments, jacrev with real results, or real and imaginary parts."
        )

    def value(self, p: LinearizedFunction) -> Any:
        """The blocks, in the trees of results and arguments."""
        blocks = jacobian_blocks(p, *self.directions(p))
        rows: list[PyTree] = []
        for i in range(len(p.out_types)):
            row = [blocks[i, j] for j in range(len(p.in_types))]
            (given, _) = p.in_tree.unflatten(row)
            rows.append(given[0] if p.single else tuple(given))
        result = p.out_tree.unflatten(rows)
        return (result, p.aux) if self.has_aux else result

    def plan(self, p: LinearizedFunction) -> JacobianPlan:
        """The blocks that each mode computes, and the number of directions."""
        pushed, pulled = self.directions(p)
        results = [tree.keystr(tree.leaf_path(p.out_tree, i)) for i in pulled]
        return JacobianPlan(
            tuple([chosen_path(p.in_tree, j, self.argnums) for j in pushed]),
            tuple([f"result{path}" for path in results]),
            sum([p.in_types[j].size for j in pushed])
            + sum([p.out_types[i].size for i in pulled]),
        )


# -- which mode for which block --------------------------------------------------------


def _all_forward(p: LinearizedFunction) -> tuple[list[int], list[int]]:
    return list(range(len(p.in_types))), []


def _all_reverse(p: LinearizedFunction) -> tuple[list[int], list[int]]:
    return [], list(range(len(p.out_types)))


def _cheapest(p: LinearizedFunction) -> tuple[list[int], list[int]]:
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


def _dependence(p: LinearizedFunction) -> list[set[int]]:
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
