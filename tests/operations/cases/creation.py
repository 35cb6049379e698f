"""Rows of the operations in ``operations/creation.py``."""

import numpy as np

from covector.core.dtypes import as_dtype
from covector.operations.creation import Iota
from tests.laws import Case


def _iota(dtype, shape, dimension):
    dtype = as_dtype(dtype)

    def reference():
        lengths = [1] * len(shape)
        lengths[dimension] = -1
        count = np.arange(shape[dimension], dtype=np.int64).astype(dtype)
        return np.broadcast_to(count.reshape(lengths), shape)

    return Case(Iota(dtype, shape, dimension), (), reference)


CASES = [
    _iota("int32", (5,), 0),
    _iota("int32", (2, 3), 0),
    _iota("int32", (2, 3, 4), 1),
    _iota("int32", (0,), 0),
    _iota("int32", (3, 0), 0),
    _iota("float32", (2, 3), 1),
    _iota("float64", (4,), 0),
    _iota("complex64", (4,), 0),
    # longer than the integers can count, or the floats can tell apart
    _iota("int8", (300,), 0),
    _iota("uint8", (300,), 0),
    _iota("int4", (20,), 0),
    _iota("bfloat16", (600,), 0),
    _iota("float16", (4100,), 0),
    _iota("float8_e5m2", (100,), 0),
    _iota("int64", (3,), 0),
]
