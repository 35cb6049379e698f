"""Loops: many small steps, where what counts is the price of a step."""

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure, Setup
from benchmarks.measures import fresh

TITLE = "Loops"

HALF, TENTH = (Goal(0.5),), (Goal(0.1),)

OFTEN = 50

Program = Callable[[Any, float], tuple[Callable[..., Any], tuple[Any, ...]]]
"""From the module, and a number for the program to contain, to a function and its
arguments."""


def measures(tiny: bool) -> list[Measure]:
    steps, wide, members = (10, 8, 4) if tiny else (1_000, 512, 10_000)
    few, count = (3, 4) if tiny else (4, 60)
    side = 8 if tiny else 128
    many = partial(rnn, steps=10 * steps, units=16)
    ring = partial(lorenz_96, steps=steps)
    named = {
        f"fixed point, while_loop of {100 * steps:,} iterations": (
            partial(fixed_point, steps=100 * steps),
            (),
        ),
        f"Lorenz, Runge–Kutta, {steps // 2} steps": (
            partial(lorenz, steps=steps // 2, members=None),
            (),
        ),
        f"Lorenz, Runge–Kutta, {steps // 2} steps, vmap over {members:,}": (
            partial(lorenz, steps=steps // 2, members=members),
            (),
        ),
        f"RNN of 16 units, {10 * steps:,} steps": (many, HALF),
        f"gradient of an RNN of 16 units, {10 * steps:,} steps": (
            partial(many, gradient=True),
            HALF,
        ),
        f"scan of 20 steps, a product of {wide} × {wide} in each": (
            partial(powers, steps=20, wide=wide),
            (),
        ),
        f"rows that a scan stores in bfloat16, {wide}²": (
            partial(stored_rows, wide=wide),
            (),
        ),
        f"two arrays of {steps:,} rows in turns": (partial(in_turns, rows=steps), ()),
        f"gradient of {steps:,} rows, each set from the one before": (
            partial(set_rows, rows=steps),
            (),
        ),
        f"gradient of a table, each number of its neighbours, {side}²": (
            partial(table, side=side),
            (),
        ),
    }
    compiled = {
        f"scan of {steps:,} steps, {count} scalars": partial(
            ring, count=count, gradient=False
        ),
        f"gradient of a scan of {steps:,} steps, {count} scalars": partial(
            ring, count=count, gradient=True
        ),
        **{
            name: program
            for name, (program, _) in named.items()
            if name.startswith(("gradient", "scan"))
        },
    }
    return [
        *[
            scalars(count, steps, gradient)
            for count in (few, count)
            for gradient in (False, True)
        ],
        *[
            Measure(name, running(program), goals=goals)
            for name, (program, goals) in named.items()
        ],
        *[
            Measure(
                f"compile: {name}",
                compiling(program),
                clocked=True,
                samples=1,
            )
            for name, program in compiled.items()
        ],
        Measure(
            "eager scan of 100 steps, first call",
            eager_first,
            goals=TENTH,
            clocked=True,
        ),
        Measure(
            f"eager scan of 100 steps, after {OFTEN} calls",
            eager_warm,
        ),
    ]


def scalars(count: int, steps: int, gradient: bool) -> Measure:
    name = f"scan of {steps:,} steps, {count} scalars as carry, for each"
    return Measure(
        f"gradient of a {name}" if gradient else name,
        running(partial(lorenz_96, count=count, steps=steps, gradient=gradient)),
        goals=TENTH if count == 60 else (),
        per=count,
    )


# -- programs --------------------------------------------------------------------------


def lorenz_96(
    cv: Any, number: float, count: int, steps: int, gradient: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """E. Lorenz's model of a ring of ``count`` variables, each a scalar."""

    def step(x: Any, _: Any) -> tuple[Any, Any]:
        ring = range(count)
        slopes = [(x[(i + 1) % count] - x[i - 2]) * x[i - 1] - x[i] + 1 for i in ring]
        moved = [x[i] + 0.01 * number * slopes[i] for i in ring]
        return moved, moved[0]

    def last(x: Any) -> Any:
        x, first = cv.lax.scan(step, x, None, length=steps)
        return sum(x) + first.sum()

    variables = [np.float32(1 + i / count) for i in range(count)]
    return cv.grad(last) if gradient else last, (variables,)


def fixed_point(
    cv: Any, number: float, steps: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def solve(x: Any) -> Any:
        return cv.lax.while_loop(
            lambda state: state[0] < steps,
            lambda state: (state[0] + 1, cv.numpy.cos(state[1]) * number),
            (0, x),
        )

    return solve, (np.float32(0.5),)


def lorenz(
    cv: Any, number: float, steps: int, members: int | None
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The butterfly, of one point or of many."""

    def slope(point: Any) -> Any:
        x, y, z = point
        return cv.numpy.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(point: Any, _: Any) -> tuple[Any, None]:
        h = 0.01 * number
        k1 = slope(point)
        k2 = slope(point + h / 2 * k1)
        k3 = slope(point + h / 2 * k2)
        k4 = slope(point + h * k3)
        return point + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    def last(point: Any) -> Any:
        return cv.lax.scan(step, point, None, length=steps)[0]

    points = np.random.default_rng(0).random((members or 1, 3), np.float32)
    return (last, (points[0],)) if members is None else (cv.vmap(last), (points,))


def rnn(
    cv: Any, number: float, steps: int, units: int, gradient: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def cost(parameters: Any, inputs: Any) -> Any:
        recurrent, incoming, bias = parameters

        def step(state: Any, x: Any) -> tuple[Any, Any]:
            driven = state @ recurrent + x @ incoming + bias
            state = cv.numpy.tanh(number * driven)
            return state, (state * state).mean()

        start = cv.numpy.zeros(units, cv.numpy.float32)
        _, costs = cv.lax.scan(step, start, inputs)
        return costs.sum()

    generator = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape, np.float32) / np.float32(units**0.5)

    parameters = normal(units, units), normal(units, units), np.zeros(units, "f4")
    return cv.grad(cost) if gradient else cost, (parameters, normal(steps, units))


def powers(
    cv: Any, number: float, steps: int, wide: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def last(x: Any, matrix: Any) -> Any:
        step = lambda x, _: (cv.numpy.tanh(x @ matrix) * number, None)  # noqa: E731
        return cv.lax.scan(step, x, None, length=steps)[0]

    generator = np.random.default_rng(0)
    x, matrix = generator.standard_normal((2, wide, wide), np.float32)
    return last, (x, matrix / np.float32(wide**0.5))


def set_rows(
    cv: Any, number: float, rows: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def last(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return x.at[i].set(cv.numpy.tanh(x[i - 1]) * number + x[i])

        return cv.lax.fori_loop(1, rows, step, x)[-1].sum()

    x = np.random.default_rng(0).standard_normal((rows, 100), np.float32)
    return cv.grad(last), (x,)


def in_turns(
    cv: Any, number: float, rows: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def last(x: Any) -> Any:
        def step(i: Any, both: Any) -> Any:
            x, y = both
            moved = cv.numpy.sin(x[i - 1]) * number
            return x.at[i].set(y[i - 1]), y.at[i].set(moved)

        return cv.lax.fori_loop(1, rows, step, (x, 2 * x))[0]

    x = np.random.default_rng(0).standard_normal((rows, 100), np.float32)
    return last, (x,)


def table(
    cv: Any, number: float, side: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The last number of a table that is filled row by row, as an edit distance is."""

    def last(x: Any) -> Any:
        def step(k: Any, x: Any) -> Any:
            i, j = k // (side - 1) + 1, k % (side - 1) + 1
            least = cv.numpy.minimum(x[i - 1, j], x[i, j - 1])
            least = cv.numpy.minimum(least, x[i - 1, j - 1])
            return x.at[i, j].set(x[i, j] * number + least)

        return cv.lax.fori_loop(0, (side - 1) ** 2, step, x)[-1, -1]

    x = np.random.default_rng(0).random((side, side), np.float32)
    return cv.grad(last), (x,)


def stored_rows(
    cv: Any, number: float, wide: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def sums(x: Any) -> Any:
        rows = cv.lax.scan(lambda c, row: (c + row, c), x[0], x)[1]
        return rows.astype("float32") * number

    x = np.random.default_rng(0).standard_normal((wide, wide), np.float32)
    return sums, (cv.numpy.asarray(x, "bfloat16"),)


# -- what is timed ---------------------------------------------------------------------


def running(program: Program) -> Setup:
    """The program, compiled, on arrays that are where they are needed."""

    def setup(cv: Any) -> Callable[[], Any]:
        fun, args = program(cv, 1.0)
        jitted, args = cv.jit(fun), cv.device_put(args)
        return lambda: jitted(*args)

    return setup


def compiling(program: Program) -> Setup:
    """The time that XLA takes for the program, each time with another number."""

    def setup(cv: Any) -> Callable[[], float]:
        def clocked() -> float:
            fun, args = program(cv, fresh.number())
            with cv.disable_jit(False):
                lowered = cv.jit(fun).lower(*args)
            start = perf_counter()
            lowered.compile()
            return perf_counter() - start

        return clocked

    return setup


def damped(cv: Any, number: float) -> tuple[Callable[..., Any], Any, Any]:
    """A step of a damped oscillator that is pushed, its start, and the pushes."""

    def step(state: Any, push: Any) -> tuple[Any, Any]:
        position, speed = state
        speed = speed + 0.01 * number * (push - position - 0.1 * speed)
        position = position + 0.01 * speed
        return (position, speed), position

    start = cv.numpy.asarray(np.float32(1.0)), cv.numpy.asarray(np.float32(0.0))
    return step, start, cv.numpy.asarray(np.linspace(0, 1, 100, dtype=np.float32))


def eager_first(cv: Any) -> Callable[[], float]:
    programs: Iterator[Any] = (damped(cv, fresh.number()) for _ in iter(int, 1))
    cv.block_until_ready(cv.numpy.ones(3) + 1)

    def clocked() -> float:
        step, state, pushes = next(programs)
        start = perf_counter()
        cv.block_until_ready(cv.lax.scan(step, state, pushes))
        return perf_counter() - start

    return clocked


def eager_warm(cv: Any) -> Callable[[], Any]:
    """covector compiles such a loop only when it has come often enough."""
    step, state, pushes = damped(cv, 1.0)
    for _ in range(OFTEN):
        cv.block_until_ready(cv.lax.scan(step, state, pushes))
    return lambda: cv.lax.scan(step, state, pushes)
