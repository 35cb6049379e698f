"""Gathers, scatters, segments, masks and moves."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.measure import Bound, Measure
from benchmarks.measures.workload import both, everywhere, integers, normal, workload

TITLE = "Indexing"


def measures(tiny: bool) -> list[Measure]:
    return [*gathers(tiny), *scatters(tiny), *moves(tiny)]


def gathers(tiny: bool) -> list[Measure]:
    table, rows, n = (7, 20, 30) if tiny else (100_000, 1_000_000, 1 << 22)
    side, few, size = (9, 4, 3) if tiny else (4096, 1024, 128)
    return [
        everywhere(
            f"rows of a table, {rows:,} of {table:,} × 32",
            lambda np: lambda x, i: x[i],
            both(normal((table, 32)), integers(table, (rows,))),
            bound=Bound(bytes=4 * 32 * (rows + table)),
        ),
        everywhere(
            f"x[i], {n:,} of {n:,}",
            lambda np: lambda x, i: x[i],
            both(normal((n,)), integers(n, (n,))),
        ),
        workload(
            f"take_along_axis, {side} × {few} by {size}",
            lambda cv: lambda x, i: cv.numpy.take_along_axis(x, i, 1),
            both(normal((side, few)), integers(few, (side, size))),
            others={
                "numpy": lambda np: lambda x, i: np.take_along_axis(x, i, 1),
                "torch": lambda torch: (
                    lambda x, i: torch.take_along_dim(x, i.long(), 1)
                ),
            },
        ),
        everywhere(
            f"x[x > 0], {n:,}, eager",
            lambda np: lambda x: x[x > 0],
            normal((n,)),
            eager=True,
            bound=Bound(bytes=6 * n),
        ),
    ]


def scatters(tiny: bool) -> list[Measure]:
    n, size = (20, 7) if tiny else (1_000_000, 100_000)
    rows, segments = (20, 7) if tiny else (1_000_000, 10_000)
    words, table, units = (20, 7, 4) if tiny else (65_536, 50_000, 64)
    points, classes = (20, 7) if tiny else (50_000, 1000)
    return [
        workload(
            f"x.at[i].add(v), {n:,} into {size:,}",
            lambda cv: lambda x, i, v: x.at[i].add(v),
            both(normal((size,)), integers(size, (n,)), normal((n,))),
            others={
                "numpy": numpy_scatter,
                "torch": lambda torch: lambda x, i, v: x.index_add(0, i, v),
                "numba": numba_scatter,
            },
        ),
        workload(
            f"segment_sum, {rows:,} × 16 into {segments:,}",
            lambda cv: lambda x, i: cv.ops.segment_sum(x, i, segments),
            both(normal((rows, 16)), integers(segments, (rows,))),
            others={"torch": lambda torch: torch_segments(torch, segments)},
            bound=Bound(bytes=64 * rows),
        ),
        workload(
            f"one_hot, {points:,} × {classes:,}",
            lambda cv: lambda i: cv.nn.one_hot(i, classes),
            integers(classes, (points,)),
            others={
                "numpy": lambda np: lambda i: np_one_hot(i, classes),
                "torch": lambda torch: (
                    lambda i: torch.nn.functional.one_hot(i.long(), classes).float()
                ),
            },
            bound=Bound(bytes=4 * points * classes),
        ),
        everywhere(
            f"gradient of an embedding, {words:,} of {table:,} × {units}",
            lambda np: lambda x, i: (x[i] ** 2).sum(),
            both(normal((table, units)), integers(table, (words,))),
            peers=("torch",),
            wrt=0,
            bound=Bound(bytes=4 * units * (2 * words + table)),
        ),
    ]


def numpy_scatter(np: Any) -> Callable[..., Any]:
    def add(x: Any, i: Any, v: Any) -> Any:
        x = x.copy()
        np.add.at(x, i, v)
        return x

    return add


def numba_scatter(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def add(x: np.ndarray, i: np.ndarray, v: np.ndarray) -> np.ndarray:
        x = x.copy()
        for k in range(i.size):
            x[i[k]] += v[k]
        return x

    return add


def torch_segments(torch: Any, segments: int) -> Callable[..., Any]:
    return lambda x, i: torch.zeros(segments, x.shape[1]).index_add_(0, i, x)


def np_one_hot(i: np.ndarray, classes: int) -> np.ndarray:
    out = np.zeros((i.size, classes), np.float32)
    out[np.arange(i.size), i] = 1
    return out


def moves(tiny: bool) -> list[Measure]:
    side, n, rolled, meeting = (4, 5, 4, 5) if tiny else (4096, 1 << 22, 2048, 2000)
    layers = (3, 4, 2) if tiny else (784, 512, 512, 10)
    shapes = [s for a, b in pairwise(layers) for s in ((a, b), (b,))]
    return [
        workload(
            f"x.T + 1, {side}²",
            lambda cv: lambda x: x.T + 1,
            normal((side, side)),
            compiled=not tiny,
            others={
                "numpy": lambda np: lambda x: np.ascontiguousarray(x.T) + 1,
                "torch": lambda torch: lambda x: x.T.contiguous() + 1,
            },
            bound=Bound(bytes=8 * side**2),
        ),
        workload(
            f"x + x.T, {meeting}²",
            lambda cv: lambda x: x + x.T,
            normal((meeting, meeting)),
            compiled=not tiny,
            others={
                "numpy": lambda np: lambda x: x + x.T,
                "torch": lambda torch: lambda x: x + x.T,
            },
            bound=Bound(bytes=8 * meeting**2),
        ),
        workload(
            f"concatenate, 4 × {n:,}",
            lambda cv: lambda *xs: cv.numpy.concatenate(xs),
            normal(*[(n,)] * 4),
            others={
                "numpy": lambda np: lambda *xs: np.concatenate(xs),
                "torch": lambda torch: lambda *xs: torch.cat(xs),
            },
            bound=Bound(bytes=32 * n),
        ),
        workload(
            "parameters of an MLP as one vector, " + "–".join(map(str, layers)),
            lambda cv: lambda *xs: cv.numpy.concatenate([x.ravel() for x in xs]),
            normal(*shapes),
            others={
                "numpy": lambda np: lambda *xs: np.concatenate([x.ravel() for x in xs]),
                "torch": lambda torch: lambda *xs: torch.cat([x.ravel() for x in xs]),
            },
        ),
        workload(
            f"roll both axes and pad, {rolled}²",
            lambda cv: lambda x: cv.numpy.pad(cv.numpy.roll(x, (1, 2), (0, 1)), 3),
            normal((rolled, rolled)),
            others={
                "numpy": lambda np: lambda x: np.pad(np.roll(x, (1, 2), (0, 1)), 3),
                "torch": lambda torch: (
                    lambda x: torch.nn.functional.pad(
                        torch.roll(x, (1, 2), (0, 1)), (3, 3, 3, 3)
                    )
                ),
            },
            bound=Bound(bytes=8 * rolled**2),
        ),
    ]
