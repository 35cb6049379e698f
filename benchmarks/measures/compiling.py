"""A 12-layer transformer's gradient, up to XLA and through XLA."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

from benchmarks import transformer
from benchmarks.measure import Goal, Measure, Setup
from benchmarks.measures import fresh

TITLE = "Compile"


def measures(tiny: bool) -> list[Measure]:
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
            reason="the layer and its transpose are one function each, called twelve "
            "times, but XLA clones a function for each call before it makes code",
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
            start = perf_counter()
            lowered = jitted.trace(parameters, tokens).lower()
            between = perf_counter()
            lowered.compile()
            return counted(between - start, perf_counter() - between)

        return clocked

    return setup
