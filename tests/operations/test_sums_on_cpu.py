"""Sums over a short last axis, and beside one, of arrays large enough for slices."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp

_X = np.random.default_rng(0).integers(-9, 9, (60, 300, 3))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_sums_over_a_short_axis_are_those_of_numpy(dtype):
    def sums(x):
        return [x.sum(axis) for axis in (-1, 1, (0, 2), (0, 1))]

    for ours, theirs in zip(
        cv.jit(sums)(cnp.asarray(_X).astype(dtype)), sums(_X), strict=True
    ):
        assert ours.dtype == dtype
        np.testing.assert_array_equal(ours, theirs.astype(ours.dtype))


def test_a_sum_of_negative_zeros_over_a_short_axis_is_zero():
    x = cnp.full((20_000, 2), -0.0)
    assert not np.signbit(cv.jit(lambda x: x.sum(-1))(x)).any()


def test_distances_of_points_in_space_and_their_derivative():
    x = _X[0].astype(np.float32) + np.arange(300, dtype=np.float32)[:, None]

    def energy(x):
        d = x[:, None] - x[None]
        return ((d * d).sum(-1) + 1).sum()

    slope = cv.jit(cv.grad(energy))(x)
    wanted = 4 * (len(x) * x.astype(float) - x.sum(0))
    np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1)


@pytest.mark.parametrize("axes", [(1, 2, 4), (0, 4), (0, 1, 4), (2, 4)])
@pytest.mark.parametrize("size", [4, 16, 17])
def test_sums_around_an_axis_that_is_kept(axes, size):
    """As in the normalisation of groups of channels."""
    shape = (4, 8, 9, 7, size)
    x = np.random.default_rng(0).integers(-9, 9, (6, *shape)).astype(np.float32)
    f = cv.jit(lambda x: (x * x).sum(axes, keepdims=True))
    np.testing.assert_array_equal(f(x[0]), (x[0] * x[0]).sum(axes, keepdims=True))
    batch = cv.jit(cv.vmap(lambda x: x.sum(axes)))(x)
    moved = tuple([a + 1 for a in axes])
    np.testing.assert_array_equal(batch, x.sum(moved))
    slope = cv.jit(cv.grad(lambda x: (x.sum(axes) ** 2).sum()))(x[0])
    wanted = np.broadcast_to(2 * x[0].sum(axes, keepdims=True), shape)
    np.testing.assert_array_equal(slope, wanted)


def test_a_sum_of_negative_zeros_around_an_axis_is_zero():
    x = cnp.full((64, 64, 16), -0.0)
    assert not np.signbit(cv.jit(lambda x: x.sum((0, 2)))(x)).any()


def test_parts_of_an_array_are_not_copied_to_be_added_up():
    """A sum of differences of neighbours took twice as long."""
    x = np.random.default_rng(0).integers(-9, 9, (300, 400)).astype(np.float32)
    f = cv.jit(lambda x: cnp.abs(x[:, 1:] - x[:, :-1]).sum(1))
    compiled = f.lower(x).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 1.1 * x.nbytes
    np.testing.assert_array_equal(f(x), np.abs(np.diff(x)).sum(1))
