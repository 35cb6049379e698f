"""Warm eager transformations: differentiation and batching without jit."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure

TITLE = "Eager transformations, warm"

VECTOR = np.linspace(0.1, 1.0, 4, dtype=np.float32)
MATRIX = np.linspace(0.1, 1.0, 32, dtype=np.float32).reshape(8, 4)


def measures(tiny: bool) -> list[Measure]:
    return [
        Measure(
            "eager grad(sum(sin(x) * x)), 4 floats",
            gradient,
            {"autograd": autograd_gradient, "torch": torch_gradient},
            goals=(Goal(0.05), Goal(1.0, "autograd")),
            reason="nine NumPy calls of about 1.1 µs each, and some 30 µs of Python "
            "around them: a linear program is written down and folded, where autograd "
            "keeps closures",
        ),
        Measure(
            "eager vmap(sin(x) * x), 8 × 4 floats",
            batched,
            {"numpy": numpy_batched, "torch": torch_batched},
            goals=(Goal(0.1),),
        ),
    ]


def gradient(cv: Any) -> Callable[[], Any]:
    x = cv.numpy.asarray(VECTOR)
    slope = cv.grad(lambda x: cv.numpy.sum(cv.numpy.sin(x) * x))
    return lambda: slope(x)


def autograd_gradient(autograd: Any) -> Callable[[], Any]:
    anp = import_module("autograd.numpy")
    slope = autograd.grad(lambda x: anp.sum(anp.sin(x) * x))
    return lambda: slope(VECTOR)


def torch_gradient(torch: Any) -> Callable[[], Any]:
    x = torch.tensor(VECTOR, requires_grad=True)
    return lambda: torch.autograd.grad((torch.sin(x) * x).sum(), x)[0]


def batched(cv: Any) -> Callable[[], Any]:
    x = cv.numpy.asarray(MATRIX)
    mapped = cv.vmap(lambda x: cv.numpy.sin(x) * x)
    return lambda: mapped(x)


def numpy_batched(np: Any) -> Callable[[], Any]:
    return lambda: np.sin(MATRIX) * MATRIX


def torch_batched(torch: Any) -> Callable[[], Any]:
    x = torch.tensor(MATRIX)
    mapped = torch.func.vmap(lambda x: torch.sin(x) * x)
    return lambda: mapped(x)
