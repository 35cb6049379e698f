"""Optimistix: a root, a fit by least squares, a minimum; each differentiated."""

import jax
import jax.numpy as jnp
import optimistix as optx

jax.config.update("jax_enable_x64", True)


def root_by_newton_and_its_implicit_derivative() -> dict[str, object]:
    def residual(y, scale):
        a, b = y
        return jnp.tanh(b) * scale - a, a**2 - jnp.sinh(b + 1)

    def root(scale):
        solver = optx.Newton(rtol=1e-10, atol=1e-10)
        start = (jnp.asarray(0.3), jnp.asarray(-1.3))
        return jnp.stack(optx.root_find(residual, solver, start, scale).value)

    bisection = optx.Bisection(rtol=1e-9, atol=1e-9)
    bounds = {"lower": 0.0, "upper": 2.0}
    cube = optx.root_find(
        lambda y, _: y**3 - 2.0, bisection, jnp.asarray(1.0), options=bounds
    )
    return {"root": root(1.2), "slope": jax.jacrev(root)(1.2), "cube": cube.value}


def levenberg_marquardt_fits_a_decay() -> dict[str, object]:
    times = jnp.linspace(0.0, 3.0, 20)
    noise = 0.01 * jax.random.normal(jax.random.key(0), (20,), jnp.float64)
    data = 2.0 * jnp.exp(-1.3 * times) + 0.5 + noise

    def residual(params, data):
        return params["a"] * jnp.exp(-params["k"] * times) + params["c"] - data

    @jax.jit
    def fit(data):
        solver = optx.LevenbergMarquardt(rtol=1e-9, atol=1e-9)
        start = {"a": jnp.asarray(1.0), "k": jnp.asarray(1.0), "c": jnp.asarray(0.0)}
        return optx.least_squares(residual, solver, start, data).value

    sensitivity = jax.grad(lambda data: fit(data)["k"])(data)
    return {"fit": fit(data), "sensitivity": sensitivity}


def bfgs_and_gradient_descent_find_a_minimum() -> dict[str, object]:
    def bowl(y, center):
        return jnp.sum(jnp.cosh(y - center)) + 0.1 * jnp.sum(y) ** 2

    def minimum(center):
        solver = optx.BFGS(rtol=1e-8, atol=1e-8)
        return optx.minimise(bowl, solver, jnp.zeros(3), center).value

    center = jnp.asarray([1.0, -0.5, 2.0])
    descended = optx.minimise(
        bowl,
        optx.GradientDescent(learning_rate=0.2, rtol=1e-7, atol=1e-7),
        jnp.zeros(3),
        center,
    )
    fixed = optx.fixed_point(
        lambda y, _: jnp.cos(y), optx.FixedPointIteration(1e-9, 1e-9), jnp.asarray(1.0)
    )
    return {
        "minimum": minimum(center),
        "jacobian": jax.jacfwd(minimum)(center),
        "descended": descended.value,
        "fixed": fixed.value,
    }


PROGRAMS = (
    root_by_newton_and_its_implicit_derivative,
    levenberg_marquardt_fits_a_decay,
    bfgs_and_gradient_descent_find_a_minimum,
)
