"""Programs that run while Python goes on: which do, how many, and who waits."""

import threading

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import OutOfMemory
from covector.experimental import io_callback
from covector.runtime import client, overlap
from tests.runtime.programs import output_of

pytestmark = pytest.mark.skipif(
    not overlap.may_overlap(client.cpu_device()),
    reason="with several devices all wait; test_client.py runs this file with one",
)


@cv.jit
def steps(xs):
    return [cnp.sin(x) @ x / 40 + 1 for x in xs]


@cv.jit
def step(x):
    return x * 2


@pytest.fixture(autouse=True)
def nothing_under_way():
    overlap.finish()
    yield
    overlap.finish()


def many(n=40, size=16):
    return [cnp.eye(size) * i for i in range(n)]


def test_a_program_of_many_small_arrays_overlaps():
    steps(many())
    assert len(overlap.under_way) == 1


@pytest.mark.parametrize(
    "xs", [many(5), many(32, 200), many(40, 4)], ids=["few", "large", "no work"]
)
def test_a_program_of_few_or_large_arrays_or_of_little_work_does_not(xs):
    results = steps(xs)
    assert not overlap.under_way
    assert all(x.is_ready() for x in results)


def test_no_more_than_two_are_under_way_and_their_results_are_right():
    xs = many()
    for _ in range(10):
        xs = steps(xs)
        assert len(overlap.under_way) <= 2
    for i in (0, 3):
        expected = np.eye(16, dtype="f4") * i
        for _ in range(10):
            expected = np.sin(expected) @ expected / 40 + 1
        np.testing.assert_allclose(xs[i], expected, rtol=1e-4)


def test_donated_arrays_are_given_up_and_their_memory_is_used():
    update = cv.jit(lambda xs: [(x * 3 + 6) / 6 for x in xs], donate_argnums=0)
    xs = many()
    for _ in range(20):
        given, xs = xs, update(xs)
        assert all(x.is_deleted() for x in given)
    assert overlap.under_way
    np.testing.assert_allclose(xs[0], np.full((16, 16), 2), rtol=1e-4)


def test_another_program_waits_for_them_and_is_done_when_its_call_returns():
    xs = steps(many())
    assert step(cnp.ones((300, 300))).is_ready()
    assert not overlap.under_way
    assert all(x.is_ready() for x in xs)


def test_a_host_call_comes_after_them_on_the_calling_thread():
    ready = []

    @cv.jit
    def tell(x):
        io_callback(look, None, x)
        return x

    def look(x):
        ready.append((threading.current_thread(), [y.is_ready() for y in xs]))

    xs = steps(many())
    tell(xs[1])
    assert ready == [(threading.main_thread(), [True] * 40)]


def test_what_fails_while_python_goes_on_is_raised_by_the_reading_of_a_result():
    @cv.jit
    def too_large(xs):
        n = 1_000_000
        table = cnp.arange(n) * xs[0][0, 0] + cnp.arange(n)[:, None]
        return [*xs, cnp.sort(table, axis=0)[:, 0].sum()]

    with pytest.raises(OutOfMemory, match=r"needs 5\.0 TB"):
        too_large(many())[-1].block_until_ready()
    assert float(steps(many())[0][0, 0]) == 1


def test_a_fork_has_the_results_of_what_was_under_way():
    code = """
import os, sys
import covector as cv, covector.numpy as cnp
f = cv.jit(lambda xs: [cnp.sin(x @ x) for x in xs])
xs = f([cnp.ones((120, 120)) for _ in range(40)])
child = os.fork()
if not child:
    print(sum(float(x[0, 0]) != 0 for x in xs), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    assert output_of(code) == "40"


def test_the_interpreter_ends_after_what_is_under_way():
    code = """
import covector as cv, covector.numpy as cnp
f = cv.jit(lambda xs: [cnp.sin(x @ x) for x in xs])
for _ in range(3):
    xs = f([cnp.ones((120, 120)) for _ in range(40)])
print("done")
"""
    assert output_of(code) == "done"


def test_the_switch_keeps_all_on_the_calling_thread():
    code = """
import covector as cv, covector.numpy as cnp
from covector.runtime import overlap
xs = cv.jit(lambda xs: [cnp.sin(x @ x) for x in xs])([cnp.ones((30, 30))] * 40)
print(len(overlap.under_way), all(x.is_ready() for x in xs))
"""
    assert output_of(code, COVECTOR_ASYNC_CPU="0") == "0 True"
