"""Sums of Chebyshev polynomials and of powers, in which functions are given."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar


def chebyshev(coefficients: Sequence[float], t: Value) -> Value:
    """Σₖ cₖ Tₖ(t) by Clenshaw's recurrence, as far as the element type can tell."""
    least = 1e-9 if t.type.dtype == dtypes.float32 else 0.0
    last_one = max([k for k, c in enumerate(coefficients) if abs(c) > least])
    after = last = scalar(0, t.type.dtype)
    for c in reversed(coefficients[1 : last_one + 1]):
        after, last = 2 * t * after - last + c, after
    return t * after - last + coefficients[0]


def polynomial(coefficients: Sequence[float], x: Value) -> Value:
    """Σₖ cₖ xᵏ by Horner's rule."""
    total = scalar(coefficients[-1], x.type.dtype)
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def interpolated(
    f: Callable[[Any], Any], count: int, low: float, high: float
) -> list[float]:
    """The coefficients of powers in the polynomial through so many values of a function
    of arrays of NumPy, at Chebyshev's points between two numbers.
    """
    points = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    x = (low + high + (high - low) * points) / 2
    return np.linalg.solve(np.vander(x, increasing=True), f(x)).tolist()
