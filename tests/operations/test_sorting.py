"""Sorting in NumPy, eagerly and in compiled programs: any size, dtype and axis, with
the bits of a stable sort.
"""

import gc
import os
import signal
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import export, lax, monitoring
from covector.operations.sorting_on_host import first_of, is_quick

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


def calls_numpy(fun, *args):
    return "xla_ffi_python" in cv.jit(fun).lower(*args).as_text()


@pytest.mark.parametrize("dtype", ["u1", "f4", ml_dtypes.bfloat16, "f8", "c8"])
def test_compiled_programs_sort_in_numpy_with_the_bits_of_a_stable_sort(dtype):
    def sort(x):
        return cnp.sort(x), cnp.argsort(x)

    with cv.enable_x64(True):
        x = numbers("f4" if dtype == "c8" else dtype)
        if np.dtype(dtype).kind in "Vf":  # in threads of XLA these count as zero
            x[:50] = ml_dtypes.finfo(x.dtype).smallest_subnormal * np.arange(50)
            x[50:60] = -x[:10]
        x = x * np.complex64(1 - 1j) if dtype == "c8" else x
        assert calls_numpy(sort, x)
        ordered, order = cv.jit(sort)(x)
        is_complex = dtype == "c8"
        wanted = np.lexsort((x.imag, x.real)) if is_complex else stable_order(x)
        assert (np.asarray(order) == wanted).all()
        assert np.asarray(ordered).tobytes() == x[wanted].tobytes()


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


@pytest.mark.parametrize("axis", [0, 1])
def test_indices_that_are_sorted_along_are_not_gathered(axis):
    x = np.zeros((50, 60), np.float32)
    text = cv.jit(lambda x: cnp.argsort(x, axis)).lower(x).as_text()
    assert text.count('"stablehlo.gather"') == 1  # of x, which nobody reads
    counted = np.broadcast_to(np.arange(60, dtype=np.int32), x.shape)
    both = cv.jit(lambda x: lax.sort_key_val(x, cnp.arange(60) + 0 * x, axis))
    assert (both(x)[1] == counted).all()


@pytest.mark.parametrize("ties", [False, True])
def test_the_largest_of_many_are_found_in_numpy(ties):
    x = numbers("f4", (40, 1500))
    x = x if ties else np.random.default_rng(0).permutation(x.size).reshape(x.shape)
    x = x.astype(np.float32)
    order = stable_order(x[:, ::-1])[:, ::-1][:, :30]
    wanted = x.shape[1] - 1 - order
    top = cv.jit(lambda x: lax.top_k(x, 30))
    assert calls_numpy(top, x)
    for values, positions in (top(x), lax.top_k(cnp.asarray(x), 30)):
        assert (np.asarray(positions) == wanted).all()
        assert (bits(values) == bits(np.take_along_axis(x, wanted, 1))).all()


@pytest.mark.parametrize("count", [1, 7, 300])
@pytest.mark.parametrize("several", [2, 2**31 - 1])
def test_the_first_of_rows_are_those_of_a_stable_sort(count, several):
    keys = np.random.default_rng(0).integers(-several, several, (5, 1003), np.int32)
    keys[0], keys[1, 1000:] = 2**31 - 1, -(2**31)
    wanted = np.argsort(keys, 1, "stable")[:, :count]
    np.testing.assert_array_equal(first_of(keys, count), wanted)


def test_several_keys_are_sorted_one_after_the_other():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, N).astype(np.int8), rng.integers(0, 9, N) / 2
    with cv.enable_x64(True):
        order = cv.jit(lambda a, b: cnp.lexsort((a, b)))
        assert calls_numpy(order, a, b)
        assert (np.asarray(order(a, b)) == np.lexsort((a, b))).all()


def test_what_is_sorted_in_its_place_is_there_for_others_too():
    x = cnp.asarray(np.arange(N, 0, -1, dtype=np.float32))
    before = np.array(x)
    ordered, twice, order, third = cv.jit(
        lambda x: (cnp.sort(x), 2 * x, cnp.sort(2 * x), cnp.sort(cnp.arange(N, 0, -1)))
    )(x)
    assert (np.asarray(x) == before).all()
    assert (np.asarray(twice) == 2 * before).all()
    for found, scale in ((ordered, 1), (order, 2), (third, 1)):
        assert (np.asarray(found) == scale * before[::-1]).all()


def test_loops_branches_batches_and_derivatives_sort_in_numpy():
    x = np.random.default_rng(0).permutation(N).astype(np.float32)

    def loop(x):
        down = lax.fori_loop(0, 3, lambda i, x: -cnp.sort(x), x)
        return lax.cond(x[0] > -1, cnp.sort, lambda x: x, down)

    assert calls_numpy(loop, x)
    assert (np.asarray(cv.jit(loop)(x)) == np.sort(-x)).all()
    rows = x.reshape(30, 100)
    assert (cv.jit(cv.vmap(cnp.sort, 1, 1))(rows) == np.sort(rows, 0)).all()
    slope = cv.jit(cv.grad(lambda x: (cnp.sort(x) * cnp.arange(N)).sum()))
    assert (slope(x) == x).all()


def test_programs_for_others_and_for_several_devices_sort_without_numpy():
    x = np.arange(N, dtype=np.float32)
    exported = export.export(cv.jit(cnp.sort))(x)
    assert b"xla_ffi_python" not in exported.serialize()
    if cv.device_count() < 2:
        pytest.skip("needs two devices")
    mesh = cv.make_mesh((2,), ("x",))
    twice = cv.device_put(np.stack([x, x]), cv.NamedSharding(mesh, cv.P("x")))
    assert not calls_numpy(cnp.sort, twice)
    assert not calls_numpy(
        cv.shard_map(cnp.sort, in_specs=cv.P("x"), out_specs=cv.P("x"), mesh=mesh),
        twice,
    )


@pytest.fixture
def interruptible():
    """Ctrl-C is noticed, also by tests that run in the background of a shell. What it
    raises while garbage is collected is lost in a callback of the peer.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_in_the_midst_of_sorting_is_a_keyboard_interrupt():
    x = np.random.default_rng(0).normal(size=100_000).astype(np.float32)
    sort = cv.jit(lambda x: lax.fori_loop(0, 100, lambda i, x: cnp.sort(-x), x))
    sort(x)
    for _ in range(5):
        timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            until = time.monotonic() + 30
            while time.monotonic() < until:
                sort(x)
        timer.join()
    assert float(sort(x)[0]) == x.min()


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
