"""Rows of the operations in ``operations/complex.py``."""

import numpy as np

from covector.operations.complex import complex_, conj, imag, real
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.0, 1.5]])
_z = _x[:, :2] + 1j * _x[:, 1:]
_special = np.array([np.inf, -0.0, np.nan])


def _complex(x, y):
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), np.complex128)
    out.real, out.imag = x, y
    return out


CASES = [
    *[
        row
        for op, reference in [(real, np.real), (imag, np.imag), (conj, np.conj)]
        for row in [
            Case(op, (_z,), reference),
            Case(op, (1.5 - 2j,), reference),
            Case(op, (np.zeros((0, 2), complex),), reference),
            Case(
                op, (_complex(_special, _special[::-1]),), reference, derivative=False
            ),
        ]
    ],
    Case(complex_, (_x, _x[::-1].copy()), _complex),
    Case(complex_, (_x, 1.5), _complex, name="complex with a scalar"),
    Case(complex_, (1.5, _x), _complex),
    Case(complex_, (1.5, -2.0), _complex),
    Case(complex_, (np.zeros((0, 2)), np.zeros((0, 2))), _complex),
    Case(complex_, (_special, _special[::-1].copy()), _complex, derivative=False),
]
