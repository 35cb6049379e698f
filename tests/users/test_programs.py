"""Programs that users write, each checked against a known answer: parameters, devices,
compilation.
"""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import export, lax, random
from covector.sharding import Mesh, NamedSharding
from covector.sharding import PartitionSpec as P


@cv.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Linear:
    w: cv.Array
    b: cv.Array
    activation: str = dataclasses.field(default="none", metadata={"static": True})

    def __call__(self, x):
        y = x @ self.w + self.b
        return cnp.tanh(y) if self.activation == "tanh" else y


class Optimizer(NamedTuple):
    mean: Linear
    count: cv.Array


def test_parameters_in_dataclasses_and_named_tuples():
    model = Linear(cnp.ones((2, 1)), cnp.zeros(1), activation="tanh")

    @cv.jit
    def step(model, state, x):
        grads = cv.grad(lambda m: cnp.sum(m(x) ** 2))(model)
        mean = cv.tree.map(lambda a, g: 0.9 * a + 0.1 * g, state.mean, grads)
        model = cv.tree.map(lambda p, m: p - 0.1 * m, model, mean)
        return model, Optimizer(mean, state.count + 1)

    state = Optimizer(cv.tree.map(cnp.zeros_like, model), cnp.array(0))
    x = cnp.array([[0.5, -0.25]])
    new, state = step(model, state, x)
    y = np.tanh(0.25)
    slope = 2 * y * (1 - y**2) * np.asarray(x).T
    np.testing.assert_allclose(new.w, 1 - 0.01 * slope, rtol=1e-5)
    assert new.activation == "tanh" and state.count == 1
    paths = [cv.tree_util.keystr(p) for p, _ in cv.tree.leaves_with_path(model)]
    assert paths == [".w", ".b"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        new.w = 0


@cv.tree_util.register_pytree_node_class
class Polynomial:
    """A class of the user's own as a pytree."""

    def __init__(self, coefficients, name):
        self.coefficients = coefficients
        self.name = name

    def __call__(self, x):
        return cnp.polyval(self.coefficients, x)

    def tree_flatten(self):
        return (self.coefficients,), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


def test_a_class_of_the_user_goes_through_transformations():
    p = Polynomial(cnp.array([1.0, 0.0, -2.0]), "p")
    value, slope = cv.jit(cv.value_and_grad(lambda p, x: p(x)))(p, 3.0)
    assert value == 7 and slope.name == "p"
    assert slope.coefficients.tolist() == [9, 3, 1]
    many = Polynomial(cnp.eye(3), "many")
    assert cv.vmap(lambda p, x: p(x), (0, None))(many, 2.0).tolist() == [4, 2, 1]


def test_a_configuration_is_a_static_argument():
    @dataclasses.dataclass(frozen=True)
    class Config:
        depth: int
        residual: bool = True

    @functools.partial(cv.jit, static_argnames="config")
    def forward(x, config):
        for _ in range(config.depth):
            y = cnp.tanh(x)
            x = x + y if config.residual else y
        return x

    x = cnp.array(0.5)
    assert float(forward(x, config=Config(1))) == pytest.approx(0.5 + np.tanh(0.5))
    assert float(forward(x, config=Config(2, residual=False))) == pytest.approx(
        np.tanh(np.tanh(0.5))
    )
    assert cv.eval_shape(forward, x, Config(3)).shape == ()
    with pytest.raises(ValueError, match="config"):
        forward(x, config={"depth": 1})


def test_arguments_in_dicts_and_keywords():
    @cv.jit
    def energy(state, *, scale=1.0):
        return scale * sum(cnp.sum(v**2) for v in state["fields"].values())

    state = {"fields": {"u": cnp.ones(3), "v": cnp.full(2, 2.0)}, "time": 0}
    assert energy(state) == 11
    assert energy(state, scale=2.0) == 22
    assert energy({**state, "time": 1}) == 11
    slopes = cv.grad(lambda fields: energy({**state, "fields": fields}))(
        state["fields"]
    )
    assert slopes["v"].tolist() == [4, 4]


def test_a_donated_buffer_is_gone():
    @functools.partial(cv.jit, donate_argnums=0)
    def update(state, x):
        return cv.tree.map(lambda s: s + x, state)

    state = {"a": cnp.zeros(1000), "b": cnp.ones(1000)}
    old = state
    for _ in range(3):
        state = update(state, 1.0)
    assert state["a"][0] == 3 and state["b"][-1] == 4
    assert old["a"].is_deleted()
    with pytest.raises(RuntimeError, match=r"donated|deleted"):
        old["a"] + 1


def test_a_data_parallel_step_over_eight_devices():
    mesh = Mesh(np.array(cv.devices()[:8]), ("data",))
    split, same = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    x = random.normal(random.key(0), (64, 3))
    y = x @ cnp.array([1.0, 2.0, 3.0])
    w = cnp.zeros(3)

    def loss(w, x, y):
        return cnp.mean((x @ w - y) ** 2)

    @functools.partial(cv.jit, out_shardings=(same, None))
    def step(w, x, y):
        value, grads = cv.value_and_grad(loss)(w, x, y)
        return w - 0.1 * grads, value

    alone, value_alone = step(w, x, y)
    batch = cv.device_put((x, y), split)
    spread, value = step(cv.device_put(w, same), *batch)
    assert len(batch[0].addressable_shards) == 8
    assert spread.sharding.is_fully_replicated
    np.testing.assert_allclose(spread, alone, rtol=1e-5)
    np.testing.assert_allclose(value, value_alone, rtol=1e-5)


def test_devices_add_up_with_shard_map_and_psum():
    mesh = cv.make_mesh((8,), ("i",))

    @cv.jit
    @functools.partial(
        cv.shard_map, mesh=mesh, in_specs=P("i"), out_specs=(P("i"), P())
    )
    def normalize(x):
        total = lax.psum(x.sum(), "i")
        return x / total + 0 * lax.axis_index("i"), total

    x = cnp.arange(16.0)
    shares, total = normalize(x)
    assert total == 120
    np.testing.assert_allclose(shares, x / 120, rtol=1e-6)


def test_a_nan_is_found_where_it_is_made():
    @cv.jit
    def f(x):
        y = cnp.log(x)
        return y * 2

    assert cnp.isnan(f(-1.0))
    with cv.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        f(-1.0)
    assert f(1.0) == 0


def test_loops_update_arrays_with_at():
    @cv.jit
    def primes(n_max=50):
        sieve = cnp.ones(50, bool).at[:2].set(False)

        def cross_out(i, sieve):
            multiples = (cnp.arange(50) % i == 0) & (cnp.arange(50) > i)
            return cnp.where(sieve[i] & multiples, False, sieve)

        return lax.fori_loop(2, 8, cross_out, sieve)

    assert cnp.nonzero(primes())[0].tolist()[:6] == [2, 3, 5, 7, 11, 13]

    @cv.jit
    def fibonacci():
        x = cnp.zeros(10, int).at[:2].set(1)
        return lax.fori_loop(2, 10, lambda i, x: x.at[i].set(x[i - 1] + x[i - 2]), x)

    assert fibonacci().tolist() == [1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    grid = cnp.zeros((3, 3)).at[cnp.array([0, 2]), 1].add(5.0).at[1].max(2.0)
    assert grid.tolist() == [[0, 5, 0], [2, 2, 2], [0, 5, 0]]


def test_batches_of_any_length_are_padded_to_a_few():
    traced = []

    @cv.jit
    def masked_mean(x, length):
        traced.append(x.shape)
        mask = cnp.arange(x.shape[0]) < length
        return cnp.sum(cnp.where(mask, x, 0)) / length

    def mean(values):
        size = 1 << (len(values) - 1).bit_length()
        padded = np.pad(np.asarray(values, np.float32), (0, size - len(values)))
        return float(masked_mean(padded, len(values)))

    for n in range(1, 17):
        assert mean(range(n)) == pytest.approx((n - 1) / 2)
    assert sorted(traced) == [(1,), (2,), (4,), (8,), (16,)]


def test_an_exported_program_is_loaded_from_a_file(tmp_path):
    @cv.jit
    def predict(params, x):
        return cnp.tanh(x @ params["w"])

    params = {"w": random.normal(random.key(0), (3, 2))}
    shape = cv.ShapeDtypeStruct((5, 3), cnp.float32)
    exported = export.export(predict)(params, shape)
    (tmp_path / "model").write_bytes(exported.serialize())
    loaded = export.deserialize((tmp_path / "model").read_bytes())
    x = cnp.ones((5, 3))
    np.testing.assert_allclose(loaded.call(params, x), predict(params, x), rtol=1e-6)
    assert loaded.in_avals[-1].shape == (5, 3)
