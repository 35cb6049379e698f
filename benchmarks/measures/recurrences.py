"""Recurrences: loops over given arrays, each step a function of one of their elements.

The forward algorithm of hidden Markov models and linear attention are such loops.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.measure import Measure
from benchmarks.measures.workload import normal, workload

TITLE = "Recurrences"


def measures(tiny: bool) -> list[Measure]:
    steps, long, few, states, wide = (3, 8, 2, 4, 4) if tiny else (100, 1024, 8, 16, 64)
    driven = normal((long,), (steps, long), scale=0.5)
    rows = normal((few, states - 4), (steps, few, states - 4))
    chain = normal((few, states), (states, states), (steps, few, states))
    vectors = normal((few, steps, wide), (few, steps, wide), (few, steps, wide))
    return [
        *with_gradient(
            f"tanh(c + x) of {long:,}, {steps} steps", activated, driven, (0, 1)
        ),
        *with_gradient(
            f"logaddexp of {few} × {states - 4}, {steps} steps", joined, rows, (0,)
        ),
        *with_gradient(
            f"hidden Markov models, {few} of {states} states, {steps} steps",
            forward,
            chain,
            (1, 2),
        ),
        *with_gradient(
            f"linear attention, {few} × {steps} × {wide}", attention, vectors, (0, 1, 2)
        ),
    ]


def with_gradient(
    name: str, program: Any, inputs: Any, wrt: int | tuple[int, ...]
) -> list[Measure]:
    """Rows about the value and about the gradient."""
    return [
        workload(name, program, inputs),
        workload(f"gradient of {name}", program, inputs, wrt=wrt),
    ]


def activated(cv: Any) -> Callable[..., Any]:
    def run(start: Any, xs: Any) -> Any:
        step = lambda c, x: (cv.numpy.tanh(c + x), None)  # noqa: E731
        return (cv.lax.scan(step, start, xs)[0] ** 2).sum()

    return run


def joined(cv: Any) -> Callable[..., Any]:
    def run(start: Any, xs: Any) -> Any:
        step = lambda c, x: (0.9 * cv.numpy.logaddexp(c, x), None)  # noqa: E731
        return cv.lax.scan(step, start, xs)[0].sum()

    return run


def forward(cv: Any) -> Callable[..., Any]:
    """The log of the likelihood; transitions and observations by their logs."""

    def run(start: Any, moves: Any, seen: Any) -> Any:
        def step(state: Any, log_seen: Any) -> tuple[Any, None]:
            arrived = cv.nn.logsumexp(state[:, :, None] + moves, axis=1)
            return arrived + log_seen, None

        last, _ = cv.lax.scan(step, start, seen)
        return cv.nn.logsumexp(last, axis=1).sum()

    return run


def attention(cv: Any) -> Callable[..., Any]:
    """Each step adds an outer product to a matrix, which fades, and asks it."""

    def one(queries: Any, keys: Any, values: Any) -> Any:
        def step(state: Any, given: Any) -> tuple[Any, Any]:
            query, key, value = given
            state = 0.9 * state + key[:, None] * value[None, :]
            return state, query @ state

        start = cv.numpy.zeros((keys.shape[1], values.shape[1]))
        return (cv.lax.scan(step, start, (queries, keys, values))[1] ** 2).mean()

    return lambda *vectors: cv.vmap(one)(*vectors).sum()
