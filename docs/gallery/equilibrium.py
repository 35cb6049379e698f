"""An implicit layer: a deep equilibrium network.

A deep network whose layers all have the same weights computes z ← f(z, x) again
and again. A deep equilibrium network (Bai, Kolter and Koltun, 2019) computes
the state where that ends, the solution of z = f(z, x), by whatever solver is at
hand. Its output does not depend on how the solver got there, so neither need
its gradient: the implicit function theorem gives it from the solution alone,
and no iteration is kept in memory.

`custom_vjp` tells `grad` so. The network learns to read the handwritten digits
of scikit-learn.

The full program takes about 5 seconds on two CPU cores.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.example_libraries import optimizers

# %%
# ## The layer
#
# The solver iterates until the state moves no more, with a `while_loop`.

TOLERANCE = 1e-6


def iterate(f: Callable[[Array], Array], z: Array) -> Array:
    """The fixed point of a contraction, from the start ``z``."""

    def moves(state):
        before, z, count = state
        change = cnp.abs(z - before).max() / cnp.abs(z).max()
        return (change > TOLERANCE) & (count < 200)

    def step(state):
        _, z, count = state
        return z, f(z), count + 1

    return cv.lax.while_loop(moves, step, (z, f(z), 0))[1]


# %%
# Let z = f(p, z, x), and let z̄ be the gradient of the loss with respect to z.
# A small change of p moves z by dz = ∂f/∂z dz + ∂f/∂p dp. The gradient with
# respect to p is therefore (∂f/∂p)ᵀ u, where u solves u = z̄ + (∂f/∂z)ᵀ u:
# another fixed point, of the transposed map, which the same solver finds. `vjp`
# gives both transposed maps.

Params = Any


@partial(cv.custom_vjp, nondiff_argnums=(0,))
def equilibrium(f: Callable[..., Array], params: Params, x: Array, z: Array) -> Array:
    """The solution of ``z = f(params, z, x)``, searched from ``z``."""
    return iterate(lambda z: f(params, z, x), z)


def forward(f, params, x, z):
    """The solution, and what the backward pass needs."""
    z = equilibrium(f, params, x, z)
    return z, (params, x, z)


def backward(f, saved, z_bar):
    """The gradients with respect to the parameters, the input and the start."""
    params, x, z = saved
    _, transposed = cv.vjp(lambda z: f(params, z, x), z)
    u = iterate(lambda u: z_bar + transposed(u)[0], z_bar)
    _, pull = cv.vjp(lambda params, x: f(params, z, x), params, x)
    return *pull(u), cnp.zeros_like(z)


equilibrium.defvjp(forward, backward)

# %%
# ## The network
#
# For the fixed point to exist and be unique, f must shrink distances. Scaling
# the rows of the weights so that their absolute values add up to at most 0.9
# makes sure that no component of z moves more than the largest one moved
# before.

WIDTH = 64


def cell(params: Params, z: Array, x: Array) -> Array:
    """One step of the network, for one image."""
    sums = cnp.abs(params["recurrent"]).sum(axis=1, keepdims=True)
    recurrent = 0.9 * params["recurrent"] / cnp.maximum(sums, 0.9)
    return cnp.tanh(recurrent @ z + params["input"] @ x + params["bias"])


def initialize(key: Array) -> Params:
    """The weights of the cell, and those of the read-out."""
    recurrent, into, out = cv.random.split(key, 3)
    return {
        "recurrent": cv.random.normal(recurrent, (WIDTH, WIDTH)) / WIDTH**0.5,
        "input": cv.random.normal(into, (WIDTH, 64)) / 8,
        "bias": cnp.zeros(WIDTH),
        "readout": cv.random.normal(out, (10, WIDTH)) / WIDTH**0.5,
    }


def logits(params: Params, image: Array) -> Array:
    """The logits of the ten digits, from the 64 pixels of one image."""
    z = equilibrium(cell, params, image, cnp.zeros(WIDTH))
    return params["readout"] @ z


def loss(params: Params, images: Array, labels: Array) -> Array:
    """The mean cross entropy; each image has its own fixed point."""
    log_probabilities = cv.nn.log_softmax(cv.vmap(logits, (None, 0))(params, images))
    return -cnp.mean(cnp.sum(cv.nn.one_hot(labels, 10) * log_probabilities, axis=1))


# %%
# ## Is the gradient right?
#
# The same network, unrolled to a fixed number of layers, has an ordinary
# gradient. It must approach the implicit one as the number of layers grows.


def unrolled_loss(params: Params, images: Array, labels: Array, layers: int) -> Array:
    """As ``loss``, but differentiated through so many iterations."""

    def one(image):
        def body(z, _):
            return cell(params, z, image), None

        z, _ = cv.lax.scan(body, cnp.zeros(WIDTH), length=layers)
        return params["readout"] @ z

    log_probabilities = cv.nn.log_softmax(cv.vmap(one)(images))
    return -cnp.mean(cnp.sum(cv.nn.one_hot(labels, 10) * log_probabilities, axis=1))


def gradient_errors(params: Params, images: Array, labels: Array, depths) -> list:
    """How far the unrolled gradient is from the implicit one, relatively."""
    exact, _ = cv.flatten_util.ravel_pytree(cv.grad(loss)(params, images, labels))
    errors = []
    for depth in depths:
        gradient = cv.grad(unrolled_loss)(params, images, labels, depth)
        difference = cv.flatten_util.ravel_pytree(gradient)[0] - exact
        errors.append(float(cnp.linalg.norm(difference) / cnp.linalg.norm(exact)))
    return errors


class Result(NamedTuple):
    """Losses, test accuracy, and the errors of unrolled gradients."""

    losses: np.ndarray
    accuracy: float
    depths: list[int]
    errors: list[float]


def main(
    steps: int = 600, depths: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
) -> Result:
    """Train, test, and compare gradients."""
    pixels, targets = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(
        (pixels / 16).astype(np.float32),
        targets.astype(np.int32),
        test_size=0.2,
        random_state=0,
        stratify=targets,
    )
    images, labels = cnp.array(x_train), cnp.array(y_train)
    init, update, get_params = optimizers.adam(3e-3)

    @cv.jit
    def step(i, state, key):
        rows = cv.random.randint(cv.random.fold_in(key, i), (64,), 0, len(labels))
        value, gradient = cv.value_and_grad(loss)(
            get_params(state), images[rows], labels[rows]
        )
        return update(i, gradient, state), value

    state = init(initialize(cv.random.key(0)))
    losses = []
    for i in range(steps):
        state, value = step(i, state, cv.random.key(1))
        losses.append(value)
    params = get_params(state)
    predicted = cv.jit(cv.vmap(logits, (None, 0)))(params, x_test).argmax(axis=1)
    accuracy = float(np.mean(np.asarray(predicted) == y_test))
    errors = gradient_errors(params, images[:32], labels[:32], depths)
    print(f"test accuracy {accuracy:.1%}")
    print(f"gradient of {depths[-1]} unrolled layers: wrong by {errors[-1]:.1e}")
    return Result(np.array(losses), accuracy, list(depths), errors)


# %%
# ## The figure
#
# After 32 layers the unrolled gradient agrees with the implicit one to the
# tolerance of the solver. It has kept the states of all 32 for the backward
# pass; the implicit gradient needs a single state.


def draw(result: Result) -> Figure:
    """The loss; how unrolled gradients approach the implicit one."""
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    left.plot(result.losses, linewidth=0.7)
    left.set(yscale="log", xlabel="step", ylabel="loss")
    right.loglog(result.depths, result.errors, "o-")
    right.set(xlabel="unrolled layers", ylabel="relative error of the gradient")
    return figure


if __name__ == "__main__":
    draw(main()).savefig("equilibrium.png")

# %%
# ## What to try next
#
# - Solve by Anderson acceleration instead: only `iterate` changes.
# - `lax.custom_root` takes the equation and two solvers, and derives both modes
#   of differentiation from them; use it where you need second derivatives as
#   well.
# - Remove the `custom_vjp`: `while_loop` has a derivative in covector. Compare
#   the time and the memory of both.
