"""Programs that tests run in several processes: ``programs.py name argument…``."""

import os
import signal
import sys
import time

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector.errors import ArgumentError, CovectorError
from covector.experimental import checkpoint
from covector.experimental import multihost_utils as between
from covector.sharding import NamedSharding

P = cv.P


def mesh_of_all(*names):
    return cv.make_mesh((cv.device_count(), *[1] * (len(names) - 1)), names or ("x",))


def sharded(values, *spec):
    return cv.device_put(values, NamedSharding(mesh_of_all(), P(*spec)))


def report(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def raised(function, *args):
    """The error that a call raises, in words."""
    try:
        function(*args)
    except (CovectorError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("it did not raise")


# -- what works ------------------------------------------------------------------------


def arrays():
    """Two processes of two devices each."""
    rank = cv.process_index()
    assert (cv.process_count(), cv.device_count(), cv.local_device_count()) == (2, 4, 2)
    assert [d.process_index for d in cv.devices()] == [0, 0, 1, 1]
    mesh = mesh_of_all()
    assert mesh.is_multi_process and mesh.local_mesh.size == 2
    rows = NamedSharding(mesh, P("x"))
    values = np.arange(24, dtype=np.float32).reshape(8, 3)

    x = cv.device_put(values, rows)
    assert not x.is_fully_addressable and not x.is_fully_replicated
    shards = x.addressable_shards
    assert [s.device for s in shards] == cv.local_devices()
    for shard in shards:
        assert np.array_equal(shard.data, values[shard.index])
    assert [s.data is None for s in x.global_shards].count(True) == 2
    assert "f32[8,3], in several processes" in repr(x) == str(x)
    words = raised(np.asarray, x)
    assert "ShardingError: the values of an array of type f32[8,3] are not all" in words
    assert "of its 4 devices 2 are here" in words and "process_allgather" in words

    same = cv.device_put(x, NamedSharding(mesh, P()))
    assert same.is_fully_replicated and not same.is_fully_addressable
    assert np.array_equal(same, values) and "several" not in repr(same)
    assert [s.replica_id for s in same.addressable_shards] == [2 * rank, 2 * rank + 1]
    columns = cv.device_put(
        cv.device_put(values[:, :2], rows),
        NamedSharding(cv.make_mesh((2, 2), ("a", "b")), P("b", "a")),
    )
    assert np.array_equal(between.process_allgather(columns), values[:, :2])

    called = []
    y = cv.make_array_from_callback(
        (8, 3), rows, lambda i: called.append(i) or values[i]
    )
    assert len(called) == 2
    assert np.array_equal(between.process_allgather(y, tiled=True), values)
    mine = values[4 * rank : 4 * rank + 4]
    for shape in (None, (8, 3), (8, None)):
        z = cv.make_array_from_process_local_data(rows, mine, shape)
        assert z.shape == (8, 3) and float(cnp.abs(z - x).max()) == 0
    whole = cv.make_array_from_process_local_data(rows, values, (8, 3))
    assert float(cnp.abs(whole - x).max()) == 0
    words = raised(cv.make_array_from_process_local_data, rows, mine, (6, 3))
    assert "this process has 2 of 4, 1 of 1 shards along each axis, so data of" in words
    assert "global_shape must be (8, 3), but is (6, 3)" in words

    elsewhere = next(d for d in cv.devices() if d not in cv.local_devices())
    assert "belong to other processes" in raised(cv.device_put, values, elsewhere)


def dtypes():
    """Parts of every kind go and come as they were."""
    for dtype in ("bool", "int8", "bfloat16", "float16", "complex64", "uint32"):
        values = np.arange(16).reshape(8, 2).astype(cv.dtypes.canonicalize_dtype(dtype))
        found = between.process_allgather(sharded(values, "x"))
        assert found.dtype == values.dtype and np.array_equal(found, values)
    empty = between.process_allgather(sharded(np.zeros((8, 0), np.float32), "x"))
    assert empty.shape == (8, 0)
    special = np.array([np.nan, np.inf, -np.inf, -0.0] * 2, np.float32)
    found = between.process_allgather(sharded(special, "x"))
    assert found.tobytes() == special.tobytes()


def programs():
    rank = cv.process_index()
    mesh = mesh_of_all()
    a = np.random.default_rng(0).normal(size=(16, 12)).astype(np.float32)
    b = np.random.default_rng(1).normal(size=(12, 8)).astype(np.float32)
    product = cv.jit(cnp.matmul)(sharded(a, "x"), sharded(b, None, "x"))
    np.testing.assert_allclose(between.process_allgather(product), a @ b, rtol=2e-5)
    # An array without a placement is taken to be the same everywhere.
    product = cv.jit(cnp.matmul)(sharded(a, "x"), b)
    np.testing.assert_allclose(between.process_allgather(product), a @ b, rtol=2e-5)
    eager = sharded(a, "x") * 2 + 1
    np.testing.assert_allclose(between.process_allgather(eager), a * 2 + 1, rtol=1e-6)

    total = cv.shard_map(
        lambda x: cv.lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()
    )
    for run in (total, cv.jit(total)):
        found = np.asarray(run(sharded(np.arange(8.0), "x")))
        assert found.tolist() == [12.0, 16.0]
    # What each process has on its own host are its own shards, also if they are small.
    ones = np.full(cv.device_count(), rank + 1, np.float32)
    each = cv.local_device_count() * sum(range(1, cv.process_count() + 1))
    assert np.asarray(total(ones)).tolist() == [each]
    slopes = cv.jit(cv.grad(lambda w, x: ((x @ w) ** 2).sum()))(b, sharded(a, "x"))
    np.testing.assert_allclose(
        np.asarray(slopes), 2 * a.T @ a @ b, rtol=2e-4, atol=1e-3
    )


def values_between():
    rank, count = cv.process_index(), cv.process_count()
    gather = between.process_allgather
    assert gather(np.array([rank, 7])).tolist() == [[r, 7] for r in range(count)]
    tiled = gather({"a": np.array([rank, 7]), "b": float(rank)}, tiled=True)
    assert tiled["a"].tolist() == [x for r in range(count) for x in (r, 7)]
    assert tiled["b"].tolist() == list(map(float, range(count)))
    assert between.broadcast_one_to_all(rank).item() == 0
    last = between.broadcast_one_to_all({"x": np.full(2, rank)}, rank == count - 1)
    assert last["x"].tolist() == [count - 1] * 2
    words = raised(between.broadcast_one_to_all, 1, True)
    assert f"one process that is the source, but {count} say so" in words
    between.assert_equal({"a": 1, "b": np.ones(3)})
    words = raised(between.assert_equal, {"a": 1, "b": np.ones(3) * rank}, "State:")
    assert "State: Values differ between processes at ['b']" in words
    mesh = mesh_of_all()
    mine = np.full((2, 3), rank, np.float32)
    x = between.host_local_array_to_global_array(mine, mesh, P("x"))
    assert x.shape == (2 * count, 3)
    back = between.global_array_to_host_local_array(x, mesh, P("x"))
    assert np.array_equal(back, mine) and back.is_fully_addressable
    between.sync_global_devices("the end")
    words = raised(between.sync_global_devices, f"process {rank}")
    assert "ProgramMismatch" in words and "sync_global_devices('process 1')" in words


def train(steps, folder=""):
    """Losses of gradient descent on data that are sharded between the processes; half
    way, the parameters are saved, and restored.
    """
    mesh = mesh_of_all("data")
    rows, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    random = np.random.default_rng(0)
    x = random.normal(size=(32, 6)).astype(np.float32)
    y = np.sin(x.sum(1, keepdims=True))
    share = 32 // cv.process_count()
    mine = slice(share * cv.process_index(), share * (cv.process_index() + 1))
    data = [cv.make_array_from_process_local_data(rows, v[mine]) for v in (x, y)]
    shapes = {"w1": (6, 16), "b1": (16,), "w2": (16, 1)}
    weights = {k: 0.3 * random.normal(size=s) for k, s in shapes.items()}
    weights = cv.device_put({k: np.float32(w) for k, w in weights.items()}, whole)

    def loss(weights, x, y):
        hidden = cnp.tanh(x @ weights["w1"] + weights["b1"])
        return ((hidden @ weights["w2"] - y) ** 2).mean()

    @cv.jit
    def step(weights, x, y):
        value, slopes = cv.value_and_grad(loss)(weights, x, y)
        return value, cv.tree.map(lambda w, s: w - 0.1 * s, weights, slopes)

    for k in range(int(steps)):
        value, weights = step(weights, *data)
        report("loss", float(value).hex())
        if folder and k == int(steps) // 2:
            half = {"w": sharded(np.asarray(weights["w1"]).T, "x"), "rest": weights}
            checkpoint.save(f"{folder}/half", half)
            found = checkpoint.restore(f"{folder}/half", like=half)
            assert found["w"].sharding == half["w"].sharding
            weights = {**found["rest"], "w1": cv.device_put(found["w"].T, whole)}


# -- what does not ---------------------------------------------------------------------


def double(x):
    return (x * 2).sum()


def differing(x):
    y = x * 2
    if cv.process_index() == 0:
        return y.sum()
    return (y * 3).sum()


def mismatch():
    cv.jit(differing)(sharded(np.arange(8.0), "x"))


def killed(rank):
    """One process is killed while the others run a program again and again."""
    x, step = sharded(np.arange(8.0), "x"), cv.jit(double)
    step(x)
    if cv.process_index() == int(rank):
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        step(x)


def stopped():
    """One process stands still, as on a machine that cannot be reached."""
    x, step = sharded(np.arange(8.0), "x"), cv.jit(double)
    step(x)
    if cv.process_index() == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        step(x)


def absent(known):
    """One process does not come to a program that is known to it, or is not."""
    x, step = sharded(np.arange(8.0), "x"), cv.jit(double)
    if int(known):
        step(x)
    if cv.process_index() == 1:
        time.sleep(1000)
    step(x)


def elsewhere():
    """One process comes to a new program while the other is in a known one."""
    x, step = sharded(np.arange(8.0), "x"), cv.jit(double)
    step(x)
    (cv.jit(differing) if cv.process_index() == 0 else step)(x)


def killed_soon():
    """One process is killed before it has told much of itself."""
    x = sharded(np.arange(8.0), "x")
    for n in range(6):
        cv.jit(lambda x: (x * n).sum())(x)  # noqa: B023  it is called now
    if cv.process_index() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.5)
    cv.jit(double)(x)


def failed():
    x, step = sharded(np.arange(8.0), "x"), cv.jit(double)
    step(x)
    if cv.process_index() == 1:
        raise ArgumentError("these data are no good")
    time.sleep(0.5)
    step(x)


def other_order(calls):
    """Two programs that all know, and that one process runs the other way round."""
    x = sharded(np.arange(8.0), "x")
    known = [cv.jit(double), cv.jit(lambda x: (x * 3).sum())]
    for call in known:
        call(x)
    order = known if cv.process_index() else known[::-1]
    for _ in range(int(calls)):
        for call in order:
            call(x)
            time.sleep(0.02)


def sleeping():
    report("a line of its own")
    time.sleep(1000)


def printing():
    report("a line of its own")
    if os.environ["COVECTOR_PROCESS_ID"] == "1":
        for k in range(20):
            report(f"line {k}")
        sys.exit(3)
    time.sleep(1000)


def hello(*words):
    report("rank", os.environ["COVECTOR_PROCESS_ID"], *words)


WITHOUT_JOINING = (printing, hello, sleeping)

if __name__ == "__main__":
    program = globals()[sys.argv[1]]
    if program not in WITHOUT_JOINING:
        cv.distributed.initialize(initialization_timeout=30)
    program(*sys.argv[2:])
