"""Diffrax: an ordinary, a stiff and a stochastic differential equation."""

import diffrax as dfx
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def adaptive_solution_and_its_gradient() -> dict[str, object]:
    def field(t, y, args):
        prey, predator = y
        a, b, c, d = args
        return a * prey - b * prey * predator, -c * predator + d * prey * predator

    @jax.jit
    def solution(args):
        return dfx.diffeqsolve(
            dfx.ODETerm(field),
            dfx.Tsit5(),
            0.0,
            5.0,
            0.05,
            (jnp.asarray(2.0), jnp.asarray(1.0)),
            args=args,
            saveat=dfx.SaveAt(ts=jnp.linspace(0.0, 5.0, 6)),
            stepsize_controller=dfx.PIDController(rtol=1e-6, atol=1e-8),
        ).ys

    args = (jnp.asarray(1.1), jnp.asarray(0.4), jnp.asarray(0.4), jnp.asarray(0.1))
    gradient = jax.grad(lambda args: jnp.sum(solution(args)[0]))(args)
    return {"solution": solution(args), "gradient": gradient}


def stiff_equation_solved_implicitly() -> dict[str, object]:
    def robertson(t, y, k):
        first = -k[0] * y[0] + k[2] * y[1] * y[2]
        third = k[1] * y[1] ** 2
        return jnp.stack([first, -first - third, third])

    def last(k):
        return dfx.diffeqsolve(
            dfx.ODETerm(robertson),
            dfx.Kvaerno5(),
            0.0,
            100.0,
            2e-4,
            jnp.asarray([1.0, 0.0, 0.0]),
            args=k,
            stepsize_controller=dfx.PIDController(rtol=1e-7, atol=1e-9),
        ).ys[-1]

    return {"last": jax.jit(last)(jnp.asarray([0.04, 3e7, 1e4]))}


def stochastic_equation_of_a_batch_of_paths() -> dict[str, object]:
    def path(key):
        motion = dfx.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(), key=key)
        terms = dfx.MultiTerm(
            dfx.ODETerm(lambda t, y, args: -y),
            dfx.ControlTerm(lambda t, y, args: 0.3 * y, motion),
        )
        return dfx.diffeqsolve(
            terms,
            dfx.Heun(),
            0.0,
            1.0,
            0.05,
            jnp.asarray(1.0),
            saveat=dfx.SaveAt(ts=jnp.asarray([0.5, 1.0])),
        ).ys

    paths = jax.jit(jax.vmap(path))(jax.random.split(jax.random.key(0), 4))
    control = dfx.LinearInterpolation(jnp.arange(4.0), jnp.arange(4.0) ** 2)
    return {"paths": paths, "control": control.evaluate(1.5)}


PROGRAMS = (
    adaptive_solution_and_its_gradient,
    stiff_equation_solved_implicitly,
    stochastic_equation_of_a_batch_of_paths,
)
