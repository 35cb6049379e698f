"""Jitted programs bound by memory or by the random generator, not by calls."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure, Setup

TITLE = "Large arrays, jitted"


def measures(tiny: bool) -> list[Measure]:
    drawn, size = (1000, 1600) if tiny else (10_000_000, 16_000_000)
    rows, segments = (1000, 10) if tiny else (1_000_000, 10_000)
    return [
        Measure(
            f"random.bits, {drawn:,}",
            draw("bits", drawn),
            goals=(Goal(0.2),),
            same="bits",
        ),
        Measure(
            f"random.uniform, {drawn:,}",
            draw("uniform", drawn),
            goals=(Goal(0.2),),
            same="bits",
        ),
        Measure(
            f"x + 1, {size:,} floats, a fresh result each time",
            lambda cv: plus_one(cv, size),
            {
                "numpy": lambda np: plus_one_numpy(np, size),
                "torch": lambda torch: plus_one_torch(torch, size),
            },
            goals=(Goal(0.3),),
        ),
        Measure(
            f"ops.segment_sum, {rows:,} × 16 into {segments:,}",
            lambda cv: segment_sum(cv, rows, segments),
            goals=(Goal(1.1),),
        ),
    ]


def draw(distribution: str, size: int) -> Setup:
    def setup(cv: Any) -> Callable[[], Any]:
        key = cv.random.key(0)
        sampler = getattr(cv.random, distribution)
        drawn = cv.jit(lambda key: sampler(key, (size,)))
        return lambda: drawn(key)

    return setup


def plus_one(cv: Any, size: int) -> Callable[[], Any]:
    x = cv.numpy.ones((size,))
    increment = cv.jit(lambda x: x + 1)
    return lambda: increment(x)


def plus_one_numpy(np: Any, size: int) -> Callable[[], Any]:
    x = np.ones((size,), np.float32)
    return lambda: x + 1


def segment_sum(cv: Any, rows: int, segments: int) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    data = cv.numpy.array(rng.normal(size=(rows, 16)).astype(np.float32))
    ids = cv.numpy.array(rng.integers(0, segments, rows).astype(np.int32))
    total = cv.jit(lambda data, ids: cv.ops.segment_sum(data, ids, segments))
    return lambda: total(data, ids)


def plus_one_torch(torch: Any, size: int) -> Callable[[], Any]:
    x = torch.ones((size,))
    return lambda: x + 1
