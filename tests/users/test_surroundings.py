"""Programs that users write, each checked against a known answer: other libraries,
files, threads and processes.
"""

import concurrent.futures
import copy
import multiprocessing
import pickle
import re
import time
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import cross_val_score

import covector as cv
import covector.numpy as cnp
from covector import random
from covector.experimental import checkpoint, io_callback


class TrainState(NamedTuple):
    params: dict
    step: int


def test_a_checkpoint_continues_a_training(tmp_path):
    def loss(params):
        return cnp.sum((params["w"] - 1) ** 2) + params["b"] ** 2

    @cv.jit
    def step(state):
        grads = cv.grad(loss)(state.params)
        moved = cv.tree.map(lambda p, g: p - 0.1 * g, state.params, grads)
        return TrainState(moved, state.step + 1)

    state = TrainState({"w": cnp.zeros(3), "b": cnp.array(1.0)}, 0)
    for _ in range(3):
        state = step(state)
    checkpoint.save(tmp_path / "state", state)
    restored = checkpoint.restore(tmp_path / "state", state)
    assert isinstance(restored, TrainState) and int(restored.step) == 3
    for _ in range(3):
        state, restored = step(state), step(restored)
    np.testing.assert_array_equal(state.params["w"], restored.params["w"])


def test_arrays_are_saved_by_numpy(tmp_path):
    x = random.normal(random.key(0), (3, 4))
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(cnp.load(tmp_path / "x.npy"), x)
    np.savez(tmp_path / "all.npz", x=x, y=cnp.arange(3))
    with np.load(tmp_path / "all.npz") as saved:
        np.testing.assert_array_equal(cnp.asarray(saved["y"]), [0, 1, 2])


def test_callbacks_compute_log_and_print(capsys):
    history = []

    def bessel(x):
        return cv.pure_callback(
            lambda x: np.i0(x).astype(np.float32),
            cv.ShapeDtypeStruct(x.shape, x.dtype),
            x,
        )

    def record(value):
        history.append(float(value))
        return np.int32(len(history))

    @cv.jit
    def step(x):
        y = bessel(x)
        count = io_callback(
            record, cv.ShapeDtypeStruct((), np.int32), y.sum(), ordered=True
        )
        cv.debug.print("sum {s:.2f}, call {n}", s=y.sum(), n=count)
        return y

    x = cnp.array([0.0, 1.0])
    np.testing.assert_allclose(step(x), np.i0([0.0, 1.0]), rtol=1e-6)
    step(2 * x)
    cv.effects_barrier()
    assert history == pytest.approx([2.266066, 3.279585])
    assert capsys.readouterr().out == "sum 2.27, call 1\nsum 3.28, call 2\n"


def test_threads_share_a_jitted_function():
    @cv.jit
    def f(x):
        return cnp.linalg.norm(x @ x.T)

    def work(n):
        return float(f(cnp.full((n % 4 + 2, 3), 1.0)))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(40)))
    assert found == pytest.approx([3 * (n % 4 + 2) for n in range(40)])


def _length(task):
    x, params = task
    return float(cnp.linalg.norm(x)), {k: np.asarray(v) for k, v in params.items()}


def test_processes_get_and_return_arrays():
    task = (cnp.array([3.0, 4.0]), {"w": cnp.ones(2)})
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        ((length, params),) = pool.map(_length, [task])
    assert length == 5.0
    np.testing.assert_array_equal(params["w"], [1, 1])


def test_arrays_and_trees_are_pickled_and_copied():
    tree = TrainState({"w": cnp.arange(3, dtype=cnp.bfloat16), "key": random.key(1)}, 7)
    for other in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert other.step == 7 and other.params["w"].dtype == cnp.bfloat16
        np.testing.assert_array_equal(other.params["w"], tree.params["w"])
        np.testing.assert_array_equal(
            random.normal(other.params["key"]), random.normal(tree.params["key"])
        )


def test_columns_of_pandas_are_arrays_and_back():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2, 4, 6]})
    slope = cv.jit(lambda x, y: cnp.vdot(x, y) / cnp.vdot(x, x))
    x, y = cnp.asarray(frame["x"]), cnp.asarray(frame["y"].to_numpy())
    assert float(slope(x, y)) == 2.0
    frame["z"] = np.asarray(cnp.sqrt(x))
    np.testing.assert_allclose(frame["z"] ** 2, frame["x"], rtol=1e-6)
    assert cnp.asarray(frame[["x", "y"]]).shape == (3, 2)


