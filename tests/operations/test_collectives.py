"""Collectives over a named vmap axis mean what NumPy does along the batch axis."""

import numpy as np
import pytest

import covector as cv
from covector import errors
from covector.core.convert import as_array
from covector.lax import parallel
from covector.transforms.derivatives import vjp
from covector.transforms.gradients import grad
from covector.transforms.vmap import vmap

N = 4
X = np.random.default_rng(0).normal(size=(N, 2 * N, N)).astype(np.float32)


def swapped(x):
    """all_to_all in NumPy: participant t keeps part t of every operand."""
    return np.swapaxes(x, 0, 1)


CASES = {
    "psum": (
        lambda x: parallel.psum(x, "i"),
        lambda x: np.broadcast_to(x.sum(0), x.shape),
    ),
    "pmean": (
        lambda x: parallel.pmean(x, "i"),
        lambda x: np.broadcast_to(x.mean(0), x.shape),
    ),
    "pmax": (
        lambda x: parallel.pmax(x, "i"),
        lambda x: np.broadcast_to(x.max(0), x.shape),
    ),
    "pmin": (
        lambda x: parallel.pmin(x, "i"),
        lambda x: np.broadcast_to(x.min(0), x.shape),
    ),
    "all_gather": (
        lambda x: parallel.all_gather(x, "i", axis=1),
        lambda x: np.stack([np.moveaxis(x, 0, 1)] * N),
    ),
    "all_gather_tiled": (
        lambda x: parallel.all_gather(x, "i", axis=0, tiled=True),
        lambda x: np.stack([x.reshape(-1, N)] * N),
    ),
    "psum_scatter": (
        lambda x: parallel.psum_scatter(x, "i", scatter_dimension=1),
        lambda x: np.moveaxis(x.sum(0), 1, 0),
    ),
    "psum_scatter_tiled": (
        lambda x: parallel.psum_scatter(x, "i", tiled=True),
        lambda x: x.sum(0).reshape(N, 2, N),
    ),
    "all_to_all": (
        lambda x: parallel.all_to_all(x, "i", 1, 0),
        lambda x: np.moveaxis(x, 2, 0).transpose(0, 1, 2),
    ),
    "all_to_all_tiled": (
        lambda x: parallel.all_to_all(x, "i", 0, 1, tiled=True),
        lambda x: x.reshape(N, N, 2, N).transpose(1, 2, 0, 3).reshape(N, 2, N * N),
    ),
    "ppermute": (
        lambda x: parallel.ppermute(x, "i", [(0, 2), (1, 0)]),
        lambda x: np.stack([x[1], 0 * x[0], x[0], 0 * x[0]]),
    ),
    "pshuffle": (
        lambda x: parallel.pshuffle(x, "i", [3, 1, 0, 2]),
        lambda x: x[[3, 1, 0, 2]],
    ),
    "axis_index": (
        lambda x: x * parallel.axis_index("i"),
        lambda x: x * np.arange(N, dtype=np.float32)[:, None, None],
    ),
}
LINEAR = [name for name in CASES if name not in ("pmax", "pmin")]


