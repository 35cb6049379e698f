"""``covector.dtypes``: the public questions about element types."""

import ml_dtypes
import numpy as np
import pytest

from covector import dtypes, options
from covector.dtypes import KeyType
from covector.errors import DTypeError, DTypeKindError
from tests.naming import readable

FRY = KeyType("threefry2x32")


def test_canonicalize_dtype_follows_the_option():
    assert dtypes.canonicalize_dtype(float) == np.float32
    assert dtypes.canonicalize_dtype("int8") == np.int8
    with options.override(enable_x64=True):
        assert dtypes.canonicalize_dtype(float) == np.float64


def test_canonicalize_dtype_takes_keys_only_when_allowed():
    assert dtypes.canonicalize_dtype(FRY, allow_extended_dtype=True) is FRY
    words = "needs a dtype of numbers, but got key<fry>. With allow_extended_dtype=True"
    with pytest.raises(DTypeKindError, match=words):
        dtypes.canonicalize_dtype(FRY)


def test_itemsize_bits_counts_what_is_used():
    bits = [dtypes.itemsize_bits(x) for x in ("int4", bool, "bfloat16", "complex128")]
    assert bits == [4, 8, 16, 128]


def test_itemsize_bits_of_a_key_is_refused_with_a_way_out():
    with pytest.raises(
        DTypeKindError,
        match=r"key<fry>\. The numbers behind a key are \S+key_data\(key\)",
    ):
        dtypes.itemsize_bits(FRY)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (True, bool),
        (3, int),
        (3.0, float),
        (3j, complex),
        (float, float),
        ("uint8", int),
        (np.zeros(2, bool), bool),
        (np.float32(1), float),
        (ml_dtypes.bfloat16, float),
    ],
    ids=readable,
)
def test_scalar_type_of(x, expected):
    assert dtypes.scalar_type_of(x) is expected


def test_scalar_type_of_what_has_no_numbers_is_refused():
    with pytest.raises(DTypeError, match="'text' is not an element type"):
        dtypes.scalar_type_of("text")
    with pytest.raises(
        DTypeKindError, match="no Python number stands for an element of"
    ):
        dtypes.scalar_type_of(FRY)


def test_the_public_names_are_there():
    assert dtypes.bfloat16 is ml_dtypes.bfloat16
    assert dtypes.float0 == np.dtype([("float0", np.void, 0)])
    assert dtypes.issubdtype(FRY, dtypes.prng_key)
    assert issubclass(dtypes.prng_key, dtypes.extended)
    assert set(dtypes.__all__) <= set(vars(dtypes))


def test_canonicalize_dtype_of_none_is_the_one_of_floats():
    assert dtypes.canonicalize_dtype(None) == np.float32
    with options.override(enable_x64=True):
        assert dtypes.canonicalize_dtype(None) == np.float64
