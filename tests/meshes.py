"""Meshes of 1 to 8 virtual CPU devices, and arrays sharded over them."""

import numpy as np
import pytest

import covector as cv
from covector import P
from covector.sharding import NamedSharding

SHAPES = {
    "1": ((1,), ("x",)),
    "2": ((2,), ("x",)),
    "4": ((4,), ("x",)),
    "8": ((8,), ("x",)),
    "2x4": ((2, 4), ("x", "y")),
}


def mesh(name="2x4"):
    if len(cv.devices()) < 8:
        pytest.skip("needs COVECTOR_NUM_CPU_DEVICES=8 before the first array")
    return cv.make_mesh(*SHAPES[name])


def named(*entries, on="2x4"):
    return NamedSharding(mesh(on), P(*entries))


def numbers(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def put(x, *entries, on="2x4"):
    return cv.device_put(x, named(*entries, on=on))
