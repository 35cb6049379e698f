"""Warm calls of a jitted function: what a call costs besides its program."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure, Setup

TITLE = "Calls of a jitted function, warm"


def measures(tiny: bool) -> list[Measure]:
    rows = [(1, 1.3), (10, 1.15), (50, 1.1), (500, 1.05)]
    if tiny:
        rows = [(1, 1.3), (5, 1.1)]
    calls = [
        Measure(
            f"jit call, {count} {'leaf' if count == 1 else 'leaves'} in and out",
            leaves_through(count),
            goals=(Goal(limit),),
        )
        for count, limit in rows
    ]
    others = {
        "two Python numbers": numbers,
        "a NumPy array": numpy_array,
        "an array and a static argument": static_argument,
        "arrays by keyword": keywords,
        "a tree of parameters": parameters,
        "10 calls in a loop, state donated": donated_state,
    }
    return calls + [
        Measure(f"jit call, {name}", setup, goals=(Goal(1.05),))
        for name, setup in others.items()
    ]


def leaves_through(count: int) -> Setup:
    """``count`` arrays of 4 floats go in, each plus one comes out."""

    def setup(cv: Any) -> Callable[[], Any]:
        leaves = [cv.numpy.full((4,), float(k)) for k in range(count)]
        plus_one = cv.jit(lambda leaves: [leaf + 1 for leaf in leaves])
        return lambda: plus_one(leaves)

    return setup


def numbers(cv: Any) -> Callable[[], Any]:
    total = cv.jit(lambda x, y: x + y)
    return lambda: total(2.0, 3.0)


def numpy_array(cv: Any) -> Callable[[], Any]:
    plus_one, values = cv.jit(lambda x: x + 1), np.ones(4, np.float32)
    return lambda: plus_one(values)


def static_argument(cv: Any) -> Callable[[], Any]:
    scaled, x = cv.jit(lambda x, n: x * n, static_argnums=1), cv.numpy.ones(4)
    return lambda: scaled(x, 3)


def keywords(cv: Any) -> Callable[[], Any]:
    product, x = cv.jit(lambda x, *, weight: x * weight), cv.numpy.ones(4)
    return lambda: product(x, weight=x)


def parameters(cv: Any) -> Callable[[], Any]:
    x = cv.numpy.ones(4)
    applied = cv.jit(lambda p, x: x * p["layer"]["weight"] + p["layer"]["bias"])
    tree = {"layer": {"weight": x, "bias": x}}
    return lambda: applied(tree, x)


def donated_state(cv: Any) -> Callable[[], Any]:
    """As a training loop has it: each call is given what the one before gave."""
    step = cv.jit(lambda state: [x * 0.5 for x in state], donate_argnums=0)

    def run() -> Any:
        state = [cv.numpy.ones(4) for _ in range(4)]
        for _ in range(10):
            state = step(state)
        return state

    return run
