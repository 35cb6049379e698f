"""The first call of an operation, or of an operation on a shape, never seen before."""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure, Setup
from benchmarks.measures import fresh
from benchmarks.measures.importing import in_fresh_interpreter

TITLE = "First call"

ONE_MILLISECOND = Goal(1e-3, peer=None)

ELEMENTWISE = ("sin", "cos", "tan", "exp", "log1p", "sqrt", "tanh", "floor", "square")
ALONG_AXES = ("sum", "prod", "max", "min", "cumsum", "sort", "argmax", "mean")
NEVER_SEEN = ELEMENTWISE + ALONG_AXES

FIRST_CALLS = """
import {0} as peer
x = peer.numpy.asarray([0.1, 0.2, 0.3])
(x + x).block_until_ready()
start = perf_counter()
for name in %r:
    getattr(peer.numpy, name)(x).block_until_ready()
"""


def measures(tiny: bool) -> list[Measure]:
    small, large = 4000, 1_000_000
    if tiny:
        small, large = 200, 400
    return [
        new_shape("a + a", small, lambda cv: lambda a: a + a),
        new_shape("a[1]", small, lambda cv: lambda a: a[1]),
        new_shape("sum", small, lambda cv: cv.numpy.sum),
        new_shape("softmax", small, lambda cv: cv.nn.softmax),
        new_shape(
            "grad(sum(sin(x) * x))",
            small,
            lambda cv: cv.grad(lambda x: (cv.numpy.sin(x) * x).sum()),
        ),
        new_shape("a + a", large, lambda cv: lambda a: a + a),
        Measure(
            f"{len(NEVER_SEEN)} new operations on 3 floats, each",
            in_fresh_interpreter(FIRST_CALLS.strip() % (NEVER_SEEN,)),
            goals=(ONE_MILLISECOND,),
            clocked=True,
            samples=1,
            per=len(NEVER_SEEN),
        ),
    ]


def new_shape(
    name: str, limit: int, operation: Callable[[Any], Callable[[Any], Any]]
) -> Measure:
    """``operation`` on arrays of up to ``limit`` floats, each of a new shape."""
    return Measure(
        f"{name}, new shape of up to {limit:,} floats",
        on_new_shapes(limit, operation),
        goals=(ONE_MILLISECOND,),
        clocked=True,
    )


def on_new_shapes(
    limit: int, operation: Callable[[Any], Callable[[Any], Any]]
) -> Setup:
    def setup(cv: Any) -> Callable[[], float]:
        called = operation(cv)
        arrays: Iterator[Any] = (
            cv.block_until_ready(cv.numpy.asarray(np.ones(shape, np.float32)))
            for shape in fresh.shapes(limit)
        )

        def clocked() -> float:
            array = next(arrays)
            start = perf_counter()
            cv.block_until_ready(called(array))
            return perf_counter() - start

        return clocked

    return setup
