"""Products with a sparse matrix, jitted: bound by memory, and by scatters."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure, Setup

TITLE = "Sparse products"


def measures(tiny: bool) -> list[Measure]:
    size = 64 if tiny else 4096
    return [
        Measure(
            f"{size}² BCOO of 1 % times {what}, {which}",
            product(size, columns, which == "gradient"),
            goals=(Goal(1.0),),
        )
        for columns, what in ((None, "a vector"), (64, f"{size} × 64"))
        for which in ("forward", "gradient")
    ]


def product(size: int, columns: int | None, gradient: bool) -> Setup:
    def setup(cv: Any) -> Callable[[], Any]:
        sparse = importlib.import_module(f"{cv.__name__}.experimental.sparse")
        rng = np.random.default_rng(0)
        count = size * size // 100
        flat = np.sort(rng.choice(size * size, count, replace=False))
        indices = np.stack(np.divmod(flat, size), -1).astype(np.int32)
        parts = rng.normal(size=count).astype(np.float32), indices
        m = sparse.BCOO(tuple(map(cv.numpy.array, parts)), shape=(size, size))
        shape = (size,) if columns is None else (size, columns)
        x = cv.numpy.array(rng.normal(size=shape).astype(np.float32))

        def loss(data: Any, x: Any) -> Any:
            of_data = sparse.BCOO((data, m.indices), shape=m.shape)
            return ((of_data @ x) ** 2).sum()

        if gradient:
            slope = cv.jit(cv.grad(loss, (0, 1)))
            return lambda: slope(m.data, x)
        times = cv.jit(lambda m, x: m @ x)
        return lambda: times(m, x)

    return setup
