"""Before XLA: tracing and lowering a long chain of operations, and its gradient."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.measure import Goal, Measure, Setup
from benchmarks.measures import fresh

TITLE = "Trace and lower"


def measures(tiny: bool) -> list[Measure]:
    operations = 20 if tiny else 2000
    return [
        Measure(
            f"trace and lower a chain of {operations:,} operations, each",
            lowering_of_chain(operations, lambda cv, chain: chain),
            goals=(Goal(0.3),),
            clocked=True,
            per=operations,
        ),
        Measure(
            f"trace and lower its gradient, per operation of the {operations:,}",
            lowering_of_chain(operations, lambda cv, chain: cv.grad(chain)),
            goals=(Goal(0.3),),
            clocked=True,
            per=operations,
        ),
    ]


def lowering_of_chain(
    operations: int, transform: Callable[[Any, Callable], Callable]
) -> Setup:
    def setup(cv: Any) -> Callable[[], float]:
        x = cv.numpy.asarray([0.1, 0.2, 0.3, 0.4])

        def clocked() -> float:
            scale = fresh.number()

            def chain(x: Any) -> Any:
                for _ in range(operations // 2):
                    x = cv.numpy.sin(x) * scale
                return x.sum()

            jitted = cv.jit(transform(cv, chain))
            start = perf_counter()
            jitted.trace(x).lower()
            return perf_counter() - start

        return clocked

    return setup
