"""Sums, extremes, moments and running sums."""

from typing import Any

import numpy as np

from benchmarks.measure import Bound, Measure
from benchmarks.measures.workload import everywhere, normal, workload

TITLE = "Reductions"


def measures(tiny: bool) -> list[Measure]:
    sizes = {"10": 10} if tiny else {"1k": 1_000, "100k": 100_000, "16M": 16_000_000}
    n, side, classes = (10, 4, 3) if tiny else (16_000_000, 4096, 100)
    running, columns, slope = (10, 4, 10) if tiny else (1 << 22, 2048, 1_000_000)
    x, square = normal((n,)), normal((side, side))
    once, matrix = Bound(bytes=4 * n), Bound(bytes=4 * side**2)
    return [
        *[
            everywhere(
                f"sum, {label}",
                lambda np: lambda x: x.sum(),
                normal((size,)),
                bound=Bound(bytes=4 * size),
            )
            for label, size in sizes.items()
        ],
        everywhere(
            f"mean of columns, {side}²",
            lambda np: lambda x: x.mean(0),
            square,
            bound=matrix,
        ),
        workload(
            f"maximum of rows, {side}²",
            lambda cv: lambda x: x.max(1),
            square,
            others={
                "numpy": lambda np: lambda x: x.max(1),
                "torch": lambda torch: lambda x: x.amax(1),
            },
            bound=matrix,
        ),
        workload(
            f"variance, {n:,}",
            lambda cv: lambda x: x.var(),
            x,
            others={
                "numpy": lambda np: lambda x: x.var(),
                "torch": lambda torch: lambda x: x.var(correction=0),
            },
            bound=Bound(bytes=8 * n),
        ),
        everywhere(f"argmax, {n:,}", lambda np: lambda x: x.argmax(), x, bound=once),
        everywhere(
            f"argmax of rows, {side}²",
            lambda np: lambda x: x.argmax(1),
            square,
            bound=matrix,
        ),
        everywhere(
            f"argmax of rows, {side:,} × {classes}",
            lambda np: lambda x: x.argmax(1),
            normal((side, classes)),
        ),
        workload(
            f"cumsum, {running:,}",
            lambda cv: lambda x: x.cumsum(),
            normal((running,)),
            others={
                "numpy": lambda np: lambda x: x.cumsum(),
                "torch": lambda torch: lambda x: x.cumsum(0),
                "numba": running_sum,
            },
            bound=Bound(bytes=8 * running),
        ),
        everywhere(
            f"cumsum of columns, {columns}²",
            lambda np: lambda x: x.cumsum(0),
            normal((columns, columns)),
            bound=Bound(bytes=8 * columns**2),
        ),
        everywhere(
            f"gradient of sum(sin(x) · x), {slope:,}",
            lambda np: lambda x: (np.sin(x) * x).sum(),
            normal((slope,)),
            peers=("torch",),
            wrt=0,
            compiled=not tiny,
            bound=Bound(bytes=8 * slope),
        ),
    ]


def running_sum(numba: Any) -> Any:
    @numba.njit
    def cumsum(x: np.ndarray) -> np.ndarray:
        out, total = np.empty_like(x), np.float32(0)
        for i in range(x.size):
            total += x[i]
            out[i] = total
        return out

    return cumsum
