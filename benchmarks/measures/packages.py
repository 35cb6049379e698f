"""Hot paths of packages of the field: the same program of Equinox and Optax, on JAX and
on covector through its door.

A worker holds one peer, so that ``import jax`` has one meaning in it. Without the
packages there are no rows.
"""

import importlib
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.measure import COVECTOR, Measure

TITLE = "Programs of Equinox and Optax"

PACKAGES = ("equinox", "optax")


def measures(tiny: bool) -> list[Measure]:
    if not all(map(find_spec, PACKAGES)):
        return []
    width, batch, leaves = (4, 2, 3) if tiny else (64, 32, 200)
    return [
        Measure(
            f"Equinox: filtered jit step of an MLP, 8–{width}–{width}–1, batch {batch}",
            partial(filtered_step, width=width, batch=batch),
        ),
        Measure(
            f"Optax: jitted update of adam, {leaves} leaves of 16 × 16",
            partial(adam_updates, leaves=leaves, jitted=True),
        ),
        Measure(
            f"Optax: eager update of adam, {leaves} leaves of 16 × 16",
            partial(adam_updates, leaves=leaves, jitted=False),
        ),
    ]


def package(cv: Any, name: str) -> Any:
    """A package of the field, on this peer."""
    if cv.__name__ == COVECTOR:
        importlib.import_module("covector.compat").install()
    return importlib.import_module(name)


def filtered_step(cv: Any, width: int, batch: int) -> Callable[[], Any]:
    equinox, optax = (package(cv, name) for name in PACKAGES)
    model = equinox.nn.MLP(8, 1, width, 2, key=cv.random.key(0))
    optimizer = optax.adam(1e-3)
    state = optimizer.init(equinox.filter(model, equinox.is_array))
    generator = np.random.default_rng(0)
    x = cv.device_put(generator.standard_normal((batch, 8)).astype(np.float32))
    y = cv.device_put(generator.standard_normal((batch, 1)).astype(np.float32))

    @equinox.filter_value_and_grad
    def loss(model: Any, x: Any, y: Any) -> Any:
        return ((cv.vmap(model)(x) - y) ** 2).mean()

    @equinox.filter_jit
    def step(model: Any, state: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        value, slopes = loss(model, x, y)
        updates, state = optimizer.update(slopes, state)
        return equinox.apply_updates(model, updates), state, value

    def run() -> Any:
        nonlocal model, state
        model, state, value = step(model, state, x, y)
        return value

    return run


def adam_updates(cv: Any, leaves: int, *, jitted: bool) -> Callable[[], Any]:
    optax = package(cv, "optax")
    optimizer = optax.adam(1e-3)
    generator = np.random.default_rng(0)
    values = generator.standard_normal((leaves, 16, 16)).astype(np.float32)
    slopes = cv.device_put({f"w{i}": v for i, v in enumerate(values)})
    state = optimizer.init(slopes)
    update = cv.jit(optimizer.update) if jitted else optimizer.update
    return lambda: update(slopes, state)[0]
