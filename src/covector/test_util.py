"""Checks of derivatives by difference quotients, for tests, to any order.

``covector.check_rule`` checks under transformations as well.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector import namespaces, tree
from covector.analysis.comparisons import Limits, Point, forward, reverse
from covector.analysis.rules import COMPARED, compare, derivative, refuse
from covector.core.flat import arrays
from covector.core.source import function_line
from covector.errors import ArgumentError
from covector.transforms.derivatives import instantiate_tangent

__all__ = ["check_grads", "check_jvp", "check_vjp"]
__dir__ = namespaces.completions(globals())


def check_grads(  # noqa: PLR0913, PLR0917  the signature is known
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: str | Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check derivatives of ``f`` up to an order, in all successions of modes.

    Args:
      args: a tuple, inside the domain and away from kinks.
      modes: "fwd", "rev" or both.
      atol, rtol: what derivatives may differ by, besides what the quotients are
        uncertain by; default 20 √ε for the precision of ``args``.
      eps: the step of the quotients; default ε^⅕ / 2.

    Raises:
      WrongRule: an ``AssertionError`` that says for which argument and result.

    >>> import covector.numpy as cnp
    >>> check_grads(lambda x, y: cnp.sin(x) * y, (1.0, 2.0), order=2)
    """
    who = f"check_grads of {function_line(f)}"
    modes = [modes] if isinstance(modes, str) else list(modes)
    if not modes or not set(modes) <= set(COMPARED):
        raise ArgumentError(
            f'{who} takes modes "fwd", "rev" or both, but got {modes!r}.'
        )
    _to_order(Point.at(f, tuple(args), who, Limits(eps, atol, rtol)), modes, order)


def _to_order(point: Point, modes: Sequence[str], order: int) -> None:
    compare(point, modes)
    if order > 1:
        for mode in modes:
            _to_order(derivative(point, mode), modes, order - 1)


def check_jvp(  # noqa: PLR0913, PLR0917
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float = 1e-4,
    err_msg: str = "",
) -> None:
    """Check ``f_jvp(primals, tangents) → (value, tangent)`` against ``f``.

    >>> import covector as cv, covector.numpy as cnp
    >>> from functools import partial
    >>> check_jvp(cnp.sin, partial(cv.jvp, cnp.sin), (1.0,))
    """
    args = tuple(args)
    who = f"check_jvp of {function_line(f)}"
    point = Point.at(f, args, who, Limits(eps, atol, rtol))
    in_tree = tree.structure(args)

    def push(tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        pairs = zip(tangents, point.primals, strict=True)
        filled = [instantiate_tangent(t, p.type.strong()) for t, p in pairs]
        primals = in_tree.unflatten(point.primals)
        value, tangent = f_jvp(primals, in_tree.unflatten(filled))
        return _leaves(value), _leaves(tangent)

    found = [forward(point, push, i) for i in point.active]
    refuse(found, _subject(err_msg, "forward-mode", point))


def check_vjp(  # noqa: PLR0913, PLR0917
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float = 1e-4,
    err_msg: str = "",
) -> None:
    """Check ``f_vjp(*primals) → (value, pull)`` against ``f``.

    >>> import covector as cv, covector.numpy as cnp
    >>> from functools import partial
    >>> check_vjp(cnp.sin, partial(cv.vjp, cnp.sin), (1.0,))
    """
    args = tuple(args)
    who = f"check_vjp of {function_line(f)}"
    point = Point.at(f, args, who, Limits(eps, atol, rtol))
    value, pull = f_vjp(*tree.structure(args).unflatten(point.primals))
    out_tree = tree.structure(value)

    def flat_pull(cotangents: Sequence[Any]) -> list[Any]:
        return _leaves(pull(out_tree.unflatten(cotangents)))

    found = [reverse(point, _leaves(value), flat_pull, i) for i in point.active]
    refuse(found, _subject(err_msg, "reverse-mode", point))


def _leaves(x: Any) -> list[Any]:
    return arrays(tree.leaves(x), "a check of derivatives")


def _subject(err_msg: str, mode: str, point: Point) -> str:
    prefix = f"{err_msg}: " if err_msg else ""
    return f"{prefix}the {mode} derivative of {point.subject}"
