"""Element types: spellings, names, kinds, relations, and the words of errors."""

import copy
import gc
import pickle
import weakref

import ml_dtypes
import numpy as np
import pytest

from covector.core import dtypes
from covector.core.convert import scalar
from covector.core.dtypes import KeyType, as_dtype, short_name
from covector.core.number_info import can_cast_losslessly, issubdtype
from covector.errors import CovectorError, DTypeError, DTypeKindError
from tests.naming import readable

FRY = KeyType("threefry2x32")
every_number = pytest.mark.parametrize("dtype", dtypes.NUMBERS, ids=short_name)


# -- spellings -------------------------------------------------------------------------


@every_number
def test_every_spelling_of_a_dtype_gives_the_one_object(dtype):
    spellings = [dtype, dtype.type, dtype.name, np.zeros(2, dtype), dtype.type(1)]
    assert all(as_dtype(x) is dtype for x in spellings)


@pytest.mark.parametrize(
    ("spelling", "dtype"),
    [
        (bool, dtypes.bool_),
        (int, dtypes.int64),
        (float, dtypes.float64),
        (complex, dtypes.complex128),
        ("f4", dtypes.float32),
        ("float", dtypes.float64),
        (np.longlong, dtypes.int64),
        (np.dtype("longlong"), dtypes.int64),
        (np.dtype("f4", metadata={"unit": "m"}), dtypes.float32),
        (dtypes.float0, dtypes.float0),
        (FRY, FRY),
    ],
    ids=readable,
)
def test_other_spellings_of_a_dtype(spelling, dtype):
    assert as_dtype(spelling) is dtype


class Holder:
    def __init__(self, dtype):
        self.dtype = dtype


def test_what_has_a_dtype_spells_it():
    assert as_dtype(Holder(FRY)) is FRY
    assert as_dtype(Holder(np.int8)) is dtypes.int8


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (
            object,
            "object is not an element type of arrays. If all elements are numbers",
        ),
        (np.array([None]), "object is not an element type of arrays"),
        ("U3", "<U3 is not an element type of arrays. Number the strings"),
        (bytes, "|S0 is not an element type of arrays. Number the strings"),
        (
            np.dtypes.StringDType(),
            "StringDType() is not an element type of arrays. Number",
        ),
        (
            "M8[s]",
            "datetime64[s] is not an element type of arrays. Count from an origin",
        ),
        ("m8[s]", "timedelta64[s] is not an element type of arrays. Count a unit"),
        (">f4", ">f4 is not an element type of arrays. Arrays have no order of bytes"),
        ("i4,f4", "Make a dict of its fields: {name: x[name]"),
        ("V4", "|V4 is not an element type of arrays. Look at its bytes"),
        ("int1", "int1 is not an element type of arrays. Convert it: x.astype('int8')"),
        (list, "list is not an element type. Give a dtype, its name such as 'float32'"),
        (None, "None is not an element type. Give a dtype"),
        (3.0, "3.0 is not an element type. Give a dtype"),
        ([1], "[1] is not an element type. Give a dtype"),
        ("flaot32", "'flaot32' is not an element type. Did you mean 'float32'?"),
        ("nonsense!", "'nonsense!' is not an element type. Give a dtype"),
        (
            np.floating,
            "floating is a kind of element types, and one of them was wanted",
        ),
        (dtypes.prng_key, "prng_key is a kind of element types"),
    ],
    ids=readable,
)
def test_what_is_no_element_type_is_refused_with_a_way_out(x, words):
    with pytest.raises(DTypeError) as error:
        as_dtype(x)
    assert words in str(error.value)
    assert isinstance(error.value, TypeError)
    assert isinstance(error.value, CovectorError)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="it is float64 here")
def test_extended_precision_is_refused_with_the_widest_dtype_as_way_out():
    with pytest.raises(DTypeError, match=r"Convert it: x.astype\('float64'\)"):
        as_dtype(np.longdouble)
    with pytest.raises(DTypeError, match=r"Convert it: x.astype\('complex128'\)"):
        as_dtype(np.clongdouble)


