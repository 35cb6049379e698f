"""Steps of Dormand and Prince: order 5, with an error estimate and values in between.

A step from y to y + h Σ bᵢ kᵢ evaluates the field in seven stages kᵢ, of which the
last is the first of the next step. Another sum over the stages has order 4; the
difference of the two estimates the error, and the sizes of steps are chosen by it. A
third one is a polynomial over the step, of order 4: the solution between steps.

States are lists of arrays, and the field is ``field(state, t)``.

The coefficients: Dormand and Prince, "A family of embedded Runge-Kutta formulae", 1980;
the polynomial and the first size: Hairer, Nørsett and Wanner, "Solving ordinary
differential equations I", 1993, II.6 and II.4.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from covector import lax
from covector import numpy as cnp
from covector.core.array_like import Array

State = Sequence[Array]
Field = Callable[[State, Array], State]

#: the times of stages 2 to 7, in parts of a step
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
#: their weights on the stages before; the last row has the weights of the result
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
#: the weights of order 5 less those of order 4
_ERROR = (71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
#: the weights of the term of order 5 in the polynomial
_DENSE = (
    -12715105075 / 11282082432,
    0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
#: The next step aims below the tolerance, and is so many times shorter or longer at
#: most.
_SAFETY, _SHORTEST, _LONGEST = 0.9, 0.2, 10.0


class Tolerances(NamedTuple):
    """The allowed error of a step, and the bounds on number and size of steps."""

    relative: float
    absolute: float
    most_steps: float
    longest_step: float


class Progress(NamedTuple):
    """A solution so far: the last step, and what the next one begins with."""

    t: Array
    y: State
    slope: State
    #: the size of the next step
    size: Array
    #: the time at which the last step began, and its polynomial
    before: Array
    polynomial: Sequence[State]
    #: the steps since the last output
    count: Array


def solve(field: Field, y: State, ts: Array, tolerances: Tolerances) -> list[Array]:
    """The states at the times ``ts``, which increase, stacked; the first one is ``y``.

    Where a state cannot be computed to these tolerances, it and the later ones are NaN.
    """
    slope, zeros = field(y, ts[0]), [cnp.zeros_like(x) for x in y]
    size = _first_size(field, y, slope, ts, tolerances)
    polynomial = [y, *[zeros] * 4]
    start = Progress(ts[0], y, slope, size, ts[0], polynomial, cnp.zeros((), int))

    def output(at: Progress, target: Array) -> tuple[Progress, list[Array]]:
        def going(at: Progress) -> Array:
            more = (at.t < target) & (at.t + at.size > at.t)
            if math.isinf(tolerances.most_steps):
                return more
            return more & (at.count < tolerances.most_steps)

        at = at._replace(count=cnp.zeros_like(at.count))
        at = lax.while_loop(
            going, lambda at: _advance(field, at, ts[-1], tolerances), at
        )
        length = at.t - at.before
        part = (target - at.before) / cnp.where(length == 0, 1, length)
        reached = (at.t >= target) & (at.before <= target)
        values = _evaluate(at.polynomial, part)
        return at, [cnp.where(reached, v, cnp.nan) for v in values]

    _, later = lax.scan(output, start, ts[1:])
    return [cnp.concatenate([x[None], xs]) for x, xs in zip(y, later, strict=True)]


def _advance(field: Field, at: Progress, end: Array, limits: Tolerances) -> Progress:
    """One step, no further than ``end``; where its error is too large, only its size is
    changed.
    """
    rest = end - at.t
    size = cnp.minimum(at.size, rest)
    t = cnp.where(at.size < rest, at.t + size, end)
    stages = [at.slope]
    for part, weights in zip(_TIMES, _STAGES, strict=True):
        y = _plus(at.y, size, weights, stages)
        stages.append(field(y, at.t + part * size))
    error = _combined(size, _ERROR, stages)
    ratio = _norm(error, _allowed(limits, at.y, y))
    # A step that left the domain of the field is far too long.
    ratio = cnp.where(cnp.isfinite(ratio), ratio, cnp.inf)
    factor = cnp.clip(_SAFETY * ratio ** (-1 / 5), _SHORTEST, _LONGEST)
    after = cnp.minimum(size * factor, limits.longest_step)
    polynomial = _polynomial(at.y, y, size, stages)
    done = Progress(t, y, stages[-1], after, at.t, polynomial, at.count + 1)
    tried = at._replace(size=after, count=at.count + 1)
    return lax.cond(ratio <= 1, lambda: done, lambda: tried)


def _first_size(
    field: Field, y: State, slope: State, ts: Array, limits: Tolerances
) -> Array:
    """A first size: explicit Euler, and the change of the slope over its step."""
    allowed = _allowed(limits, y, y)
    value, change = _norm(y, allowed), _norm(slope, allowed)
    tiny = (value < 1e-5) | (change < 1e-5)
    trial = cnp.where(tiny, 1e-6, 0.01 * value / cnp.where(tiny, 1, change))
    there = field(_plus(y, trial, (1,), [slope]), ts[0] + trial)
    turned = [a - b for a, b in zip(there, slope, strict=True)]
    largest = cnp.maximum(change, _norm(turned, allowed) / trial)
    flat = largest <= 1e-15
    size = (0.01 / cnp.where(flat, 1, largest)) ** (1 / 5)
    size = cnp.where(flat, cnp.maximum(1e-6, 1e-3 * trial), size)
    return cnp.minimum(cnp.minimum(100 * trial, size), limits.longest_step)


def _allowed(limits: Tolerances, before: State, after: State) -> list[Array]:
    """The error that each element may have."""
    found = []
    for a, b in zip(before, after, strict=True):
        size = cnp.maximum(cnp.abs(a), cnp.abs(b))
        relative = max(limits.relative, cnp.finfo(size.dtype).eps)
        found.append(limits.absolute + relative * size)
    return found


def _norm(state: State, allowed: State) -> Array:
    """The root of the mean square of all elements, each in parts of what is allowed."""
    pairs = zip(state, allowed, strict=True)
    squares = [cnp.sum((cnp.abs(x) / scale) ** 2) for x, scale in pairs]
    count = max(1, sum([x.size for x in state]))
    return cnp.sqrt(sum(squares, start=cnp.zeros(())) / count)


def _combined(
    size: Array, weights: Sequence[float], stages: Sequence[State]
) -> list[Array]:
    """The weighted sum of the stages, times the size of the step."""
    used = [(w, k) for w, k in zip(weights, stages, strict=True) if w]
    return [
        (size * sum([w * k[i] for w, k in used])).astype(x.dtype)
        for i, x in enumerate(stages[0])
    ]


def _plus(
    y: State, size: Array, weights: Sequence[float], stages: Sequence[State]
) -> list[Array]:
    moved = _combined(size, weights, stages)
    return [a + b for a, b in zip(y, moved, strict=True)]


def _polynomial(
    y: State, after: State, size: Array, stages: Sequence[State]
) -> list[State]:
    """The parts p of p₀ + θ (p₁ + (1 − θ) (p₂ + θ (p₃ + (1 − θ) p₄))), which passes
    through both ends of a step with the slopes there.
    """
    first = _combined(size, (1,), stages[:1])
    last = _combined(size, (1,), stages[-1:])
    columns = zip(y, after, first, last, strict=True)
    parts = [(a, b - a, k - (b - a), 2 * (b - a) - k - m) for a, b, k, m in columns]
    return [*map(list, zip(*parts, strict=True)), _combined(size, _DENSE, stages)]


def _evaluate(polynomial: Sequence[State], part: Array) -> list[Array]:
    """The polynomial of a step at this part of it."""
    found = []
    for a, b, c, d, e in zip(*polynomial, strict=True):
        s = part.astype(cnp.abs(a).dtype)
        r = 1 - s
        found.append(a + s * (b + r * (c + s * (d + r * e))))
    return found
