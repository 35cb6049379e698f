"""Flax linen: a convolutional classifier, a recurrent network, attention."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.Conv(8, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.max_pool(nn.relu(x), (2, 2), strides=(2, 2))
        x = nn.Dropout(0.2, deterministic=not train)(x.reshape(x.shape[0], -1))
        return nn.Dense(3)(x)


class TrainState(train_state.TrainState):
    batch_stats: object


def classifier_with_batch_norm_is_trained() -> dict[str, object]:
    key = jax.random.key(0)
    images = jax.random.normal(key, (12, 8, 8, 1))
    labels = jnp.arange(12) % 3
    model = Classifier()
    variables = model.init(key, images, train=False)
    state = TrainState.create(
        apply_fn=model.apply,
        params=variables["params"],
        tx=optax.sgd(0.1, momentum=0.9),
        batch_stats=variables["batch_stats"],
    )

    @jax.jit
    def step(state, key):
        def loss_of(params):
            logits, changed = state.apply_fn(
                {"params": params, "batch_stats": state.batch_stats},
                images,
                train=True,
                rngs={"dropout": key},
                mutable=["batch_stats"],
            )
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            return losses.mean(), changed

        (loss, changed), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params)
        state = state.apply_gradients(grads=grads)
        return state.replace(batch_stats=changed["batch_stats"]), loss

    losses = []
    for number in range(6):
        state, loss = step(state, jax.random.fold_in(key, number))
        losses.append(loss)
    return {"losses": losses, "mean": state.batch_stats["BatchNorm_0"]["mean"]}


class Language(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(11, 6)(tokens)
        x = nn.RNN(nn.LSTMCell(7))(x)
        return nn.Dense(11)(nn.LayerNorm()(x))


def recurrent_network_and_its_gradient() -> dict[str, object]:
    tokens = jnp.arange(20).reshape(2, 10) % 11
    model = Language()
    params = model.init(jax.random.key(1), tokens)

    def loss(params):
        logits = model.apply(params, tokens)[:, :-1]
        return optax.softmax_cross_entropy_with_integer_labels(
            logits, tokens[:, 1:]
        ).mean()

    value, grads = jax.jit(jax.value_and_grad(loss))(params)
    return {"value": value, "norm": optax.tree.norm(grads)}


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        mask = nn.make_causal_mask(x[..., 0])
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(
            nn.LayerNorm()(x), mask=mask
        )
        return x + nn.Dense(8)(nn.gelu(nn.Dense(16)(nn.LayerNorm()(x)))), None


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, x):
        layers = nn.scan(
            nn.remat(Block),
            variable_axes={"params": 0},
            split_rngs={"params": True},
            length=3,
        )
        return layers()(x, None)[0]


def attention_layers_scanned_and_rematerialized() -> dict[str, object]:
    x = jax.random.normal(jax.random.key(2), (2, 5, 8))
    model = Transformer()
    params = model.init(jax.random.key(3), x)
    grads = jax.jit(jax.grad(lambda p: jnp.sum(model.apply(p, x) ** 2)))(params)
    shapes = jax.tree.leaves(jax.tree.map(jnp.shape, params))
    return {
        "y": model.apply(params, x),
        "norm": optax.tree.norm(grads),
        "shapes": shapes,
    }


PROGRAMS = (
    classifier_with_batch_norm_is_trained,
    recurrent_network_and_its_gradient,
    attention_layers_scanned_and_rematerialized,
)
