"""Quasi-Newton methods: descent along −H g, where H estimates the inverse Hessian.

What a method remembers of the steps s = Δx and changes y = Δg is a *memory*:

    Dense      the matrix H itself, updated by the BFGS formula
    Limited    the last m pairs (s, y); H g is computed from them in two passes (L-BFGS)

Nocedal & Wright, Numerical Optimization, chapters 6 and 7.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from covector import numpy as cnp
from covector.core.array_like import Array
from covector.core.number_info import finfo
from covector.lax.control_flow import scan, while_loop
from covector.scipy.optimize.line_search import Point, Valued, line_search

CONVERGED, MANY_STEPS, MANY_CALLS, NO_LOWER, MANY_TRIALS = 0, 1, 2, 3, 5
RUNNING = -1


class Memory(Protocol):
    """The memory of a method, as a tree of arrays."""

    def start(self, n: int, dtype: Any) -> Any: ...

    def product(self, memory: Any, g: Array) -> Array:
        """H g."""
        ...

    def updated(self, memory: Any, s: Array, y: Array) -> Any:
        """With one pair more, for which s · y > 0."""
        ...


class Dense:
    """The matrix, and whether it has been updated."""

    def start(self, n: int, dtype: Any) -> Any:
        return cnp.eye(n, dtype=dtype), cnp.zeros((), bool)

    def product(self, memory: Any, g: Array) -> Array:
        return memory[0] @ g

    def updated(self, memory: Any, s: Array, y: Array) -> Any:
        h, scaled = memory
        curvature = cnp.vdot(s, y)
        # Before the first update the identity gets the size of the matrix.
        h = cnp.where(scaled, h, h * (curvature / cnp.vdot(y, y)))
        hy = h @ y
        both = cnp.outer(s, hy) + cnp.outer(hy, s)
        factor = (1 + cnp.vdot(y, hy) / curvature) / curvature
        return h + factor * cnp.outer(s, s) - both / curvature, cnp.ones((), bool)


@dataclass(frozen=True)
class Limited:
    """The last ``size`` pairs, the latest last; pairs of zeros are no pairs."""

    size: int

    def start(self, n: int, dtype: Any) -> Any:
        return cnp.zeros((self.size, n), dtype), cnp.zeros((self.size, n), dtype)

    def product(self, memory: Any, g: Array) -> Array:
        steps, changes = memory
        curvature = cnp.sum(steps * changes, 1)
        inverse = cnp.where(
            curvature > 0, 1 / cnp.where(curvature > 0, curvature, 1), 0
        )

        def back(q: Any, pair: Any) -> Any:
            s, y, r = pair
            a = r * cnp.vdot(s, q)
            return q - a * y, a

        def forth(q: Any, pair: Any) -> Any:
            (s, y, r), a = pair
            return q + s * (a - r * cnp.vdot(y, q)), ()

        pairs = steps, changes, inverse
        q, factors = scan(back, g, pairs, reverse=True)
        size = cnp.vdot(changes[-1], changes[-1])
        scale = cnp.where(size > 0, curvature[-1] / cnp.where(size > 0, size, 1), 1)
        return scan(forth, scale * q, (pairs, factors))[0]

    def updated(self, memory: Any, s: Array, y: Array) -> Any:
        new = zip(memory, (s, y), strict=True)
        return tuple([cnp.concatenate([old[1:], x[None]]) for old, x in new])


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    steps: int
    calls: int
    trials: int
    #: of the gradient, and of the relative decrease in one step
    gradient: float
    decrease: float
    norm: float


class State(NamedTuple):
    """Where a descent is, and why it ended; ``status`` is RUNNING before."""

    x: Any
    value: Any
    gradient: Any
    memory: Any
    steps: Any
    calls: Any
    status: Any


def descend(function: Valued, x: Array, memory: Memory, limits: Limits) -> State:
    """Steps from ``x`` until one of the limits is reached."""
    rounding = finfo(x.type.dtype).eps

    def step(s: State) -> State:
        kept, start, direction, first = _aimed(memory, s)
        found = line_search(function, s.x, direction, start, first, limits.trials)
        low = found.low
        change, difference = low.step * direction, low.gradient - s.gradient
        steps, calls = s.steps + 1, s.calls + found.evaluations
        flatness = [_norm(g, limits) for g in (s.gradient, low.gradient)]
        fall, moved = s.value - low.value, low.step > 0
        scale = cnp.maximum(cnp.maximum(cnp.abs(s.value), cnp.abs(low.value)), 1)
        # What moves on by rounding alone comes no nearer.
        idle = (flatness[1] >= flatness[0]) & (fall <= rounding * scale)
        status = _first_of(
            (flatness[1] <= limits.gradient, CONVERGED),
            (moved & (fall < limits.decrease * scale), CONVERGED),
            (~moved & (found.evaluations >= limits.trials), MANY_TRIALS),
            (~moved | idle, NO_LOWER),
            (calls >= limits.calls, MANY_CALLS),
            (steps >= limits.steps, MANY_STEPS),
        )
        memorized = _remembered(memory, kept, change, difference)
        x = s.x + change
        return State(x, low.value, low.gradient, memorized, steps, calls, status)

    value, gradient = function(x)
    status = _first_of(
        (_norm(gradient, limits) <= limits.gradient, CONVERGED),
        (cnp.asarray(limits.steps <= 0), MANY_STEPS),
    )
    start = memory.start(x.size, x.type.dtype)
    none, one = cnp.zeros((), "int32"), cnp.ones((), "int32")
    begin = State(x, value, gradient, start, none, one, status)
    return while_loop(lambda s: s.status == RUNNING, step, begin)


def _norm(gradient: Array, limits: Limits) -> Array:
    return cnp.linalg.norm(gradient, limits.norm)


def _first_of(*cases: tuple[Array, int]) -> Array:
    """The number of the first case that holds; RUNNING if none does."""
    status = cnp.full((), RUNNING, "int32")
    for holds, number in reversed(cases):
        status = cnp.where(holds, cnp.int32(number), status)
    return status


def _aimed(memory: Memory, s: State) -> tuple[Any, Point, Array, Array]:
    """The kept part of the memory; point 0 of a line, its direction, a first trial."""
    direction = -memory.product(s.memory, s.gradient)
    # Rounding may have spoilt the estimate: it starts again from the gradient then.
    descends = cnp.vdot(direction, s.gradient) < 0
    direction = cnp.where(descends, direction, -s.gradient)
    fresh = memory.start(s.x.size, s.x.type.dtype)
    kept = tuple(
        [cnp.where(descends, a, b) for a, b in zip(s.memory, fresh, strict=True)]
    )
    length = cnp.sqrt(cnp.vdot(s.gradient, s.gradient))
    unit = 1 / cnp.maximum(length, 1)
    first = cnp.where(descends & (s.steps > 0), cnp.ones_like(unit), unit)
    slope = cnp.vdot(direction, s.gradient)
    start = Point(cnp.zeros_like(unit), s.value, slope, s.gradient)
    return kept, start, direction, first


def _remembered(memory: Memory, kept: Any, change: Array, difference: Array) -> Any:
    """With this pair, unless it has no curvature, by which the formulas divide."""
    small = finfo(change.type.dtype).eps * cnp.vdot(difference, difference)
    curved = cnp.vdot(change, difference) > small
    pair = [cnp.where(curved, v, cnp.ones_like(v)) for v in (change, difference)]
    new = memory.updated(kept, *pair)
    return tuple([cnp.where(curved, a, b) for a, b in zip(new, kept, strict=True)])
