"""Flax NNX: a trained model, a model with state under jit, scanned layers."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Perceptron(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.first = nnx.Linear(2, 8, use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))


def model_and_optimizer_are_changed_in_place() -> dict[str, object]:
    model = Perceptron(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    x = jax.random.normal(jax.random.key(1), (32, 2))
    y = x[:, :1] * x[:, 1:]

    @nnx.jit
    def step(model, optimizer):
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
        optimizer.update(model, grads)
        return loss

    losses = [step(model, optimizer) for _ in range(8)]
    model.eval()
    return {"losses": losses, "mean": model.norm.mean[...], "outputs": model(x[:3])}


class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.asarray(0))
        self.total = nnx.Variable(jnp.zeros(3))

    def __call__(self, x):
        self.count[...] += 1
        self.total[...] += x
        return self.total[...] / self.count[...]


def variables_are_updated_inside_jit() -> dict[str, object]:
    counter = Counter()
    run = nnx.jit(lambda counter, x: counter(x))
    means = [run(counter, jnp.arange(3.0) * k) for k in range(4)]
    graph, state = nnx.split(counter)
    merged = nnx.merge(graph, jax.tree.map(lambda leaf: leaf + 1, state))
    return {
        "means": means,
        "count": counter.count[...],
        "merged": [merged.count[...], merged.total[...]],
    }


class Layer(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return x + nnx.tanh(self.linear(x))


def layers_are_stacked_and_scanned() -> dict[str, object]:
    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=(0,), out_axes=0)
    def build(rngs: nnx.Rngs):
        return Layer(rngs)

    @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
    def run(layer, x):
        return layer(x)

    layers = build(nnx.Rngs(2))
    x = jnp.linspace(-1.0, 1.0, 8).reshape(2, 4)
    grads = nnx.grad(lambda layers: jnp.sum(run(layers, x) ** 2))(layers)
    return {"y": run(layers, x), "norm": optax.tree.norm(jax.tree.leaves(grads))}


PROGRAMS = (
    model_and_optimizer_are_changed_in_place,
    variables_are_updated_inside_jit,
    layers_are_stacked_and_scanned,
)
