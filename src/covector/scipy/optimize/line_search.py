"""A step along a direction of descent that satisfies the strong Wolfe conditions.

For φ(a) = f(x + a p), a step a is accepted that decreases φ enough and leaves little of
its slope:

    φ(a) ≤ φ(0) + c₁ a φ′(0)        |φ′(a)| ≤ c₂ |φ′(0)|

The search keeps an interval between ``low``, the best step so far, and ``high``, such
that acceptable steps lie in it (Nocedal & Wright, Numerical Optimization, algorithms
3.5 and 3.6). While there is no bound, steps are doubled; then the next trial is the
minimum of a cubic polynomial through both ends. Where φ has so little left to fall that
rounding hides it, slopes alone decide (Hager & Zhang 2005).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from covector import numpy as cnp
from covector.core.array_like import Array
from covector.core.number_info import finfo
from covector.lax.control_flow import while_loop

DECREASE, SLOPE = 1e-4, 0.9
#: what f gives: a value and its gradient
Valued = Callable[[Array], tuple[Array, Array]]


class Point(NamedTuple):
    """A step, and the function there: value, slope along the direction, gradient."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class Search(NamedTuple):
    """The state of a search; ``high`` means something once the interval is bounded."""

    low: Point
    high: Point
    bounded: Any
    trial: Any
    accepted: Any
    evaluations: Any


def line_search(
    function: Valued, x: Array, direction: Array, start: Point, first: Array, limit: int
) -> Search:
    """The search from ``start``, the point of step 0, with the first trial ``first``.

    ``low`` of the result is the best point: it decreases the function enough, also
    where none was accepted within ``limit`` trials, or its step is still 0.
    """
    epsilon = finfo(x.type.dtype).eps

    def running(s: Search) -> Any:
        width = cnp.abs(s.high.step - s.low.step)
        moves = ~s.bounded | (width > 4 * epsilon * cnp.abs(s.low.step))
        return ~s.accepted & (s.evaluations < limit) & moves

    def tried(s: Search) -> Search:
        value, gradient = function(x + s.trial * direction)
        slope = cnp.vdot(gradient, direction)
        point = Point(s.trial, value, slope, gradient)
        falls = value <= start.value + DECREASE * s.trial * start.slope
        falls = falls & ((value < s.low.value) | (s.low.step == 0))
        flat = cnp.abs(slope) <= -SLOPE * start.slope
        hidden = value <= start.value + epsilon * cnp.abs(start.value)
        hidden = hidden & (slope <= (2 * DECREASE - 1) * start.slope)
        accepted = flat & (falls | hidden)
        better = accepted | falls & cnp.isfinite(slope)
        ahead = ~s.bounded | (s.high.step > s.low.step)
        turns = cnp.where(ahead, slope >= 0, slope <= 0)
        high = _chosen(better, _chosen(turns, s.low, s.high), point)
        low = _chosen(better, point, s.low)
        bounded = s.bounded | ~better | turns
        trial = cnp.where(bounded, _between(low, high), 2 * low.step)
        return Search(low, high, bounded, trial, accepted, s.evaluations + 1)

    no = cnp.zeros((), bool)
    begin = Search(start, start, no, first, no, cnp.zeros((), "int32"))
    return while_loop(running, tried, begin)


def _chosen(condition: Any, one: Point, other: Point) -> Point:
    """One of two points."""
    pairs = zip(one, other, strict=True)
    return Point(*[cnp.where(condition, a, b) for a, b in pairs])


def _between(low: Point, high: Point) -> Array:
    """The step where the cubic polynomial through both points is least.

    Where there is none, or it is not well inside the interval, its middle.
    """
    width = high.step - low.step
    rise = (high.value - low.value) / cnp.where(width == 0, 1, width)
    d1 = low.slope + high.slope - 3 * rise
    square = d1 * d1 - low.slope * high.slope
    root = cnp.sqrt(cnp.where(square > 0, square, 0)) * cnp.sign(width)
    below = high.slope - low.slope + 2 * root
    part = 1 - (high.slope + root - d1) / cnp.where(below == 0, 1, below)
    inside = (square > 0) & (part > 0.1) & (part < 0.9)
    return low.step + cnp.where(inside, part, 0.5) * width
