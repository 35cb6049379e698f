"""Optax: chained optimizers, a schedule with clipping, a line search."""

import jax
import jax.numpy as jnp
import optax

jax.config.update("jax_enable_x64", True)


def _data():
    keys = jax.random.split(jax.random.key(0), 3)
    x = jax.random.normal(keys[0], (32, 4))
    y = x @ jnp.arange(4.0) + 0.1 * jax.random.normal(keys[1], (32,))
    params = {"w": jax.random.normal(keys[2], (4,)), "b": jnp.zeros(())}
    return params, x, y


def _loss(params, x, y):
    return jnp.mean(optax.huber_loss(x @ params["w"] + params["b"], y))


def adamw_with_a_schedule_and_clipping() -> dict[str, object]:
    params, x, y = _data()
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.3, 5, 40)
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(schedule, weight_decay=1e-3),
    )
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        loss, grads = jax.value_and_grad(_loss)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    losses = []
    for _ in range(40):
        params, state, loss = step(params, state)
        losses.append(loss)
    return {"losses": losses[::10], "params": params}


def optimizers_of_parts_accumulate_gradients() -> dict[str, object]:
    params, x, y = _data()
    optimizer = optax.MultiSteps(
        optax.partition(
            {
                "fast": optax.sgd(0.2, momentum=0.9, nesterov=True),
                "slow": optax.lion(0.01),
            },
            {"w": "fast", "b": "slow"},
        ),
        every_k_schedule=2,
    )

    def step(carry, batch):
        params, state = carry
        grads = jax.grad(_loss)(params, *batch)
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        return (params, state), optax.tree.norm(updates)

    batches = (x.reshape(8, 4, 4), y.reshape(8, 4))
    start = (params, optimizer.init(params))
    (params, _), norms = jax.lax.scan(step, start, batches)
    return {"params": params, "norms": norms}


def lbfgs_with_a_line_search() -> dict[str, object]:
    def rosenbrock(x):
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    optimizer = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(rosenbrock)

    @jax.jit
    def step(params, state):
        value, grad = value_and_grad(params, state=state)
        updates, state = optimizer.update(
            grad, state, params, value=value, grad=grad, value_fn=rosenbrock
        )
        return optax.apply_updates(params, updates), state, value

    params = jnp.asarray([-1.2, 1.0, 0.8], jnp.float64)
    state = optimizer.init(params)
    values = []
    for _ in range(30):
        params, state, value = step(params, state)
        values.append(value)
    return {"values": values[:5], "solution": params}


PROGRAMS = (
    adamw_with_a_schedule_and_clipping,
    optimizers_of_parts_accumulate_gradients,
    lbfgs_with_a_line_search,
)
