"""Activations agree with the peer in value and slope, and stay finite."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import nn

jax = pytest.importorskip("jax")

X = np.array(
    [-1e4, -88.0, -3.0, -1.0, -0.5, -1e-4, 1e-4, 0.5, 1.0, 2.5, 6.5, 88.0, 1e4]
)
X = X.astype(np.float32)
#: others have tests of their own below, or are another name of one of these
OTHERS = ("glu", "hard_swish", "log1mexp", "swish")
ELEMENTWISE = [name for name in nn.activations.__all__ if name not in OTHERS]


def smooth(x):
    """Points where both libraries have one and the same slope."""
    return x[~np.isin(x, [-3.0, -1.0, 0.0, 1.0])]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_values_agree_with_the_peer(name):
    expected = getattr(jax.nn, name)(X)
    np.testing.assert_allclose(
        getattr(nn, name)(cnp.asarray(X)), expected, rtol=2e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_slopes_agree_with_the_peer_and_are_finite(name):
    points = smooth(X)
    got = cv.vmap(cv.grad(getattr(nn, name)))(cnp.asarray(points))
    expected = jax.vmap(jax.grad(getattr(jax.nn, name)))(points)
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_small_floats_and_integers_are_accepted(name):
    fun = getattr(nn, name)
    half = cnp.array([0.5, -2.0], "bfloat16")
    assert fun(half).dtype == half.dtype
    expected = getattr(jax.nn, name)(jax.numpy.array([1.0, -2.0]))
    np.testing.assert_allclose(fun(cnp.array([1, -2])), expected, rtol=1e-5)


def test_relu_has_no_slope_at_zero_and_keeps_nan():
    assert float(cv.grad(nn.relu)(0.0)) == 0.0
    assert np.isnan(nn.relu(cnp.array(np.nan)))


def test_exact_gelu_and_log1mexp():
    x = X[4:9]
    np.testing.assert_allclose(
        nn.gelu(cnp.asarray(x), approximate=False),
        jax.nn.gelu(x, approximate=False),
        rtol=1e-5,
        atol=1e-7,
    )
    positive = np.array([1e-6, 0.1, 0.7, 5.0, 90.0], np.float32)
    np.testing.assert_allclose(
        nn.log1mexp(cnp.asarray(positive)),
        jax.nn.log1mexp(positive),
        rtol=1e-5,
        atol=1e-30,
    )


def test_glu_agrees_with_the_peer():
    x = X.reshape(-1, 1) * np.array([1.0, -0.5, 0.25, 2.0], np.float32)
    np.testing.assert_allclose(nn.glu(cnp.asarray(x)), jax.nn.glu(x), rtol=1e-5)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_slopes_are_finite_at_the_ends_of_the_range(name):
    ends = np.array([1e19, -1e19, 1e30, -1e30, 3e38, -3e38], np.float32)
    for dtype in "float32", "bfloat16":
        slopes = cv.vmap(cv.grad(getattr(nn, name)))(cnp.asarray(ends, dtype))
        assert np.isfinite(slopes.astype("float32")).all(), name
