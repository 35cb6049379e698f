"""A neural ordinary differential equation of lynx and hare.

From 1900 to 1920 the Hudson's Bay Company counted the pelts of lynx and hare
that its trappers brought in. Predator and prey chase each other through a cycle
of ten years.

This program learns the law of that cycle from the 21 pairs of numbers: the time
derivative of the two populations is a small neural network, an adaptive
Runge-Kutta solver integrates it, and the gradient of the misfit flows back
through the solver.

The full program takes about 7 seconds on two CPU cores.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.example_libraries import optimizers
from covector.experimental.ode import odeint

# %%
# ## The data
#
# Thousands of pelts, after Elton and Nicholson (1942). The model works with
# logarithms, so that populations stay positive, shifted to mean 0.

# fmt: off
HARE = np.array([
    30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1,
    40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7,
])
LYNX = np.array([
    4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4,
    8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6,
])
# fmt: on
YEARS = np.arange(1900, 1921)
LOG_PELTS = np.log(np.stack([HARE, LYNX], axis=1)).astype(np.float32)
CENTER = LOG_PELTS.mean(axis=0)
OBSERVED = LOG_PELTS - CENTER

# %%
# ## The law
#
# The velocity does not depend on time: the same state has the same future in
# 1903 and in 1913. `odeint` takes the right-hand side as `func(y, t, *args)`,
# and is differentiable with respect to everything in `args`.

Params = dict[str, Array]
HIDDEN = 24


def initialize(key: Array) -> Params:
    """A small network, slow at first, and the state in 1900."""
    into, out = cv.random.split(key)
    return {
        "into": cv.random.normal(into, (2, HIDDEN)),
        "bias": cnp.zeros(HIDDEN),
        "out": 0.1 * cv.random.normal(out, (HIDDEN, 2)),
        "start": cnp.array(OBSERVED[0]),
    }


def velocity(state: Array, t: Array, params: Params) -> Array:
    """The time derivative of the log populations ``[2]``, per year."""
    del t
    hidden = cnp.tanh(state @ params["into"] + params["bias"])
    return hidden @ params["out"]


def solve(params: Params, years: Array) -> Array:
    """The log populations at times since 1900, which increase from 0."""
    return odeint(velocity, params["start"], years, params, rtol=1e-4, atol=1e-4)


# %%
# ## Training
#
# To fit the whole curve at once is hard: while the model is wrong in 1905, what
# it does in 1920 carries no information. So the fit starts with the first
# years, and the window grows until it covers all of them. The window is an
# array of weights, not a shape: one compiled program serves every stage.


def loss(params: Params, weights: Array) -> Array:
    """The weighted mean square misfit, and a little weight decay."""
    predicted = solve(params, cnp.arange(len(OBSERVED), dtype=cnp.float32))
    misfit = cnp.sum((predicted - OBSERVED) ** 2, axis=1)
    decay = cnp.sum(params["into"] ** 2) + cnp.sum(params["out"] ** 2)
    return weights @ misfit / weights.sum() + 1e-4 * decay


class Result(NamedTuple):
    """The loss of each step, and the learned law."""

    losses: np.ndarray
    params: Params

    @property
    def rmse(self) -> float:
        """The root mean square error of the logarithms of both counts."""
        fitted = solve(self.params, cnp.arange(len(OBSERVED), dtype=cnp.float32))
        return float(np.sqrt(np.mean((np.asarray(fitted) - OBSERVED) ** 2)))


def main(steps: int = 1500) -> Result:
    """Fit the network to the counts."""
    init, update, get_params = optimizers.adam(
        optimizers.exponential_decay(1e-2, steps, 0.2)
    )

    @cv.jit
    def step(i, state, weights):
        value, gradient = cv.value_and_grad(loss)(get_params(state), weights)
        return update(i, optimizers.clip_grads(gradient, 1.0), state), value

    state = init(initialize(cv.random.key(0)))
    losses = []
    for i in range(steps):
        years = 5 + 16 * min(1, 2 * i / steps)
        weights = cv.nn.sigmoid(2 * (years - cnp.arange(len(OBSERVED))))
        state, value = step(i, state, weights)
        losses.append(value)
    result = Result(np.array(losses), get_params(state))
    print(f"root mean square error of the log counts: {result.rmse:.3f}")
    return result


# %%
# ## The figure
#
# On the left the counts and the fitted curve, followed for ten years beyond the
# data. On the right the learned law: arrows show the velocity in the plane of
# the two populations. The network has found a limit cycle.


def draw(result: Result) -> Figure:
    """The solution in time; the vector field."""
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    time = np.linspace(0, 30, 301, dtype=np.float32)
    path = np.exp(np.asarray(solve(result.params, time)) + CENTER)
    for i, (name, counts) in enumerate([("hare", HARE), ("lynx", LYNX)]):
        left.plot(YEARS, counts, "o", markersize=4, color=f"C{i}", label=name)
        left.plot(1900 + time, path[:, i], color=f"C{i}")
    left.axvspan(1920, 1930, alpha=0.1)
    left.set(xlabel="year", ylabel="pelts, thousands")
    left.legend()

    grid = np.stack(np.meshgrid(np.linspace(1.8, 4.6, 15), np.linspace(1.2, 4.3, 15)))
    points = (grid.reshape(2, -1).T - CENTER).astype(np.float32)
    field = cv.vmap(velocity, in_axes=(0, None, None))(points, 0.0, result.params)
    right.quiver(*np.exp(grid.reshape(2, -1)), *np.asarray(field).T, color="gray")
    right.plot(HARE, LYNX, "o", markersize=4)
    right.plot(*path.T, linewidth=1)
    right.set(xscale="log", yscale="log", xlabel="hare", ylabel="lynx")
    return figure


if __name__ == "__main__":
    draw(main()).savefig("neural_ode.png")

# %%
# ## What to try next
#
# - Replace the network by the four coefficients of the Lotka-Volterra
#   equations: only `velocity` and `initialize` change.
# - Fit up to 1915, and see how well the next five years are predicted.
# - Train ten networks with `vmap`, and draw where their predictions part.
