"""Elementwise functions of one thousand to sixteen million numbers."""

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.measure import Bound, Measure
from benchmarks.measures.workload import (
    both,
    everywhere,
    integers,
    normal,
    positive,
    workload,
)

TITLE = "Elementwise"


def measures(tiny: bool) -> list[Measure]:
    sizes = {"1k": 1_000, "100k": 100_000, "16M": 16_000_000}
    if tiny:
        sizes = {"10": 10}
    many, more = ("10", "10") if tiny else ("4M", "16M")
    return [
        *[row for label, n in sizes.items() for row in of_size(label, n)],
        *[row for row in special(many, 10 if tiny else 1 << 22)],
        *[row for row in large(more, 10 if tiny else 16_000_000)],
    ]


def of_size(label: str, n: int) -> list[Measure]:
    one, two = Bound(bytes=8 * n), Bound(bytes=12 * n)
    x, xy = normal((n,)), normal((n,), (n,))
    large = n > 1_000_000
    return [
        everywhere(f"sin, {label}", lambda np: np.sin, x, bound=one),
        everywhere(f"exp, {label}", lambda np: np.exp, x, bound=one),
        everywhere(f"x + y, {label}", add, xy, bound=two),
        everywhere(f"tanh(x)·y + x, {label}", chain, xy, compiled=large, bound=two),
        everywhere(f"eager x + y, {label}", add, xy, eager=True, bound=two),
    ]


def special(label: str, n: int) -> list[Measure]:
    """What takes many instructions for each element."""
    operands = integers(1000, (n,), low=-1000), integers(20, (n,), low=1)
    return [
        everywhere(
            f"power of floats, {label}",
            lambda np: lambda x, y: x**y,
            positive((n,), (n,)),
            bound=Bound(bytes=12 * n),
        ),
        workload(
            f"floor division of int32, {label}",
            lambda cv: lambda x, y: x // y,
            both(*operands),
            others={"numpy": floor_divide, "torch": floor_divide},
            bound=Bound(bytes=12 * n),
        ),
        workload(
            f"lgamma, {label}",
            lambda cv: cv.lax.lgamma,
            positive((n,), high=20.0),
            others={
                "numpy": lambda np: import_module("scipy.special").gammaln,
                "torch": lambda torch: torch.lgamma,
            },
            bound=Bound(bytes=8 * n),
        ),
        workload(
            f"angles within a turn, {label}",
            lambda cv: lambda x: cv.numpy.mod(x, 2 * np.pi),
            lambda: [100 * x for x in normal((n,))()],
            others={
                "numpy": lambda np: lambda x: np.mod(x, 2 * np.pi),
                "torch": lambda torch: lambda x: torch.remainder(x, 2 * np.pi),
            },
            bound=Bound(bytes=8 * n),
        ),
        workload(
            f"1/√x, {label}",
            lambda cv: cv.lax.rsqrt,
            positive((n,)),
            others={
                "numpy": lambda np: lambda x: 1 / np.sqrt(x),
                "torch": lambda torch: torch.rsqrt,
            },
            bound=Bound(bytes=8 * n),
        ),
        # One less than cores divide evenly.
        workload(
            f"softplus, {n - 1:,}",
            lambda cv: cv.nn.softplus,
            normal((n - 1,)),
            others={
                "numpy": lambda np: lambda x: np.logaddexp(x, np.float32(0)),
                "torch": lambda torch: torch.nn.functional.softplus,
            },
            bound=Bound(bytes=8 * n),
        ),
    ]


def large(label: str, n: int) -> list[Measure]:
    x, xy = normal((n,)), normal((n,), (n,))
    return [
        everywhere(
            f"where(x > 0, x, y), {label}",
            lambda np: lambda x, y: np.where(x > 0, x, y),
            xy,
            bound=Bound(bytes=12 * n),
        ),
        workload(
            f"erf, {label}",
            lambda cv: cv.lax.erf,
            x,
            others={
                "numpy": lambda np: import_module("scipy.special").erf,
                "torch": lambda torch: torch.erf,
            },
            bound=Bound(bytes=8 * n),
        ),
        workload(
            f"float32 to bfloat16, {label}",
            lambda cv: partial(as_type, dtype=cv.numpy.bfloat16),
            x,
            others={"torch": lambda torch: lambda x: x.to(torch.bfloat16)},
            bound=Bound(bytes=6 * n),
        ),
    ]


def add(np: Any) -> Any:
    return lambda x, y: x + y


def chain(np: Any) -> Any:
    return lambda x, y: np.tanh(x) * y + x


def floor_divide(np: Any) -> Any:
    return lambda x, y: x // y


def as_type(x: Any, dtype: np.dtype) -> Any:
    return x.astype(dtype)
