"""Results along an axis, step by step: as the peer's, under transformations too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

rng = np.random.default_rng(0)
X = rng.normal(size=(5, 4)).astype(np.float32)
TIES = rng.integers(0, 3, size=(5, 4)).astype(np.float32)
ODD = X.copy()
ODD[2, 1], ODD[3, 2], ODD[1, 0] = np.nan, np.inf, -np.inf
ZEROS = X.copy()
ZEROS[2], ZEROS[4, 1] = 0, 0
CUMULATIVE = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]


def alike(found, expected, rtol=2e-5):
    pairs = zip(cv.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    for x, y in pairs:
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


def loss(f, lib):
    return lambda x: (lib.sin(f(x)) * lib.arange(4.0)).sum()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", CUMULATIVE)
def test_values_and_gradients_also_of_ties_zeros_and_infinities(name, axis, reverse):
    def f(x):
        return getattr(lax, name)(x, axis=axis, reverse=reverse)

    def g(x):
        return getattr(jax.lax, name)(x, axis=axis, reverse=reverse)

    ours = cv.jit(lambda x: (f(x), cv.grad(loss(f, cnp))(x)))
    peers = jax.jit(lambda x: (g(x), jax.grad(loss(g, jnp))(x)))
    for data in (X, TIES, ODD, ZEROS):
        expected = peers(data)
        alike(ours(data), expected)
        alike(f(data), expected[0])
    each = np.stack([f(X), f(TIES)], 1)
    np.testing.assert_allclose(cv.vmap(f, 1, 1)(np.stack([X, TIES], 1)), each)


@pytest.mark.parametrize("name", CUMULATIVE)
def test_second_order(name):
    f, g = getattr(lax, name), getattr(jax.lax, name)
    expected = jax.jit(jax.hessian(loss(g, jnp)))(X)
    for first in (cv.jacfwd, cv.jacrev):
        alike(cv.jit(first(cv.grad(loss(f, cnp))))(X), expected, 1e-3)


@pytest.mark.parametrize(("length", "size"), [(7, 3), (6, 3), (5, 8), (1, 1), (7, 7)])
def test_map_in_batches_with_a_remainder(length, size):
    data = rng.normal(size=(length, 3)).astype(np.float32)

    def over(lib, np_):
        def of_each(x):
            return {"s": np_.sin(x), "t": x.sum()}

        return lambda x: lib.map(of_each, x, batch_size=size)

    f, g = over(lax, cnp), over(jax.lax, jnp)
    expected = jax.jit(g)(data)
    alike(f(data), expected)
    alike(cv.jit(f)(data), expected)
    batched = cv.jit(cv.vmap(f, 1))(np.stack([data, data], 1))
    np.testing.assert_allclose(batched["s"][1], expected["s"], rtol=1e-6)
    slope = cv.jit(cv.grad(lambda x: f(x)["s"].sum()))(data)
    np.testing.assert_allclose(slope, np.cos(data), rtol=1e-5, atol=1e-6)


def affine(a, b):
    """The composition of x ↦ p x + q with another such map."""
    return a[0] * b[0], b[0] * a[1] + b[1]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("length", "axis"), [(1, 0), (2, 1), (5, 0), (8, -1)])
def test_associative_scan(length, axis, reverse):
    pair = tuple(rng.normal(size=(2, length, length)).astype(np.float32))

    def over(lib, np_, axis):
        def both(pair):
            out = lib.associative_scan(affine, pair, reverse=reverse, axis=axis)
            return np_.sin(out[1]).sum(), out

        return both

    ours = cv.value_and_grad(over(lax, cnp, axis), has_aux=True)
    peer = jax.value_and_grad(over(jax.lax, jnp, axis % 2), has_aux=True)
    expected = jax.jit(peer)(pair)
    alike(cv.jit(ours)(pair), expected)
    batch = cv.tree.map(lambda x: np.stack([x, x], 2), pair)
    batched = cv.jit(cv.vmap(over(lax, cnp, axis), 2))(batch)
    alike(cv.tree.map(lambda x: x[1], batched), expected[0])
