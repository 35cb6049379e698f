"""Dtypes of 64 bits as arguments, where arrays have 32."""

import warnings

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, nn, random
from covector.errors import IntegerOverflow, TruncatedDTypeWarning

WIDE = np.arange(3.0)
ONES = cnp.ones(3)
KEY = random.key(0)
DOTTED = (((0,), (0,)), ((), ()))
#: each names a 64-bit dtype
NAMED = {
    "array": lambda: cnp.array([1, 2], dtype="float64"),
    "array of the dtype of another": lambda: cnp.array(WIDE, dtype=WIDE.dtype),
    "scalar type": lambda: cnp.float64(3),
    "zeros": lambda: cnp.zeros(3, cnp.int64),
    "zeros_like": lambda: cnp.zeros_like(ONES, np.float64),
    "arange": lambda: cnp.arange(3, dtype="int64"),
    "linspace": lambda: cnp.linspace(0, 1, 3, dtype=np.dtype("float64")),
    "method": lambda: ONES.astype("complex128"),
    "view": lambda: cnp.ones(4).view("float64"),
    "reduction": lambda: ONES.sum(dtype="float64"),
    "scan": lambda: cnp.cumsum(ONES, dtype="float64"),
    "products": lambda: cnp.dot(ONES, ONES, preferred_element_type="float64"),
    "ufunc": lambda: cnp.add.reduce(ONES, dtype="float64"),
    "convert_element_type": lambda: lax.convert_element_type(ONES, "float64"),
    "iota": lambda: lax.iota("int64", 3),
    "full": lambda: lax.full((3,), 0, "uint64"),
    "argmax": lambda: lax.argmax(ONES, 0, "int64"),
    "dot_general": lambda: lax.dot_general(
        ONES, ONES, DOTTED, preferred_element_type="float64"
    ),
    "normal": lambda: random.normal(KEY, (3,), "float64"),
    "complex normal": lambda: random.normal(KEY, (3,), "complex128"),
    "randint": lambda: random.randint(KEY, (3,), 0, 5, "int64"),
    "bits": lambda: random.bits(KEY, (3,), "uint64"),
    "rademacher": lambda: random.rademacher(KEY, (3,), "int64"),
    "one_hot": lambda: nn.one_hot(cnp.arange(3), 3, dtype="float64"),
    "initializer": lambda: nn.initializers.normal(dtype="float64")(KEY, (3,)),
    "call of an initializer": lambda: nn.initializers.ones(KEY, (3,), "float64"),
    "traced": lambda: cv.jit(lambda x: x.astype("int64"))(ONES),
    "shards": lambda: cv.make_array_from_callback(
        (3,), ONES.sharding, lambda index: WIDE[index], dtype="float64"
    ),
}
#: values of 64 bits, Python types, and questions
SILENT = {
    "NumPy array": lambda: cnp.array(WIDE),
    "NumPy operand": lambda: WIDE + ONES,
    "NumPy scalar": lambda: np.float64(2) * ONES,
    "argument": lambda: cv.jit(lambda x: x + 1)(WIDE),
    "like NumPy": lambda: cnp.zeros_like(WIDE),
    "fill": lambda: cnp.full(3, WIDE[0]),
    "put": lambda: cv.device_put(WIDE),
    "float": lambda: cnp.zeros(3, float),
    "int": lambda: ONES.astype(int),
    "complex": lambda: lax.convert_element_type(ONES, complex),
    "drawn float": lambda: random.normal(KEY, (3,), float),
    "limits": lambda: cnp.finfo(cnp.float64),
    "kind": lambda: cnp.issubdtype(cnp.float64, cnp.floating),
    "comparison": lambda: ONES.dtype == cnp.float64,
    "promotion": lambda: cnp.promote_types("float64", "int8"),
    "dtype": lambda: lax.dtype("float64"),
    "struct": lambda: cv.ShapeDtypeStruct((3,), "float64"),
    "to NumPy": lambda: np.asarray(ONES, "float64"),
    "namespace": lambda: cnp.__array_namespace_info__().dtypes(),
    "DLPack": lambda: cnp.from_dlpack(WIDE),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_64_bit_dtype_that_is_named_is_truncated_with_a_warning(name):
    with pytest.warns(TruncatedDTypeWarning) as caught:
        made = NAMED[name]()
    assert made.dtype.itemsize == 4 * (1 + cnp.iscomplexobj(made))
    assert [w.filename for w in caught] == [__file__]  # one, at the user's line


@pytest.mark.parametrize("name", SILENT)
def test_what_names_no_width_is_narrowed_silently(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SILENT[name]()


def test_the_words_of_the_warning():
    with pytest.warns(UserWarning) as caught:
        cnp.zeros(3, "float64")
    assert str(caught[0].message) == (
        "Explicitly requested dtype float64 is not available, and will be truncated to "
        "dtype float32. For 64 bits, set COVECTOR_ENABLE_X64=1 or call "
        "covector.config.update('enable_x64', True) before arrays are made."
    )


def test_a_line_that_runs_often_warns_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            cnp.zeros(3, "float64")
        cnp.zeros(3, "float64")
    assert len(caught) == 2


WIDE_INTEGERS = {
    "asarray": cnp.asarray,
    "full": lambda x, dtype: cnp.full(2, x, dtype),
    "scalar type": lambda x, _: cnp.int64(x),
    "astype": cnp.astype,
    "convert": lax.convert_element_type,
}


@pytest.mark.filterwarnings("ignore::covector.errors.TruncatedDTypeWarning")
@pytest.mark.parametrize("how", WIDE_INTEGERS)
def test_integers_that_64_bits_are_asked_for_are_not_cut_off(how):
    make = WIDE_INTEGERS[how]
    for value in (np.array([2**40 + 5, 1]), np.int64(-(2**31) - 1), np.uint64(2**63)):
        for dtype in ("int64", int):
            with pytest.raises(IntegerOverflow, match="in values of NumPy"):
                make(value, dtype)
    assert (make(np.int64(-(2**31)), "int64") == -(2**31)).all()


@pytest.mark.filterwarnings("ignore::covector.errors.TruncatedDTypeWarning")
def test_integers_become_any_dtype_that_is_named_and_holds_them():
    assert cnp.asarray(np.int64(2**32 - 1), "uint64") == 2**32 - 1
    assert cnp.asarray(np.array([2**40 + 5]), "int32").tolist() == [5]  # a cast
    assert cnp.asarray(np.array([2**40]), "float64").tolist() == [2.0**40]


def test_under_x64_there_is_nothing_to_warn_of():
    with cv.enable_x64(True):
        assert cnp.zeros(3, "float64").dtype == "float64"
        assert NAMED["method"]().dtype == "complex128"
