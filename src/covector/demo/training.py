"""Training: the loop that feeds shuffled batches to one compiled step."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.demo import adam, model
from covector.demo.data import Digits

BATCH = 64
PEAK_RATE = 2e-3


@dataclass(frozen=True)
class Epoch:
    """One pass over the training images, as it ended."""

    state: adam.State
    losses: list[float]
    seconds: float

    @property
    def mean_loss(self) -> float:
        """The mean over the steps of the epoch."""
        return sum(self.losses) / len(self.losses)

    @property
    def examples_per_second(self) -> float:
        """The number of training images processed per second."""
        return len(self.losses) * BATCH / self.seconds


@cv.jit
def step(
    state: adam.State, digits: Digits, rows: Array, key: Array, rate: float
) -> tuple[adam.State, Array]:
    """Learn from some of the digits, slightly shifted: the next state, the loss."""
    keys = cv.random.split(cv.random.fold_in(key, state.step), len(rows))
    images = cv.vmap(model.shift)(keys, digits.images[rows])
    labels = digits.labels[rows]
    loss, gradients = cv.value_and_grad(model.loss)(state.params, images, labels)
    return adam.update(state, gradients, rate), loss


class Training:
    """A compiled step, the time its compilation took, and the loop around it."""

    def __init__(self, digits: Digits, seed: int, epochs: int) -> None:
        self.digits = digits
        self.epochs = epochs
        self.steps_per_epoch = len(digits.labels) // BATCH
        weights_key, self.shuffle_key, self.shift_key = cv.random.split(
            cv.random.key(seed), 3
        )
        self.state = adam.start(model.initialize(weights_key))

        started = perf_counter()
        rows = cnp.arange(BATCH)
        #: the arguments of a first step
        self.first = self.state, digits, rows, self.shift_key, PEAK_RATE
        lowered = step.lower(*self.first)
        traced = perf_counter()
        self.step = lowered.compile()
        self.trace_seconds = traced - started
        self.compile_seconds = perf_counter() - traced

    def run(self) -> Iterator[Epoch]:
        """Train, and tell of each epoch when it is over."""
        for epoch in range(self.epochs):
            started = perf_counter()
            losses = []
            for number, rows in enumerate(self.batches(epoch)):
                rate = self.rate(epoch * self.steps_per_epoch + number)
                self.state, loss = self.step(
                    self.state, self.digits, rows, self.shift_key, rate
                )
                losses.append(loss)
            # A GPU works while Python prepares the next step; only here does it wait.
            losses = [float(loss) for loss in losses]
            yield Epoch(self.state, losses, perf_counter() - started)

    def batches(self, epoch: int) -> Array:
        """Row numbers ``[steps_per_epoch, BATCH]`` in an order of this epoch's own."""
        key = cv.random.fold_in(self.shuffle_key, epoch)
        order = cv.random.permutation(key, len(self.digits.labels))
        used = self.steps_per_epoch * BATCH
        return order[:used].reshape(self.steps_per_epoch, BATCH)

    def rate(self, number: int) -> float:
        """The learning rate falls from its peak to zero along half a cosine."""
        progress = number / (self.epochs * self.steps_per_epoch)
        return PEAK_RATE * (1 + math.cos(math.pi * progress)) / 2
