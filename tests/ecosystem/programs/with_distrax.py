"""Distrax: densities and samples, a flow of bijectors, a hidden Markov model."""

import distrax
import jax
import jax.numpy as jnp


def densities_samples_and_divergences() -> dict[str, object]:
    key = jax.random.key(0)
    normal = distrax.MultivariateNormalDiag(jnp.zeros(3), jnp.asarray([1.0, 2.0, 0.5]))
    other = distrax.MultivariateNormalFullCovariance(
        jnp.ones(3), jnp.eye(3) + 0.2 * jnp.ones((3, 3))
    )
    categorical = distrax.Categorical(logits=jnp.asarray([0.1, 1.0, -0.3]))
    mixture = distrax.MixtureSameFamily(
        categorical, distrax.Normal(jnp.asarray([-1.0, 0.0, 2.0]), jnp.ones(3))
    )
    samples, densities = normal.sample_and_log_prob(seed=key, sample_shape=(2,))
    return {
        "samples": samples,
        "densities": densities,
        "divergence": normal.kl_divergence(other),
        "categorical": [
            categorical.sample(seed=key, sample_shape=(5,)),
            categorical.entropy(),
        ],
        "mixture": jax.jit(mixture.log_prob)(jnp.linspace(-2.0, 3.0, 4)),
        "gradient": jax.grad(lambda s: distrax.Gamma(s, 2.0).log_prob(0.7))(1.5),
    }


def flow_of_coupled_bijectors() -> dict[str, object]:
    weights = jax.random.normal(jax.random.key(1), (4, 8)) * 0.3

    def conditioner(x):
        return jnp.tanh(x @ weights).reshape(*x.shape[:-1], 4, 2)

    def bijector(params):
        return distrax.ScalarAffine(params[..., 0], log_scale=params[..., 1])

    mask = jnp.asarray([True, False, True, False])
    flow = distrax.Chain(
        [
            distrax.MaskedCoupling(mask, conditioner, bijector),
            distrax.MaskedCoupling(~mask, conditioner, bijector),
        ]
    )
    base = distrax.MultivariateNormalDiag(jnp.zeros(4), jnp.ones(4))
    model = distrax.Transformed(base, flow)
    x = model.sample(seed=jax.random.key(2), sample_shape=(3,))
    spline = distrax.RationalQuadraticSpline(
        jnp.linspace(-1.0, 1.0, 13), range_min=0.0, range_max=1.0
    )
    y, change = spline.forward_and_log_det(jnp.asarray([0.2, 0.7]))
    return {
        "x": x,
        "densities": jax.jit(model.log_prob)(x),
        "roundtrip": flow.inverse(flow.forward(x)) - x + 1.0,
        "spline": [y, change],
    }


def hidden_markov_model_smooths() -> dict[str, object]:
    model = distrax.HMM(
        trans_dist=distrax.Categorical(probs=jnp.asarray([[0.9, 0.1], [0.2, 0.8]])),
        init_dist=distrax.Categorical(probs=jnp.asarray([0.6, 0.4])),
        obs_dist=distrax.Normal(jnp.asarray([-1.0, 1.5]), jnp.asarray([1.0, 0.5])),
    )
    states, observations = model.sample(seed=jax.random.key(3), seq_len=8)
    _, _, smoothed, density = jax.jit(model.forward_backward)(observations)
    return {
        "states": states,
        "observations": observations,
        "smoothed": smoothed,
        "density": density,
        "path": model.viterbi(observations),
    }


PROGRAMS = (
    densities_samples_and_divergences,
    flow_of_coupled_bijectors,
    hidden_markov_model_smooths,
)