def test_tensors_of_pytorch_are_shared_through_dlpack():
    torch = pytest.importorskip("torch")
    ours = cnp.from_dlpack(torch.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(cv.jit(lambda x: x.sum(0))(ours), [3, 5, 7])
    theirs = torch.from_dlpack(cnp.arange(3.0) * 2)
    assert theirs.tolist() == [0, 2, 4]


@pytest.mark.parametrize("library", ["pandas", "torch"])
def test_the_examples_of_the_guide_run_where_the_library_is(library):
    """The documents' own tests run without it, and do not execute these blocks."""
    pytest.importorskip(library)
    guide = Path(__file__).parents[2] / "docs" / "interoperability.md"
    blocks = re.findall(r"```python\n(?!>>>)(.*?)```", guide.read_text(), re.DOTALL)
    (block,) = [block for block in blocks if f"import {library}" in block]
    names = {"cv": cv, "cnp": cnp, "np": np, "x": cnp.arange(3.0)}
    exec(block, names)
    if library == "pandas":
        assert names["frame"]["total"].tolist() == [4.0, 6.0]
        assert names["data"]["b"].dtype == np.float32
    else:
        assert names["array"].tolist() == names["tensor"].tolist() == [0, 1, 2]


class RidgeRegressor(RegressorMixin, BaseEstimator):
    """An estimator of scikit-learn around a jitted fit."""

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def fit(self, X, y):
        @cv.jit
        def solve(X, y, penalty):
            return cnp.linalg.solve(X.T @ X + penalty * cnp.eye(X.shape[1]), X.T @ y)

        self.coef_ = solve(X, y, self.penalty)
        return self

    def predict(self, X):
        return np.asarray(X @ self.coef_)


def test_an_estimator_of_scikit_learn_is_fitted_by_a_jitted_function():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.01 * rng.normal(size=60)
    model = RidgeRegressor(penalty=0.1).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, 2, -1], atol=0.02)
    assert cross_val_score(model, X, y, cv=3).min() > 0.99
    assert model.get_params() == {"penalty": 0.1}


def test_matplotlib_draws_arrays(tmp_path):
    matplotlib.use("Agg")
    x = cnp.linspace(0, 2 * cnp.pi, 50)
    figure = Figure()
    axes = figure.subplots(1, 3)
    (line,) = axes[0].plot(x, cnp.sin(x), label="sine")
    axes[1].imshow(cnp.outer(x, x))
    axes[2].hist(cnp.sin(x), bins=10)
    axes[0].scatter(x[::10], cnp.cos(x[::10]), c=x[::10])
    axes[0].fill_between(x, cnp.sin(x) - 0.1, cnp.sin(x) + 0.1)
    figure.savefig(tmp_path / "figure.png")
    np.testing.assert_allclose(line.get_ydata(), np.sin(np.asarray(x)), atol=1e-6)
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_a_loader_feeds_batches_from_a_generator():
    data = np.arange(20, dtype=np.float32).reshape(10, 2)
    labels = (np.arange(10) % 2).astype(np.int64)

    def batches(key, size):
        order = np.asarray(random.permutation(key, len(data)))
        for start in range(0, len(data), size):
            chosen = order[start : start + size]
            yield {"x": data[chosen], "label": labels[chosen]}

    @cv.jit
    def step(total, batch):
        return total + batch["x"].sum() + batch["label"].sum()

    total = 0.0
    for epoch in range(2):
        for batch in batches(random.fold_in(random.key(0), epoch), 5):
            total = step(total, batch)
    assert float(total) == 2 * (data.sum() + labels.sum())


def test_a_program_is_timed_when_its_result_is_there():
    f = cv.jit(lambda x: (x @ x).sum())
    x = cnp.ones((200, 200))
    compiled = f.lower(x).compile()
    start = time.perf_counter()
    out = f(x).block_until_ready()
    first = time.perf_counter() - start
    start = time.perf_counter()
    cv.block_until_ready([f(x), f(x + 1)])
    assert first > 0 and time.perf_counter() > start
    assert out == compiled(x) == 200.0**3
    assert compiled.cost_analysis()["flops"] > 1e6


def test_dtypes_are_named_by_strings_and_kept():
    x = cnp.zeros(3, dtype="bfloat16")
    assert x.dtype == "bfloat16" and (x + 1).dtype == cnp.bfloat16
    assert cnp.asarray([1, 2], "uint8").dtype == np.uint8
    assert str(x.astype("float16").dtype) == "float16"
    assert cnp.issubdtype(x.dtype, cnp.floating)
    sizes = {
        name: cnp.dtype(name).itemsize for name in ("int8", "float32", "complex64")
    }
    assert sizes == {"int8": 1, "float32": 4, "complex64": 8}
    with pytest.raises(TypeError, match="Did you mean 'float32'"):
        cnp.zeros(3, "flaot32")
    words = np.array(["cat", "dog", "cat"])
    with pytest.raises(TypeError, match="Number the strings"):
        cnp.asarray(words)
    assert cnp.asarray(np.unique(words, return_inverse=True)[1]).tolist() == [0, 1, 0]
