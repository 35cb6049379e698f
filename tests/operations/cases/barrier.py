"""Rows of the operation in ``operations/barrier.py``."""

import ml_dtypes
import numpy as np

from covector.operations.barrier import dce_sink, optimization_barrier
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, 1.5, -0.0]])


def same(*args):
    return args


def nothing(*args):
    return ()


CASES = [
    Case(dce_sink, (_x, 2.5), nothing, derivative=False),
    Case(optimization_barrier, (_x,), same),
    Case(optimization_barrier, (_x, np.array([1.5, 2.0]), 2.5), same),
    Case(optimization_barrier, (_x + 1j, _x), same),
    Case(optimization_barrier, (np.zeros((0, 2)), _x), same),
    Case(
        optimization_barrier,
        (np.array([np.nan, -np.inf]), np.arange(3), np.array([True])),
        same,
        derivative=False,
    ),
    Case(
        optimization_barrier, (_x.astype(ml_dtypes.bfloat16),), same, derivative=False
    ),
]
