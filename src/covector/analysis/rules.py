"""``check_rule``: checks the derivative rules of a function by difference quotients.

    forward    jvp, against difference quotients; linear in the tangent
    reverse    ⟨ȳ, J ẋ⟩ = ⟨Jᵀ ȳ, ẋ⟩, where J ẋ is a quotient; linear in the cotangent
    values     what rules return beside derivatives is what the function returns
    under      the same under jit, vmap (of one argument alone) and in a scan
    second     the derivatives, as functions whose derivatives are checked

A function that has a rule for each mode has both compared with the same quotients.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from covector import lax
from covector.analysis.comparisons import Limits, Point, forward, reverse
from covector.core.convert import as_array
from covector.core.source import function_line
from covector.dispatch.jit import jit
from covector.errors import ArgumentError, MissingRule, NotDifferentiable, WrongRule
from covector.operations.joining import Stack
from covector.transforms.derivatives import instantiate_tangent
from covector.transforms.linearize import jvp_flat, linearize_flat
from covector.transforms.pullback import pull_back
from covector.transforms.vmap import vmap

FlatFunction = Callable[..., Sequence[Any]]


def check_rule(  # noqa: PLR0913  options, all with defaults
    f: Callable[..., Any],
    *args: Any,
    modes: Sequence[str] | None = None,
    order: int = 2,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    seed: int = 0,
) -> None:
    """Check the derivatives of ``f`` at ``args`` against difference quotients.

    They are checked plainly, then under jit, vmap and scan, then (with ``order`` 2, and
    where they exist) derivatives of the derivatives.

    Args:
      args: where to check: inside the domain, away from kinks. Trees; what is not
        floating point stays as it is.
      modes: "fwd", "rev" or both. Default: those in which ``f`` has derivatives.
      eps: the step of the quotients; default ε^⅕ / 2 for the precision of ``args``.
      atol, rtol: what a derivative may differ by, besides what the quotients are
        uncertain by; default 20 √ε.
      seed: of the random directions.

    Raises:
      WrongRule: an ``AssertionError`` with the argument and the result for which a
        derivative is wrong, the numbers, and under which transformation.

    >>> import covector as cv
    >>> @cv.custom_jvp
    ... def cube(x):
    ...     return x ** 3
    >>> rule = cube.defjvp(lambda p, t: (cube(*p), p[0] ** 2 * t[0]))
    >>> try:
    ...     check_rule(cube, 1.5)
    ... except cv.errors.WrongRule as error:
    ...     print(str(error).splitlines()[1][:40])
      argument 0 → the result: the rule give
    """
    who = f"check_rule of {function_line(f)}"
    point = Point.at(f, args, who, Limits(eps, atol, rtol, seed))
    modes = _chosen(point, modes, who)
    for around in AROUND:
        compare(point, modes, around)
    if order > 1:
        for mode in modes:
            second = derivative(point, mode)
            found = [m for m in COMPARED if exists(second, m)]
            for around in ("", ", under jit"):
                compare(second, found, around)


def _chosen(point: Point, modes: Sequence[str] | None, who: str) -> Sequence[str]:
    if modes is None:
        found = [mode for mode in COMPARED if exists(point, mode)]
        if not found:
            raise NotDifferentiable(f"{who}: it has no derivative in either mode.")
        return found
    if not modes or not set(modes) <= set(COMPARED):
        raise ArgumentError(
            f'{who} takes modes "fwd", "rev" or both, but got {modes!r}.'
        )
    return modes


def exists(point: Point, mode: str) -> bool:
    """Whether the function can be differentiated in this mode."""
    try:
        derivative(point, mode).fun(*point.primals)
    except (NotDifferentiable, MissingRule):
        return False
    return True


def compare(point: Point, modes: Sequence[str], around: str = "") -> None:
    """Raise where a derivative, under this transformation, is wrong."""
    for mode in modes:
        found = [
            COMPARED[mode](point, AROUND[around](point.fun, i), i) for i in point.active
        ]
        refuse(found, f"the {NAMES[mode]} derivative of {point.subject}", around)


def refuse(found: Sequence[Sequence[str]], what: str, around: str = "") -> None:
    """Raise if any comparison found something."""
    lines = dict.fromkeys([line for lines in found for line in lines])
    if lines:
        shown = "\n".join([f"  {line}" for line in lines])
        raise WrongRule(f"{what} is wrong{around}:\n{shown}")


def _forward(point: Point, fun: FlatFunction, i: int) -> list[str]:
    return forward(point, lambda tangents: jvp_flat(fun, point.primals, tangents), i)


def _reverse(point: Point, fun: FlatFunction, i: int) -> list[str]:
    types = [p.type for p in point.primals]
    active = [t.inexact for t in types]
    outs, linear = linearize_flat(fun, point.primals, active)
    return reverse(point, outs, lambda cts: pull_back(linear, types, active, cts), i)


COMPARED = {"fwd": _forward, "rev": _reverse}
NAMES = {"fwd": "forward-mode", "rev": "reverse-mode"}

# -- the same function, under transformations ------------------------------------------


def _plain(fun: FlatFunction, i: int) -> FlatFunction:
    return fun


def _jitted(fun: FlatFunction, i: int) -> FlatFunction:
    return jit(fun)


def _batched(fun: FlatFunction, i: int) -> FlatFunction:
    """Over a batch in which argument i differs: one of two lanes has a zero tangent."""

    def first(*xs: Any) -> list[Any]:
        pair = Stack(0)(xs[i], lax.stop_gradient(xs[i]))
        over = vmap(fun, in_axes=tuple([0 if j == i else None for j in range(len(xs))]))
        return [out[0] for out in over(*xs[:i], pair, *xs[i + 1 :])]

    return first


def _scanned(fun: FlatFunction, i: int) -> FlatFunction:
    def second(*xs: Any) -> list[Any]:
        step = lax.scan(lambda c, _: (c, list(fun(*xs))), 0, None, length=2)
        return [out[1] for out in step[1]]

    return second


AROUND: dict[str, Callable[[FlatFunction, int], FlatFunction]] = {
    "": _plain,
    ", under jit": _jitted,
    ", under vmap": _batched,
    ", in a scan": _scanned,
}

# -- derivatives as functions ----------------------------------------------------------


def derivative(point: Point, mode: str) -> Point:
    """The derivative along random directions, as a function at the same point."""
    of = f"the {NAMES[mode]} derivative of {point.subject}"

    def tangent(k: int) -> str:
        return f"the tangent of {point.result(k)}"

    def cotangent(k: int) -> str:
        return f"the cotangent of {point.argument(point.active[k])}"

    derive, result = (_pushed, tangent) if mode == "fwd" else (_pulled, cotangent)
    return replace(point, fun=derive(point), subject=of, known={}, result=result)


def _pushed(point: Point) -> FlatFunction:
    def tangents(*primals: Any) -> list[Any]:
        given = [point.tangent(i) for i in range(len(primals))]
        outs, out_tangents = jvp_flat(point.fun, primals, given)
        pairs = zip(out_tangents, outs, strict=True)
        return [as_array(instantiate_tangent(t, o.type.strong())) for t, o in pairs]

    return tangents


def _pulled(point: Point) -> FlatFunction:
    def cotangents(*primals: Any) -> list[Any]:
        active = [p.type.inexact for p in primals]
        outs, linear = linearize_flat(point.fun, primals, active)
        cts = [point.cotangent(k, o.type) for k, o in enumerate(outs)]
        cts_in = pull_back(linear, [p.type for p in primals], active, cts)
        return [ct for ct, a in zip(cts_in, active, strict=True) if a]

    return cotangents
