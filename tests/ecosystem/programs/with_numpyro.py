"""NumPyro: a chain of NUTS, a variational fit, predictions from a prior."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

jax.config.update("jax_enable_x64", True)

EFFECTS = jnp.asarray([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = jnp.asarray([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(errors, effects=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("schools", errors.shape[0]):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("effects", dist.Normal(theta, errors), obs=effects)


def nuts_on_the_eight_schools() -> dict[str, object]:
    chain = MCMC(NUTS(eight_schools), num_warmup=20, num_samples=10, progress_bar=False)
    chain.run(jax.random.key(0), ERRORS, effects=EFFECTS)
    samples = chain.get_samples()
    return {"mu": samples["mu"], "theta": samples["theta"].mean(0)}


def regression(x, y=None):
    weights = numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.StudentT(4.0, x @ weights, scale), obs=y)


def variational_fit_of_a_regression() -> dict[str, object]:
    x = jax.random.normal(jax.random.key(1), (40, 3), jnp.float64)
    y = x @ jnp.asarray([1.0, -2.0, 0.5])
    guide = AutoNormal(regression)
    svi = SVI(regression, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    result = svi.run(jax.random.key(2), 30, x, y, progress_bar=False)
    return {"losses": result.losses[::10], "median": guide.median(result.params)}


def mixture(n):
    weights = numpyro.sample("weights", dist.Dirichlet(jnp.ones(3)))
    rates = numpyro.sample("rates", dist.Gamma(2.0, 1.0).expand([3]).to_event(1))
    with numpyro.plate("data", n):
        kind = numpyro.sample("kind", dist.Categorical(weights))
        numpyro.sample("count", dist.Poisson(rates[kind]))


def predictions_and_densities_of_a_mixture() -> dict[str, object]:
    samples = Predictive(mixture, num_samples=4)(jax.random.key(3), 5)
    densities = {
        "beta": dist.Beta(2.0, 3.0).log_prob(0.4),
        "normal": dist.MultivariateNormal(
            jnp.zeros(2), jnp.asarray([[2.0, 0.3], [0.3, 1.0]])
        ).log_prob(jnp.asarray([0.5, -0.5])),
        "cholesky": dist.LKJCholesky(3, 1.5).sample(jax.random.key(4)),
        "binomial": dist.NegativeBinomial2(3.0, 2.0).log_prob(jnp.arange(4)),
        "transformed": dist.TransformedDistribution(
            dist.Normal(0.0, 1.0), dist.transforms.SigmoidTransform()
        ).log_prob(0.3),
    }
    return {"samples": samples, "densities": densities}


PROGRAMS = (
    nuts_on_the_eight_schools,
    variational_fit_of_a_regression,
    predictions_and_densities_of_a_mixture,
)
