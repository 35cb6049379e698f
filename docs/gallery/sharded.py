"""Sharded training: one program on eight devices.

A network learns to read the digits of scikit-learn on a mesh of 4 × 2 devices.
The batch is divided into four parts, and the weights of each layer into two.
The training step is the one that would run on a single device: arrays say how
they are sharded, and `jit` compiles a program in which each device does its
part and the communication is inserted.

You need no eight accelerators to try this. A CPU can appear as eight devices.

The full program takes about 5 seconds on two CPU cores.
"""

import os

os.environ.setdefault("COVECTOR_NUM_CPU_DEVICES", "8")

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import covector as cv
import covector.numpy as cnp
from covector import Array, NamedSharding, P
from covector.example_libraries import optimizers

# %%
# ## The network, and how it is sharded
#
# `SPECS` has the structure of the parameters. Along the mesh axis `"model"`,
# the first layer is divided by its outputs and the second by its inputs, so
# that between them no communication is needed (Shoeybi and others, 2019). What
# names no axis is the same on every device.

Params = Any
HIDDEN = 256
SPECS = {
    "up": P(None, "model"),
    "up_bias": P("model"),
    "down": P("model", None),
    "down_bias": P(),
}


def initialize(key: Array) -> Params:
    """Two layers."""
    he_normal = cv.nn.initializers.he_normal()
    up, down = cv.random.split(key)
    return {
        "up": he_normal(up, (64, HIDDEN)),
        "up_bias": cnp.zeros(HIDDEN),
        "down": he_normal(down, (HIDDEN, 10)),
        "down_bias": cnp.zeros(10),
    }


def loss(params: Params, images: Array, labels: Array) -> Array:
    """The mean cross entropy of a batch: nothing here knows of devices."""
    hidden = cv.nn.relu(images @ params["up"] + params["up_bias"])
    logits = hidden @ params["down"] + params["down_bias"]
    log_probabilities = cv.nn.log_softmax(logits)
    return -cnp.mean(cnp.sum(cv.nn.one_hot(labels, 10) * log_probabilities, axis=1))


# %%
# ## The step
#
# Written once. `train` puts the parameters and the batches on the devices; the
# optimizer's state follows from the parameters, and has their shardings.

RATE = 2e-3
init, update, get_params = optimizers.adam(RATE)


@cv.jit
def step(i: Array, state: Any, images: Array, labels: Array) -> tuple[Any, Array]:
    """One step of Adam: the next state, and the loss before."""
    value, gradient = cv.value_and_grad(loss)(get_params(state), images, labels)
    return update(i, gradient, state), value


def batches(steps: int, size: int) -> Any:
    """Random batches of the digits, the same ones each time."""
    pixels, labels = load_digits(return_X_y=True)
    pixels, labels = (pixels / 16).astype(np.float32), labels.astype(np.int32)
    rng = np.random.default_rng(0)
    for _ in range(steps):
        rows = rng.integers(0, len(labels), size)
        yield pixels[rows], labels[rows]


def train(steps: int, batch: int, mesh: Any = None) -> tuple[Params, np.ndarray]:
    """The parameters and losses; without a mesh, on a single device."""
    params, rows = initialize(cv.random.key(0)), None
    if mesh is not None:
        shardings = {name: NamedSharding(mesh, spec) for name, spec in SPECS.items()}
        params, rows = (
            cv.device_put(params, shardings),
            NamedSharding(mesh, P("data")),
        )
    state = init(params)
    losses = []
    for i, arrays in enumerate(batches(steps, batch)):
        images, labels = cv.device_put(arrays, rows)
        state, value = step(i, state, images, labels)
        losses.append(value)
    return get_params(state), np.array([float(value) for value in losses])


# %%
# ## The other way: say what each device does
#
# With `shard_map` you write the function of one device. Its batch is a quarter,
# so its loss is the mean over a quarter, and `pmean` makes it the mean over
# all. The gradient of that is right without another word: parameters that are
# the same everywhere get a gradient that is summed over the devices.


