"""``jet``: the derivatives of a function along a curve, up to an order, at once."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector import tree
from covector.core.annotations import PyTree, Value
from covector.core.convert import scalar
from covector.core.flat import FlatFunction, arrays, who_of
from covector.core.types import show_types
from covector.errors import ArgumentError, TreeMismatch, TypeMismatch
from covector.experimental.jet.jet_trace import jet_flat
from covector.numpy.promote import inexact
from covector.operations.arithmetic import div, mul
from covector.operations.casting import convert


def jet(
    fun: Callable[..., PyTree],
    primals: Sequence[PyTree],
    series: Sequence[Sequence[PyTree]],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[PyTree, PyTree]:
    """The value and the derivatives of ``fun`` along a curve, by Taylor mode.

    The curve x(t) is given by its value at t = 0, the primals, and its derivatives
    there, the series; so are the results. The number of operations grows with the
    square of the order (for powers and linear solves, with its cube), where that of
    nested ``jvp`` is multiplied by two or three with each order.

    Args:
      fun: takes the primals; anything that has forward derivatives.
      primals: a sequence of trees of arrays, one for each argument; integers become
        floats.
      series: for each argument the sequence of its derivatives, first, second, …, like
        the primal; of one length, the order.
      factorial_scaled: with False, the series are coefficients of powers of t, which
        are the derivatives divided by factorials.

    Returns:
      The value, and a tree like it in whose leaves stand lists: the derivatives of that
      leaf; of integers, none.

    Raises:
      ArgumentError: the series are not of one length, or not one for each primal.
      TreeMismatch, TypeMismatch: an element of a series is not like its primal.

    >>> import covector.numpy as cnp
    >>> y, (dy, ddy) = jet(cnp.sin, (0.0,), ((1.0, 0.0),))  # along x(t) = t
    >>> float(y), float(dy), float(ddy)
    (0.0, 1.0, 0.0)
    """
    who = who_of("jet", fun)
    order = _order(who, primals, series)
    leaves, in_tree = tree.flatten((tuple(primals), {}))
    leaves = [inexact(who, x) for x in arrays(leaves, who)]
    scales = [math.factorial(k) if factorial_scaled else 1 for k in range(order + 1)]
    curves: list[list[Any]] = [[x] for x in leaves]
    for k in range(order):
        step = tuple([terms[k] for terms in series])
        for curve, term in zip(curves, _like(who, in_tree, step, leaves), strict=True):
            curve.append(_scaled(div, term, scales[k + 1]))
    flat = FlatFunction(fun, in_tree, who)
    outs = jet_flat(flat, curves, order, who)
    found = [
        [_scaled(mul, x, scale) for x, scale in zip(terms, scales, strict=False)][1:]
        for terms in outs
    ]
    values = flat.out_tree.unflatten([terms[0] for terms in outs])
    return values, flat.out_tree.unflatten(found)


def _order(who: str, primals: Any, series: Any) -> int:
    """The length of all series, one for each primal."""
    for name, given in (("primals", primals), ("series", series)):
        if not isinstance(given, tuple | list):
            raise TypeMismatch(
                f"{who} needs {name} in a tuple or a list, one for each argument, but "
                f"got {given!r}."
            )
    lengths = [len(terms) if hasattr(terms, "__len__") else 0 for terms in series]
    if len(lengths) != len(primals) or min(lengths, default=1) < max(
        lengths, default=1
    ):
        raise ArgumentError(
            f"{who} needs series of one length, one for each of {len(primals)} "
            f"primals, but got {len(lengths)} of lengths {lengths}."
        )
    return lengths[0] if lengths else 0


def _like(who: str, in_tree: Any, terms: Any, leaves: Sequence[Value]) -> list[Any]:
    """Elements of the series, one for each argument, as arrays like the primals."""
    found, structure = tree.flatten((terms, {}))
    if structure != in_tree:
        raise TreeMismatch(
            f"{who} needs series of trees like the primals, {in_tree}, but got "
            f"{structure}."
        )
    given = arrays(found, who)
    wanted = [x.type for x in leaves]
    if [x.type.shape for x in given] != [t.shape for t in wanted]:
        raise TypeMismatch(
            f"{who} needs series of arrays like the primals, {show_types(wanted)}, but "
            f"got {show_types([x.type for x in given])}."
        )
    return [convert(x, t.dtype) for x, t in zip(given, wanted, strict=True)]


def _scaled(by: Callable[[Any, Any], Any], x: Value, scale: int) -> Any:
    return x if scale == 1 else by(x, scalar(scale, x.type.dtype))
