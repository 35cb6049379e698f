"""Rows of the operations in ``operations/transposing.py``."""

import numpy as np

from covector.operations.transposing import Reshape, Rev, Transpose
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.0, 1.5]])
_z = _x[:, :2] + 1j * _x[:, 1:]
_v, _cube = np.arange(4.0) - 1.5, np.arange(24.0).reshape(2, 3, 4)

CASES = [
    Case(Rev((0,)), (_v,), lambda x: x[::-1]),
    Case(Rev((1,)), (_x,), lambda x: x[:, ::-1]),
    Case(Rev((0, 2)), (_cube,), lambda x: x[::-1, :, ::-1]),
    Case(Rev((1,)), (_z,), lambda x: x[:, ::-1]),
    Case(Rev(()), (1.5,), lambda x: x),
    Case(Rev((0, 1)), (np.zeros((3, 0)),), lambda x: x),
    Case(Rev((0,)), (np.array([True, False, False]),), lambda x: x[::-1]),
    Case(Transpose((1, 0)), (_x,), np.transpose),
    Case(Transpose((1, 0)), (_z,), np.transpose),
    Case(
        Transpose((2, 0, 1)),
        (_cube,),
        lambda x: x.transpose(2, 0, 1),
    ),
    Case(Transpose((0, 1)), (np.zeros((3, 0)),), lambda x: x),
    Case(Transpose(()), (1.5,), lambda x: x),
    Case(Reshape((3, 2)), (_x,), lambda x: x.reshape(3, 2)),
    Case(Reshape((4,)), (_z,), np.ravel),
    Case(Reshape((6, 1)), (_x,), lambda x: x.reshape(6, 1)),
    Case(Reshape(()), (np.array([[2.5]]),), lambda x: x[0, 0]),
    Case(Reshape((1, 1)), (2.5,), lambda x: x.reshape(1, 1)),
    Case(Reshape((0, 5)), (np.zeros((3, 0)),), lambda x: x.reshape(0, 5)),
    Case(
        Reshape((2, 2)),
        (np.array([np.nan, np.inf, -np.inf, -0.0]),),
        lambda x: x.reshape(2, 2),
        name="reshape of special values",
        derivative=False,
    ),
]