def explicit_gradient(
    params: Params, images: Array, labels: Array, mesh: Any
) -> Params:
    """The gradient of the loss, with the batch divided by hand."""

    def on_device(params, images, labels):
        def mean_loss(params):
            return cv.lax.pmean(loss(params, images, labels), "data")

        return cv.grad(mean_loss)(params)

    specs = P(), P("data"), P("data")
    mapped = cv.shard_map(on_device, mesh=mesh, in_specs=specs, out_specs=P())
    return cv.jit(mapped)(params, images, labels)


class Result(NamedTuple):
    """Losses on a mesh and on one device; two sharded arrays."""

    sharded: np.ndarray
    single: np.ndarray
    gradient_error: float
    weight: Array  # [64, HIDDEN], sharded
    batch: Array  # [batch, 64], sharded


def main(steps: int = 400, batch: int = 128) -> Result:
    """Train on eight devices and on one: the losses are the same."""
    mesh = cv.make_mesh((4, 2), ("data", "model"))
    params, sharded = train(steps, batch, mesh)
    _, single = train(steps, batch)

    images, labels = next(batches(1, batch))
    start = initialize(cv.random.key(0))
    line = cv.make_mesh((4,), ("data",))
    by_hand = explicit_gradient(start, images, labels, line)
    expected = cv.grad(loss)(start, images, labels)
    differences = cv.tree.map(lambda a, b: cnp.abs(a - b).max(), by_hand, expected)
    error = float(max(cv.tree.leaves(differences)))
    images = cv.device_put(images, NamedSharding(mesh, P("data")))

    print(f"loss {sharded[0]:.2f} → {sharded[-20:].mean():.4f}")
    print(f"largest difference to one device: {abs(sharded - single).max():.1e}")
    print(f"weight {cv.typeof(params['up'])} as {params['up'].sharding.spec}")
    return Result(sharded, single, error, params["up"], images)


# %%
# ## The figure
#
# Which device holds which part of an array is written on it:
# `addressable_shards` says so. Along `"model"` the batch is held twice, as is
# the weight four times along `"data"`.


def draw_devices(ax: Any, array: Array) -> None:
    """A matrix as a rectangle, with the devices that hold each part."""
    holders: dict[Any, list[str]] = {}
    for shard in array.addressable_shards:
        (top, bottom, _), (left, right, _) = (
            part.indices(n) for part, n in zip(shard.index, array.shape, strict=True)
        )
        part = (left, top, right - left, bottom - top)
        holders.setdefault(part, []).append(str(shard.device.id))
    for i, ((x, y, width, height), ids) in enumerate(holders.items()):
        ax.add_patch(plt.Rectangle((x, y), width, height, color=f"C{i}", alpha=0.4))
        names = "\n".join(ids)
        ax.text(x + width / 2, y + height / 2, names, ha="center", va="center")
    rows, columns = array.shape
    ax.set(xlim=(0, columns), ylim=(rows, 0), xticks=[], yticks=[])


def draw(result: Result) -> Figure:
    """The losses; the devices that hold each part of two arrays."""
    figure, (left, middle, right) = plt.subplots(
        1, 3, layout="constrained", width_ratios=[2, 1, 1]
    )
    left.plot(result.sharded, linewidth=2.5, alpha=0.4, label="eight devices")
    left.plot(result.single, linewidth=0.7, label="one device")
    left.set(yscale="log", xlabel="step", ylabel="loss")
    left.legend()
    draw_devices(middle, result.batch)
    middle.set_title("batch")
    draw_devices(right, result.weight)
    right.set_title("weight")
    return figure


if __name__ == "__main__":
    draw(main()).savefig("sharded.png")

# %%
# ## What to try next
#
# - Change the mesh to `(8, 1)` or `(2, 4)`: only the call of `make_mesh`
#   changes.
# - Shard the optimizer's averages along `"data"` as well, which saves memory
#   (ZeRO).
# - Print `step.lower(...).compile().as_text()`, and look for `all-reduce`.
# - [Many devices](../scaling-out.md) has the rest: processes, collectives,
#   pipelines.
