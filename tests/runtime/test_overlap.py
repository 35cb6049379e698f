"""Programs that run while Python goes on: which do, how many, and who waits."""

import concurrent.futures
import itertools
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.dispatch import staging_buffers
from covector.errors import OutOfMemory
from covector.experimental import io_callback
from covector.runtime import client, overlap
from tests.dispatch.test_staging_buffers import stages_of
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


def test_only_some_are_under_way_and_their_results_are_right():
    xs = many()
    for _ in range(100):
        xs = steps(xs)
        assert len(overlap.under_way) <= overlap._MOST
    for i in (0, 3):
        expected = np.eye(16, dtype="f4") * i
        for _ in range(100):
            expected = np.sin(expected) @ expected / 40 + 1
        np.testing.assert_allclose(xs[i], expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("size", "most"), [(0, 32), (2**20, 32), (2**23, 8), (2**30, 2)]
)
def test_fewer_are_under_way_of_a_program_with_large_results(size, most):
    class Results:
        def consume_token(self):
            return self

        def block_until_ready(self):
            waited.append(self)

    waited = []
    launch = overlap.Overlapping(lambda buffers, with_tokens: Results(), size)
    made = [launch([]) for _ in range(most)]
    assert not waited
    made.append(launch([]))
    assert waited == made[: most // 2]
    assert [token for _, token in overlap.under_way] == made[most // 2 :]


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


# -- while nobody waits ----------------------------------------------------------------


SIZE = 64
PATIENCE = overlap._PATIENCE


@pytest.fixture
def worth_it(monkeypatch):
    """However long a program takes, and found out by the first few calls."""
    monkeypatch.setattr(overlap, "_WORTH_IT", (0, float("inf")))
    monkeypatch.setattr(overlap, "_TRIALS", PATIENCE - 1)


numbers = itertools.count()


def turning():
    """A new function, of which nothing is known."""
    n = next(numbers)
    return cv.jit(lambda x: cnp.sin(x @ x) / SIZE + n / 1e9)


def start():
    return cnp.linspace(0, 1, SIZE * SIZE).reshape(SIZE, SIZE)


def overlaps(f, x):
    """Whether a call of ``f`` goes on when it returns."""
    before = len(overlap.under_way)
    f(x)
    return len(overlap.under_way) > before


def test_a_program_overlaps_while_nobody_reads_a_result(worth_it):
    f, x = turning(), start()
    for _ in range(3):
        found = [overlaps(f, x) for _ in range(PATIENCE + 6)]
        assert found == [False] * PATIENCE + [True] * 6
        np.asarray(f(x))
        overlap.finish()


def test_a_program_whose_results_are_all_read_never_overlaps(worth_it):
    f, x = turning(), start()
    for _ in range(5 * PATIENCE):
        y = f(x)
        assert y.is_ready()
        float(y[0, 0])
    assert not overlap.under_way


READS = {
    "float": lambda x: float(x[0, 0]),
    "asarray": np.asarray,
    "block_until_ready": lambda x: x.block_until_ready(),
    "of a tree": lambda x: cv.block_until_ready([x]),
    "device_get": cv.device_get,
    "dlpack": np.from_dlpack,
    "repr": repr,
    "an eager operation": lambda x: x + 1,
    "another program": step,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reading_a_result_ends_it(worth_it, read):
    f, x = turning(), start()
    for _ in range(PATIENCE + 1):
        y = f(x)
    assert overlap.under_way
    read(y)
    overlap.finish()
    assert not overlaps(f, x)


def test_where_it_was_in_vain_it_takes_twice_as_many_calls(worth_it):
    f, x = turning(), start()
    for patience in (PATIENCE, 2 * PATIENCE, 4 * PATIENCE):
        assert [overlaps(f, x) for _ in range(patience)] == [False] * patience
        assert overlaps(f, x)
        overlap.finish()
    found = [overlaps(f, x) for _ in range(8 * PATIENCE + PATIENCE)]
    assert found == [False] * 8 * PATIENCE + [True] * PATIENCE
    overlap.finish()
    assert [overlaps(f, x) for _ in range(PATIENCE)] == [False] * PATIENCE
    assert overlaps(f, x)


@pytest.mark.parametrize("seconds", [(1e9, 2e9), (0, 0)], ids=["short", "long"])
def test_a_program_that_is_too_short_or_too_long_does_not(monkeypatch, seconds):
    monkeypatch.setattr(overlap, "_WORTH_IT", seconds)
    f, x = turning(), start()
    assert not any([overlaps(f, x) for _ in range(2 * overlap._TRIALS)])


def test_what_a_program_takes_is_the_least_of_some_calls(monkeypatch):
    clock = itertools.count()
    took = iter([9.0] * 6 + [0.1] + [9.0] * (overlap._TRIALS - 7))
    now = [0.0]

    def seconds():
        if next(clock) % 2:
            now[0] += next(took)
        return now[0]

    monkeypatch.setattr(overlap, "time", SimpleNamespace(perf_counter=seconds))
    monkeypatch.setattr(overlap, "_WORTH_IT", (0.05, 0.2))
    f, x = turning(), start()
    found = [overlaps(f, x) for _ in range(overlap._TRIALS + 2)]
    assert found == [False] * (overlap._TRIALS + 1) + [True]


def test_nor_does_one_of_few_elements_or_that_calls_python(worth_it):
    def callback(x):
        return cv.pure_callback(np.sin, x, x) @ x

    for f, x in [(step, cnp.ones(3)), (cv.jit(callback), start())]:
        assert not any([overlaps(f, x) for _ in range(5 * PATIENCE)])


@pytest.mark.parametrize("f", [lambda x: x * 2, cnp.sum, lambda x: x[:2]])
def test_one_of_large_arrays_does_even_if_its_result_is_small(worth_it, f):
    f, x = cv.jit(f), cnp.ones(100_000)
    assert [overlaps(f, x) for _ in range(PATIENCE + 1)] == [False] * PATIENCE + [True]


class Clock:
    """Seconds that pass only where a program is said to take some."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def launch(self, seconds):
        def launch(buffers, with_tokens=False):
            self.now += seconds
            return self

        return launch

    def consume_token(self):
        return self

    def block_until_ready(self):
        pass


@pytest.mark.parametrize(("beside", "goes_on"), [(0.9, True), (1.5, False)])
def test_a_program_that_takes_longer_beside_python_does_no_more(
    monkeypatch, beside, goes_on
):
    clock = Clock()
    monkeypatch.setattr(overlap, "time", clock)
    monkeypatch.setattr(overlap, "_WORTH_IT", (0.5, 2))
    launch = overlap.overlapping_when_unread(
        clock.launch(1.0), lambda: (clock.launch(beside), 0)
    )
    for _ in range(overlap._TRIALS + 2):
        launch([])
    assert overlap.under_way
    for _ in range(overlap._MOST * overlap._TRIALS):
        launch([])
    overlap.finish()
    for _ in range(PATIENCE + 1):
        launch([])
    assert bool(overlap.under_way) == goes_on


def test_the_work_of_other_programs_is_not_counted_against_one(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(overlap, "time", clock)
    call, other = [overlap.Overlapping(clock.launch(s), 0, alone=1.0) for s in (0.5, 9)]
    for _ in range(overlap._MOST * overlap._TRIALS):
        call([])
        other([])
    assert not call.loses


def test_steps_that_need_each_other_are_right_with_donated_arrays(worth_it):
    f = cv.jit(lambda x: cnp.sin(x @ x) / SIZE + 1, donate_argnums=0)
    x, expected, overlapped = start(), np.asarray(start()), 0
    for _ in range(100):
        given, x = x, f(x)
        overlapped += bool(overlap.under_way)
        assert given.is_deleted()
        expected = np.sin(expected @ expected) / SIZE + 1
    assert overlapped
    np.testing.assert_allclose(x, expected, rtol=1e-4)


def test_a_numpy_argument_can_be_written_to_when_the_call_returns(worth_it):
    f, total = turning(), np.full((SIZE, SIZE), 0.5, np.float32)
    expected, found = [], []
    for i in range(20):
        total[:] = i / SIZE
        expected.append(np.sin(total @ total) / SIZE)
        found.append(f(total))
        total[:] = np.nan
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)


def test_calls_with_arguments_of_numpy_overlap_as_well(worth_it):
    f, x = turning(), np.asarray(start())
    found = [overlaps(f, x) for _ in range(PATIENCE + 40)]
    assert found[: PATIENCE + 1] == [False] * PATIENCE + [True]
    assert overlap.under_way


def test_memory_that_a_program_under_way_reads_is_not_written_to(worth_it, monkeypatch):
    f, x = turning(), np.asarray(start())
    monkeypatch.setattr(staging_buffers, "_MOST_KEPT", 5 * x.nbytes)
    for _ in range(PATIENCE):
        f(x)
    given = [x * i / 20 for i in range(20)]
    found = [f(y) for y in given]
    (stage,) = stages_of(f)
    assert len(stage.read) == 5  # and no more are kept
    assert len({memory.ctypes.data for _, (memory, _) in stage.read}) == 5
    for y, z in zip(given, found, strict=True):
        np.testing.assert_allclose(z, np.sin(y @ y) / SIZE, rtol=1e-3, atol=1e-6)
    overlap.finish()
    f(x)
    assert len(stage.read) == 4
    assert len(stage.free) == 1


def test_threads_that_call_one_program_have_their_own_results(worth_it):
    f = turning()

    def work(k):
        x = start() * k / 10
        expected = np.sin(np.asarray(x) @ np.asarray(x)) / SIZE
        for i in range(60):
            y = f(x)
            if i % 20 == 19:
                np.testing.assert_allclose(y, expected, rtol=1e-2, atol=1e-6)
        return k

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))


def test_a_program_found_on_disk_overlaps_as_well(tmp_path):
    code = """
import covector as cv, covector.numpy as cnp
from covector.runtime import overlap
overlap._WORTH_IT = (0, float("inf"))
w = [cnp.eye(40)] * 3
f = cv.jit(cv.grad(lambda w, x: cnp.sum(cnp.tanh(cnp.tanh(x @ w[0]) @ w[1]) @ w[2])))
for _ in range(40):
    out = f(w, cnp.ones((30, 40)))
print(bool(overlap.under_way), round(float(out[2][0, 0]), 3))
"""
    environment = {"COVECTOR_CACHE_DIR": str(tmp_path)}
    first = output_of(code, **environment)
    assert first.startswith("True")
    assert output_of(code, **environment) == first
