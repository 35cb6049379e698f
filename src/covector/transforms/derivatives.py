"""``jvp``, ``linearize`` and ``vjp``: derivatives of any function.

``gradients`` has those of functions that return scalars.

Each is thin: check, flatten, call the flat engine, unflatten.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np

from covector import tree
from covector.core import dtypes
from covector.core.annotations import PyTree
from covector.core.convert import as_array
from covector.core.flat import FlatFunction, argument_path, arrays, describe, who_of
from covector.core.jaxpr import run
from covector.core.masks import present, scatter
from covector.core.references import Ref, has_references
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.errors import TreeMismatch, TypeMismatch
from covector.operations.broadcasting import zeros
from covector.operations.casting import convert
from covector.transforms.checks import check_sums, check_zero_tangent, matching
from covector.transforms.linear_functions import FunctionTypes, LinearFunction
from covector.transforms.linearize import jvp_flat, linearize_flat
from covector.transforms.pullback import Pullback, linearize_references

R = TypeVar("R")
Aux = TypeVar("Aux")


@overload
def vjp(
    fun: Callable[..., R], *primals: PyTree, has_aux: Literal[False] = False
) -> tuple[R, Pullback]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]], *primals: PyTree, has_aux: Literal[True]
) -> tuple[R, Pullback, Aux]: ...
@overload
def vjp(fun: Callable[..., Any], *primals: PyTree, has_aux: bool) -> Any: ...
def vjp(fun: Callable[..., Any], *primals: PyTree, has_aux: bool = False) -> Any:
    """The value of ``fun``, and a function from cotangents of it to those of
    ``primals``.

    Args:
      fun: a function of arrays, or trees of arrays.
      primals: its arguments.
      has_aux: ``fun`` returns a pair of what is differentiated and anything else.

    Returns:
      ``(value, pull)``, or ``(value, pull, aux)`` with ``has_aux``. ``pull(cotangent)``
      takes the tree of the value and gives a tuple with one entry per primal; integers
      have cotangents of dtype float0 (and any are taken, for integer results). ``pull``
      is a pytree of what it needs of the primals, so that transformed functions may
      take and return it.

    Raises:
      TypeMismatch: ``fun`` returns what is not an array; or a cotangent given to
        ``pull`` is not of the type of its value.

    >>> import covector as cv, covector.numpy as cnp
    >>> value, pull = cv.vjp(cnp.sin, 0.0)
    >>> [float(ct) for ct in pull(2.0)]
    [2.0]

    See also: ``grad`` of scalars, ``jvp``, ``jacrev``, ``linear_transpose``.
    """
    return _with_linear_part("vjp", Pullback, fun, primals, has_aux)


def _with_linear_part(
    transform: str, made: type[LinearFunction], fun: Any, primals: Any, has_aux: bool
) -> Any:
    """The value of ``fun``, its linear part as a function of some class, and aux."""
    who = who_of(transform, fun)
    leaves, in_tree = tree.flatten((primals, {}))
    flat = FlatFunction(fun, in_tree, who, has_aux)
    linearized = linearize_flat
    if made is Pullback and has_references(leaves):
        linearized = linearize_references
        leaves = [x if type(x) is Ref else as_array(x, who) for x in leaves]
    else:
        path = functools.partial(argument_path, in_tree, fun=fun)
        leaves = arrays(leaves, who, path)
    types = tuple([p.type for p in leaves])
    active = [t.inexact for t in types]
    outs, linear = linearized(flat, leaves, active, who)
    if made is Pullback and current.trace.checked_axes:
        check_sums(outs, leaves, active, who)
    out_types = tuple([o.type for o in outs])
    of = FunctionTypes(who, in_tree, types, flat.out_tree, out_types)
    function = made(of, linear.jaxpr, linear.residuals, tuple(linear.nonzero))
    value = flat.out_tree.unflatten(outs)
    return (value, function, flat.aux) if has_aux else (value, function)


@overload
def jvp(
    fun: Callable[..., R],
    primals: Sequence[PyTree],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]],
    primals: Sequence[PyTree],
    tangents: Sequence[Any],
    has_aux: Literal[True],
) -> tuple[R, R, Aux]: ...
@overload
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[PyTree],
    tangents: Sequence[Any],
    has_aux: bool,
) -> Any: ...
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[PyTree],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> Any:
    """The value of ``fun`` and its derivative in the direction of ``tangents``.

    Args:
      primals, tangents: tuples or lists of arguments; tangents have the structure,
        shapes and dtypes of the primals (float0 for integers).
      has_aux: ``fun`` returns a pair of what is differentiated and anything else, which
        is returned third.

    Returns:
      ``(value, derivative)``, both with the tree of the result; with ``has_aux``
      ``(value, derivative, aux)``.

    Raises:
      TypeMismatch: a tangent is not of the shape or dtype of its primal.
      TreeMismatch: the structures differ.

    >>> import covector as cv, covector.numpy as cnp
    >>> value, tangent = cv.jvp(cnp.sin, (0.0,), (2.0,))
    >>> float(value), float(tangent)
    (0.0, 2.0)

    See also: ``linearize`` for many directions, ``vjp``, ``jacfwd``.
    """
    who = who_of("jvp", fun)
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):
            raise TypeMismatch(
                f"{who} takes {name} as a tuple or list with one entry per argument, "
                f"but got {describe(given)}. Write jvp(f, (x,), (dx,))."
            )
    leaves, in_tree = tree.flatten((tuple(primals), {}))
    path = functools.partial(argument_path, in_tree, fun=fun)
    leaves = arrays(leaves, who, path)
    given = _tangents(tangents, in_tree, [p.type for p in leaves], who)
    flat = FlatFunction(fun, in_tree, who, has_aux)
    outs, out_tangents = jvp_flat(flat, leaves, given, who)
    filled = [
        instantiate_tangent(t, o.type) for t, o in zip(out_tangents, outs, strict=True)
    ]
    value, tangent = flat.out_tree.unflatten(outs), flat.out_tree.unflatten(filled)
    return (value, tangent, flat.aux) if has_aux else (value, tangent)


def _tangents(
    tangents: Any, in_tree: Any, types: Sequence[ArrayType], who: str
) -> list[Any]:
    ts, t_tree = tree.flatten((tuple(tangents), {}))
    if t_tree != in_tree:
        raise TreeMismatch(
            f"{who} needs tangents with the structure of the primals, {in_tree}, but "
            f"got {t_tree}."
        )
    return [
        matching(t, type, who, "tangent")
        if type.inexact
        else check_zero_tangent(t, type, who)
        for t, type in zip(ts, types, strict=True)
    ]


def instantiate_tangent(tangent: Any, type: ArrayType) -> Any:
    """A tangent as a value: zeros, or float0 for integers, where it is absent.

    The tangent of a weak value is weak.
    """
    if tangent is not None:
        return convert(tangent, type.dtype, weak=True) if type.weak else tangent
    return zeros(type) if type.inexact else np.zeros(type.shape, dtypes.float0)


@overload
def linearize(
    fun: Callable[..., R], *primals: PyTree, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]], *primals: PyTree, has_aux: Literal[True]
) -> tuple[R, Callable[..., R], Aux]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: PyTree, has_aux: bool) -> Any: ...
def linearize(fun: Callable[..., Any], *primals: PyTree, has_aux: bool = False) -> Any:
    """The value of ``fun``, and its derivative at ``primals`` as a linear function.

    Use it in place of ``jvp`` for many directions: the value is computed once.

    >>> import covector as cv, covector.numpy as cnp
    >>> value, push = cv.linearize(cnp.sin, 0.0)
    >>> float(push(2.0))
    2.0
    """
    return _with_linear_part("linearize", Pushforward, fun, primals, has_aux)


class Pushforward(LinearFunction):
    """The result of ``linearize``: from tangents of primals to that of the value."""

    __slots__ = ()
    what = "the linear part"

    def __call__(self, *tangents: Any) -> Any:
        who, in_tree, in_types, out_tree, out_types = self.of
        given = present(_tangents(tangents, in_tree, in_types, who))
        out_tangents = scatter(run(self.jaxpr, [*self.residuals, *given]), self.nonzero)
        outs = map(instantiate_tangent, out_tangents, out_types)
        return out_tree.unflatten(outs)
