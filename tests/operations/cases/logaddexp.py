"""Rows of the operation in ``operations/logaddexp.py``."""

import numpy as np

from covector.operations.logaddexp import logaddexp
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -80.0, 1.5]])
_y = np.array([[0.25, -1.5, 9.0], [3.5, 1.0, 100.0]])
_inf = np.inf


def _reference(x, y):
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        return np.log(np.exp(x) + np.exp(y))
    return np.logaddexp(x, y)


CASES = [
    Case(logaddexp, (_x, _y), _reference, rtol=2e-6),
    Case(logaddexp, (_x, _x), _reference, name="logaddexp of equals", rtol=2e-6),
    Case(logaddexp, (_x[0], 0.5), _reference, rtol=2e-6),
    Case(logaddexp, (0.5, _x[0]), _reference, rtol=2e-6),
    Case(logaddexp, (1.0, 2.0), _reference, rtol=2e-6),
    Case(logaddexp, (np.zeros((0, 2)), 1.5), _reference),
    Case(
        logaddexp,
        (
            np.array([_inf, _inf, -_inf, -_inf, 1.0, -_inf, np.nan, 1.0]),
            np.array([_inf, 1.0, -_inf, 2.0, _inf, _inf, 1.0, np.nan]),
        ),
        np.logaddexp,
        name="logaddexp of special values",
        rtol=2e-6,
        derivative=False,
        dtypes=("float32", "float64", "bfloat16"),
    ),
]
