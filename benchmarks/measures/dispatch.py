"""Warm calls of a jitted function: what a call costs besides its program."""

from collections.abc import Callable
from typing import Any

from benchmarks.measure import Goal, Measure, Setup

TITLE = "Calls of a jitted function, warm"


def measures(tiny: bool) -> list[Measure]:
    rows = [(1, 1.3), (50, 1.1), (500, 1.05)]
    if tiny:
        rows = [(1, 1.3), (5, 1.1)]
    return [
        Measure(
            f"jit call, {count} {'leaf' if count == 1 else 'leaves'} in and out",
            leaves_through(count),
            goals=(Goal(limit),),
            reason="calls are dispatched in Python: about 1.7 µs a call besides PJRT, "
            "and 0.17 µs more than JAX for each array",
        )
        for count, limit in rows
    ]


def leaves_through(count: int) -> Setup:
    """``count`` arrays of 4 floats go in, each plus one comes out."""

    def setup(cv: Any) -> Callable[[], Any]:
        leaves = [cv.numpy.full((4,), float(k)) for k in range(count)]
        plus_one = cv.jit(lambda leaves: [leaf + 1 for leaf in leaves])
        return lambda: plus_one(leaves)

    return setup
