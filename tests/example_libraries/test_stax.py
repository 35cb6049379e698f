"""Layers against the peer's, with the same parameters."""

import jax
import numpy as np
import pytest
from jax.example_libraries import stax as peer

import covector as cv
from covector.errors import ArgumentError
from covector.example_libraries import stax

KEY = cv.random.key(0)


def network(library):
    """A network with most layers in it."""
    s = library
    block = s.serial(s.Dense(6), s.Tanh, s.Dropout(0.5, mode="test"))
    return s.serial(
        s.Conv(4, (3, 3), (2, 2), "SAME"),
        s.BatchNorm(),
        s.Relu,
        s.MaxPool((2, 2), (1, 1)),
        s.AvgPool((2, 2), (1, 1), padding="SAME"),
        s.ConvTranspose(3, (2, 2), (2, 2)),
        s.SumPool((2, 2)),
        s.GeneralConv(("NHWC", "HWIO", "NCHW"), 2, (1, 1)),
        s.MaxPool((2, 2), (2, 2), spec="NCHW"),
        s.Flatten,
        s.FanOut(3),
        s.parallel(block, s.Dense(6), s.shape_dependent(lambda _: s.Dense(6))),
        s.FanInSum,
        s.FanOut(2),
        s.parallel(s.Gelu, s.serial(s.Softplus, s.Elu, s.Selu, s.LeakyRelu)),
        s.FanInConcat(),
        s.Identity,
        s.LogSoftmax,
    )


def test_a_network_has_the_values_of_the_peer():
    init_fun, apply_fun = network(stax)
    shape, params = init_fun(KEY, (-1, 9, 8, 3))
    x = np.random.default_rng(1).normal(size=(5, 9, 8, 3)).astype(np.float32)
    out = cv.jit(apply_fun)(params, x, rng=KEY)
    assert shape == (-1, *out.shape[1:])
    their_init, their_apply = network(peer)
    key = jax.random.key(0)
    drawn = jax.eval_shape(lambda key: their_init(key, (5, 9, 8, 3))[1], key)
    leaves, structure = jax.tree.flatten(drawn)
    ours = cv.tree.leaves(params)
    assert [p.shape for p in ours] == [p.shape for p in leaves]
    given = jax.tree.unflatten(structure, map(np.asarray, ours))
    wanted = jax.jit(their_apply)(given, x, rng=key)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)


def test_a_sequence_can_be_convolved_and_a_batch_have_no_scale():
    layer = stax.serial(
        stax.Conv1DTranspose(4, (3,), (2,), "SAME"),
        stax.BatchNorm((0, 1), center=False, scale=False),
        stax.Softmax,
        stax.Sigmoid,
        stax.Exp,
    )
    shape, params = layer[0](KEY, (2, 5, 3))
    assert shape == layer[1](params, np.ones((2, 5, 3), np.float32)).shape == (2, 10, 4)
    assert params[1] == ((), ())


def test_dropout_keeps_the_mean_and_needs_a_key():
    _, apply_fun = stax.Dropout(0.75)
    out = apply_fun((), cv.numpy.ones(4000), rng=KEY)
    assert sorted({*out.tolist()}) == [0, pytest.approx(4 / 3)]
    assert float(out.mean()) == pytest.approx(1, abs=0.05)
    with pytest.raises(ArgumentError, match=r"Dropout needs a key.*rng=key"):
        apply_fun((), cv.numpy.ones(2))


def test_a_network_is_trained_by_its_gradient():
    init_fun, apply_fun = stax.serial(stax.Dense(8), stax.Tanh, stax.Dense(1))
    _, params = init_fun(KEY, (-1, 1))
    x = cv.numpy.linspace(-1, 1, 16)[:, None]

    def loss(params):
        return ((apply_fun(params, x) - x**2) ** 2).mean()

    step = cv.jit(lambda p: cv.tree.map(lambda a, g: a - 0.2 * g, p, cv.grad(loss)(p)))
    before = loss(params)
    for _ in range(50):
        params = step(params)
    assert loss(params) < before / 2
