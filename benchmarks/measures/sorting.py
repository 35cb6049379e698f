"""Sorting, and what is made of it: orders, extremes, quantiles, tables."""

from typing import Any

import numpy as np

from benchmarks.measure import TIED, Goal, Measure
from benchmarks.measures.workload import integers, normal, workload

TITLE = "Sorting"

GOALS = (Goal(1.0), TIED)


def measures(tiny: bool) -> list[Measure]:
    return [*orders(tiny), *chosen(tiny), *quantiles(tiny), *tables(tiny)]


def orders(tiny: bool) -> list[Measure]:
    n, side = (100, 10) if tiny else (1_000_000, 1024)
    return [
        workload(
            f"sort, {n:,}",
            lambda cv: cv.numpy.sort,
            normal((n,)),
            others={
                "numpy": lambda np: np.sort,
                "torch": lambda torch: lambda x: torch.sort(x)[0],
            },
            goals=GOALS,
        ),
        *[
            workload(
                f"sort of {lines}, {side}²",
                lambda cv, axis=axis: lambda x: cv.numpy.sort(x, axis),
                normal((side, side)),
                others={
                    "numpy": lambda np, axis=axis: lambda x: np.sort(x, axis),
                    "torch": lambda torch, axis=axis: lambda x: torch.sort(x, axis)[0],
                },
                goals=GOALS,
            )
            for axis, lines in ((1, "rows"), (0, "columns"))
        ],
        workload(
            f"argsort, {n:,}",
            lambda cv: cv.numpy.argsort,
            normal((n,)),
            others={
                "numpy": lambda np: np.argsort,
                "torch": lambda torch: torch.argsort,
            },
            goals=GOALS,
        ),
        workload(
            f"gradient of a weighted sum of sorted numbers, {n:,}",
            lambda cv: lambda x, w: (cv.numpy.sort(x) * w).sum(),
            normal((n,), (n,)),
            wrt=0,
            others={"torch": lambda torch: lambda x, w: (torch.sort(x)[0] * w).sum()},
            goals=GOALS,
        ),
    ]


def chosen(tiny: bool) -> list[Measure]:
    n, rows, length = (200, 10, 20) if tiny else (1_000_000, 4096, 1024)

    def largest(k: int, partition: Any) -> Any:
        """By NumPy: in descending order, as the others give them."""
        return lambda x: -np.sort(partition(-x, k - 1)[..., :k])

    return [
        workload(
            f"top {k:,} of {' × '.join(f'{size:,}' for size in shape)}",
            lambda cv, k=k: lambda x: cv.lax.top_k(x, k)[0],
            normal(shape),
            others={
                "numpy": lambda np, k=k: largest(k, np.partition),
                "torch": lambda torch, k=k: lambda x: torch.topk(x, k)[0],
            },
            goals=GOALS,
        )
        for k, shape in (
            (100, (n,)),
            (n // 10, (n,)),
            (8, (rows, length)),
            (2, (rows, 8)),
        )
    ]


def quantiles(tiny: bool) -> list[Measure]:
    n, side = (101, 10) if tiny else (1_000_001, 1024)
    percents = np.array([5, 25, 50, 75, 95], np.float32)
    return [
        workload(
            f"median, {n:,}",
            lambda cv: cv.numpy.median,
            normal((n,)),
            others={
                "numpy": lambda np: np.median,
                "torch": lambda torch: torch.median,
            },
            goals=GOALS,
        ),
        workload(
            f"5 percentiles of rows, {side}²",
            lambda cv: lambda x: cv.numpy.percentile(x, percents, 1),
            normal((side, side)),
            others={
                "numpy": lambda np: lambda x: np.percentile(x, percents, 1),
                "torch": lambda torch: (
                    lambda x: torch.quantile(x, torch.from_numpy(percents) / 100, 1)
                ),
            },
            goals=GOALS,
        ),
    ]


def tables(tiny: bool) -> list[Measure]:
    n, many, classes = (100, 20, 7) if tiny else (1_000_000, 100_000, 10_000)
    bins = 7 if tiny else 1000

    def table_and_queries() -> list[np.ndarray]:
        table, queries = normal((many,), (n,))()
        return [np.sort(table), queries]

    return [
        workload(
            f"unique, {n:,} of {classes:,}, eager",
            lambda cv: cv.numpy.unique,
            integers(classes, (n,)),
            eager=True,
            others={
                "numpy": lambda np: np.unique,
                "torch": lambda torch: torch.unique,
            },
            goals=GOALS,
        ),
        workload(
            f"searchsorted, {n:,} in {many:,}",
            lambda cv: cv.numpy.searchsorted,
            table_and_queries,
            others={
                "numpy": lambda np: np.searchsorted,
                "torch": lambda torch: torch.searchsorted,
            },
            goals=GOALS,
        ),
        workload(
            f"bincount, {4 * n:,} in {bins:,}",
            lambda cv: lambda i: cv.numpy.bincount(i, length=bins),
            integers(bins, (4 * n,)),
            others={
                "numpy": lambda np: np.bincount,
                "torch": lambda torch: torch.bincount,
            },
            goals=GOALS,
        ),
    ]
