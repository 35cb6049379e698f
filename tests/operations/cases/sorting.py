"""Rows of the operations in ``operations/sorting.py``."""

import numpy as np

from covector.operations.sorting import Sort
from tests.laws import Case

_rng = np.random.default_rng(0)
_x = np.array([[0.5, -1.25, 2.0, 0.25], [3.75, -0.75, 1.5, -2.0]])
_y = np.array([[4.0, 3.0, 2.0, 1.0], [-1.0, -2.0, -3.0, -4.0]])
_z = _x[:, :3] + 1j * _x[:, 1:]
_ties = np.array([[1, 0, 1, 0, 2, 0, 1], [3, 3, 1, 1, 2, 2, 3]], np.int32)
_order = np.broadcast_to(np.arange(7, dtype=np.int32), (2, 7))
_special = np.array(
    [
        [np.nan, 1.0, -np.inf, np.inf, -np.nan, -1.0, 2.0],
        [0.0, -0.0, -0.0, 0.0, -1.0, 1.0, -0.0],
        [-0.0, np.nan, 0.0, np.inf, -0.0, np.nan, -np.inf],
    ]
)
_complex_special = np.array([[2 + 1j, 1 + 2j, np.nan, 1 - 1j], [1j, -1j, 1, 0]])
_wide = np.array([2**32 - 1, 0, 2**31, 7, 2**31 - 1], np.uint32)
_floats = ("float32", "float64", "float16", "bfloat16", "float8_e5m2")


def _sorted(*keys, axis, payload=()):
    order = np.lexsort(keys[::-1], axis)
    return [np.take_along_axis(x, order, axis) for x in (*keys, *payload)]


def _by_first(axis):
    return lambda *xs: _sorted(xs[0], axis=axis, payload=xs[1:])


def _alone(axis):
    return lambda x: np.sort(x, axis, "stable")


CASES = [
    Case(Sort(0), (_x,), _alone(0), rtol=0),
    Case(Sort(1), (_x,), _alone(1), rtol=0),
    Case(Sort(1), (_x > 0.4,), _alone(1)),
    Case(Sort(1), (_z,), _alone(1), rtol=0),
    Case(Sort(0), (np.zeros((0, 2)),), _alone(0)),
    Case(Sort(1), (np.zeros((0, 2)),), _alone(1)),
    Case(Sort(0), (np.ones(1),), _alone(0)),
    Case(Sort(0), (_wide,), _alone(0)),
    Case(
        Sort(0),
        (_rng.permutation(5000) / 8,),
        _alone(0),
        name="sort of many",
        dtypes=("float32", "bfloat16", "int32"),
        derivative=False,
        rtol=0,
    ),
    Case(Sort(1, False), (_x,), _alone(1), rtol=0),
    Case(Sort(1), (_x, _y), _by_first(1), rtol=0),
    Case(Sort(0), (_x, _y, np.arange(8).reshape(2, 4)), _by_first(0), rtol=0),
    Case(Sort(1), (_ties, _order), _by_first(1), name="sort of ties"),
    Case(Sort(1), (_ties.astype(np.int64), _order), _by_first(1), name="sort of ties"),
    Case(
        Sort(1, num_keys=2),
        (_ties, np.tile(_y, 2)[:, :7], _order),
        lambda x, y, p: _sorted(x, y, axis=1, payload=[p]),
        derivative=False,
        rtol=0,
    ),
    Case(
        Sort(1, num_keys=2),
        (_ties, _rng.permutation(14).reshape(2, 7) / 4, _order),
        lambda x, y, p: _sorted(x, y, axis=1, payload=[p]),
        name="sort by two keys",
        rtol=0,
    ),
    Case(
        Sort(1),
        (_special, np.broadcast_to(np.arange(7), (3, 7))),
        _by_first(1),
        name="sort of special values",
        derivative=False,
        rtol=0,
        dtypes=_floats,
    ),
    Case(
        Sort(1),
        (_special,),
        _alone(1),
        name="sort of special values",
        derivative=False,
        rtol=0,
        dtypes=_floats,
    ),
    Case(
        Sort(1),
        (_complex_special,),
        _alone(1),
        name="sort of special values",
        derivative=False,
        rtol=0,
    ),
]
