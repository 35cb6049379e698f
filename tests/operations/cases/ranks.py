"""Rows of the operations in ``operations/ranks.py``."""

import numpy as np

from covector.operations.ranks import PlacesOfRanks
from tests.laws import Case

_rng = np.random.default_rng(0)
_x = np.array([[0.5, -1.25, 2.0, 0.25], [3.75, -0.75, 1.5, -2.0]])
_ranks = np.array([[0, 3, 1], [2, 2, 0]], np.int32)
_special = np.array(
    [
        [np.nan, 1.0, -np.inf, np.inf, -np.nan, -1.0, 2.0],
        [0.0, -0.0, -0.0, 0.0, -1.0, 1.0, -0.0],
        [1e-42, np.nan, -1e-42, np.inf, -0.0, np.nan, -np.inf],
    ]
)
_all = np.broadcast_to(np.arange(7, dtype=np.int32), (3, 7))
_many = _rng.permutation(70_000) / 8
_wide = np.array([2**32 - 1, 0, 2**31, 7, 2**31 - 1], np.uint32)


def _places(x, ranks):
    return np.take_along_axis(np.argsort(x, -1, "stable"), ranks, -1).astype(np.int32)


def _case(x, ranks, **facts):
    return Case(PlacesOfRanks(), (x, np.asarray(ranks, np.int32)), _places, **facts)


CASES = [
    _case(_x, _ranks),
    _case(_x, _ranks[:, :0], name="places of no ranks"),
    _case(_x > 0.4, _ranks, name="places of ranks of bools"),
    _case(_wide, [4, 0, 2], name="places of ranks of unsigned integers"),
    _case(np.zeros((0, 3)), np.zeros((0, 1)), name="places of ranks in no rows"),
    _case(
        _special,
        _all,
        name="places of ranks of special values",
        dtypes=("float32", "float64", "float16", "bfloat16"),
    ),
    _case(
        _many,
        [0, 35_000, 35_001, 69_999],
        name="places of ranks in a long row",
        dtypes=("float32", "float64", "bfloat16"),
        derivative=False,
    ),
]
