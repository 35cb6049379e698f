"""Equinox as it is trained with: layers of all kinds, ensembles, state, files."""

import io

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

NN = eqx.nn


def every_layer_has_its_values_and_gradients() -> dict[str, object]:
    keys = iter(jax.random.split(jax.random.key(0), 40))
    image = jax.random.normal(next(keys), (2, 8, 8))
    row, sequence = image[0, 0], image[0]
    layers = {
        "linear": (NN.Linear(8, 3, key=next(keys)), row),
        "identity": (NN.Identity(), row),
        "bilinear": (NN.Linear(8, "scalar", use_bias=False, key=next(keys)), row),
        "conv1d": (NN.Conv1d(8, 2, 3, padding="SAME", key=next(keys)), sequence),
        "conv2d": (NN.Conv2d(2, 4, 3, stride=2, groups=2, key=next(keys)), image),
        "dilated": (NN.Conv2d(2, 2, 3, dilation=2, padding=1, key=next(keys)), image),
        "transposed": (NN.ConvTranspose2d(2, 3, 3, stride=2, key=next(keys)), image),
        "circular": (
            NN.Conv1d(8, 2, 3, padding="SAME", padding_mode="CIRCULAR", key=next(keys)),
            sequence,
        ),
        "layer_norm": (NN.LayerNorm((8, 8)), image[0]),
        "group_norm": (NN.GroupNorm(1, 2), image),
        "rms_norm": (NN.RMSNorm(8), row),
        "prelu": (NN.PReLU(0.3), row),
        "max_pool": (NN.MaxPool2d(3, 2, padding=1), image),
        "average_pool": (NN.AvgPool2d(2, 2), image),
        "adaptive": (NN.AdaptiveAvgPool2d((3, 2)), image),
        "rotary": (NN.RotaryPositionalEmbedding(8), sequence),
        "weight_norm": (NN.WeightNorm(NN.Linear(8, 3, key=next(keys))), row),
        "mlp": (NN.MLP(8, 2, 5, 2, final_activation=jnp.tanh, key=next(keys)), row),
        "sequential": (
            NN.Sequential(
                [
                    NN.Linear(8, 4, key=next(keys)),
                    NN.Lambda(jax.nn.gelu),
                    NN.LayerNorm(4),
                ]
            ),
            row,
        ),
    }

    @eqx.filter_value_and_grad(has_aux=True)
    def loss(layer, x):
        out = layer(x)
        return jnp.sum(jnp.cos(out) * out), out

    found = {}
    for name, (layer, x) in layers.items():
        (value, out), grads = eqx.filter_jit(loss)(layer, x)
        norms = [jnp.sum(g**2) for g in jax.tree.leaves(grads)]
        found[name] = [value, list(jnp.shape(out)), norms]
    return found


def attention_and_recurrence() -> dict[str, object]:
    keys = jax.random.split(jax.random.key(1), 8)
    x = jax.random.normal(keys[0], (5, 8))
    attention = NN.MultiheadAttention(2, 8, use_query_bias=True, key=keys[1])
    mask = jnp.tril(jnp.ones((5, 5), bool))
    embedding = NN.Embedding(10, 8, key=keys[2])
    lstm, gru = NN.LSTMCell(8, 4, key=keys[3]), NN.GRUCell(8, 4, key=keys[4])

    @eqx.filter_jit
    def run(cells, x):
        lstm, gru = cells
        start = (jnp.zeros(4), jnp.zeros(4)), jnp.zeros(4)

        def step(carry, row):
            new = lstm(row, carry[0]), gru(row, carry[1])
            return new, new[1]

        (long, short), outs = jax.lax.scan(step, start, x)
        return jnp.sum(long[0] * short) + jnp.sum(outs**2)

    value, grads = eqx.filter_value_and_grad(run)((lstm, gru), x)
    dropped = NN.Dropout(0.5)(x, key=keys[5])
    return {
        "attention": attention(x, x, x, mask=mask),
        "dropped": attention(x, x, x, key=keys[6], inference=True).sum(),
        "embedded": jax.vmap(embedding)(jnp.asarray([1, 3, 1])),
        "recurrent": [value, [jnp.sum(g**2) for g in jax.tree.leaves(grads)]],
        "dropout": [dropped, NN.Dropout(0.5, inference=True)(x).sum()],
    }


class Counter(eqx.Module):
    index: NN.StateIndex

    def __init__(self):
        self.index = NN.StateIndex(jnp.asarray(0))

    def __call__(self, x, state):
        value = state.get(self.index)
        return x + value, state.set(self.index, value + 1)


class Stateful(eqx.Module):
    linear: NN.Linear
    spectral: NN.SpectralNorm
    norm: NN.BatchNorm
    counter: Counter
    counters: Counter

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.linear = NN.Linear(4, 4, key=keys[0])
        inner = NN.Linear(4, 2, key=keys[1])
        self.spectral = NN.SpectralNorm(inner, weight_name="weight", key=keys[2])
        self.norm = NN.BatchNorm(2, axis_name="batch", mode="ema")
        self.counter = Counter()
        self.counters = eqx.filter_vmap(Counter, axis_size=2)()

    def __call__(self, x, state):
        x, state = self.spectral(self.linear(x), state)
        x, state = self.norm(x, state)
        x, state = self.counter(x, state)
        within = state.substate(self.counters)
        x, within = eqx.filter_vmap(self.counters)(x, within)
        return x, state.update(within)


