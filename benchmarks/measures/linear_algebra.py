"""Products and factorizations of matrices, large ones and many small ones, jitted."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure

TITLE = "Linear algebra"

FUNCTIONS = ("matmul", "solve", "cholesky", "inv", "qr", "eigh", "svd")
#: functions of many small matrices; LAPACK is called for each in JAX
SMALL = ("solve", "cholesky", "inv", "eigh", "svd")
#: no slower than the best of them
AMONG_THE_BEST = (Goal(1.1), Goal(1.1, "numpy"), Goal(1.1, "torch"))
TEN_TIMES = (Goal(0.1),)


def measures(tiny: bool) -> list[Measure]:
    sizes = (4, 8) if tiny else (16, 256, 1024)
    stacks = ((300, 2), (300, 3)) if tiny else ((10_000, 8), (100_000, 3))
    found = [
        row(name, (n, n), f"{name} of {n:,} × {n:,}", AMONG_THE_BEST)
        for name in FUNCTIONS
        for n in sizes
    ]
    for count, n in stacks:
        goals = TEN_TIMES if n <= 4 else AMONG_THE_BEST
        found += [
            row(name, (count, n, n), f"{name} of {count:,} × {n} × {n}", goals)
            for name in SMALL
        ]
    return found


def row(
    name: str, shape: tuple[int, ...], title: str, goals: tuple[Goal, ...]
) -> Measure:
    return Measure(
        title,
        lambda cv: jitted(cv, name, shape),
        {
            "numpy": lambda np_: plain(np_, np_.asarray, name, shape),
            "torch": lambda torch: plain(torch, torch.from_numpy, name, shape),
        },
        goals=goals,
        # Which vectors there are is up to the library.
        same="" if name in ("qr", "eigh", "svd") else "value",
    )


def operands(name: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    """A well-conditioned matrix that every function takes, and right-hand sides."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape) / np.sqrt(shape[-1])
    x = (x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])).astype(np.float32)
    if name not in ("matmul", "solve"):
        return [x]
    return [x, rng.standard_normal(shape).astype(np.float32)]


def function(library: Any, name: str) -> Callable[..., Any]:
    """One result, or a tuple of results."""
    found = library.matmul if name == "matmul" else getattr(library.linalg, name)

    def run(*args: Any) -> Any:
        out = found(*args)
        return (*out,) if isinstance(out, tuple) else out

    return run


def jitted(cv: Any, name: str, shape: tuple[int, ...]) -> Callable[[], Any]:
    args = [cv.numpy.asarray(x) for x in operands(name, shape)]
    run = cv.jit(function(cv.numpy, name))
    return lambda: run(*args)


def plain(
    library: Any, array: Callable[[Any], Any], name: str, shape: tuple[int, ...]
) -> Callable[[], Any]:
    args = [array(x) for x in operands(name, shape)]
    run = function(library, name)
    return lambda: run(*args)
