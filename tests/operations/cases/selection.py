"""Rows of the operations in ``operations/selection.py``."""

import numpy as np

from covector.operations.selection import select_n
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.0, 1.5]])
_y = np.array([[1.5, 0.75, -2.25], [0.25, -4.0, 1.0]])
_z = _x + 1j * _x[::-1]
_mask = np.array([[True, False, False], [False, True, True]])
_which = np.array([[0, 2, 1], [1, -5, 9]], np.int32)


def _select(which, *cases):
    index = np.clip(which.astype(np.int64), 0, len(cases) - 1)
    cases = np.broadcast_arrays(*cases, np.empty(which.shape))[:-1]
    if not index.ndim:
        return cases[index]
    return np.take_along_axis(np.stack(cases), index[None], 0)[0]


CASES = [
    Case(select_n, (_mask, _x, _y), _select),
    Case(select_n, (_mask, _z, 2 * _z), _select),
    Case(select_n, (True, _x, _y), _select, name="select_n by a scalar"),
    Case(select_n, (_mask, _x, 2.5), _select, name="select_n with a scalar case"),
    Case(select_n, (_mask, -1.5, _y), _select),
    Case(select_n, (_mask, 1.5, 2.5), _select, name="select_n of scalar cases"),
    Case(select_n, (False, 1.5, 2.5), _select),
    Case(select_n, (_which, _x, _y, 2 * _x), _select, name="select_n of three"),
    Case(select_n, (_which, _x, 2.5, _y), _select),
    Case(select_n, (np.int32(2), _x, _y, 2 * _x), _select),
    Case(select_n, (_which, _x), _select, name="select_n of one"),
    Case(select_n, (_which[:0], _x[:0], _y[:0], _x[:0]), _select),
    Case(
        select_n,
        (_mask, np.where(_mask, np.nan, _x), np.where(_mask, _y, -np.inf)),
        _select,
        name="select_n of special values",
        derivative=False,
    ),
]
