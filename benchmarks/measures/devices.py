"""Many devices: programs over a mesh of virtual devices of one CPU.

All devices share the machine's cores, so more of them do not make anything faster. What
counts is how covector and JAX compare on the same mesh.
"""

import os
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Measure
from benchmarks.measures import fresh

TITLE = "Many devices"

MOST = 8


def measures(tiny: bool) -> list[Measure]:
    wide, batch, operations = (8, 16, 20) if tiny else (256, 1024, 200)
    counts = (2,) if tiny else (2, MOST)
    short = Goal(0.3)
    return [
        *[
            Measure(
                f"{name}, {count} device{'s' * (count > 1)}",
                partial(program, count=count, wide=wide, batch=batch),
            )
            for name, program in (
                (f"product of {batch} × {wide} and {wide} × {wide}, by jit", by_jit),
                ("the same, by shard_map", by_hand),
                ("training step of 4 layers, by shard_map", training_step),
            )
            for count in counts
        ],
        *[
            Measure(
                f"trace and lower {what} shard_map of {operations} operations",
                partial(lowering, operations=operations, gradient=gradient),
                goals=(short,),
                clocked=True,
            )
            for what, gradient in (("a", False), ("the gradient of a", True))
        ],
        Measure(
            "eager shard_map of 3 operations, first call",
            eager_first,
            goals=(short,),
            clocked=True,
        ),
    ]


# -- meshes, for covector and for JAX --------------------------------------------------


def mesh_of(cv: Any, count: int) -> Any:
    """A mesh of the first devices; there are ``MOST`` if this is asked first."""
    os.environ.setdefault("COVECTOR_NUM_CPU_DEVICES", str(MOST))
    flag = f"--xla_force_host_platform_device_count={MOST}"
    if cv.__name__ == "jax":
        os.environ.setdefault("XLA_FLAGS", flag)
    automatic = (cv.sharding.AxisType.Auto,)
    return cv.make_mesh(
        (count,), ("x",), devices=cv.devices()[:count], axis_types=automatic
    )


def put(cv: Any, mesh: Any, values: Any, *spec: Any) -> Any:
    sharding = cv.sharding.NamedSharding(mesh, cv.sharding.PartitionSpec(*spec))
    return cv.device_put(values, sharding)


def mapped(cv: Any, mesh: Any, fun: Callable[..., Any], ins: Any, outs: Any) -> Any:
    spec = cv.sharding.PartitionSpec
    return cv.shard_map(
        fun,
        mesh=mesh,
        in_specs=tuple([spec(*names) for names in ins]),
        out_specs=spec(*outs),
    )


def normal(*shape: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    return generator.standard_normal(shape, np.float32) / np.float32(shape[-1] ** 0.5)


# -- programs --------------------------------------------------------------------------


def by_jit(cv: Any, count: int, wide: int, batch: int) -> Callable[[], Any]:
    mesh = mesh_of(cv, count)
    x = put(cv, mesh, normal(batch, wide), "x")
    w = put(cv, mesh, normal(wide, wide))
    product = cv.jit(lambda x, w: x @ w)
    return lambda: product(x, w)


def by_hand(cv: Any, count: int, wide: int, batch: int) -> Callable[[], Any]:
    mesh = mesh_of(cv, count)
    x = put(cv, mesh, normal(batch, wide), "x")
    w = put(cv, mesh, normal(wide, wide))
    parts = mapped(cv, mesh, lambda x, w: x @ w, [("x",), ()], ("x",))
    product = cv.jit(parts)
    return lambda: product(x, w)


def training_step(cv: Any, count: int, wide: int, batch: int) -> Callable[[], Any]:
    mesh = mesh_of(cv, count)

    def loss(weights: Any, x: Any, y: Any) -> Any:
        for w in weights:
            x = cv.numpy.tanh(x @ w)
        return cv.lax.pmean(((x - y) ** 2).mean(), "x")

    total = mapped(cv, mesh, loss, [(), ("x",), ("x",)], ())

    @cv.jit
    def step(weights: Any, x: Any, y: Any) -> Any:
        value, slopes = cv.value_and_grad(total)(weights, x, y)
        return value, [w - 0.1 * d for w, d in zip(weights, slopes, strict=True)]

    weights = [put(cv, mesh, normal(wide, wide)) for _ in range(4)]
    x, y = [put(cv, mesh, normal(batch, wide), "x") for _ in range(2)]
    return lambda: step(weights, x, y)


def chain(cv: Any, mesh: Any, operations: int) -> Callable[..., Any]:
    scale = fresh.number()

    def body(x: Any) -> Any:
        for _ in range(operations // 2):
            x = cv.numpy.sin(x) * scale
        return cv.lax.psum(x.sum(), "x")

    return mapped(cv, mesh, body, [("x",)], ())


def lowering(cv: Any, operations: int, gradient: bool) -> Callable[[], float]:
    mesh = mesh_of(cv, 4)
    x = cv.numpy.asarray(normal(8))

    def clocked() -> float:
        fun = chain(cv, mesh, operations)
        jitted = cv.jit(cv.grad(fun) if gradient else fun)
        start = perf_counter()
        jitted.trace(x).lower()
        return perf_counter() - start

    return clocked


def eager_first(cv: Any) -> Callable[[], float]:
    mesh = mesh_of(cv, 4)
    x = cv.numpy.asarray(normal(8))

    def clocked() -> float:
        fun = chain(cv, mesh, 2)
        start = perf_counter()
        cv.block_until_ready(fun(x))
        return perf_counter() - start

    return clocked
