"""Timing one callable inside a worker: calls in batches, the fastest batch counts.

Noise on a shared machine only ever adds time, so the minimum is the best estimate
within a round; the session then takes the median over rounds. The garbage collector
stays on, as it is for users.
"""

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any

SHORTEST_BATCH = 1e-3
"""Seconds; a batch is grown until it takes this long, or it would measure the clock."""


def batch_time(run: Callable[[], Any], wait: Callable[[Any], Any], calls: int) -> float:
    """Seconds for ``calls`` calls and for the last result to be there."""
    out = None
    start = perf_counter()
    for _ in range(calls):
        out = run()
    wait(out)
    return perf_counter() - start


def calls_per_batch(run: Callable[[], Any], wait: Callable[[Any], Any]) -> int:
    """The number of calls that makes a batch long enough; warms the callable up."""
    wait(run())
    calls = 1
    # Twice, since some calls do more: what is compiled or loaded after a few of them.
    while min(batch_time(run, wait, calls) for _ in range(2)) < SHORTEST_BATCH:
        calls *= 2
    return calls


def fastest_call(
    run: Callable[[], Any],
    wait: Callable[[Any], Any],
    calls: int,
    samples: int,
    budget: float,
) -> float:
    """Seconds per call in the fastest of the batches run within ``budget`` seconds."""
    if budget:
        gc.collect()
    best = float("inf")
    end = perf_counter() + budget
    while samples > 0 or perf_counter() < end:
        best = min(best, batch_time(run, wait, calls) / calls)
        samples -= 1
    return best


def fastest_sample(clocked: Callable[[], float], samples: int) -> float:
    """The least of ``samples`` times that the callable took of itself."""
    gc.collect()
    return min(clocked() for _ in range(samples))
