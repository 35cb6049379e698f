"""Eager scripts: what is written without jit, on small arrays."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure
from benchmarks.measures.workload import everywhere, normal, positive, workload

TITLE = "Eager scripts"

#: the first argument of the derivatives of ``energy``, at which they are taken
POINT = np.linspace(0.1, 1.0, 4, dtype=np.float32)


def measures(tiny: bool) -> list[Measure]:
    return [*scripts(tiny), *transformed(tiny)]


def scripts(tiny: bool) -> list[Measure]:
    entries, steps, updates = (4, 2, 2) if tiny else (100, 30, 50)
    return [
        everywhere(
            "statistics of 1,000 numbers", statistics, normal((1000,)), eager=True
        ),
        workload(
            "preprocessing, 1,000 × 20",
            lambda cv: preprocessing(cv.numpy, cv.numpy.concatenate),
            positive((1000, 20)),
            eager=True,
            others={
                "numpy": lambda np: preprocessing(np, np.concatenate),
                "torch": lambda torch: preprocessing(torch, torch.cat),
            },
        ),
        everywhere(
            f"loop over {entries} entries, x[i]",
            lambda np: total_of_entries,
            positive((entries,)),
            eager=True,
        ),
        workload(
            f"{updates} updates x.at[i].set",
            lambda cv: lambda x: set_by_at(x, updates),
            positive((100,)),
            eager=True,
            others={
                "numpy": lambda np: lambda x: set_in_place(x.copy(), updates),
                "torch": lambda torch: lambda x: set_in_place(x.clone(), updates),
            },
        ),
        everywhere(
            f"Newton's square root, {steps} iterations of scalars",
            lambda np: lambda x: newton(x[0], steps),
            positive((1,)),
            eager=True,
        ),
    ]


def statistics(np: Any) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        mean, deviation = x.mean(), x.std()
        scaled = (x - mean) / deviation
        return mean, (scaled**3).mean(), (scaled**4).mean() - 3, x.max() - x.min()

    return run


def preprocessing(np: Any, concatenate: Any) -> Callable[[Any], Any]:
    """Scale, clip, add squares and logarithms, and a column of ones."""

    def run(x: Any) -> Any:
        scaled = (x - x.mean(0)) / x.std(0)
        kept = np.clip(scaled, -2, 2)
        columns = [kept, kept**2, np.log1p(x), np.ones_like(x[:, :1])]
        features = concatenate(columns, 1)
        return features[x[:, 0] > 2], features.mean(0)

    return run


def total_of_entries(x: Any) -> Any:
    total = x[0]
    for i in range(1, x.shape[0]):
        total = total + x[i]
    return total


def set_by_at(x: Any, updates: int) -> Any:
    for i in range(updates):
        x = x.at[i].set(i)
    return x


def set_in_place(x: Any, updates: int) -> Any:
    for i in range(updates):
        x[i] = i
    return x


def newton(x: Any, steps: int) -> Any:
    root = x
    for _ in range(steps):
        root = (root + x / root) / 2
    return root


# -- transformations -------------------------------------------------------------------


def transformed(tiny: bool) -> list[Measure]:
    steps = 2 if tiny else 20
    sizes = (3, 32), (32, 32), (32,)
    return [
        everywhere(
            "eager grad(sum(sin(x) * x)), 4 floats",
            lambda np: lambda x: (np.sin(x) * x).sum(),
            lambda: [POINT],
            peers=("torch",),
            wrt=0,
            eager=True,
            setups={"autograd": autograd_gradient},
            goals=(Goal(0.03),),
        ),
        everywhere(
            "gradient of an MLP 3–32–32–1",
            lambda np: lambda u, v, w, x: (np.tanh(np.tanh(x @ u) @ v) @ w).sum(),
            normal(*sizes, (8, 3)),
            peers=("torch",),
            wrt=(0, 1, 2),
            eager=True,
        ),
        workload(
            f"gradient descent, {steps} steps of 10 weights",
            lambda cv: lambda w, x, y: descend(cv.grad(squares), w, x, y, steps),
            normal((10,), (50, 10), (50,)),
            eager=True,
            others={"torch": lambda torch: torch_descent(torch, steps)},
        ),
        workload(
            "hessian of Rosenbrock's function, 4",
            lambda cv: cv.hessian(rosenbrock),
            lambda: [POINT],
            eager=True,
            others={"torch": torch_hessian},
        ),
        workload(
            "eager vmap(sin(x) * x), 8 × 4 floats",
            lambda cv: cv.vmap(lambda x: cv.numpy.sin(x) * x),
            positive((8, 4)),
            eager=True,
            others={"torch": lambda torch: torch.func.vmap(lambda x: torch.sin(x) * x)},
        ),
    ]


def autograd_gradient(autograd: Any) -> Callable[[], Any]:
    anp = import_module("autograd.numpy")
    slope = autograd.grad(lambda x: anp.sum(anp.sin(x) * x))
    return lambda: slope(POINT)


def squares(w: Any, x: Any, y: Any) -> Any:
    return ((x @ w - y) ** 2).mean()


def descend(slope: Callable[..., Any], w: Any, x: Any, y: Any, steps: int) -> Any:
    for _ in range(steps):
        w = w - 0.1 * slope(w, x, y)
    return w


def torch_descent(torch: Any, steps: int) -> Callable[..., Any]:
    def slope(w: Any, x: Any, y: Any) -> Any:
        w = w.detach().requires_grad_()
        return torch.autograd.grad(squares(w, x, y), w)[0]

    return lambda w, x, y: descend(slope, w, x, y, steps)


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def torch_hessian(torch: Any) -> Callable[[Any], Any]:
    return lambda x: torch.autograd.functional.hessian(rosenbrock, x)
