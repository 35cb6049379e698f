"""Hamiltonian Monte Carlo for a robust regression.

What do age, blood pressure and eight other measurements say about how diabetes
goes on in the following year? This program samples the posterior of a Bayesian
linear regression on scikit-learn's diabetes data (442 patients). The noise has
a Student t distribution, so that single patients with unusual outcomes do not
dominate.

You write the log density of the model; `grad` gives the force that moves the
sampler. Four chains run at once under `vmap`, and the number R̂ says whether
they agree.

The full program takes about 4 seconds on two CPU cores.
"""

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.flatten_util import ravel_pytree
from covector.scipy import stats

# %%
# ## The model
#
# The parameters are a dictionary. Positive ones are sampled as their
# logarithms, which may be any real number; the added term is the logarithm of
# the Jacobian.

Params = dict[str, Array]


def log_density(params: Params, x: Array, y: Array) -> Array:
    """The log posterior density of the parameters, up to a constant."""
    noise, shrinkage = (
        cnp.exp(params["log_noise"]),
        cnp.exp(params["log_shrinkage"]),
    )
    prior = (
        stats.norm.logpdf(params["slopes"], scale=shrinkage).sum()
        + stats.norm.logpdf(params["intercept"])
        + stats.norm.logpdf(shrinkage)  # half normal, as is the noise
        + stats.norm.logpdf(noise)
        + params["log_noise"]
        + params["log_shrinkage"]
    )
    mean = x @ params["slopes"] + params["intercept"]
    return prior + stats.t.logpdf(y, df=4, loc=mean, scale=noise).sum()


# %%
# ## The sampler
#
# A parameter vector q is a particle in the potential −log p(q). One transition
# gives it a random momentum, lets it move for a while by the leapfrog method,
# and accepts the end point with the probability that makes the posterior
# stationary.
#
# During warm-up the step size moves until 80 % of the proposals are accepted,
# and the mass of each coordinate becomes its inverse variance.

LEAPFROG_STEPS = 12


class Chain(NamedTuple):
    """All that a transition changes."""

    q: Array
    log_step: Array
    mean: Array
    variance: Array


def transition(log_density, chain: Chain, key: Array) -> tuple[Array, Array]:
    """The next point of the chain, and the acceptance probability."""
    momentum_key, accept_key, jitter_key = cv.random.split(key, 3)
    force = cv.grad(log_density)
    # Trajectories of varying length do not return to where they started.
    step = cnp.exp(chain.log_step) * cv.random.uniform(jitter_key, (), minval=0.6)

    def leapfrog(_, state):
        q, p = state
        p = p + 0.5 * step * force(q)
        q = q + step * chain.variance * p
        return q, p + 0.5 * step * force(q)

    def energy(q, p):
        return -log_density(q) + 0.5 * cnp.sum(chain.variance * p**2)

    noise = cv.random.normal(momentum_key, chain.q.shape)
    before = chain.q, noise / cnp.sqrt(chain.variance)
    after = cv.lax.fori_loop(0, LEAPFROG_STEPS, leapfrog, before)
    probability = cnp.minimum(1, cnp.exp(energy(*before) - energy(*after)))
    probability = cnp.nan_to_num(probability)  # a trajectory that diverged
    accepted = cv.random.uniform(accept_key) < probability
    return cnp.where(accepted, after[0], chain.q), probability


def sample(log_density, key: Array, start: Array, warmup: int, draws: int) -> Any:
    """The points after warm-up, ``[draws, n]``, and the acceptance rate."""

    def adapt(chain, x):
        i, key = x
        q, probability = transition(log_density, chain, key)
        rate = (i + 10.0) ** -0.6
        moved = q - chain.mean
        return Chain(
            q,
            chain.log_step + 2 * rate * (probability - 0.8),
            chain.mean + rate * moved,
            (1 - rate) * (chain.variance + rate * moved**2) + 1e-6,
        ), None

    def draw(chain, key):
        q, probability = transition(log_density, chain, key)
        return chain._replace(q=q), (q, probability)

    warm_key, draw_key = cv.random.split(key)
    chain = Chain(start, cnp.log(0.05), start, cnp.full_like(start, 0.01))
    keys = cv.random.split(warm_key, warmup)
    chain, _ = cv.lax.scan(adapt, chain, (cnp.arange(warmup), keys))
    _, (points, probabilities) = cv.lax.scan(
        draw, chain, cv.random.split(draw_key, draws)
    )
    return points, probabilities.mean()


