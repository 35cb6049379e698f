"""traceax: estimates of a trace, their gradients, and estimators beside each other."""

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx
import traceax as tr

jax.config.update("jax_enable_x64", True)


def _operator(seed: int, size: int) -> lx.AbstractLinearOperator:
    factor = jax.random.normal(jax.random.key(seed), (size, size), jnp.float64)
    return lx.MatrixLinearOperator(factor @ factor.T, lx.positive_semidefinite_tag)


def estimators_of_one_operator() -> dict[str, object]:
    operator, key = _operator(0, 12), jax.random.key(1)
    estimators = {
        "hutchinson": tr.HutchinsonEstimator(),
        "hutch++": tr.HutchPlusPlusEstimator(),
        "xtrace": tr.XTraceEstimator(),
        "xnystrace": tr.XNysTraceEstimator(),
    }
    return {
        name: estimator.estimate(key, operator, 6)[0]
        for name, estimator in estimators.items()
    }


def estimate_is_compiled_and_differentiated() -> dict[str, object]:
    matrix = _operator(2, 5).as_matrix()

    @eqx.filter_jit
    def trace(matrix, estimator, count):
        operator = lx.MatrixLinearOperator(matrix)
        return estimator.estimate(jax.random.key(3), operator, count)[0]

    estimator = tr.HutchinsonEstimator(tr.RademacherSampler())
    value, gradient = eqx.filter_value_and_grad(trace)(matrix, estimator, 4)
    return {"value": value, "gradient": gradient}


def number_of_samples_is_bounded_by_the_size() -> dict[str, object]:
    operator = _operator(4, 8)
    arrays, static = eqx.partition(operator, eqx.is_array)

    @jax.jit
    def estimate(arrays, key):
        operator = eqx.combine(arrays, static)
        size = operator.in_size()
        count = int(jnp.minimum(size, 6)) // 2
        samples = jax.random.rademacher(key, (size, count), jnp.float64)
        projected = jax.vmap(operator.mv, (1,), 1)(samples)
        return jnp.sum(samples * projected) / count

    return {"estimate": estimate(arrays, jax.random.key(5))}


PROGRAMS = (
    estimators_of_one_operator,
    estimate_is_compiled_and_differentiated,
    number_of_samples_is_bounded_by_the_size,
)