# -- names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (dtypes.bool_, "bool"),
        (dtypes.int4, "i4"),
        (dtypes.int32, "i32"),
        (dtypes.uint2, "u2"),
        (dtypes.uint8, "u8"),
        (dtypes.bfloat16, "bf16"),
        (dtypes.float16, "f16"),
        (dtypes.float32, "f32"),
        (dtypes.float8_e4m3fn, "f8_e4m3fn"),
        (dtypes.float4_e2m1fn, "f4_e2m1fn"),
        (dtypes.complex64, "c64"),
        (dtypes.complex128, "c128"),
        (dtypes.float0, "float0"),
        (FRY, "key<fry>"),
        (np.dtype("M8[s]"), "datetime64[s]"),
    ],
)
def test_short_name(dtype, name):
    assert short_name(dtype) == name


def test_short_names_are_distinct():
    assert len({short_name(d) for d in dtypes.NUMBERS}) == len(dtypes.NUMBERS)


# -- keys ------------------------------------------------------------------------------


def test_a_key_type_is_one_object_per_implementation():
    assert KeyType("threefry2x32") is FRY
    assert KeyType("rbg") is not FRY
    assert KeyType("rbg") != FRY
    assert {FRY: 1}[KeyType("threefry2x32")] == 1


@pytest.mark.parametrize(
    ("implementation", "name"),
    [
        ("threefry2x32", "key<fry>"),
        ("rbg", "key<rbg>"),
        ("unsafe_rbg", "key<urbg>"),
    ],
)
def test_a_key_type_is_named_for_its_implementation(implementation, name):
    key = KeyType(implementation)
    assert (key.name, repr(key), str(key)) == (name, name, name)
    assert key.implementation == implementation


def test_keys_of_a_generator_that_nobody_defined_are_refused_in_words():
    with pytest.raises(DTypeError, match=r"no random keys of 'mine', only of threefry"):
        KeyType("mine")


def test_a_key_is_stored_as_one_uint64():
    assert FRY.storage is dtypes.uint64
    assert FRY.itemsize == FRY.storage.itemsize == 8


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_key_type_survives_pickling_as_itself(protocol):
    assert pickle.loads(pickle.dumps(FRY, protocol)) is FRY


def test_a_key_type_copies_to_itself():
    assert copy.copy(FRY) is FRY
    assert copy.deepcopy([FRY])[0] is FRY


def test_a_key_type_is_a_constant():
    with pytest.raises(AttributeError, match="key<fry> is a constant: its name cannot"):
        FRY.name = "other"


# -- kinds -----------------------------------------------------------------------------


@every_number
def test_kind_tests_agree_with_issubdtype(dtype):
    tests = {
        dtypes.is_bool: np.bool_,
        dtypes.is_integer: np.integer,
        dtypes.is_signed: np.signedinteger,
        dtypes.is_unsigned: np.unsignedinteger,
        dtypes.is_floating: np.floating,
        dtypes.is_complex: np.complexfloating,
        dtypes.is_inexact: np.inexact,
        dtypes.is_numeric: np.number,
    }
    for test, kind in tests.items():
        assert test(dtype) == issubdtype(dtype, kind)
    assert not dtypes.is_key(dtype)


@every_number
def test_every_number_is_of_exactly_one_kind(dtype):
    kinds = (dtypes.is_bool, dtypes.is_integer, dtypes.is_floating, dtypes.is_complex)
    assert sum(test(dtype) for test in kinds) == 1


@pytest.mark.parametrize("dtype", [FRY, dtypes.float0], ids=short_name)
def test_keys_and_float0_are_not_numbers(dtype):
    assert not dtypes.is_numeric(dtype)
    assert not dtypes.is_bool(dtype)
    assert dtypes.is_key(dtype) == (dtype is FRY)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (FRY, dtypes.prng_key, True),
        (FRY, dtypes.extended, True),
        (FRY, np.generic, True),
        (FRY, np.number, False),
        (FRY, FRY, True),
        (KeyType("rbg"), FRY, False),
        (np.float32, FRY, False),
        (dtypes.prng_key, dtypes.extended, True),
        (np.float32, dtypes.extended, False),
        (Holder(FRY), dtypes.prng_key, True),
        (np.zeros(2), np.floating, True),
        (ml_dtypes.bfloat16, np.floating, True),
        ("uint4", np.unsignedinteger, True),
        ("uint4", np.signedinteger, False),
        ("float8_e5m2", np.inexact, True),
        (ml_dtypes.bfloat16, np.float32, False),
        (np.floating, ml_dtypes.bfloat16, False),
        (np.floating, np.inexact, True),
        (float, np.float64, True),
        (None, np.float64, True),
        (np.float32, None, False),
        (dtypes.float0, np.void, True),
        ("U3", np.character, True),
    ],
    ids=readable,
)
def test_issubdtype(a, b, answer):
    assert issubdtype(a, b) is answer


