"""Warm eager calls on a few numbers: the price of a call, not of its arithmetic."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure

TITLE = "Eager calls, warm"

NUMBERS = [1.0, 2.0, 3.0, 4.0]


def measures(tiny: bool) -> list[Measure]:
    cheap = (Goal(0.15),)
    return [
        Measure(
            "eager a + b, 4 floats",
            lambda cv: add(cv.numpy.asarray, cv.numpy.float32),
            {
                "numpy": lambda np: add(np.asarray, np.float32),
                "torch": lambda torch: add(torch.tensor, torch.float32),
            },
            goals=(Goal(0.5),),
        ),
        Measure(
            "eager a[1], 4 floats",
            lambda cv: index(cv.numpy.asarray, cv.numpy.float32),
            {
                "numpy": lambda np: index(np.asarray, np.float32),
                "torch": lambda torch: index(torch.tensor, torch.float32),
            },
            goals=cheap,
        ),
        Measure(
            "eager zeros((4,))",
            lambda cv: lambda: cv.numpy.zeros((4,)),
            {
                "numpy": lambda np: lambda: np.zeros((4,), np.float32),
                "torch": lambda torch: lambda: torch.zeros((4,)),
            },
            goals=cheap,
        ),
        Measure(
            "eager array([1.0, 2.0, 3.0, 4.0])",
            lambda cv: lambda: cv.numpy.array(NUMBERS),
            {
                "numpy": lambda np: lambda: np.array(NUMBERS, np.float32),
                "torch": lambda torch: lambda: torch.tensor(NUMBERS),
            },
            goals=cheap,
        ),
        Measure(
            "eager array of a NumPy array, 4 floats",
            lambda cv: from_numpy(cv.numpy.array),
            {
                "numpy": lambda np: from_numpy(np.array),
                "torch": lambda torch: from_numpy(torch.tensor),
            },
            goals=cheap,
        ),
    ]


def add(array: Callable[..., Any], float32: Any) -> Callable[[], Any]:
    a = array(NUMBERS, dtype=float32)
    b = array(NUMBERS[::-1], dtype=float32)
    return lambda: a + b


def index(array: Callable[..., Any], float32: Any) -> Callable[[], Any]:
    a = array(NUMBERS, dtype=float32)
    return lambda: a[1]


def from_numpy(array: Callable[..., Any]) -> Callable[[], Any]:
    numbers = np.asarray(NUMBERS, np.float32)
    return lambda: array(numbers)
