"""Rows of the operations in ``operations/identities.py``."""

import numpy as np

from covector.operations.identities import (
    LayoutConstraint,
    computed_once,
    copy,
    stop_gradient,
)
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, 1.5, -0.0]])

CASES = [
    Case(stop_gradient, (_x,), lambda x: x, derivative=False),
    Case(stop_gradient, (1.5,), lambda x: x, derivative=False),
    Case(computed_once, (_x,), lambda x: x),
    Case(computed_once, (1.5,), lambda x: x),
    Case(computed_once, (np.zeros((0, 2)),), lambda x: x),
    Case(LayoutConstraint((1, 0)), (_x,), lambda x: x),
    Case(LayoutConstraint(()), (1.5,), lambda x: x),
    Case(copy, (_x,), lambda x: x),
    Case(copy, (np.array([np.nan, -np.inf]),), lambda x: x, derivative=False),
    Case(copy, (_x + 1j,), lambda x: x),
    Case(copy, (1.5,), lambda x: x),
    Case(copy, (np.zeros((0, 2)),), lambda x: x),
]
