"""Python and NumPy values as arrays."""

import copy
import pickle

import numpy as np
import pytest

import covector as cv
from covector.core import dtypes
from covector.core.convert import (
    ShapeDtypeStruct,
    as_array,
    from_numpy,
    python_scalar,
    scalar,
    to_be_cast,
    type_of,
)
from covector.core.types import ArrayType
from covector.errors import DTypeError, IntegerOverflow, TypeMismatch

NAN, INFINITY = float("nan"), float("inf")


class Wrapped:
    """What says itself which array it is."""

    def __jax_array__(self):
        return np.arange(3, dtype=np.int16)


class Columns:
    """What NumPy can read."""

    def __array__(self, dtype=None, copy=None):
        return np.ones((2, 2), np.float16)


VALUES = [
    True,
    3,
    2.5,
    1j,
    np.float64(2.5),
    np.bool_(True),
    np.int8(-3),
    np.arange(4),
    np.ones((2, 0), np.float16),
    np.ones(3, dtypes.bfloat16),
    np.ones(2, ">f4"),
    np.zeros(2, dtypes.float0),
    Wrapped(),
    Columns(),
    cv.numpy.ones(3),
    cv.random.key(0),
]


# -- scalars ---------------------------------------------------------------------------


def test_python_numbers_are_weak_and_of_their_default_dtype():
    for x64, kinds in ((False, "bool i32 f32 c64"), (True, "bool i64 f64 c128")):
        with cv.enable_x64(x64):
            found = [python_scalar(x) for x in (True, 3, 2.5, 1j)]
        assert [str(x.type) for x in found] == [f"{kind}[]" for kind in kinds.split()]
        assert [x.weak_type for x in found] == [False, True, True, True]


def test_zeros_keep_their_signs_and_numbers_their_kinds():
    signs = [np.signbit(scalar(x, dtypes.float32).host()) for x in (0.0, -0.0, 0.0)]
    assert signs == [False, True, False]
    parts = [complex(scalar(x, dtypes.complex64)) for x in (0j, -0j, complex(0, -0.0))]
    assert [str(z) for z in parts] == ["0j", "(-0-0j)", "-0j"]
    dtypes_of_one = [python_scalar(x).dtype for x in (1, True, 1.0, 1 + 0j)]
    assert len({*dtypes_of_one}) == 4, "equal numbers, of different types"


def test_the_memory_of_a_scalar_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        scalar(2.0, dtypes.float32).host()[...] = 3


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(2.9, 2), (-2.9, -2), (300.5, 127), (-INFINITY, -128), (NAN, 0), (1.5 + 9j, 1)],
)
def test_floats_become_integers_towards_zero_and_within_the_limits(value, wanted):
    assert int(scalar(value, dtypes.int8)) == wanted


@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [
        (128, dtypes.int8, "128 does not fit i8, which holds -128 to 127"),
        (-1, dtypes.uint8, "-1 does not fit u8, which holds 0 to 255"),
        (2**1100, dtypes.float32, "of 1101 bits does not fit f32"),
    ],
)
def test_an_integer_that_a_dtype_does_not_have_is_refused(value, dtype, words):
    for _ in range(2):
        with pytest.raises(IntegerOverflow, match=words):
            scalar(value, dtype)


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.uint8, dtypes.int32])
def test_the_limits_of_a_dtype_fit_it(dtype):
    limits = np.iinfo(dtype)
    for value in (limits.min, limits.max):
        assert int(scalar(int(value), dtype)) == value


# -- NumPy -----------------------------------------------------------------------------


def test_arrays_of_numpy_are_copied():
    values = np.ones(3, np.float32)
    x = from_numpy(values)
    values[:] = 7
    assert x.tolist() == [1, 1, 1]


