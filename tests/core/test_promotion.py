"""Promotion: parity with the field for every pair, laws, and words of errors."""

import importlib.util
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

from covector import options
from covector.core import dtypes
from covector.core.dtypes import KeyType, short_name
from covector.core.number_info import issubdtype
from covector.core.promotion import (
    operand_type,
    promote,
    python_scalar_type,
    result_type,
)
from covector.errors import (
    CovectorError,
    DTypeError,
    IntegerOverflow,
    TypePromotionError,
)
from tests.naming import readable

FRY = KeyType("threefry2x32")
NAMES = [dtype.name for dtype in dtypes.NUMBERS]
PYTHON_NUMBERS = {"int": 3, "float": 3.0, "complex": 3j}
EVERYTHING = [*NAMES, *PYTHON_NUMBERS]

# -- parity: a peer answers in a process of its own ------------------------------------

PEER = """
import itertools, json, sys, warnings
import jax, ml_dtypes, numpy as np
from jax import dtypes
from tests.naming import readable
warnings.simplefilter("ignore")
names, numbers = json.loads(sys.argv[1])
things = {n: np.dtype(getattr(ml_dtypes, n, n)) for n in names}
things |= {n: getattr(__builtins__, n)(3) for n in numbers}
kinds = ["generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact",
         "floating", "complexfloating", "bool_", "float32", "int32"]
def answer(*args):
    try:
        dtype, weak = dtypes.result_type(*args, return_weak_type_flag=True)
    except dtypes.TypePromotionError:
        return None
    return [dtype.name, weak]
answers = {"result_type": {}, "issubdtype": {}}
for x64, mode in itertools.product((False, True), ("standard", "strict")):
    with jax.enable_x64(x64), jax.numpy_dtype_promotion(mode):
        for a, b in itertools.product(things, repeat=2):
            key = f"{a} {b} {int(x64)} {mode}"
            answers["result_type"][key] = answer(things[a], things[b])
for n in names:
    for kind in kinds:
        answers["issubdtype"][f"{n} {kind}"] = bool(
            dtypes.issubdtype(things[n], getattr(np, kind)))
    answers[n] = jax.core.ShapedArray((), things[n]).str_short(True)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def peer():
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    done = subprocess.run(
        [sys.executable, "-c", PEER, json.dumps([NAMES, list(PYTHON_NUMBERS)])],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def ours(*args):
    try:
        dtype, weak = result_type(*args, return_weak_type_flag=True)
    except TypePromotionError:
        return None
    return [dtype.name, weak]


@pytest.mark.parametrize("mode", ["standard", "strict"])
@pytest.mark.parametrize("x64", [False, True], ids=["x32", "x64"])
def test_every_pair_promotes_as_in_the_field(peer, x64, mode):
    table = peer["result_type"]
    with options.override(enable_x64=x64, numpy_dtype_promotion=mode):
        for a, b in itertools.product(EVERYTHING, repeat=2):
            pair = (PYTHON_NUMBERS.get(a, a), PYTHON_NUMBERS.get(b, b))
            assert ours(*pair) == table[f"{a} {b} {int(x64)} {mode}"], (a, b)


def test_issubdtype_answers_as_in_the_field(peer):
    for question, answer in peer["issubdtype"].items():
        name, kind = question.split()
        assert issubdtype(name, getattr(np, kind)) == answer, question


def test_short_names_are_those_of_the_field(peer):
    for dtype in dtypes.NUMBERS:
        assert f"{short_name(dtype)}[]" == peer[dtype.name]


# -- laws ------------------------------------------------------------------------------

WEAK = [(dtypes.int32, True), (dtypes.float32, True), (dtypes.complex64, True)]
OPERANDS = [*((dtype, False) for dtype in dtypes.NUMBERS), *WEAK]


def promoted(*operands, **how):
    try:
        return promote(*operands, x64=True, **how)
    except TypePromotionError:
        return None


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_promotion_is_commutative_and_idempotent(mode):
    for a in OPERANDS:
        assert promoted(a, a, mode=mode) == promoted(a, mode=mode) == a
        for b in OPERANDS:
            assert promoted(a, b, mode=mode) == promoted(b, a, mode=mode)


def test_several_operands_promote_as_one_after_the_other():
    """Associativity, wherever the operands meet on the way: (a ∨ b) ∨ c = a ∨ b ∨ c."""
    wide = [(dtype, False) for dtype in dtypes.NUMBERS if dtype.itemsize > 1]
    for a, b, c in itertools.product([*wide, *WEAK], repeat=3):
        pair = promoted(a, b)
        # A weak result has a default width, which its operands need not have had.
        if pair is not None and not pair[1]:
            assert promoted(pair, c) == promoted(a, b, c), (a, b, c)


def test_strict_promotion_gives_what_standard_promotion_gives_or_nothing():
    for a, b in itertools.product(OPERANDS, repeat=2):
        strict = promoted(a, b, mode="strict")
        assert strict in (None, promoted(a, b)), (a, b)


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("dtype", [*dtypes.NUMBERS, FRY, dtypes.float0], ids=short_name)
def test_one_operand_keeps_its_dtype(dtype, weak):
    expected = (dtype, weak and dtypes.is_numeric(dtype))
    assert promote((dtype, weak), x64=True) == expected
    assert promote((dtype, weak), (dtype, weak), x64=True) == expected


def test_a_weak_operand_gives_way_whatever_its_width():
    weak = (dtypes.float64, True)
    assert promote(weak, (dtypes.bfloat16, False), x64=True)[0] is dtypes.bfloat16
    assert promote(weak, (dtypes.float64, False), x64=True) == (dtypes.float64, False)


def test_a_weak_result_has_the_default_width():
    halves = (dtypes.float16, True), (dtypes.int8, False)
    assert promote(*halves, x64=False) == (dtypes.float32, True)
    assert promote(*halves, x64=True) == (dtypes.float64, True)


# -- values ----------------------------------------------------------------------------


class Value:
    def __init__(self, dtype, weak_type=False):
        self.dtype, self.weak_type = dtype, weak_type


class Celsius(float):
    """A Python number of a class of one's own."""


