"""An ensemble of multilayer perceptrons.

A network with two hidden layers learns to tell malignant from benign tumours in
the breast cancer data of scikit-learn: 569 patients, 30 measurements each. One
network says 0.97 and gives no hint how far to trust it. So this program trains
16 of them, which differ only in their random initial weights, and looks at
where they disagree.

Training all of them takes no loop: `vmap` of the function that trains one
network is the function that trains all.

The full program takes about 3 seconds on two CPU cores.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.example_libraries import optimizers

# %%
# ## The network
#
# The parameters are a list with a dictionary per layer. Any nesting of lists,
# tuples and dictionaries will do: `grad` returns the same structure. The
# network is written for one example; `vmap` adds the batch.

Params = list[dict[str, Array]]


def initialize(key: Array, sizes: tuple[int, ...]) -> Params:
    """Weights that keep the variance of the signal, and biases of zero."""
    he_normal = cv.nn.initializers.he_normal()
    keys = cv.random.split(key, len(sizes) - 1)
    return [
        {
            "weights": he_normal(key, (inputs, outputs)),
            "bias": cnp.zeros(outputs),
        }
        for key, inputs, outputs in zip(keys, sizes, sizes[1:], strict=False)
    ]


def logit(params: Params, x: Array) -> Array:
    """The log odds that a tumour with measurements ``[30]`` is benign."""
    *hidden, last = params
    for layer in hidden:
        x = cv.nn.relu(x @ layer["weights"] + layer["bias"])
    return (x @ last["weights"] + last["bias"])[0]


def loss(params: Params, x: Array, y: Array) -> Array:
    """The mean cross entropy, and a little weight decay."""
    logits = cv.vmap(logit, in_axes=(None, 0))(params, x)
    cross_entropy = cnp.mean(cv.nn.softplus(logits) - y * logits)
    decay = sum(cnp.sum(layer["weights"] ** 2) for layer in params)
    return cross_entropy + 1e-4 * decay


# %%
# ## Training
#
# `train` is a plain function from a random key to trained parameters. Its loop
# is a `lax.scan`, so all of it becomes one compiled program, and the losses of
# all steps come back as one array.

BATCH = 64


def train(key: Array, x: Array, y: Array, steps: int) -> tuple[Params, Array]:
    """The trained network, and the loss of each step."""
    init, update, get_params = optimizers.adam(3e-3)
    start_key, batch_key = cv.random.split(key)

    def step(state, i):
        rows = cv.random.randint(cv.random.fold_in(batch_key, i), (BATCH,), 0, len(y))
        value, gradient = cv.value_and_grad(loss)(get_params(state), x[rows], y[rows])
        return update(i, gradient, state), value

    state = init(initialize(start_key, (x.shape[1], 32, 32, 1)))
    state, losses = cv.lax.scan(step, state, cnp.arange(steps))
    return get_params(state), losses


# %%
# ## Sixteen networks at once
#
# `vmap(train, in_axes=(0, None, None))` trains one network per key, all on the
# same data. The parameters of the ensemble are the same tree as those of one
# network; each array has one more axis.


class Result(NamedTuple):
    """What the ensemble says about the tumours that it was not trained on."""

    losses: np.ndarray  # [networks, steps]
    probabilities: np.ndarray  # [networks, tumours]
    labels: np.ndarray  # [tumours]

    @property
    def accuracies(self) -> np.ndarray:
        """The accuracy of each network by itself."""
        return ((self.probabilities > 0.5) == self.labels).mean(axis=1)

    @property
    def accuracy(self) -> float:
        """The accuracy of the mean of the networks."""
        return float(((self.probabilities.mean(axis=0) > 0.5) == self.labels).mean())


def main(networks: int = 16, steps: int = 300) -> Result:
    """Train on two thirds of the patients, and test on the rest."""
    x, y = load_breast_cancer(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(
        x, y, test_size=1 / 3, random_state=0, stratify=y
    )
    scaler = StandardScaler().fit(x_train)

    @cv.jit
    def train_all(keys, x, y):
        return cv.vmap(lambda key: train(key, x, y, steps))(keys)

    @cv.jit
    def predict(params, x):
        one = cv.vmap(logit, in_axes=(None, 0))
        return cv.nn.sigmoid(cv.vmap(one, in_axes=(0, None))(params, x))

    keys = cv.random.split(cv.random.key(0), networks)
    params, losses = train_all(keys, scaler.transform(x_train), y_train)
    probabilities = predict(params, scaler.transform(x_test))
    result = Result(np.asarray(losses), np.asarray(probabilities), y_test)
    worst, best = result.accuracies.min(), result.accuracies.max()
    print(f"accuracy of single networks: {worst:.3f} to {best:.3f}")
    print(f"accuracy of the ensemble:    {result.accuracy:.3f}")
    return result


# %%
# ## The figure
#
# On the left, how the loss of each network falls. On the right each tumour is a
# point: what the ensemble thinks of it, and how much its members disagree. Most
# of the tumours that it gets wrong are among the few on which the members
# disagree.


def draw(result: Result) -> Figure:
    """The losses; the mean and the spread of the predictions."""
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    epoch = result.losses.shape[1] // 50
    means = result.losses.reshape(len(result.losses), 50, epoch).mean(axis=2)
    left.plot(epoch * np.arange(50), means.T, linewidth=0.7)
    left.set(yscale="log", xlabel="step", ylabel="loss")
    mean, deviation = (
        result.probabilities.mean(axis=0),
        result.probabilities.std(axis=0),
    )
    wrong = (mean > 0.5) != result.labels
    right.scatter(mean[~wrong], deviation[~wrong], s=12, label="right")
    right.scatter(mean[wrong], deviation[wrong], s=30, marker="x", label="wrong")
    right.set(xlabel="mean probability of benign", ylabel="standard deviation")
    right.legend(loc="upper center")
    return figure


if __name__ == "__main__":
    draw(main()).savefig("mlp.png")

# %%
# ## What to try next
#
# - Train on `cv.random.permutation` batches, which visit each patient once per
#   epoch.
# - Give each network its own learning rate too: map `train` over an array of
#   rates.
# - Shard the axis of the networks over several devices, as in [Sharded
#   training](sharded.md): no line of `train` changes.
