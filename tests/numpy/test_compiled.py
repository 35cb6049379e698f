"""Composite functions on known arrays: by NumPy, by operation, or as one program."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import options
from covector.core.host_budget import CALL, COMPILE_COST, LARGE_PACE, HostBudget
from covector.numpy.fuse import FUSE_LIMIT, fuse

SMALL, LARGE = np.arange(4.0), np.arange(FUSE_LIMIT + 1.0)


@pytest.fixture
def calls():
    return []


@pytest.fixture
def doubled(calls):
    def on_host(x, *, times=2):
        calls.append("host")
        return (x * times).astype(x.dtype)

    @fuse(host=on_host)
    def double(x, *, times=2):
        calls.append(type(x).__name__)
        return x * times

    return double


def test_false_times_nan_or_infinity_is_nan_in_compiled_programs_too():
    mask, x = np.array([False, True]), np.array([np.nan, -1.0], np.float32)
    for y in x, np.array([np.inf, 2], np.float32), x.astype(np.complex64):
        eager = cnp.multiply(mask, y)
        assert np.isnan(eager[0])
        np.testing.assert_array_equal(cv.jit(cnp.multiply)(mask, y), eager)
    of_zero = cv.jit(cnp.multiply)(mask, np.float32(-1))
    assert np.signbit(of_zero).all()


def test_small_arrays_are_handed_to_numpy(doubled, calls):
    x = cnp.asarray(SMALL)
    assert doubled(x).tolist() == [0, 2, 4, 6]
    calls.clear()
    assert doubled(x).tolist() == [0, 2, 4, 6]
    assert calls == ["host"]
    assert doubled(x).type == x.type


def test_large_arrays_run_one_program_that_is_kept(doubled, calls, monkeypatch):
    monkeypatch.setattr(HostBudget, "try_spend", lambda self: False)
    x = cnp.asarray(LARGE)
    assert float(doubled(x)[-1]) == 2 * FUSE_LIMIT
    assert "Tracer" in calls
    calls.clear()
    doubled(x)
    assert calls == []


def test_large_arrays_are_handed_to_numpy_until_compiling_pays(doubled, calls):
    x = cnp.asarray(LARGE)
    doubled(x)
    calls.clear()
    times = 0
    while "Tracer" not in calls:
        calls.clear()
        assert float(doubled(x)[-1]) == 2 * FUSE_LIMIT
        times += 1
    cost = CALL + (2 * LARGE.size + 1) / LARGE_PACE
    assert times == int(COMPILE_COST / cost)


def test_values_by_name_are_part_of_the_program(doubled):
    for x in (cnp.asarray(SMALL), cnp.asarray(LARGE)):
        assert float(doubled(x, times=3)[1]) == 3
        assert float(doubled(x, times=4)[1]) == 4


def test_traced_arrays_go_through_the_operations(doubled, calls):
    assert float(cv.grad(lambda x: doubled(x).sum())(cnp.asarray(SMALL))[0]) == 2
    assert "host" not in calls
    assert cv.vmap(doubled)(cnp.asarray(SMALL)).tolist() == [0, 2, 4, 6]
    assert cv.jit(doubled)(SMALL).tolist() == [0, 2, 4, 6]


def test_without_a_numpy_function_small_arrays_go_operation_by_operation():
    seen = []

    @fuse()
    def double(x):
        seen.append(type(x).__name__)
        return x * 2

    double(cnp.asarray(SMALL))
    assert seen[-1] == "Array"


def test_options_are_part_of_what_is_kept():
    @fuse()
    def twice(x):
        return x.astype(float) * 2

    x = cnp.asarray(LARGE)
    assert twice(x).dtype == np.float32
    with options.override(enable_x64=True):
        assert twice(x).dtype == np.float64
    assert twice(x).dtype == np.float32


def test_several_results_have_their_types():
    mantissa, exponent = cnp.frexp(cnp.asarray(LARGE))
    small = cnp.frexp(cnp.asarray(SMALL))
    assert [p.dtype for p in (mantissa, exponent)] == [p.dtype for p in small]
    np.testing.assert_array_equal(mantissa, np.frexp(LARGE)[0].astype(np.float32))


@pytest.mark.parametrize(
    "name", ["floor_divide", "remainder", "hypot", "logaddexp", "copysign", "isclose"]
)
def test_large_arrays_have_the_values_of_small_ones(name):
    x = np.random.RandomState(0).randn(FUSE_LIMIT).astype(np.float32)
    fun = getattr(cnp, name)
    got, wanted = fun(x, np.float32(0.3)), fun(x[:50], np.float32(0.3))
    assert got.type.dtype == wanted.type.dtype
    np.testing.assert_allclose(np.asarray(got[:50]), np.asarray(wanted), rtol=1e-5)


def test_large_constants_are_spread_on_the_host():
    x = cnp.zeros((200, 300))
    assert x.shape == (200, 300)
    assert cnp.full((200, 300), 2.5)[199, 299] == 2.5
    assert cnp.ones((200, 300), "bfloat16").sum() == 60000
