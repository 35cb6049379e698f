"""Random numbers. covector and JAX draw the same from one key; the values of NumPy and
PyTorch are others.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import JAX, TIED, Goal, Measure
from benchmarks.measures.workload import workload

TITLE = "Random numbers"


def measures(tiny: bool) -> list[Measure]:
    large, n, few = (1000, 100, 10) if tiny else (10_000_000, 1_000_000, 1000)
    rows, classes = (10, 4) if tiny else (10_000, 128)
    logits = np.random.default_rng(0).standard_normal((rows, classes), np.float32)
    return [
        draws(
            f"random.bits, {large:,}",
            lambda r, k: r.bits(k, (large,)),
            {
                "numpy": lambda g: g.integers(0, 2**32, large, np.uint32),
                "torch": lambda torch: torch.randint(2**31, (large,)),
            },
        ),
        draws(
            f"random.uniform, {large:,}",
            lambda r, k: r.uniform(k, (large,)),
            {
                "numpy": lambda g: g.random(large, np.float32),
                "torch": lambda torch: torch.rand(large),
            },
        ),
        *[
            draws(
                f"random.normal, {size:,}",
                lambda r, k, size=size: r.normal(k, (size,)),
                {
                    "numpy": lambda g, size=size: g.standard_normal(size, np.float32),
                    "torch": lambda torch, size=size: torch.randn(size),
                },
            )
            for size in (large, few)
        ],
        draws(
            f"random.normal, {n:,} × 3",
            lambda r, k: r.normal(k, (n, 3)),
            {
                "numpy": lambda g: g.standard_normal((n, 3), np.float32),
                "torch": lambda torch: torch.randn(n, 3),
            },
        ),
        draws(
            f"random.gamma, a = 2, {n:,}",
            lambda r, k: r.gamma(k, 2.0, (n,)),
            {
                "numpy": lambda g: g.standard_gamma(2.0, n, np.float32),
                "torch": lambda torch: torch._standard_gamma(torch.full((n,), 2.0)),
            },
        ),
        draws(
            f"random.poisson, λ = 4, {n:,}",
            lambda r, k: r.poisson(k, 4.0, (n,)),
            {
                "numpy": lambda g: g.poisson(4.0, n),
                "torch": lambda torch: torch.poisson(torch.full((n,), 4.0)),
            },
        ),
        draws(
            f"random.permutation, {n:,}",
            lambda r, k: r.permutation(k, n),
            {
                "numpy": lambda g: g.permutation(n),
                "torch": lambda torch: torch.randperm(n),
            },
        ),
        draws(
            f"random.choice without replacement, {few:,} of {n:,}",
            lambda r, k: r.choice(k, n, (few,), replace=False),
            {
                "numpy": lambda g: g.choice(n, few, replace=False),
                "torch": lambda torch: torch.randperm(n)[:few],
            },
        ),
        workload(
            f"random.categorical, {rows:,} × {classes}",
            lambda cv: lambda x: cv.random.categorical(cv.random.key(0), x),
            lambda: [logits],
            others={
                "torch": lambda torch: lambda x: torch.multinomial(x.softmax(-1), 1)
            },
            compared=(JAX,),
        ),
        draws(
            f"random.bernoulli, {4 * n:,}",
            lambda r, k: r.bernoulli(k, 0.9, (4 * n,)),
            {
                "numpy": lambda g: g.random(4 * n, np.float32) < 0.9,
                "torch": lambda torch: torch.rand(4 * n) < 0.9,
            },
        ),
    ]


def draws(
    name: str,
    drawn: Callable[[Any, Any], Any],
    others: dict[str, Callable[[Any], Any]],
) -> Measure:
    """A row about a function of ``covector.random`` and a key; NumPy's takes a
    generator, PyTorch's the module.
    """

    def program(cv: Any) -> Callable[[], Any]:
        key, draw = cv.random.key(0), cv.jit(lambda key: drawn(cv.random, key))
        return lambda: draw(key)

    def with_generator(draw: Callable[[Any], Any]) -> Any:
        generator = np.random.default_rng(0)
        return lambda _: lambda: draw(generator)

    setups = {
        peer: with_generator(draw)
        if peer == "numpy"
        else (lambda torch, draw=draw: lambda: draw(torch))
        for peer, draw in others.items()
    }
    goals = (Goal(1.0), TIED)
    return Measure(name, program, setups, goals, compared=(JAX,))
