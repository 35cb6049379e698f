"""Ten small programs of different kinds, compiled once for all tests of this folder."""

import functools

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import lax
from tests import meshes

M = np.linspace(-1, 1, 48 * 48, dtype=np.float32).reshape(48, 48)
V = np.linspace(-1, 1, 64, dtype=np.float32)
IMAGES = np.ones((2, 12, 12, 3), np.float32)
KERNEL = np.ones((3, 3, 3, 4), np.float32)


def elementwise(x):
    return cnp.sin(x) * 2 + cnp.cos(x)


def layer(w, x):
    with cv.named_scope("layer"):
        return cnp.tanh(x @ w).sum()


def small_loop(x):
    return lax.scan(lambda c, a: (cnp.sin(c) * a, c), cnp.float32(0.5), x)


def large_loop(x):
    return lax.fori_loop(0, 3, lambda i, c: cnp.tanh(c @ x), x)


def unknown_loop(x):
    return lax.while_loop(lambda c: c.sum() < 9, lambda c: c + cnp.abs(x), x)


def branches(x):
    return lax.cond(x[0] > 0, lambda x: x * 2, cnp.sort, x)


def pictures(images, kernel):
    made = lax.conv_general_dilated(
        images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return lax.reduce_window(
        made, -cnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
    )


def of_host(x):
    y = cv.pure_callback(np.sin, cv.ShapeDtypeStruct(x.shape, x.dtype), x)
    return cnp.fft.rfft(y).real


def updates(x, i):
    return x.at[i].add(1.0), x[::-1], cnp.linalg.qr(x[:4, None] + cnp.eye(4))


def over_devices(w, x):
    h = lax.with_sharding_constraint(x @ w, meshes.named(None, None))
    return cnp.tanh(h).sum()


PROGRAMS = {
    "elementwise": (elementwise, (V,)),
    "gradient of a layer": (cv.grad(layer), (M, M)),
    "small loop": (small_loop, (V,)),
    "large loop": (large_loop, (np.ones((160, 160), np.float32),)),
    "loop of unknown length": (unknown_loop, (V,)),
    "branches": (branches, (V,)),
    "pictures": (pictures, (IMAGES, KERNEL)),
    "callback": (of_host, (V,)),
    "updates": (updates, (V, np.arange(5))),
    "several devices": (over_devices, None),
}


@functools.cache
def compiled(name):
    """The compiled program of this name."""
    fun, args = PROGRAMS[name]
    if args is None:
        args = meshes.put(M, None, "y"), meshes.put(M, "x", None)
    return cv.jit(fun).lower(*args).compile()