@pytest.mark.parametrize("x", ["foo", 3.0, [1]], ids=repr)
def test_issubdtype_refuses_what_is_no_dtype(x):
    with pytest.raises(DTypeError, match="is not an element type"):
        issubdtype(x, np.floating)


def test_issubdtype_does_not_keep_what_it_is_asked_about_alive():
    holder = Holder(np.dtype(np.int16))
    gone = weakref.ref(holder)
    assert issubdtype(holder, np.integer)
    del holder
    gc.collect()
    assert gone() is None


# -- widths, defaults, relations -------------------------------------------------------


@every_number
def test_canonical_halves_64_bit_parts_unless_they_are_enabled(dtype):
    assert dtypes.canonical(dtype, x64=True) is dtype
    narrow = dtypes.canonical(dtype, x64=False)
    expected = {"int64": "int32", "uint64": "uint32", "float64": "float32"}
    expected["complex128"] = "complex64"
    assert narrow.name == expected.get(dtype.name, dtype.name)


def test_canonical_leaves_keys_and_float0():
    assert dtypes.canonical(FRY, x64=False) is FRY
    assert dtypes.canonical(dtypes.float0, x64=False) is dtypes.float0


def test_defaults_are_32_bits_wide_unless_64_are_enabled():
    defaults = (
        dtypes.default_int,
        dtypes.default_uint,
        dtypes.default_float,
        dtypes.default_complex,
    )
    narrow = ["int32", "uint32", "float32", "complex64"]
    wide = ["int64", "uint64", "float64", "complex128"]
    assert [default(x64=False).name for default in defaults] == narrow
    assert [default(x64=True).name for default in defaults] == wide


@every_number
def test_python_type_is_that_of_an_element(dtype):
    assert dtypes.python_type(dtype) in (bool, int, float, complex)
    if dtype.type.__module__ == "numpy":
        assert type(np.zeros((), dtype).item()) is dtypes.python_type(dtype)


def test_python_type_of_a_key_is_refused():
    with pytest.raises(
        DTypeKindError, match=r"no Python number .* element of key<fry>"
    ):
        dtypes.python_type(FRY)


@every_number
def test_the_parts_of_a_complex_dtype_are_as_wide_as_numpy_says(dtype):
    if dtypes.is_complex(dtype):
        assert dtypes.real_part(dtype) == np.zeros((), dtype).real.dtype
        assert dtypes.complex_of(dtypes.real_part(dtype)) is dtype
    else:
        assert dtypes.real_part(dtype) is dtype


@every_number
def test_the_complex_dtype_of_a_float_holds_it(dtype):
    if dtypes.is_inexact(dtype):
        assert can_cast_losslessly(dtype, dtypes.complex_of(dtype))
    else:
        words = f"no complex dtype has parts of {short_name(dtype)}: a floating dtype"
        with pytest.raises(DTypeKindError, match=words):
            dtypes.complex_of(dtype)


@pytest.mark.parametrize("dtype", [*dtypes.NUMBERS, FRY, dtypes.float0], ids=short_name)
def test_only_inexact_dtypes_have_tangents(dtype):
    moves = dtypes.is_inexact(dtype)
    assert dtypes.tangent_dtype(dtype) is (dtype if moves else dtypes.float0)


def test_infinities_and_nan_as_integers_are_the_limits_and_zero():
    found = [scalar(float(x), dtypes.int32).item() for x in ("inf", "-inf", "nan")]
    assert found == [2**31 - 1, -(2**31), 0]
