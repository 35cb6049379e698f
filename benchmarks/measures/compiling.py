"""First calls: tracing, lowering and compiling programs that no cache has seen."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from benchmarks import transformer
from benchmarks.measure import Goal, Measure, Setup
from benchmarks.measures import fresh
from benchmarks.measures.training import block
from benchmarks.measures.workload import Inputs, normal

TITLE = "Compiling"

Program: TypeAlias = Callable[[Any, float], Callable[..., Any]]
"""From the module, and a number for the program to contain, to a function."""


def measures(tiny: bool) -> list[Measure]:
    return [*first_calls(tiny), *transformers(tiny)]


def first_calls(tiny: bool) -> list[Measure]:
    units, width, steps, long = (3, 4, 3, 10) if tiny else (32, 64, 64, 100_000)
    layers = normal(*[(units, units)] * 4, (8, units))
    once = normal((units, units), (units, units), (units,))
    sides = (width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)
    programs: dict[str, tuple[Program, Inputs]] = {
        f"sin(x) + c, {long:,}": (
            lambda cv, c: lambda x: cv.numpy.sin(x) + c,
            normal((long,)),
        ),
        "gradient of a softmax": (
            lambda cv, c: cv.grad(lambda x: (cv.nn.softmax(c * x) * x).sum()),
            normal((units, units)),
        ),
        "gradient of an MLP of 4 layers": (
            lambda cv, c: cv.grad(deep(cv, c), (0, 1, 2, 3)),
            layers,
        ),
        "hessian of a small MLP": (
            lambda cv, c: cv.hessian(
                lambda u, v, x: c * cv.numpy.tanh(v @ cv.numpy.tanh(u @ x)).sum(),
                (0, 1),
            ),
            normal((4, 4), (4, 4), (4,)) if tiny else once,
        ),
        "gradient of 3 transformer blocks": (
            lambda cv, c: cv.grad(blocks(cv, c), (0, 1, 2, 3)),
            normal(*sides, (2, 4, width)),
        ),
        f"gradient of an RNN, scan of {steps}": (
            lambda cv, c: cv.grad(recurrent(cv, c), 0),
            normal((units, units), (steps, units)),
        ),
        "while loop, Newton": (newton, normal((1,))),
        "gamma numbers": (
            lambda cv, c: lambda x: cv.random.gamma(cv.random.key(0), 2.0 * c, x.shape),
            normal((units,)),
        ),
    }
    return [
        Measure(
            f"first call: {name}",
            first_call(program, inputs),
            clocked=True,
            samples=1,
        )
        for name, (program, inputs) in programs.items()
    ] + [
        Measure(
            "first call: an eager script on a new shape",
            script,
            clocked=True,
            samples=1,
        )
    ]


def first_call(program: Program, inputs: Inputs) -> Setup:
    def setup(cv: Any) -> Callable[[], float]:
        args = cv.block_until_ready(cv.device_put(tuple(inputs())))

        def clocked() -> float:
            fun = program(cv, fresh.number())
            start = perf_counter()
            cv.block_until_ready(cv.jit(fun)(*args))
            return perf_counter() - start

        return clocked

    return setup


def deep(cv: Any, number: float) -> Callable[..., Any]:
    def loss(*args: Any) -> Any:
        *weights, x = args
        for w in weights:
            x = cv.numpy.tanh(number * (x @ w))
        return (x**2).sum()

    return loss


def blocks(cv: Any, number: float) -> Callable[..., Any]:
    one = block(cv.numpy, cv.nn.softmax, cv.nn.gelu)

    def loss(*args: Any) -> Any:
        *weights, x = args
        return sum(one(*[number**k * w for w in weights], x) for k in range(3))

    return loss


def recurrent(cv: Any, number: float) -> Callable[..., Any]:
    def cost(weights: Any, inputs: Any) -> Any:
        def step(state: Any, x: Any) -> tuple[Any, None]:
            return cv.numpy.tanh(number * (state @ weights) + x), None

        return cv.lax.scan(step, inputs[0], inputs)[0].sum()

    return cost


def newton(cv: Any, number: float) -> Callable[[Any], Any]:
    def root(x: Any) -> Any:
        unfinished = lambda y: (abs(y * y - 2) > 1e-4 * number).any()  # noqa: E731
        return cv.lax.while_loop(unfinished, lambda y: (y + 2 / y) / 2, abs(x) + number)

    return root


def script(cv: Any) -> Callable[[], float]:
    """Ten operations, one after the other, on a shape that was not seen before."""
    shapes = fresh.shapes(4000)

    def clocked() -> float:
        x = cv.block_until_ready(cv.numpy.asarray(np.ones(next(shapes), np.float32)))
        start = perf_counter()
        scaled = (x - x.mean(0)) / (x.std(0) + 1)
        kept = cv.numpy.where(scaled > 0, scaled, 0.1 * scaled)
        cv.block_until_ready(cv.numpy.exp(kept).sum() + kept.max())
        return perf_counter() - start

    return clocked


# -- a deep network of one layer -------------------------------------------------------


def transformers(tiny: bool) -> list[Measure]:
    sizes = transformer.TINY if tiny else transformer.Sizes()
    name = f"gradient of a {sizes.layers}-layer transformer of jitted layers"
    return [
        Measure(
            f"trace and lower the {name}",
            stages(sizes, lambda lower, compile: lower),
            clocked=True,
        ),
        Measure(
            f"compile the {name}",
            stages(sizes, lambda lower, compile: compile),
            goals=(Goal(0.5),),
            clocked=True,
            samples=1,
        ),
    ]


def stages(sizes: transformer.Sizes, counted: Callable[[float, float], float]) -> Setup:
    """The time ``counted`` of those for tracing with lowering, and for compiling."""

    def setup(cv: Any) -> Callable[[], float]:
        parameters = transformer.parameters(sizes)
        tokens = transformer.tokens(sizes)

        def clocked() -> float:
            unseen = replace(sizes, epsilon=1e-5 * fresh.number())
            loss = transformer.loss_function(cv, unseen)
            jitted = cv.jit(cv.value_and_grad(loss))
            with cv.disable_jit(False):
                start = perf_counter()
                lowered = jitted.trace(parameters, tokens).lower()
                between = perf_counter()
                lowered.compile()
                return counted(between - start, perf_counter() - between)

        return clocked

    return setup
