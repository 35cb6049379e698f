"""Two programs that users of the field reported as surprising, as acceptance tests.

1  value_and_grad with shard_map: which sums are formed, and which result is refused
2  a while_loop inside shard_map whose step size and residual are agreed on by all
"""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.errors import ShardingError

X = np.random.default_rng(1).normal(size=8).astype(np.float32)


def two():
    return cv.make_mesh((2,), ("x",))


def loss(x):
    return cnp.mean(x**2)


SHARDED = P("x")


def on_shards(f, out_specs, in_specs=SHARDED):
    return cv.shard_map(f, mesh=two(), in_specs=in_specs, out_specs=out_specs)


# -- value_and_grad with shard_map -----------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False])
def test_the_derivative_of_a_mapped_mean(compiled):
    mapped = on_shards(lambda x: lax.pmean(loss(x), "x"), P())
    both = cv.value_and_grad(mapped)
    value, slope = (cv.jit(both) if compiled else both)(X)
    np.testing.assert_allclose(value, loss(X), rtol=1e-6)
    np.testing.assert_allclose(slope, cv.grad(loss)(X), rtol=1e-6)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_mapped_derivative_is_of_each_device(compiled):
    def of_shard(x):
        value, slope = cv.value_and_grad(loss)(x)
        return value[None], slope

    mapped = on_shards(of_shard, P("x"))
    values, slopes = (cv.jit(mapped) if compiled else mapped)(X)
    np.testing.assert_allclose(values, [loss(X[:4]), loss(X[4:])], rtol=1e-6)
    wanted = np.concatenate([cv.grad(loss)(X[:4]), cv.grad(loss)(X[4:])])
    np.testing.assert_allclose(slopes, wanted, rtol=1e-6)


@pytest.mark.parametrize("reduce", [lax.psum, lax.pmean])
def test_the_mapped_derivative_reduced(reduce):
    def of_all(w, x):
        value, slope = cv.value_and_grad(lambda w: loss(w * x))(w)
        return reduce(value, "x"), slope

    mapped = on_shards(of_all, P(), (P(), P("x")))
    value, slope = cv.jit(mapped)(np.float32(2), X)
    parts = [cv.value_and_grad(lambda w, x=x: loss(w * x))(2.0) for x in (X[:4], X[4:])]
    scale = 1 if reduce is lax.psum else 0.5
    np.testing.assert_allclose(value, scale * sum(v for v, _ in parts), rtol=1e-6)
    # With respect to a weight that does not vary it is the sum over the devices.
    np.testing.assert_allclose(slope, sum(s for _, s in parts), rtol=1e-6)


def test_the_reduced_loss_has_the_gradient_of_one_device():
    def of_all(w, x):
        return cv.value_and_grad(lambda w: lax.pmean(loss(w * x), "x"))(w)

    value, slope = cv.jit(on_shards(of_all, P(), (P(), P("x"))))(np.float32(2), X)
    wanted = cv.value_and_grad(lambda w: loss(w * X))(2.0)
    np.testing.assert_allclose([value, slope], wanted, rtol=1e-6)


def test_a_loss_that_was_not_reduced_is_refused():
    with pytest.raises(ShardingError, match=r"still varies over 'x'.*psum, pmean"):
        cv.value_and_grad(on_shards(loss, P()))(X)
    with pytest.raises(ShardingError, match=r"x\[None\]"):
        cv.value_and_grad(on_shards(loss, P("x")))(X)


# -- a while_loop inside ---------------------------------------------------------------


def advance(u, until, slope, agree_least, agree_most):
    """Implicit Euler with steps that everyone can take, each a fixed point."""

    def step(state):
        t, u, n = state
        dt = agree_least(cnp.minimum(0.2 / (1 + cnp.max(cnp.abs(u))), until - t))

        def improve(guess):
            v, _, k = guess
            better = u + dt * slope(v)
            return better, agree_most(cnp.max(cnp.abs(better - v))), k + 1

        v, _, _ = lax.while_loop(
            lambda g: (g[1] > 1e-6) & (g[2] < 50), improve, (u, 1.0, 0)
        )
        return t + dt, v, n + 1

    return lax.while_loop(lambda s: s[0] < until - 1e-6, step, (0.0, u, 0))


def diffused(left, u, right):
    around = cnp.concatenate([left, u, right])
    return around[:-2] - 2 * u + around[2:] - 0.1 * u**2


def on_one(u, until):
    def slope(u):
        return diffused(u[-1:], u, u[:1])

    return advance(u, until, slope, lambda dt: dt, lambda r: r)


def on_two(u, until):
    def part(u, until):
        def slope(u):
            left = lax.ppermute(u[-1:], "x", [(0, 1), (1, 0)])
            right = lax.ppermute(u[:1], "x", [(0, 1), (1, 0)])
            return diffused(left, u, right)

        least = lambda dt: lax.pmin(dt, "x")  # noqa: E731
        return advance(u, until, slope, least, lambda r: lax.pmax(r, "x"))

    f = cv.shard_map(
        part, mesh=two(), in_specs=(P("x"), P()), out_specs=(P(), P("x"), P())
    )
    return f(u, until)


def test_time_steps_that_devices_agree_on():
    t, u, n = cv.jit(on_two)(X, np.float32(1))
    t1, u1, n1 = on_one(X, np.float32(1))
    assert int(n) == int(n1) > 5
    np.testing.assert_allclose(t, t1, rtol=1e-6)
    np.testing.assert_allclose(u, u1, rtol=1e-5, atol=1e-6)


def test_the_gradient_of_time_steps_that_devices_agree_on():
    def energy(solve):
        return lambda u, until: cnp.sum(solve(u, until)[1] ** 2)

    found = cv.jit(cv.grad(energy(on_two), (0, 1)))(X, np.float32(1))
    wanted = cv.grad(energy(on_one), (0, 1))(X, np.float32(1))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
