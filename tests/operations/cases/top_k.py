"""Rows of the operation in ``operations/top_k.py``."""

import numpy as np

from covector.operations.top_k import TopK
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0, 0.25], [3.75, -0.75, 1.5, -2.0]])
_ties = np.array([[1, 0, 1, 0, 2, 0, 1], [3, 3, 1, 1, 2, 2, 3]], np.int32)
_special = np.array(
    [
        [np.nan, 1.0, -np.inf, np.inf, -np.nan, -1.0, 2.0],
        [0.0, -0.0, -0.0, 0.0, -1.0, 1.0, -0.0],
        [-0.0, np.nan, 0.0, np.inf, -0.0, np.nan, -np.inf],
    ]
)
_floats = ("float32", "float64", "float16", "bfloat16", "float8_e5m2")
_wide = np.array([2**32 - 1, 0, 2**31, 7, 2**31 - 1], np.uint32)
_long = np.random.default_rng(0).permutation(2**15).reshape(2, -1) / 4.0


def _top(k, axis):
    def reference(x):
        n = x.shape[axis]
        mirrored = np.argsort(np.flip(x, axis), axis, "stable")
        indices = np.take(n - 1 - np.flip(mirrored, axis), np.arange(k), axis)
        return np.take_along_axis(x, indices, axis), indices

    return reference


CASES = [
    Case(TopK(2, 0), (_x,), _top(2, 0), rtol=0),
    Case(TopK(3, 1), (_x,), _top(3, 1), rtol=0),
    Case(TopK(4, 1), (_ties,), _top(4, 1), name="top_k of ties"),
    Case(TopK(0, 1), (_x,), _top(0, 1)),
    Case(TopK(2, 1), (np.zeros((0, 3)),), _top(2, 1)),
    Case(TopK(3, 0), (_wide,), _top(3, 0)),
    Case(TopK(1, 1), (_x > 0.4,), _top(1, 1)),
    Case(
        TopK(7, 1),
        (_special,),
        _top(7, 1),
        name="top_k of special values",
        derivative=False,
        rtol=0,
        dtypes=_floats,
    ),
    Case(TopK(3, 1), (_long,), _top(3, 1), name="top_k in blocks", rtol=0),
    Case(TopK(1, 1), (_special,), _top(1, 1), name="top_k of one", derivative=False),
]