def state_goes_through_training() -> dict[str, object]:
    key = jax.random.key(2)
    model, state = NN.make_with_state(Stateful)(key)
    x, y = jax.random.normal(key, (6, 4)), jnp.ones((6, 2))

    def loss(model, state):
        mapped = jax.vmap(model, (0, None), (0, None), axis_name="batch")
        out, state = mapped(x, state)
        return jnp.mean((out - y) ** 2), state

    @eqx.filter_jit(donate="all-except-first")
    def step(x, model, state):
        del x
        value, state = loss(model, state)
        grads, _ = eqx.filter_grad(loss, has_aux=True)(model, state)
        model = eqx.apply_updates(model, jax.tree.map(lambda g: -0.05 * g, grads))
        return value, model, state

    losses = []
    for _ in range(4):
        value, model, state = step(x, model, state)
        losses.append(value)
    inferring = eqx.tree_inference(model, value=True)
    out, state = jax.vmap(inferring, (0, None), (0, None), axis_name="batch")(x, state)
    leaves = [leaf.sum() for leaf in jax.tree.leaves(state)]
    return {"losses": losses, "inferred": out, "state": leaves}


def ensemble_trained_with_optax_and_saved() -> dict[str, object]:
    keys = jax.random.split(jax.random.key(3), 4)
    x = jnp.linspace(-1, 1, 16)[:, None]
    y = jnp.sin(3 * x)
    models = eqx.filter_vmap(lambda k: NN.MLP(1, 1, 8, 1, key=k))(keys)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2))
    states = eqx.filter_vmap(optimizer.init)(eqx.filter(models, eqx.is_inexact_array))

    @eqx.filter_jit
    @eqx.filter_vmap
    def step(model, state):
        def loss(model):
            return jnp.mean((jax.vmap(model)(x) - y) ** 2)

        value, grads = eqx.filter_value_and_grad(loss)(model)
        parameters = eqx.filter(model, eqx.is_inexact_array)
        updates, state = optimizer.update(grads, state, parameters)
        return eqx.apply_updates(model, updates), state, value

    history = []
    for _ in range(12):
        models, states, values = step(models, states)
        history.append(values)
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, models)
    file.seek(0)
    skeleton = eqx.filter_eval_shape(
        eqx.filter_vmap(lambda k: NN.MLP(1, 1, 8, 1, key=k)), keys
    )
    again = eqx.tree_deserialise_leaves(file, skeleton)
    each = eqx.filter_vmap(lambda m: jax.vmap(m)(x))(again)
    return {
        "history": history[::4],
        "mean": each.mean(0),
        "same": float(bool(eqx.tree_equal(models, again))),
    }


def surgery_on_modules() -> dict[str, object]:
    model = NN.MLP(2, 2, 4, 2, key=jax.random.key(4))
    x = jnp.asarray([1.0, 2.0])
    ones = eqx.tree_at(
        lambda m: [layer.weight for layer in m.layers],
        model,
        replace_fn=jnp.ones_like,
    )
    frozen = jax.tree.map(lambda _: False, model)
    frozen = eqx.tree_at(lambda m: m.layers[-1].bias, frozen, replace=True)
    trained, fixed = eqx.partition(model, frozen)
    grads = jax.grad(lambda t: jnp.sum(eqx.combine(t, fixed)(x) ** 2))(trained)
    half = jax.tree.map(
        lambda a: a.astype(jnp.bfloat16) if eqx.is_inexact_array(a) else a, model
    )
    without = eqx.tree_at(
        lambda m: m.layers[0].bias, model, None, is_leaf=lambda v: v is None
    )
    shared = NN.Shared(
        (
            NN.Embedding(3, 2, key=jax.random.key(5)),
            NN.Linear(2, 3, key=jax.random.key(6)),
        ),
        where=lambda pair: pair[1].weight,
        get=lambda pair: pair[0].weight,
    )
    embedding, head = shared()
    checked = eqx.tree_check
    checked(model)
    flat = eqx.tree_flatten_one_level(model.layers[0])[0]
    return {
        "ones": ones(x),
        "gradient": [g.sum() for g in jax.tree.leaves(grads)],
        "half": half(x.astype(jnp.bfloat16)),
        "without": float(without.layers[0].bias is None),
        "shared": head(embedding(jnp.asarray(1))),
        "leaves": [len(jax.tree.leaves(eqx.filter(model, eqx.is_array))), len(flat)],
        "text": float(len(eqx.tree_pformat(model)) > 100),
    }


PROGRAMS = (
    every_layer_has_its_values_and_gradients,
    attention_and_recurrence,
    state_goes_through_training,
    ensemble_trained_with_optax_and_saved,
    surgery_on_modules,
)
