"""Arrays of NumPy at the boundary: of one form inside, and read-only outside."""

import pickle

import numpy as np
import pytest

from covector.core import dtypes
from covector.core.host_values import (
    in_numpy_dtype,
    plain,
    read_only,
    refuse_masks,
    with_dtype,
)
from covector.errors import DTypeError

DTYPES = [
    dtypes.bool_,
    dtypes.int8,
    dtypes.float32,
    dtypes.complex128,
    dtypes.bfloat16,
    dtypes.float8_e4m3fn,
    dtypes.int4,
]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=[d.name for d in DTYPES])


def example(dtype):
    return np.arange(6).reshape(2, 3).astype(dtype)


@each_dtype
@pytest.mark.parametrize("form", [np.asarray, np.transpose, lambda x: x[:, ::2]])
def test_a_read_only_view_has_the_values_and_the_memory(dtype, form):
    values = form(example(dtype))
    view = read_only(values)
    np.testing.assert_array_equal(view, values)
    assert view.dtype is values.dtype
    assert np.shares_memory(view, values)
    assert values.flags.writeable, "what was given stays as it is"


@each_dtype
def test_a_read_only_view_cannot_be_made_writable(dtype):
    view = read_only(example(dtype))
    while isinstance(view, np.ndarray):
        assert not view.flags.writeable
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            view.flags.writeable = True
        view = view.base


def test_what_has_no_elements_to_write_is_given_as_it_is():
    values = np.zeros(3, dtypes.float0)
    assert read_only(values) is values


@each_dtype
def test_elements_that_numpy_only_stores_are_given_as_bits(dtype):
    values = example(dtype)
    bits = in_numpy_dtype(values)
    assert dtypes.is_of_numpy(bits.dtype)
    assert bits.tobytes() == values.tobytes()
    assert (bits is values) == dtypes.is_of_numpy(dtype)


def test_an_equal_dtype_is_replaced_by_the_known_object():
    other = pickle.loads(pickle.dumps(np.dtype(np.float32).newbyteorder("=")))
    values = np.ones(3, other)
    made = with_dtype(values, dtypes.float32)
    assert made.dtype is dtypes.float32
    assert np.shares_memory(made, values)


def test_masked_arrays_are_refused_with_the_way_out():
    masked = np.ma.masked_array(np.ones(2), [True, False])
    for refuse in (refuse_masks, plain):
        with pytest.raises(DTypeError, match=r"float64 and shape \(2,\).*x\.filled"):
            refuse(masked)


def test_everything_else_is_a_plain_array():
    class Sub(np.ndarray):
        pass

    values = np.ones(3)
    assert plain(values) is values
    assert type(plain(values.view(Sub))) is np.ndarray
    assert plain([1, 2]).tolist() == [1, 2]
    assert plain(3.5) == 3.5
