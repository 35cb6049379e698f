"""Rows of the operations in ``operations/argmax.py``."""

import math

import numpy as np

from covector.core import dtypes
from covector.operations.argmax import Argmax, Argmin
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0, 2.0], [3.75, -0.75, 1.5, 3.75]])
_ties = np.array([[1.0, 3.0, 3.0, 1.0], [0.0, -0.0, -0.0, 0.0], [-0.0, 0.0, -1.0, 1.0]])
_special = np.array(
    [
        [np.inf, np.nan, 1.0, np.nan],
        [-np.inf, np.inf, np.inf, -np.inf],
        [-np.nan, -1.0, np.nan, 2.0],
        [1.0, 2.0, -np.inf, 2.0],
    ]
)
_large = np.random.default_rng(1).integers(-30, 31, 2**16) / 2.0
_large[[700, 65000]], _large[70] = np.nan, np.inf
_wide = np.array([2**32 - 1, 0, 2**31, 2**32 - 1, 5], np.uint32)


def _rows(op, function):
    name = op(0, dtypes.int32).name

    def at(axis):
        return lambda x: function(x, axis)

    return [
        Case(op(0, dtypes.int32), (_x,), at(0)),
        Case(op(1, dtypes.int32), (_x,), at(1)),
        Case(op(1, dtypes.int32), (_ties,), at(1), name=f"{name} of ties"),
        Case(op(1, dtypes.int64), (np.arange(24.0).reshape(2, 3, 4),), at(1)),
        Case(op(0, dtypes.uint8), (_x[0],), at(0), derivative=False),
        Case(op(1, dtypes.int32), (np.zeros((0, 2)),), at(1)),
        Case(
            op(1, dtypes.int32),
            (_special,),
            at(1),
            name=f"{name} of special values",
            dtypes=("float32", "float64", "float16", "bfloat16", "float8_e5m2"),
        ),
        Case(op(0, dtypes.int32), (_wide,), at(0)),
        Case(op(0, dtypes.int32), (_wide.astype(np.uint64) << 32,), at(0)),
        Case(op(1, dtypes.int32), (_ties > 0.5,), at(1)),
        Case(
            op(0, dtypes.int32),
            (np.random.default_rng(0).integers(0, 500, 5000) / 4.0,),
            at(0),
            name=f"{name} of many",
            dtypes=("float32", "float64", "int32", "bfloat16"),
        ),
        *[
            Case(
                op(axis, dtypes.int32),
                (_large[: math.prod(shape)].reshape(shape),),
                at(axis),
                name=f"{name} of rows and columns",
                dtypes=("float32", "bfloat16", "float64", "int8"),
            )
            for shape, axis in (((460, 101), 1), ((700, 90), 1), ((90, 700), 0))
        ],
        *[
            Case(
                op(axis, dtypes.int32),
                (_large.reshape(shape),),
                at(axis),
                name=f"{name} in blocks",
                dtypes=("float32", "bfloat16", "float64", "int8"),
            )
            for shape, axis in (((2**16,), 0), ((2**15, 2), 0), ((2, 2**10, 32), 1))
        ],
    ]


CASES = [*_rows(Argmax, np.argmax), *_rows(Argmin, np.argmin)]
