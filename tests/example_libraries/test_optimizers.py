"""Optimizers and schedules against the peer's, step by step."""

import numpy as np
import pytest
from jax.example_libraries import optimizers as peer

import covector as cv
from covector.errors import ArgumentError, TreeMismatch
from covector.example_libraries import optimizers

MAKERS = {
    "sgd": (0.1,),
    "momentum": (0.1, 0.9),
    "nesterov": (0.1, 0.9),
    "adagrad": (0.1,),
    "rmsprop": (0.1,),
    "rmsprop_momentum": (0.01,),
    "adam": (0.1,),
    "adamax": (0.1,),
    "sm3": (0.1,),
}
_generator = np.random.default_rng(0)


def parameters():
    made = {"w": _generator.normal(size=(2, 3)), "b": _generator.normal(size=3)}
    made = {k: v.astype(np.float32) for k, v in made.items()}
    return {**made, "s": np.float32(0.5)}


@pytest.mark.parametrize("name", MAKERS)
def test_an_optimizer_takes_the_steps_of_the_peer(name):
    params = parameters()
    runs = []
    for library in (optimizers, peer):
        init, update, get_params = getattr(library, name)(*MAKERS[name])
        state = init(params)
        for i in range(4):
            gradients = {k: np.sin(3 * v + i) * (v > 0) for k, v in params.items()}
            state = update(i, gradients, state)
        runs.append(get_params(state))
    for key, found in runs[0].items():
        np.testing.assert_allclose(found, runs[1][key], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MAKERS)
def test_a_fresh_state_can_be_donated(name):
    """Averages that begin at zero were one array, which cannot be donated twice."""
    state = getattr(optimizers, name)(*MAKERS[name]).init_fn(cv.numpy.ones(3))
    leaves = cv.tree.leaves(state)
    assert len({id(leaf) for leaf in leaves}) == len(leaves)


def test_an_error_names_the_array_of_a_state():
    state = optimizers.adam(0.1).init_fn({"w": cv.numpy.ones(3)})
    (path, _), *_ = cv.tree.leaves_with_path(state)
    assert cv.tree_util.keystr(path) == ".packed_state[0][0]"


def test_a_state_goes_through_jit_and_a_loop():
    init, update, get_params = optimizers.adam(
        optimizers.exponential_decay(0.5, 50, 0.5)
    )

    def step(i, state):
        return update(
            i, cv.grad(lambda p: (p["w"] ** 2).sum())(get_params(state)), state
        )

    start = init({"w": cv.numpy.array([3.0, -2.0])})
    found = cv.jit(lambda s: cv.lax.fori_loop(0, 150, step, s))(start)
    assert np.abs(get_params(found)["w"]).max() < 0.05


def test_a_state_can_be_unpacked_and_packed():
    state = optimizers.adam(0.1).init_fn(parameters())
    unpacked = optimizers.unpack_optimizer_state(state)
    assert sorted(unpacked) == ["b", "s", "w"]
    assert len(unpacked["w"].subtree) == 3
    again = optimizers.pack_optimizer_state(unpacked)
    assert cv.tree.structure(again) == cv.tree.structure(state)
    cv.tree.map(np.testing.assert_array_equal, again, state)


def test_schedules_have_the_sizes_of_the_peer():
    for name, args in {
        "constant": (0.1,),
        "exponential_decay": (0.1, 5, 0.7),
        "inverse_time_decay": (0.1, 5, 0.7),
        "polynomial_decay": (0.1, 8, 0.01, 2.0),
        "piecewise_constant": ([3, 7], [0.3, 0.2, 0.1]),
    }.items():
        ours, theirs = getattr(optimizers, name)(*args), getattr(peer, name)(*args)
        for i in range(12):
            np.testing.assert_allclose(ours(i), theirs(i), rtol=1e-6)
    ours = optimizers.inverse_time_decay(0.1, 5, 0.7, staircase=True)
    theirs = peer.inverse_time_decay(0.1, 5, 0.7, staircase=True)
    np.testing.assert_allclose(ours(8), theirs(8), rtol=1e-6)


def test_gradients_are_clipped_together():
    gradients = {"a": np.float32([3.0, 0.0]), "b": np.float32(4.0)}
    assert float(optimizers.l2_norm(gradients)) == 5
    clipped = optimizers.clip_grads(gradients, 1.0)
    np.testing.assert_allclose(clipped["a"], [0.6, 0], rtol=1e-6)
    assert optimizers.clip_grads(gradients, 9.0)["b"] == 4
    zeros = optimizers.clip_grads({"a": np.zeros(2, np.float32)}, 0.0)
    assert zeros["a"].tolist() == [0, 0]


def test_errors_say_what_an_optimizer_needs():
    opt = optimizers.sgd(0.1)
    with pytest.raises(TreeMismatch, match="sgd needs gradients in the structure"):
        opt.update_fn(0, [1.0], opt.init_fn({"w": 1.0}))
    with pytest.raises(ArgumentError, match=r"a scalar or a function.* f32\[2\]"):
        optimizers.adam(cv.numpy.ones(2))
    with pytest.raises(ArgumentError, match="one value more than boundaries"):
        optimizers.piecewise_constant([1], [1.0])
    with pytest.raises(TreeMismatch, match="needs a tree of JoinPoints"):
        optimizers.pack_optimizer_state({"w": 1.0})