@pytest.mark.parametrize("name", CASES)
def test_a_collective_is_numpy_along_the_batch(name):
    collective, reference = CASES[name]
    over_batch = vmap(collective, axis_name="i")
    np.testing.assert_allclose(over_batch(as_array(X)), reference(X), rtol=1e-5)
    np.testing.assert_allclose(cv.jit(over_batch)(X), reference(X), rtol=1e-5)
    inside = vmap(cv.jit(collective), axis_name="i")
    np.testing.assert_allclose(inside(as_array(X)), reference(X), rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_another_batch_axis_goes_through(name):
    collective, reference = CASES[name]
    stacked = np.stack([X, X + 1, 2 * X])
    for outer in (0, 1):
        got = vmap(vmap(collective, axis_name="i"), in_axes=outer)(
            as_array(np.moveaxis(stacked, 0, outer))
        )
        np.testing.assert_allclose(got, [reference(x) for x in stacked], rtol=1e-5)
        other_order = vmap(vmap(collective), in_axes=0, axis_name="i")(
            as_array(np.moveaxis(stacked, 0, 1))
        )
        expected = np.stack([reference(x) for x in stacked], 1)
        np.testing.assert_allclose(other_order, expected, rtol=1e-5)


@pytest.mark.parametrize("name", LINEAR)
def test_the_transpose_is_the_adjoint_over_the_batch(name):
    collective, _ = CASES[name]
    over_batch = vmap(collective, axis_name="i")
    y, pull = vjp(over_batch, as_array(X))
    rng = np.random.default_rng(1)
    ct = rng.normal(size=y.shape).astype(np.float32)
    dx = rng.normal(size=X.shape).astype(np.float32)
    forward = float(np.vdot(ct, np.asarray(over_batch(as_array(dx)))))
    backward = float(np.vdot(np.asarray(pull(as_array(ct))[0]), dx))
    assert forward == pytest.approx(backward, rel=1e-3)


@pytest.mark.parametrize("name", LINEAR)
def test_a_gradient_taken_inside_the_batch_is_the_gradient_of_the_batch(name):
    collective, _ = CASES[name]

    def loss(x):
        return (collective(x) ** 2).sum()

    inside = vmap(grad(loss), axis_name="i")(as_array(X))
    outside = grad(lambda x: vmap(loss, axis_name="i")(x).sum())(as_array(X))
    np.testing.assert_allclose(inside, outside, rtol=1e-4, atol=1e-4)


def test_values_that_all_members_share():
    shared = vmap(
        lambda x, y: parallel.psum(y, "i") + parallel.pmax(y, "i") + x,
        in_axes=(0, None),
        axis_name="i",
    )
    np.testing.assert_allclose(
        shared(as_array(X[:, 0, 0]), 2.0), X[:, 0, 0] + 2.0 * N + 2
    )
    assert (
        vmap(lambda x: x * parallel.psum(1, "i"), axis_name="i")(
            as_array(X[:, 0, 0])
        ).tolist()
        == (X[:, 0, 0] * N).tolist()
    )


def test_two_named_axes_at_once():
    x = as_array(np.arange(6, dtype=np.float32).reshape(2, 3))
    both = vmap(
        vmap(lambda v: parallel.psum(v, ("i", "j")), axis_name="j"), axis_name="i"
    )
    assert both(x).tolist() == [[15.0] * 3] * 2
    indices = vmap(
        vmap(lambda v: parallel.axis_index(("i", "j")), axis_name="j"), axis_name="i"
    )
    assert indices(x).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_axis_that_does_not_exist_is_named_with_the_nearest_that_does():
    with pytest.raises(
        errors.AxisError, match=r"axis 'btch'.*'batch'.*Did you mean 'batch'"
    ):
        vmap(lambda x: parallel.psum(x, "btch"), axis_name="batch")(as_array(X))
    with pytest.raises(errors.AxisError, match="no axis is named here"):
        parallel.psum(as_array(X), "i")
    with pytest.raises(errors.AxisError, match=r"^psum over the axis 'i'"):
        parallel.psum(1, "i")
    # The failure leaves nothing behind.
    assert vmap(lambda x: x, axis_name="i")(as_array(X)).shape == X.shape


def test_lengths_that_do_not_divide_are_refused():
    x = as_array(np.ones((4, 3), np.float32))
    with pytest.raises(
        errors.TypeMismatch, match=r"psum_scatter.*must be equal to 4, but is 3"
    ):
        vmap(lambda v: parallel.psum_scatter(v, "i"), axis_name="i")(x)
    with pytest.raises(errors.TypeMismatch, match=r"all_to_all.*must be equal to 4"):
        vmap(lambda v: parallel.all_to_all(v, "i", 0, 0), axis_name="i")(x)
    with pytest.raises(errors.TypeMismatch, match=r"ppermute.*at most once"):
        vmap(lambda v: parallel.ppermute(v, "i", [(0, 1), (0, 2)]), axis_name="i")(x)
    with pytest.raises(errors.TypeMismatch, match=r"pshuffle.*permutation"):
        vmap(lambda v: parallel.pshuffle(v, "i", [0, 0, 1, 2]), axis_name="i")(x)