def test_64_bits_are_kept_where_they_are_asked_for():
    assert from_numpy(np.ones(2)).dtype == "float32"
    assert from_numpy(np.ones(2), wide=True).dtype == "float64"
    with cv.enable_x64(True):
        assert from_numpy(np.ones(2)).dtype == "float64"
    assert to_be_cast(np.array([2**32]), "astype").dtype == "int64"
    assert to_be_cast(2.0, "astype").dtype == "float32"


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("extreme", [2**31, -(2**31) - 1])
def test_integers_that_lose_high_bits_are_refused(count, extreme):
    values = np.arange(count)
    from_numpy(values)
    values[-1] = extreme
    words = rf"{extreme} in values of NumPy \(int64\[{count}\]\) does not fit i32"
    with pytest.raises(IntegerOverflow, match=words):
        from_numpy(values)


@pytest.mark.parametrize("count", [1, 100])
def test_integers_at_the_limits_are_kept(count):
    values = np.zeros(count, np.int64)
    values[0], values[-1] = -(2**31), 2**31 - 1
    assert from_numpy(values).tolist() == values.tolist()


# -- anything --------------------------------------------------------------------------


def test_arrays_and_tracers_stay_what_they_are():
    x = cv.numpy.ones(3)
    assert as_array(x) is x

    def fun(y):
        assert as_array(y) is y
        return y

    cv.eval_shape(fun, x)


@pytest.mark.parametrize("x", VALUES, ids=[f"{k}" for k in range(len(VALUES))])
def test_the_type_of_a_value_is_that_of_the_array_it_becomes(x):
    for x64 in (False, True):
        with cv.enable_x64(x64):
            assert type_of(x) is as_array(x).type


def test_what_has_only_a_type_has_that_type():
    t = ArrayType((2,), dtypes.int8, True)
    assert type_of(t) is t
    assert type_of(ShapeDtypeStruct((2,), "int8", weak_type=True)) is t


def test_a_type_is_told_without_reading_values():
    class Described:
        shape, dtype = (3, 4), np.dtype(np.float64)

        def __array__(self, *_, **__):
            pytest.fail("nobody needs the values")

    assert type_of(Described()) is ArrayType((3, 4), dtypes.float32)


def test_masked_arrays_have_no_type():
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    for convert in (type_of, as_array):
        with pytest.raises(DTypeError, match="arrays have no masks"):
            convert(masked)


@pytest.mark.parametrize("x", [[1, 2], (1.0,)])
def test_sequences_are_refused_with_the_way_out(x):
    with pytest.raises(DTypeError, match=rf"sin .* a {type(x).__name__}\. .*\.array"):
        as_array(x, "sin")


@pytest.mark.parametrize("x", ["text", None, {}, object])
def test_what_is_no_array_is_refused_by_value_and_type(x):
    words = rf"sin needs an array or a number, but got .* of type {type(x).__name__}"
    with pytest.raises(DTypeError, match=words):
        as_array(x, "sin")


# -- ShapeDtypeStruct ------------------------------------------------------------------


def test_a_struct_updated_with_what_it_has_is_equal():
    struct = ShapeDtypeStruct((2, 3), "int8", weak_type=True)
    for same in (struct.update(), copy.copy(struct), ShapeDtypeStruct([2, 3], np.int8)):
        assert (same == struct) == same.weak_type
    assert hash(struct) == hash(struct.update())
    assert struct != struct.type


@pytest.mark.parametrize(
    "change", [{"shape": (1,)}, {"dtype": "float32"}, {"weak_type": False}]
)
def test_an_update_changes_one_fact(change):
    struct = ShapeDtypeStruct((2, 3), "int8", weak_type=True)
    changed = struct.update(**change)
    assert changed != struct
    for fact in ("shape", "dtype", "weak_type", "sharding"):
        assert getattr(changed, fact) == change.get(fact, getattr(struct, fact))


def test_a_struct_has_what_its_type_tells():
    struct = ShapeDtypeStruct((2, 3), "int8")
    assert (struct.ndim, struct.size, len(struct)) == (2, 6, 2)
    assert repr(struct) == "ShapeDtypeStruct(shape=(2, 3), dtype=int8)"
    assert "weak_type=True" in repr(struct.update(weak_type=True))
    assert pickle.loads(pickle.dumps(struct)) == struct


def test_a_struct_needs_a_dtype():
    with pytest.raises(TypeMismatch, match="needs a dtype, but got None"):
        ShapeDtypeStruct((2,), None)
