"""Programs of bug reports, as they were written: with import jax.

1  an estimator of traces whose number of samples is computed from shapes under jit
2  value_and_grad with shard_map: which sums are formed, and which result is refused
3  a while_loop inside shard_map whose step size and residual are agreed on by all
4  the devices that the array API tells of, and arrays made on each
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

X = np.random.default_rng(1).normal(size=8).astype(np.float32)


def loss(x):
    return jnp.mean(x**2)


# -- numbers of samples that are computed from shapes ----------------------------------


@functools.partial(jax.jit, static_argnums=2)
def trace_estimate(key, matrix, most):
    """Hutchinson's estimator, with at most as many samples as the matrix has rows."""
    size = matrix.shape[0]
    count = jnp.maximum(1, jnp.minimum(size, most))
    samples = jax.random.rademacher(key, (size, count), dtype=matrix.dtype)
    products = jnp.sum(samples * (matrix @ samples), axis=0)
    scale = jnp.array([1.0 / count for _ in range(count)])
    return products @ scale, jnp.std(products) / jnp.sqrt(count)


def test_the_number_of_samples_is_computed_from_shapes_under_jit():
    diagonal = jnp.diag(jnp.arange(5.0))
    for most in (1, 3, 50):
        value, error = trace_estimate(jax.random.key(0), diagonal, most)
        np.testing.assert_allclose(value, 10)  # exact for diagonal matrices
        np.testing.assert_allclose(error, 0, atol=1e-6)
    full = jnp.ones((4, 4))
    grad = jax.grad(lambda m: trace_estimate(jax.random.key(0), m, 2)[0])(full)
    np.testing.assert_allclose(jnp.diag(grad), 1)


# -- value_and_grad with shard_map -----------------------------------------------------


def on_shards(f, out_specs, in_specs=P("x")):  # noqa: B008
    mesh = jax.make_mesh((2,), ("x",))
    return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def test_the_derivative_of_a_mapped_mean():
    mapped = on_shards(lambda x: jax.lax.pmean(loss(x), "x"), P())
    for f in (jax.value_and_grad(mapped), jax.jit(jax.value_and_grad(mapped))):
        value, slope = f(X)
        np.testing.assert_allclose(value, loss(X), rtol=1e-6)
        np.testing.assert_allclose(slope, jax.grad(loss)(X), rtol=1e-6)


def test_the_mapped_derivative_is_of_each_device():
    def of_shard(x):
        value, slope = jax.value_and_grad(loss)(x)
        return value[None], slope

    values, slopes = jax.jit(on_shards(of_shard, P("x")))(X)
    np.testing.assert_allclose(values, [loss(X[:4]), loss(X[4:])], rtol=1e-6)
    wanted = np.concatenate([jax.grad(loss)(X[:4]), jax.grad(loss)(X[4:])])
    np.testing.assert_allclose(slopes, wanted, rtol=1e-6)


def test_a_loss_that_was_not_reduced_is_refused():
    with pytest.raises(ValueError, match="x"):
        jax.value_and_grad(on_shards(loss, P()))(X)


# -- a while_loop inside ---------------------------------------------------------------


def advance(u, until, slope, agree_least, agree_most):
    """Implicit Euler with steps that everyone can take, each a fixed point."""

    def step(state):
        t, u, n = state
        dt = agree_least(jnp.minimum(0.2 / (1 + jnp.max(jnp.abs(u))), until - t))

        def improve(guess):
            v, _, k = guess
            better = u + dt * slope(v)
            return better, agree_most(jnp.max(jnp.abs(better - v))), k + 1

        v, _, _ = jax.lax.while_loop(
            lambda g: (g[1] > 1e-6) & (g[2] < 50), improve, (u, 1.0, 0)
        )
        return t + dt, v, n + 1

    return jax.lax.while_loop(lambda s: s[0] < until - 1e-6, step, (0.0, u, 0))


def diffused(left, u, right):
    around = jnp.concatenate([left, u, right])
    return around[:-2] - 2 * u + around[2:] - 0.1 * u**2


def on_one(u, until):
    def slope(u):
        return diffused(u[-1:], u, u[:1])

    return advance(u, until, slope, lambda dt: dt, lambda r: r)


def on_two(u, until):
    def part(u, until):
        def slope(u):
            left = jax.lax.ppermute(u[-1:], "x", [(0, 1), (1, 0)])
            right = jax.lax.ppermute(u[:1], "x", [(0, 1), (1, 0)])
            return diffused(left, u, right)

        return advance(
            u,
            until,
            slope,
            lambda dt: jax.lax.pmin(dt, "x"),
            lambda r: jax.lax.pmax(r, "x"),
        )

    return on_shards(part, (P(), P("x"), P()), (P("x"), P()))(u, until)


def test_time_steps_that_devices_agree_on():
    t, u, n = jax.jit(on_two)(X, np.float32(1))
    t1, u1, n1 = on_one(X, np.float32(1))
    assert int(n) == int(n1) > 5
    np.testing.assert_allclose(t, t1, rtol=1e-6)
    np.testing.assert_allclose(u, u1, rtol=1e-5, atol=1e-6)


# -- axes of meshes --------------------------------------------------------------------


def test_a_mesh_that_names_no_types_of_axes_divides_and_one_with_explicit_is_refused():
    mesh = jax.make_mesh((2,), ("x",))
    with jax.set_mesh(mesh):
        x = jax.device_put(jnp.arange(4.0), NamedSharding(mesh, P("x")))
        total = jax.jit(lambda x: jnp.sum(x * 2))(x)
        assert float(total) == 12.0
        assert jax.sharding.reshard(x, P()).sharding.is_fully_replicated
    explicit = (jax.sharding.AxisType.Explicit,)
    with pytest.raises(ValueError, match="no axis can be Explicit"):
        jax.make_mesh((2,), ("x",), axis_types=explicit)
    with pytest.raises(AttributeError, match="types of arrays do not say shardings"):
        _ = jax.sharding.explicit_axes


# -- devices of the array API ----------------------------------------------------------


def test_arrays_are_made_on_each_device_that_the_namespace_names():
    info = jnp.ones(2).__array_namespace__().__array_namespace_info__()
    devices = info.devices()
    assert info.default_device() in (None, *devices)
    for device in devices:
        x = jnp.zeros(3, device=device)
        wanted = jax.devices()[0] if device is None else device
        assert x.device == wanted
        assert (x + 1).device == wanted
        assert jax.device_put(jnp.ones(2), device).device == wanted


def test_a_sharded_array_answers_what_device_it_is_on():
    mesh = jax.make_mesh((2,), ("x",))
    sharding = NamedSharding(mesh, P("x"))
    x = jax.device_put(jnp.arange(4.0), sharding)
    assert x.device == sharding
    assert x.devices() == set(mesh.devices.flat)
    assert jnp.zeros(4, device=sharding).sharding == sharding
