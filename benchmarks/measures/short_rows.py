"""Arrays of short rows (coordinates, colours, classes), and of odd lengths."""

from importlib import import_module
from typing import Any

from benchmarks.measure import Measure
from benchmarks.measures.workload import (
    everywhere,
    integers,
    normal,
    positive,
    workload,
)

TITLE = "Short rows"


def measures(tiny: bool) -> list[Measure]:
    n = 40 if tiny else 400_000
    return [*functions(n), *moves(n), *products(n // 4), *uneven(n - 1)]


def functions(n: int) -> list[Measure]:
    return [
        workload(
            f"erf⁻¹, {n // 10:,} × 10",
            lambda cv: cv.lax.erf_inv,
            positive((n // 10, 10), low=0.05, high=0.95),
            others={
                "numpy": lambda np: import_module("scipy.special").erfinv,
                "torch": lambda torch: torch.erfinv,
            },
        ),
        workload(
            f"mean of gelu, {n:,} × 1",
            lambda cv: lambda x: cv.nn.gelu(x).mean(),
            normal((n, 1)),
            others={"torch": lambda torch: lambda x: gelu(torch, x).mean()},
        ),
        workload(
            f"exponential of imaginary numbers, {n // 3:,} × 3",
            lambda cv: lambda x: cv.numpy.exp(1j * x),
            normal((n // 3, 3)),
            others=dict.fromkeys(
                ("numpy", "torch"), lambda np: lambda x: np.exp(1j * x)
            ),
        ),
    ]


def gelu(torch: Any, x: Any) -> Any:
    return torch.nn.functional.gelu(x, approximate="tanh")


def moves(n: int) -> list[Measure]:
    return [
        everywhere(
            f"cumsum of rows, {n // 4:,} × 4",
            lambda np: lambda x: x.cumsum(1),
            normal((n // 4, 4)),
        ),
        everywhere(
            f"xᵀ + 1 of each, {n // 10:,} × 3 × 3",
            lambda np: lambda x: x.swapaxes(1, 2) + 1,
            normal((n // 10, 3, 3)),
        ),
    ]


def products(n: int) -> list[Measure]:
    return [
        everywhere(
            f"points rotated, {n:,} × 3",
            lambda np: lambda x, a: x @ a,
            normal((n, 3), (3, 3)),
        ),
        everywhere(
            f"gradient of points rotated, {n:,} × 3",
            lambda np: lambda x, a: np.tanh(x @ a).sum(),
            normal((n, 3), (3, 3)),
            peers=("torch",),
            wrt=0,
        ),
    ]


def uneven(n: int) -> list[Measure]:
    """Of so many numbers that cores do not divide them evenly."""
    return [
        workload(
            f"softplus of what integers name, {n:,}",
            lambda cv: lambda x, k: cv.nn.softplus(x[k]),
            lambda: [*normal((1000,))(), *integers(1000, (n,))()],
            others={
                "numpy": lambda np: lambda x, k: np.logaddexp(x[k], np.float32(0)),
                "torch": lambda torch: lambda x, k: torch.nn.functional.softplus(x[k]),
            },
        ),
        workload(
            f"softplus 10 times in a loop, {n:,}",
            repeated_softplus,
            normal((n,)),
            others={"torch": softplus_of_torch},
        ),
    ]


def repeated_softplus(cv: Any) -> Any:
    def step(_: Any, x: Any) -> Any:
        return cv.nn.softplus(x) - 0.5

    return lambda x: cv.lax.fori_loop(0, 10, step, x)


def softplus_of_torch(torch: Any) -> Any:
    def fun(x: Any) -> Any:
        for _ in range(10):
            x = torch.nn.functional.softplus(x) - 0.5
        return x

    return fun
