"""Rows of the operations in ``operations/extrema.py`` and ``magnitude.py``."""

import numpy as np

from covector.operations.extrema import clamp, max_, min_
from covector.operations.magnitude import abs_, sign
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.75, 1.5]])
_y = np.array([[1.5, 0.75, -2.25], [0.5, -4.0, 1.0]])
_z, _w = _x[:, :2] + 1j * _x[:, 1:], _y[:, :2] - 1j * _y[:, 1:]
_special = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
_pairs = [a.ravel() for a in np.meshgrid(_special, _special)]
_parts = np.array([0.0, 1.0, -2.0, np.nan])
_complex = [
    a.ravel() for a in np.meshgrid(*[(_parts[:, None] + 1j * _parts[None]).ravel()] * 2)
]
_floats = ("float32", "float64", "float16", "bfloat16")
_integers = np.array([-(2**31), -5, 0, 7, 2**31 - 1], np.int32)


def _extremum(op, reference):
    return [
        Case(op, (_x, _y), reference),
        Case(op, (_z, _w), reference),
        Case(op, (_x, 1.0), reference, name=f"{op.name} with a scalar"),
        Case(op, (1.0, _y[:1, :2]), reference),
        Case(op, (2.5, 1.5), reference),
        Case(op, (np.zeros((0, 3)), 1.5), reference),
        Case(
            op,
            _pairs,
            reference,
            name=f"{op.name} of special values",
            derivative=False,
            dtypes=_floats,
        ),
        Case(
            op,
            _complex,
            reference,
            name=f"{op.name} of complex numbers with ties and NaN",
            derivative=False,
        ),
        Case(op, (_integers, _integers[::-1].copy()), reference),
    ]


def _clamp(low, x, high):
    return np.minimum(np.maximum(x, low), high)


CASES = [
    *_extremum(max_, np.maximum),
    *_extremum(min_, np.minimum),
    Case(clamp, (_y - 1.125, _x, _y + 1.125), _clamp),
    Case(clamp, (-1.0, _x, 1.0), _clamp, name="clamp between scalars"),
    Case(
        clamp,
        (_y + 1.125, _x, _y - 1.125),
        _clamp,
        name="clamp between bounds that cross",
    ),
    Case(clamp, (_y, 0.25, _y + 2), _clamp, name="clamp of a scalar"),
    Case(clamp, (-1.0, 0.5, 1.0), _clamp),
    Case(clamp, (0.0, np.zeros((0, 2)), 1.0), _clamp),
    Case(
        clamp,
        (np.array([0.0, np.nan, 0, 2]), np.array([np.nan, 1, 9, 9]), 1.0),
        _clamp,
        name="clamp of special values, and between bounds that cross",
        derivative=False,
        dtypes=_floats,
    ),
    Case(clamp, (_integers[1], _integers, _integers[3]), _clamp),
    Case(abs_, (_x,), np.abs),
    Case(abs_, (_z,), np.abs),
    Case(abs_, (-1.5,), np.abs),
    Case(abs_, (np.zeros((0, 2)),), np.abs),
    Case(abs_, (_special,), np.abs, derivative=False, dtypes=_floats),
    Case(abs_, (_integers,), np.abs, name="abs of the smallest integer"),
    Case(abs_, (np.array([0, 3, 200], np.uint8),), np.abs),
    Case(sign, (_x,), np.sign),
    Case(sign, (_z,), np.sign),
    Case(sign, (-1.5,), np.sign),
    Case(sign, (_special,), np.sign, derivative=False, dtypes=_floats),
    Case(sign, (np.array([0j, 2j, -3]),), np.sign, derivative=False),
    Case(sign, (_integers,), np.sign),
    Case(sign, (np.array([0, 3, 200], np.uint8),), np.sign),
]
