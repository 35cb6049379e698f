"""A gradient, compared with difference quotients; and rules of users, one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from covector.analysis.comparisons import Limits, Point, hint, inner, near, reverse
from covector.analysis.difference_quotients import (
    direction,
    precision,
    shifted,
    step_for,
    wide,
)
from covector.analysis.gradients.loss import Loss
from covector.core.convert import as_array
from covector.core.jaxpr import Equation, Jaxpr, Var, read
from covector.core.masks import indices
from covector.core.source import Line
from covector.core.trace import current
from covector.errors import CovectorError
from covector.programs.custom_rules.custom_call import CustomCall
from covector.programs.custom_rules.implicit_diff import Solver
from covector.programs.custom_rules.linear_call import LinearCall
from covector.transforms.linearize import linearize_flat
from covector.transforms.pullback import pull_back

#: steps of a loop in which rules are compared
_STEPS = 3
#: the step in double precision, where rounding does not matter: few kinks lie within
_SMALL = 1e-5
#: directions of which one is taken
_DRAWN = 6


class Comparison(NamedTuple):
    """A gradient along a random direction, by rules and by differences.

    ``agrees`` is None where the differences are too uncertain to tell.
    """

    along: float
    expected: float
    uncertain: float
    agrees: bool | None
    hint: str


def point_of(loss: Loss, value: Any, double: Loss | None, limits: Limits) -> Point:
    """Where the differences are taken: in double precision, if that is possible."""
    involved = [*[loss.primals[i] for i in loss.active], value]
    usual = 20 * precision(involved) ** 0.5
    eps, atol, rtol, seed = limits
    taken = loss if double is None else double
    exact = double is not None or precision(involved) < 1e-15
    step = _SMALL if exact else step_for(involved)
    return Point(
        taken.between_stops,
        taken.who,
        taken.primals,
        taken.paths.__getitem__,
        lambda k: "the loss",
        step if eps is None else eps,
        0.0 if atol is None else atol,
        usual if rtol is None else rtol,
        seed,
    )


def compare(point: Point, i: int, gradient: Any, others: Sequence[int]) -> Comparison:
    """The gradient with respect to leaf i, compared in a random direction; in a second
    one before it is called wrong.
    """
    first = _along(point, i, gradient, point.seed, others)
    if first.agrees is not False:
        return first
    second = _along(point, i, gradient, point.seed + 1, others)
    return first if second.agrees is False else second


def _along(
    point: Point, i: int, gradient: Any, seed: int, others: Sequence[int]
) -> Comparison:
    tangent = _telling(point, i, gradient, seed)
    (expected,) = point.along(i, tangent)
    assert expected is not None, "a loss is a real number"
    values, moved = wide(gradient), wide(tangent)
    along = inner(values, moved)
    # What the sum in this direction is like: its terms have random signs.
    size = np.sqrt(np.square(np.abs(values * moved)).sum())
    agrees: bool | None = near(point, along, expected, max(size, abs(along)))
    largest = max(abs(along), abs(float(expected.value)), float(size))
    if agrees is False and _is_between(point, i, tangent, along, max(size, abs(along))):
        agrees = True
    if not np.isfinite(expected.error) or (agrees and expected.error > 0.25 * largest):
        agrees = None
    words = ""
    if agrees is False:
        of_others = {j: point.along(j, tangent)[0] for j in others}
        known = {j: q for j, q in of_others.items() if q is not None}
        conjugate = inner(values.conj(), moved)
        words = hint(point, along, conjugate, expected, known).removeprefix(": ")
    value, error = float(expected.value), float(expected.error)
    return Comparison(float(along), value, error, agrees, words)


def _is_between(point: Point, i: int, tangent: Any, along: Any, size: Any) -> bool:
    """Whether the gradient is between the derivatives to both sides, which differ at a
    kink. Steps of single precision are too large to tell.
    """
    if point.step > _SMALL:
        return False
    h = point.step / 10
    at = [
        wide(point.fun(*shifted(point.primals, point.only(i, tangent), k * h))[0])
        for k in (-1, 0, 1)
    ]
    least, most = sorted(np.diff(at) / h)
    allowed = point.rtol * size
    return bool(least - allowed <= along <= most + allowed)


def _telling(point: Point, i: int, gradient: Any, seed: int) -> Any:
    """Of some random directions the one that the gradient is furthest from orthogonal
    to, where it would be near to any other.
    """
    drawn = [sized_direction(point.primals[i], [seed, i, k]) for k in range(_DRAWN)]
    along = [abs(float(inner(wide(gradient), wide(d)))) for d in drawn]
    return drawn[int(np.argmax(along))]


def sized_direction(x: Any, seed: Sequence[int]) -> Any:
    """A random direction that is as large as x: a step along it changes x, and what is
    computed of it, by a few per cent.
    """
    tangent = direction(x.type, np.random.default_rng(seed))
    size = float(np.sqrt(np.mean(np.square(np.abs(wide(x)))))) if x.size else 0.0
    size = max(size, 0.01) if np.isfinite(size) and size > 0 else 1.0
    return as_array((wide(tangent) * size).astype(np.dtype(x.dtype)))


# -- rules -----------------------------------------------------------------------------


class WrongRuleOf(NamedTuple):
    """A function whose rule is wrong, the line that calls it, and how it is wrong."""

    who: str
    line: Line | None
    words: str


def wrong_rules(loss: Loss, limits: Limits) -> list[WrongRuleOf]:
    """The rules of users that are called in a loss, and wrong there."""
    if loss.program is None:
        return []
    found: dict[str, WrongRuleOf] = {}
    for e, operands in _calls(loss.program, loss.operands):
        op: Any = e.op
        if op.who not in found:
            words = _fault(op, operands, limits)
            if words:
                found[op.who] = WrongRuleOf(op.who, e.line, words)
    return list(found.values())


def _calls(
    jaxpr: Jaxpr, operands: Sequence[Any]
) -> Iterator[tuple[Equation, list[Any]]]:
    """The calls of functions with rules of their own, with the values that they take;
    of a loop, in its first steps.
    """
    env: dict[Var, Any] = dict(zip(jaxpr.inputs, operands, strict=True))
    for e in jaxpr.equations:
        given = read(env, e.inputs)
        if isinstance(e.op, CustomCall | LinearCall | Solver):
            yield e, given
        elif e.op.executions is not None:
            for run in islice(e.op.executions(given), _STEPS):
                if run.devices is None:  # else operands have a lane for each device
                    yield from _calls(run.jaxpr, run.operands)
        env.update(zip(e.outputs, current.trace.process(e.op, given), strict=True))


def _fault(op: Any, operands: Sequence[Any], limits: Limits) -> str:
    """The fault of the rule of an operation at these operands, in words."""
    captured = len(getattr(op, "inert", ()))
    active = [i >= captured and x.type.inexact for i, x in enumerate(operands)]
    types = [x.type for x in operands]

    def fun(*xs: Any) -> list[Any]:
        return list(current.trace.process(op, xs))

    try:
        point = Point.at(fun, tuple(operands), op.who, limits)
        point = replace(
            point,
            argument=lambda i: f"argument {i - captured}",
            result=lambda k: f"result {k}",
        )
        outs, linear = linearize_flat(fun, operands, active)
        lines = [
            reverse(point, outs, lambda cts: pull_back(linear, types, active, cts), i)
            for i in indices(active)
        ]
    except CovectorError:
        return ""  # it has no derivative in reverse mode: its rule was not called
    return "; ".join(dict.fromkeys([line for found in lines for line in found]))
