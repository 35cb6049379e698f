"""Rows of the operations in ``operations/rounding.py``."""

import numpy as np

from covector.operations.rounding import Round, RoundingMethod, ceil, floor, nextafter
from tests.laws import Case

_x = np.array([[0.4, -1.25, 2.75], [3.7, -0.75, 1.6]])
_special = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan])
_pairs = [a.ravel() for a in np.meshgrid(_special, _special)]
_nearly_half = np.nextafter(0.5, 0, dtype=np.float32).astype(np.float64)
_floats = ("float32", "float64", "float16", "bfloat16")
_away = Round(RoundingMethod.AWAY_FROM_ZERO)
_even = Round(RoundingMethod.TO_NEAREST_EVEN)


def _round_away(x):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def _next(x, y):
    return np.nextafter(x, y)


CASES = [
    *[
        row
        for op, reference in [
            (floor, np.floor),
            (ceil, np.ceil),
            (_even, np.rint),
            (_away, _round_away),
        ]
        for row in [
            Case(op, (_x,), reference),
            Case(op, (-1.25,), reference),
            Case(op, (np.zeros((0, 2)),), reference),
            Case(op, (_special,), reference, derivative=False, dtypes=_floats),
        ]
    ],
    Case(
        _away,
        (np.array([_nearly_half, -_nearly_half, 2.0**23 + 1]),),
        lambda x: np.array([0.0, -0.0, 2.0**23 + 1]),
        name="round just below a half",
        derivative=False,
        dtypes=("float32", "float64"),
    ),
    Case(
        nextafter,
        (_x, _x[::-1].copy()),
        _next,
        derivative=False,
        dtypes=("float32", "float64", "float16", "bfloat16"),
        upcast=False,
        rtol=0,
    ),
    Case(nextafter, (_x, 1.0), _next, derivative=False, dtypes=_floats, upcast=False),
    Case(nextafter, (1.0, 2.0), _next, derivative=False, dtypes=_floats, upcast=False),
    Case(
        nextafter,
        _pairs,
        _next,
        name="nextafter of special values",
        derivative=False,
        dtypes=_floats,
        upcast=False,
    ),
]
