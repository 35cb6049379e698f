"""Schedules: learning rates as functions of the step, which counts from 0."""

from collections.abc import Callable
from typing import Any

from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.flat import describe
from covector.errors import ArgumentError

#: a step size per step: a function from the number of the step to the step size
Schedule = Callable[[Any], Any]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule as it is, or the constant one.

    Raises:
      ArgumentError: it is neither a function nor a scalar.

    >>> make_schedule(0.1)(7)
    0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if cnp.ndim(scalar_or_schedule):
        raise ArgumentError(
            "a step size must be a scalar or a function of the step, but got "
            f"{describe(scalar_or_schedule)}."
        )
    return constant(scalar_or_schedule)


def constant(step_size: Any) -> Schedule:
    """The same size at every step.

    >>> constant(0.1)(7)
    0.1
    """
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """``decay_rate`` times less after each ``decay_steps``.

    >>> exponential_decay(1.0, 10, 0.5)(20)
    0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """``step_size / (1 + decay_rate · i / decay_steps)``; with ``staircase``, of whole
    quotients.

    >>> inverse_time_decay(1.0, 10, 0.5)(20)
    0.5
    """

    def size(i: Any) -> Any:
        decays = i / decay_steps
        return step_size / (
            1 + decay_rate * (cnp.floor(decays) if staircase else decays)
        )

    return size


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """From one size to another in ``decay_steps``, by a power of the steps left.

    >>> float(polynomial_decay(1.0, 10, 0.5)(5))
    0.75
    """

    def size(i: Any) -> Any:
        left = 1 - cnp.minimum(i, decay_steps) / decay_steps
        return final_step_size + (step_size - final_step_size) * left**power

    return size


def piecewise_constant(boundaries: ArrayLike, values: ArrayLike) -> Schedule:
    """``values[k]`` after k of the boundaries have been passed.

    Raises:
      ArgumentError: there is not one value more than boundaries.

    >>> size = piecewise_constant([10, 20], [1.0, 0.5, 0.25])
    >>> [float(size(i)) for i in (10, 11, 21)]
    [1.0, 0.5, 0.25]
    """
    boundaries, values = cnp.asarray(boundaries), cnp.asarray(values)
    if boundaries.ndim != 1 or values.shape != (len(boundaries) + 1,):
        raise ArgumentError(
            "piecewise_constant needs one value more than boundaries, but got values "
            f"{values.type} for boundaries {boundaries.type}."
        )
    return lambda i: values[cnp.sum(i > boundaries)]
