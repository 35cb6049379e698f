"""BlackJAX: adapted NUTS, an elliptical slice, sequential Monte Carlo."""

import blackjax
import jax
import jax.numpy as jnp
from blackjax.smc import extend_params, resampling

jax.config.update("jax_enable_x64", True)


def _density(position):
    x, scale = position["x"], jnp.exp(position["log_scale"])
    data = jnp.asarray([0.3, 1.2, -0.4, 0.8])
    prior = -0.5 * (x**2 + position["log_scale"] ** 2)
    return prior - jnp.sum(0.5 * ((data - x) / scale) ** 2 + jnp.log(scale))


_START = {"x": jnp.asarray(0.1), "log_scale": jnp.asarray(0.0)}


def nuts_after_window_adaptation() -> dict[str, object]:
    adaptation = blackjax.window_adaptation(blackjax.nuts, _density)
    (state, parameters), _ = adaptation.run(jax.random.key(0), _START, num_steps=30)
    kernel = jax.jit(blackjax.nuts(_density, **parameters).step)

    def step(state, key):
        state, info = kernel(key, state)
        return state, (state.position["x"], info.num_integration_steps)

    keys = jax.random.split(jax.random.key(1), 10)
    _, (chain, steps) = jax.lax.scan(step, state, keys)
    return {"step": parameters["step_size"], "chain": chain, "steps": steps}


def hamiltonian_chains_in_a_batch() -> dict[str, object]:
    kernel = blackjax.hmc(_density, 0.2, jnp.ones(2), num_integration_steps=5)
    starts = {"x": jnp.linspace(-1.0, 1.0, 3), "log_scale": jnp.zeros(3)}
    states = jax.vmap(kernel.init)(starts)

    @jax.jit
    def step(states, key):
        states, infos = jax.vmap(kernel.step)(jax.random.split(key, 3), states)
        return states, infos.acceptance_rate

    rates = []
    for key in jax.random.split(jax.random.key(2), 5):
        states, rate = step(states, key)
        rates.append(rate)
    return {"x": states.position["x"], "rates": rates}


def tempered_sequential_monte_carlo() -> dict[str, object]:
    def prior(x):
        return -0.5 * jnp.sum(x**2)

    def likelihood(x):
        return -2.0 * jnp.sum((x**2 - 1.0) ** 2)

    kernel = blackjax.tempered_smc(
        prior,
        likelihood,
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        extend_params(
            {
                "step_size": 0.2,
                "inverse_mass_matrix": jnp.eye(2),
                "num_integration_steps": 4,
            }
        ),
        resampling.systematic,
        num_mcmc_steps=3,
    )
    particles = jax.random.normal(jax.random.key(3), (32, 2), jnp.float64)
    state = kernel.init(particles)
    step = jax.jit(kernel.step)
    weights = []
    for number, temperature in enumerate((0.25, 0.5, 1.0)):
        state, info = step(jax.random.key(number), state, temperature)
        weights.append(info.log_likelihood_increment)
    return {"increments": weights, "mean": jnp.mean(state.particles**2, axis=0)}


PROGRAMS = (
    nuts_after_window_adaptation,
    hamiltonian_chains_in_a_batch,
    tempered_sequential_monte_carlo,
)
