"""Equinox: a trained module, a stateful layer, a bounded loop run backwards."""

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp


def mlp_trained_by_filtered_gradients() -> dict[str, object]:
    keys = jax.random.split(jax.random.key(0), 3)
    model = eqx.nn.MLP(2, "scalar", width_size=16, depth=2, key=keys[0])
    x = jax.random.normal(keys[1], (64, 2))
    y = jnp.sin(x[:, 0]) * x[:, 1]

    @eqx.filter_value_and_grad
    def loss_of(model):
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    @eqx.filter_jit
    def step(model):
        loss, grads = loss_of(model)
        return loss, eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads))

    losses = []
    for _ in range(20):
        loss, model = step(model)
        losses.append(loss)
    arrays, static = eqx.partition(model, eqx.is_array)
    again = eqx.combine(arrays, static)
    return {"losses": losses[::5], "outputs": jax.vmap(again)(x[:4])}


class Convolutional(eqx.Module):
    convolution: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm
    dropout: eqx.nn.Dropout
    head: eqx.nn.Linear

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.convolution = eqx.nn.Conv2d(1, 4, 3, key=first)
        self.norm = eqx.nn.BatchNorm(4, axis_name="batch", mode="batch")
        self.dropout = eqx.nn.Dropout(0.25)
        self.head = eqx.nn.Linear(4, 3, key=second)

    def __call__(self, x, state, key):
        x, state = self.norm(self.convolution(x), state)
        x = self.dropout(jax.nn.relu(x).mean((1, 2)), key=key)
        return self.head(x), state


def batch_norm_carries_state() -> dict[str, object]:
    key = jax.random.key(1)
    model, state = eqx.nn.make_with_state(Convolutional)(key)
    images = jax.random.normal(key, (8, 1, 8, 8))
    keys = jax.random.split(key, 8)

    @eqx.filter_jit
    def run(model, state):
        mapped = jax.vmap(
            model, in_axes=(0, None, 0), out_axes=(0, None), axis_name="batch"
        )
        return mapped(images, state, keys)

    trained, state = run(model, state)
    model = eqx.nn.inference_mode(model)
    inferred, state = run(model, state)
    return {"trained": trained, "inferred": inferred}


def checkpointed_while_loop_runs_backwards() -> dict[str, object]:
    def integral(rate):
        def step(carry):
            time, value = carry
            return time + 0.1, value + 0.1 * jnp.sin(rate * value)

        start = (jnp.asarray(0.0), jnp.asarray(1.0))
        return eqxi.while_loop(
            lambda carry: carry[0] < 2.0,
            step,
            start,
            kind="checkpointed",
            max_steps=64,
            checkpoints=4,
        )[1]

    value, slope = jax.jit(jax.value_and_grad(integral))(1.5)
    checked = eqx.filter_jit(lambda x: eqx.error_if(x, x < 0, "must not be negative"))
    return {"value": value, "slope": slope, "checked": checked(value)}


PROGRAMS = (
    mlp_trained_by_filtered_gradients,
    batch_norm_carries_state,
    checkpointed_while_loop_runs_backwards,
)
