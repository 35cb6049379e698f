"""Equations, factors and inverses of matrices, large ones and many small ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure
from benchmarks.measures.workload import everywhere, normal, workload

TITLE = "Linear algebra"

FUNCTIONS = ("solve", "cholesky", "inv", "qr", "eigh", "svd")
#: those that end after a known number of steps
DIRECT = ("solve", "cholesky", "inv", "qr")
#: functions of many small matrices; LAPACK is called for each in JAX
SMALL = ("solve", "cholesky", "inv", "eigh", "svd")
TEN_TIMES = (Goal(0.1),)


def measures(tiny: bool) -> list[Measure]:
    sizes = (4,) if tiny else (16, 256, 500)
    large = 5 if tiny else 1024
    stacks = ((5, 3),) if tiny else ((10_000, 8), (100_000, 3))
    found = [
        row(name, (n, n), f"{name} of {n:,} × {n:,}")
        for name in FUNCTIONS
        for n in sizes
    ]
    found += [
        row(name, (large, large), f"{name} of {large:,} × {large:,}") for name in DIRECT
    ]
    for count, n in stacks:
        goals = TEN_TIMES if n <= 4 else ()
        found += [
            row(name, (count, n, n), f"{name} of {count:,} × {n} × {n}", goals)
            for name in SMALL
        ]
    return [*found, *fits(tiny)]


def fits(tiny: bool) -> list[Measure]:
    """Factors at work: principal components, least squares, a step of Newton's."""
    rows, columns, units = (12, 3, 3) if tiny else (2000, 50, 30)
    return [
        everywhere(
            f"singular values of {rows // 2} × {2 * columns}, centred",
            lambda np: lambda x: np.linalg.svd(x - x.mean(0), full_matrices=False)[1],
            normal((rows // 2, 2 * columns)),
        ),
        workload(
            f"least squares by QR, {rows} × {columns}",
            lambda cv: least_squares(cv.numpy, cv.numpy.linalg.qr),
            normal((rows, columns), (rows,)),
            others={
                "numpy": lambda np: least_squares(np, np.linalg.qr),
                "torch": lambda torch: least_squares(torch, torch.linalg.qr),
            },
        ),
        workload(
            f"Newton's step of a logistic regression, {rows} × {units}",
            newton_step,
            normal((units,), (rows, units), (rows,)),
        ),
    ]


def least_squares(np: Any, qr: Any) -> Callable[..., Any]:
    def fit(x: Any, y: Any) -> Any:
        q, r = qr(x)
        return np.linalg.solve(r, q.T @ y)

    return fit


def newton_step(cv: Any) -> Callable[..., Any]:
    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return (cv.numpy.logaddexp(0.0, z) - y * z).mean() + 1e-2 * (w @ w)

    def step(w: Any, x: Any, y: Any) -> Any:
        curvature = cv.hessian(loss)(w, x, y)
        return w - cv.numpy.linalg.solve(curvature, cv.grad(loss)(w, x, y))

    return step


def row(
    name: str, shape: tuple[int, ...], title: str, goals: tuple[Goal, ...] = ()
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
    if name != "solve":
        return [x]
    return [x, rng.standard_normal(shape).astype(np.float32)]


def function(library: Any, name: str) -> Callable[..., Any]:
    """One result, or a tuple of results."""
    found = getattr(library.linalg, name)

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