# %%
# ## Four chains
#
# `ravel_pytree` turns the dictionary into a vector, and gives the function
# back. `vmap` over keys and starting points runs all chains side by side.


def r_hat(draws: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's statistic of ``[chains, draws, n]``: 1 is good."""
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt(1 + between / within)


class Result(NamedTuple):
    """The posterior sample of the slopes, and what it is compared with."""

    slopes: np.ndarray  # [chains, draws, features]
    r_hat: np.ndarray
    acceptance: float
    least_squares: np.ndarray
    features: list[str]


def main(chains: int = 4, warmup: int = 500, draws: int = 1000) -> Result:
    """Sample the posterior; all variables have mean 0 and variance 1."""
    data = load_diabetes(scaled=False)
    x, y = ((v - v.mean(axis=0)) / v.std(axis=0) for v in (data.data, data.target))
    zero = {
        "slopes": cnp.zeros(x.shape[1]),
        "intercept": cnp.array(0.0),
        "log_noise": cnp.array(0.0),
        "log_shrinkage": cnp.array(0.0),
    }
    flat, unflatten = ravel_pytree(zero)

    @cv.jit
    def sample_all(keys, x, y):
        def of_flat(q):
            return log_density(unflatten(q), x, y)

        def one(key):
            start = flat + 0.2 * cv.random.normal(key, flat.shape)
            return sample(of_flat, key, start, warmup, draws)

        points, acceptance = cv.vmap(one)(keys)
        return cv.vmap(cv.vmap(unflatten))(points), points, acceptance.mean()

    keys = cv.random.split(cv.random.key(0), chains)
    params, points, acceptance = sample_all(keys, x, y)
    result = Result(
        np.asarray(params["slopes"]),
        r_hat(np.asarray(points)),
        float(acceptance),
        np.linalg.lstsq(x, y)[0],
        list(data.feature_names),
    )
    worst = result.r_hat.max()
    print(f"accepted {result.acceptance:.0%}, largest R-hat {worst:.3f}")
    for name, values in zip(result.features, result.slopes.T, strict=True):
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
        print(f"{name:>4} {middle:6.2f}   [{low:5.2f}, {high:5.2f}]")
    return result


# %%
# ## The figure
#
# Lines are 90 % intervals of the posterior, crosses the least squares solution.
# The blood values s1 to s5 are strongly correlated: least squares gives s1 a
# large slope and s2 the opposite one, the posterior knows that it cannot tell
# them apart.


def draw(result: Result) -> Figure:
    """Intervals of the slopes; the path of two of them."""
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    everything = result.slopes.reshape(-1, len(result.features))
    low, middle, high = np.quantile(everything, [0.05, 0.5, 0.95], axis=0)
    places = np.arange(len(result.features))
    left.hlines(places, low, high)
    left.plot(middle, places, "o", label="posterior")
    left.plot(result.least_squares, places, "x", color="C1", label="least squares")
    left.axvline(0, linewidth=0.5, color="gray")
    left.set(yticks=places, yticklabels=result.features, xlabel="slope")
    left.legend(loc="upper left")
    for chain in result.slopes[:, ::4]:
        right.plot(chain[:, 4], chain[:, 5], ".", markersize=2)
    right.set(xlabel="slope of s1", ylabel="slope of s2", title="four chains")
    return figure


if __name__ == "__main__":
    draw(main()).savefig("hmc.png")

# %%
# ## What to try next
#
# - Replace the t distribution by a normal one, and compare the intervals.
# - Sample from another model: only `log_density` and the starting point change.
# - Compare R̂ after 100, 300 and 1,000 draws.
