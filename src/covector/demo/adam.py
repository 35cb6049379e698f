"""Adam (Kingma & Ba, 2015, algorithm 1): each parameter moves at a pace of its own.

The pace is the recent mean of its gradient over the recent size of it. Both averages
start at zero, which is made up for by dividing through what a constant gradient would
have reached.
"""

from typing import NamedTuple

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.demo.model import Params

MEAN_DECAY = 0.9
SQUARE_DECAY = 0.999
EPSILON = 1e-8


class State(NamedTuple):
    """All that a step changes; the averages are trees like the parameters."""

    params: Params
    mean: Params
    square: Params
    step: Array


def start(params: Params) -> State:
    """No gradient has been seen yet."""
    zeros = cv.tree.map(cnp.zeros_like, params)
    return State(params, zeros, zeros, cnp.zeros((), int))


def update(state: State, gradients: Params, rate: float | Array) -> State:
    """One step down the gradient, of at most about ``rate`` in every parameter."""
    step = state.step + 1
    mean = cv.tree.map(
        lambda m, g: MEAN_DECAY * m + (1 - MEAN_DECAY) * g, state.mean, gradients
    )
    square = cv.tree.map(
        lambda s, g: SQUARE_DECAY * s + (1 - SQUARE_DECAY) * g**2,
        state.square,
        gradients,
    )

    def moved(param: Array, mean: Array, square: Array) -> Array:
        direction = mean / (1 - MEAN_DECAY**step)
        size = cnp.sqrt(square / (1 - SQUARE_DECAY**step))
        return param - rate * direction / (size + EPSILON)

    return State(cv.tree.map(moved, state.params, mean, square), mean, square, step)
