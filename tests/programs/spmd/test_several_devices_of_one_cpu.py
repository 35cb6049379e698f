"""Programs over several devices of one CPU run one after the other."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import covector as cv
from covector import lax
from covector.runtime import overlap
from covector.sharding import PartitionSpec
from tests.runtime.programs import output_of

STEPS = """
import covector as cv, covector.numpy as cnp, numpy as np
from covector import lax
from covector.sharding import NamedSharding, PartitionSpec as P

mesh = cv.make_mesh((4,), ("d",))
over = NamedSharding(mesh, P("d"))

@cv.shard_map(mesh=mesh, in_specs=(P("d"), P("d")), out_specs=P("d"))
def experts(w, x):
    x = lax.all_to_all(x.reshape(4, -1, 64), "d", 0, 0)
    return lax.all_to_all(cnp.tanh(x @ w[0]), "d", 0, 0).reshape(-1, 64)

@cv.jit
def step(w, x):
    return w - 0.1 * cv.grad(lambda w: (experts(w, x) ** 2).sum())(w), x

rng = np.random.default_rng(0)
w = cv.device_put(rng.normal(size=(4, 64, 64)).astype(np.float32) / 10, over)
x = cv.device_put(rng.normal(size=(1024, 64)).astype(np.float32), over)
for _ in range(300):
    w, x = step(w, x)
print(bool(cnp.isfinite(w).all()))
"""


def test_steps_over_several_devices_that_nobody_waits_for_do_not_stop_for_ever():
    assert output_of(STEPS, COVECTOR_NUM_CPU_DEVICES="4") == "True"


@pytest.fixture
def total():
    """The sum over all devices, of each one's part."""
    mesh = cv.make_mesh((8,), ("d",))
    over = cv.NamedSharding(mesh, PartitionSpec("d"))

    @cv.jit
    @cv.shard_map(mesh=mesh, in_specs=PartitionSpec("d"), out_specs=PartitionSpec("d"))
    def f(x):
        return x + lax.psum(x, "d")

    return f, cv.device_put(np.arange(64, dtype=np.float32).reshape(8, 8), over)


def test_one_program_over_several_devices_is_under_way_at_a_time(total):
    f, x = total
    for _ in range(20):
        y = f(x)
        assert len(overlap.under_way) == 1
    assert_array_equal(y, x + np.asarray(x).sum(0, keepdims=True))


def test_threads_that_run_programs_over_several_devices_have_their_own_results(total):
    f, x = total

    def calls(k):
        y = x * k
        return [f(y) for _ in range(50)][-1]

    wanted = np.asarray(x) + np.asarray(x).sum(0, keepdims=True)
    with ThreadPoolExecutor(4) as pool:
        for k, y in enumerate(pool.map(calls, range(4))):
            assert_array_equal(y, wanted * k)


def test_a_program_over_several_devices_that_calls_python_is_done_when_it_returns(
    total,
):
    _, x = total
    seen = []

    def look(part):
        seen.append(part.shape)
        return part

    f = cv.jit(lambda x: cv.pure_callback(look, x, x) + 1)
    for _ in range(5):
        y = f(x)
        before = len(seen)
        y.block_until_ready()
        assert len(seen) == before > 0
        seen.clear()


def test_what_python_raises_in_one_comes_out_of_its_call_and_only_there(total):
    _, x = total

    def fail(part):
        raise KeyError("lost")

    f = cv.jit(lambda x: cv.pure_callback(fail, x, x) + 1)
    for _ in range(2):
        with pytest.raises(KeyError, match="lost"):
            f(x)
    cv.effects_barrier()
    assert_array_equal(cv.jit(lambda x: x + 1)(x), x + 1)
