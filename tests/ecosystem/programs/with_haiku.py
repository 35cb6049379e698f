"""Haiku: a network with state, a recurrent core, an attention block."""

import haiku as hk
import jax
import jax.numpy as jnp
import optax


def network_with_batch_norm_and_dropout() -> dict[str, object]:
    def forward(images, training):
        x = hk.Conv2D(6, 3, padding="VALID")(images)
        x = hk.BatchNorm(True, True, 0.9)(x, training)
        x = hk.avg_pool(jax.nn.relu(x), 2, 2, "VALID")
        if training:
            x = hk.dropout(hk.next_rng_key(), 0.1, x)
        return hk.nets.MLP([10, 3])(hk.Flatten()(x))

    network = hk.transform_with_state(forward)
    images = jax.random.normal(jax.random.key(0), (6, 8, 8, 1))
    labels = jnp.arange(6) % 3
    params, state = network.init(jax.random.key(1), images, True)
    optimizer = optax.rmsprop(1e-2)
    memory = optimizer.init(params)

    @jax.jit
    def step(params, state, memory, key):
        def loss_of(params):
            logits, changed = network.apply(params, state, key, images, True)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            return losses.mean(), changed

        (loss, changed), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, memory = optimizer.update(grads, memory)
        return optax.apply_updates(params, updates), changed, memory, loss

    losses = []
    for key in jax.random.split(jax.random.key(2), 5):
        params, state, memory, loss = step(params, state, memory, key)
        losses.append(loss)
    return {"losses": losses, "size": hk.data_structures.tree_size(params)}


def recurrent_core_is_unrolled() -> dict[str, object]:
    def forward(x):
        core = hk.GRU(5)
        outputs, last = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return hk.Linear(2)(outputs), last

    network = hk.without_apply_rng(hk.transform(forward))
    x = jax.random.normal(jax.random.key(3), (7, 2, 3))
    params = network.init(jax.random.key(4), x)
    gradient = jax.grad(lambda p: jnp.sum(network.apply(p, x)[0] ** 2))(params)
    outputs, last = jax.jit(network.apply)(params, x)
    return {"outputs": outputs[-1], "last": last, "norm": optax.tree.norm(gradient)}


def attention_with_lifted_transformations() -> dict[str, object]:
    def forward(x):
        attention = hk.MultiHeadAttention(
            2, 4, model_size=8, w_init=hk.initializers.VarianceScaling(1.0)
        )
        norm = hk.LayerNorm(-1, create_scale=True, create_offset=True)

        def block(x):
            return x + attention(norm(x), norm(x), norm(x))

        return hk.vmap(block, split_rng=False)(x)

    network = hk.transform(forward)
    x = jax.random.normal(jax.random.key(5), (2, 6, 8))
    params = network.init(jax.random.key(6), x)
    shapes = {name: list(parts) for name, parts in params.items()}
    y = network.apply(params, None, x)
    return {
        "y": y,
        "names": len(shapes),
        "table": len(hk.experimental.tabulate(network)(x)),
    }


PROGRAMS = (
    network_with_batch_norm_and_dropout,
    recurrent_core_is_unrolled,
    attention_with_lifted_transformations,
)
