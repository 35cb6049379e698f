"""Where extrema are, in each of the ways that compiled programs search for them."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core import dtypes
from covector.core.types import ArrayType
from covector.operations.argmax import Argmax

#: shapes, an axis, and the way in which it is searched
WAYS = {
    "packed": ((64, 64), 1, "_least_packed"),
    "counting": ((256, 67), 1, "_by_counting"),
    "blocks of a row": ((40, 4096), 1, "_by_blocks"),
    "one row": ((2**18,), 0, "_by_blocks"),
    "columns of short rows": ((600, 100), 1, "_by_blocks_of_keys"),
    "columns": ((512, 64), 0, "_by_blocks_of_keys"),
    "narrow columns": ((2, 20_000, 3), 1, "_by_blocks_of_keys"),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_is_taken(way, monkeypatch):
    shape, axis, name = WAYS[way]
    taken = []
    method = getattr(Argmax, name)

    def recorded(self, *args):
        taken.append(name)
        return method(self, *args)

    monkeypatch.setattr(Argmax, name, recorded)
    search = Argmax(axis, dtypes.int32)._search(ArrayType(shape, np.dtype("float32")))
    cv.jit(search).lower(np.zeros(shape, np.float32))
    assert taken[0] == name


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("way", WAYS)
def test_a_subnormal_number_is_larger_than_zero(way, dtype):
    """In columns, the index was that of the first zero."""
    shape, axis, _ = WAYS[way]
    with cv.enable_x64(True):
        x = np.zeros(shape, dtype)
        place = shape[axis] - 3
        np.moveaxis(x, axis, -1)[..., place] = np.finfo(dtype).smallest_subnormal
        assert (np.asarray(cv.jit(lambda x: cnp.argmax(x, axis))(x)) == place).all()
        assert (np.asarray(cv.jit(lambda x: cnp.argmin(x, axis))(-x)) == place).all()
