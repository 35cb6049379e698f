"""Sorting on the host: any size, dtype and axis, with the bits of a stable sort."""

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, monitoring
from covector.operations.sorting_on_host import is_quick

N = 3000
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "f2", "f4", ml_dtypes.bfloat16]
WIDE = ["i8", "u8", "f8"]


def numbers(dtype, shape=(N,)):
    """Numbers of which many are equal, and of floats zeros of both signs and NaNs."""
    rng = np.random.default_rng(0)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        found.flat[: N // 2] %= 7
        return found
    found = rng.normal(size=shape).round(1) * rng.choice([-0.0, 1.0], shape)
    found.flat[::97], found.flat[::89] = np.nan, -np.inf
    return found.astype(dtype)


def bits(x):
    return np.asarray(x).view(f"u{x.dtype.itemsize}")


def stable_order(x, axis=-1):
    wide = x if x.dtype.kind != "V" else x.astype(np.float32)
    return np.argsort(wide, axis, kind="stable")


@pytest.mark.parametrize("dtype", DTYPES + WIDE)
def test_large_arrays_have_the_bits_of_a_stable_sort(dtype):
    with cv.enable_x64(True):
        x = numbers(dtype)
        order = stable_order(x)
        assert (bits(cnp.sort(x)) == bits(x[order])).all()
        if dtype not in WIDE:
            values, indices = lax.sort_key_val(x, np.arange(N, dtype=np.int32))
            assert (bits(values) == bits(x[order])).all()
            assert (np.asarray(indices) == order).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_every_axis_is_sorted(axis):
    x = numbers("f4", (20, 15, 10))
    order = stable_order(x, axis)
    wanted = np.take_along_axis(x, order, axis)
    assert (bits(cnp.sort(x, axis)) == bits(wanted)).all()
    assert (np.asarray(cnp.argsort(x, axis)) == order).all()


def test_large_arrays_are_sorted_without_compiling():
    x = cnp.asarray(np.random.default_rng(0).normal(size=100_003).astype(np.float32))
    compiled = []
    monitoring.register_event_duration_secs_listener(
        lambda name, seconds: compiled.append(name)
    )
    try:
        cnp.sort(x)
        cnp.median(x)
        cnp.unique(x)
        cnp.unique(x, return_inverse=True)
    finally:
        monitoring.clear_event_listeners()
    assert not [name for name in compiled if "backend_compile" in name]


def test_unique_gives_the_first_of_equal_elements():
    x = numbers("f4")
    values, first, inverse, counts = cnp.unique(x, True, True, True)
    wanted = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    for found, expected in zip((values, first, inverse, counts), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert (bits(values) == bits(x[wanted[1]])).all()
    assert (bits(cnp.unique(x)) == bits(values)).all()
    apart = np.unique(x, equal_nan=False)
    assert cnp.unique(x, equal_nan=False).shape == apart.shape
    assert cnp.unique(x, True, equal_nan=False)[0].shape == apart.shape


def test_keys_of_64_bits_and_complex_numbers_are_compared_in_full():
    assert not is_quick(np.dtype("i8"), alone=False)
    assert not is_quick(np.dtype("c8"), alone=True)
    with cv.enable_x64(True):
        x = np.array([2**40 + 1, 2**40, 5] * 1000)
        values, order = lax.sort_key_val(x, np.arange(x.size))
        assert (np.asarray(values) == np.sort(x)).all()
        assert (np.asarray(order) == np.argsort(x, kind="stable")).all()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [65, 127, 128, 129, 1000])
def test_searches_in_tables_of_any_size_find_every_index(side, size):
    table = np.arange(size, dtype=np.float32) // 3
    queries = np.concatenate([table, table + 0.5, [-1, size, np.nan, np.inf, -np.inf]])
    queries = queries.astype(np.float32)
    search = cv.jit(lambda a, v: cnp.searchsorted(a, v, side=side))
    wanted = np.searchsorted(table, queries, side)
    np.testing.assert_array_equal(search(table, queries), wanted)
