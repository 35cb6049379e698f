"""What numbers a dtype holds: limits against the elements, casts value by value."""

import numpy as np
import pytest

from covector.core import dtypes, number_info
from covector.core.dtypes import KeyType, as_dtype, short_name
from covector.core.number_info import bit_width, can_cast_losslessly
from covector.errors import DTypeKindError

FRY = KeyType("threefry2x32")
every_number = pytest.mark.parametrize("dtype", dtypes.NUMBERS, ids=short_name)


# -- limits ----------------------------------------------------------------------------


@every_number
def test_limits_are_those_of_the_elements(dtype):
    if dtypes.is_integer(dtype):
        info = number_info.iinfo(dtype)
        values = [dtype.type(info.min), dtype.type(info.max)]
        assert [int(v) for v in values] == [info.min, info.max]
        assert info.max - info.min == 2**info.bits - 1
    elif dtypes.is_inexact(dtype):
        info = number_info.finfo(dtype)
        one = np.ones((), info.dtype)
        assert info.dtype == dtypes.real_part(dtype)
        assert one + info.eps != one
        assert np.isfinite(float(np.asarray(info.max, info.dtype)))


@pytest.mark.parametrize(
    ("ask", "dtype", "words"),
    [
        (number_info.finfo, "int32", "got i32. iinfo describes integers."),
        (
            number_info.finfo,
            bool,
            "finfo needs a floating or complex dtype, but got bool.",
        ),
        (number_info.iinfo, "float32", "got f32. finfo describes floats."),
        (number_info.iinfo, FRY, "iinfo needs an integer dtype, but got key<fry>."),
    ],
)
def test_limits_of_another_kind_are_refused(ask, dtype, words):
    with pytest.raises(DTypeKindError) as error:
        ask(dtype)
    assert str(error.value).endswith(words)
    # Callers who know numpy.finfo expect a ValueError, the others a TypeError.
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, TypeError)


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        (dtypes.bool_, 8),
        (dtypes.int2, 2),
        (dtypes.uint4, 4),
        (dtypes.float4_e2m1fn, 4),
        (dtypes.float6_e2m3fn, 6),
        (dtypes.bfloat16, 16),
        (dtypes.complex64, 64),
        (FRY, 64),
        (dtypes.float0, 0),
    ],
    ids=str,
)
def test_bit_width(dtype, bits):
    assert bit_width(dtype) == bits


# -- lossless casts --------------------------------------------------------------------


@np.errstate(all="ignore")  # some of the values are signalling NaNs
def all_values(dtype):
    """Every value of a dtype of at most 16 bits, as float64, which is exact."""
    if dtypes.is_bool(dtype):
        return np.array([0.0, 1.0])
    if dtypes.is_integer(dtype):
        info = number_info.iinfo(dtype)
        return np.arange(info.min, info.max + 1, dtype=np.float64)
    bits = np.arange(2 ** bit_width(dtype), dtype=f"u{dtype.itemsize}")
    return bits.view(dtype).astype(np.float64)


@np.errstate(all="ignore")
def holds(dtype, values):
    """Whether a dtype has all the values."""
    if dtypes.is_bool(dtype):
        return np.isin(values, [0, 1]).all()
    if dtypes.is_integer(dtype):
        info = number_info.iinfo(dtype)
        inside = (info.min <= values) & (values <= info.max)
        return np.all(inside & (np.floor(values) == values))
    back = values.astype(dtypes.real_part(dtype)).astype(np.float64)
    return np.array_equal(back, values, equal_nan=True)


@pytest.mark.parametrize(
    "source", [d for d in dtypes.NUMBERS if d.itemsize <= 2], ids=short_name
)
def test_a_lossless_cast_keeps_every_single_value(source):
    values = all_values(source)
    for target in dtypes.NUMBERS:
        lossless = can_cast_losslessly(source, target)
        assert lossless == holds(target, values), short_name(target)


@pytest.mark.parametrize(
    ("source", "target", "answer"),
    [
        ("int32", "float32", False),
        ("int32", "float64", True),
        ("uint32", "float64", True),
        ("int64", "float64", False),
        ("int64", "complex128", False),
        ("uint32", "int64", True),
        ("uint64", "int64", False),
        ("float32", "complex64", True),
        ("float64", "complex64", False),
        ("complex64", "complex128", True),
        ("complex64", "float64", False),
        ("float64", "float32", False),
        ("float32", "bfloat16", False),
    ],
)
def test_lossless_casts_between_wide_dtypes(source, target, answer):
    assert can_cast_losslessly(np.dtype(source), as_dtype(target)) is answer


def test_a_key_casts_only_to_itself():
    assert can_cast_losslessly(FRY, FRY)
    assert not can_cast_losslessly(FRY, dtypes.uint64)
    assert not can_cast_losslessly(dtypes.uint64, FRY)