@pytest.mark.parametrize(
    ("x", "narrow", "wide", "weak"),
    [
        (True, "bool", "bool", False),
        (3, "int32", "int64", True),
        (-(2**31), "int32", "int64", True),
        (3.0, "float32", "float64", True),
        (Celsius(3), "float32", "float64", True),
        (3j, "complex64", "complex128", True),
        (float("nan"), "float32", "float64", True),
    ],
)
def test_python_numbers_are_weak_and_of_default_width(x, narrow, wide, weak):
    assert python_scalar_type(x, x64=False) == (np.dtype(narrow), weak)
    assert python_scalar_type(x, x64=True) == (np.dtype(wide), weak)
    assert operand_type(x, x64=False) == (np.dtype(narrow), weak)


@pytest.mark.parametrize(
    ("x", "dtype", "weak"),
    [
        (int, "int32", True),
        (float, "float32", True),
        (complex, "complex64", True),
        (bool, "bool", False),
        (np.float64(3), "float32", False),
        (np.float64, "float32", False),
        (np.dtype("int64"), "int32", False),
        ("int8", "int8", False),
        (np.zeros(2, np.int16), "int16", False),
        (Value(np.dtype("float32"), weak_type=True), "float32", True),
        (Value(np.dtype("float64")), "float32", False),
    ],
    ids=readable,
)
def test_what_else_can_be_an_operand(x, dtype, weak):
    assert operand_type(x, x64=False) == (np.dtype(dtype), weak)


def test_keys_have_a_result_type_among_themselves():
    assert result_type(Value(FRY), FRY) is FRY


def test_result_type_follows_the_options_of_the_thread():
    assert result_type(np.float64, 1) is dtypes.float32
    with options.override(enable_x64=True):
        assert result_type(np.float64, 1) is dtypes.float64


# -- words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "mode", "words"),
    [
        (
            ("int4", "int8"),
            "standard",
            "i4 with i8 has no common dtype: integers under 8 bits mix only with bool "
            "and Python integers. Convert first, as in x.astype('int32').",
        ),
        (
            ("float32", "float8_e4m3fn"),
            "standard",
            "f32 with f8_e4m3fn has no common dtype: floats under 16 bits mix only "
            "with bool, i8 … u64 and real Python numbers. Convert first, as in "
            "x.astype('float32').",
        ),
        (
            ("int8", "int16"),
            "strict",
            "i8 with i16: no dtype changes by itself under strict promotion. Convert "
            "first, as in x.astype('int16'), or set numpy_dtype_promotion='standard'.",
        ),
        (("int4", "int8"), "strict", "as in x.astype('float32'), or set"),
        (("float32", 3j), "strict", "f32 with a weak c64: no dtype changes by itself"),
        (("bool", 3), "strict", "bool with a weak i32: no dtype changes by itself"),
        (
            (FRY, "float32"),
            "standard",
            "key<fry> with f32: random keys are not numbers, and mix with nothing "
            "else.",
        ),
        (
            (FRY, KeyType("rbg")),
            "strict",
            "key<fry> with key<rbg>: random keys are not",
        ),
        (
            (dtypes.float0, 3.0),
            "standard",
            "float0 with a weak f32: float0 is the derivative with respect to an "
            "integer or bool. It has no value to compute with.",
        ),
        ((), "standard", "no operand was given, and so there is no common dtype"),
    ],
    ids=readable,
)
def test_dtypes_that_do_not_mix_are_named(args, mode, words):
    with (
        options.override(numpy_dtype_promotion=mode),
        pytest.raises(TypePromotionError) as error,
    ):
        result_type(*args)
    assert words in str(error.value)
    assert isinstance(error.value, CovectorError)
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, TypeError)


@pytest.mark.parametrize(
    ("x", "x64", "words"),
    [
        (
            2**31,
            False,
            "2147483648 does not fit i32, the dtype of Python integers. Name a dtype "
            "that holds it: covector.numpy.asarray(x, 'uint32').",
        ),
        (
            -(2**40),
            False,
            "-1099511627776 does not fit i32, the dtype of Python integers. Name a "
            "dtype that holds it: covector.numpy.asarray(x, 'int64'), inside "
            "covector.enable_x64(True).",
        ),
        (2**63, False, "asarray(x, 'uint64'), inside covector.enable_x64(True)."),
        (2**63, True, "does not fit i64, the dtype of Python integers. Name a dtype"),
        (2**64, True, "No integer dtype holds it; float(x) comes close."),
        (10**9999, True, "an integer of 33216 bits does not fit i64"),
    ],
    ids=["uint32", "int64", "uint64", "x64", "none", "huge"],
)
def test_an_integer_that_does_not_fit_is_refused_with_a_way_out(x, x64, words):
    with pytest.raises(IntegerOverflow) as error:
        python_scalar_type(x, x64)
    assert words in str(error.value)
    assert isinstance(error.value, OverflowError)


def test_what_is_no_python_number_is_refused():
    words = "a Python number was wanted, but got 'a' of type str"
    with pytest.raises(DTypeError, match=words):
        python_scalar_type("a", x64=False)


@pytest.mark.parametrize("x", [[1, 2], None, object()], ids=readable)
def test_what_has_no_dtype_has_no_result_type(x):
    with pytest.raises(DTypeError, match="is not an element type"):
        result_type(x, 1)
