"""Values of arrays in Python, NumPy and in print."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core import dtypes
from covector.errors import ArgumentError, DLPackError, DTypeError

KEY = cv.random.key(0)
NUMBERS = [
    np.bool_(True),
    np.int8(-3),
    np.uint32(4_000_000_000),
    np.float32(2.5),
    np.complex64(1 - 2j),
    dtypes.bfloat16.type(1.5),
    dtypes.float8_e4m3fn.type(0.5),
    dtypes.int4.type(-5),
]
each_number = pytest.mark.parametrize("x", NUMBERS, ids=[x.dtype.name for x in NUMBERS])


# -- Python ----------------------------------------------------------------------------


@each_number
def test_a_scalar_becomes_the_number_of_python_that_numpy_has(x):
    wanted = x.item()
    if not dtypes.is_of_numpy(x.dtype):
        wanted = float(x) if dtypes.is_floating(x.dtype) else int(x)
    array = cnp.asarray(x)
    for found in (array.item(), array.tolist(), *cnp.stack([array]).tolist()):
        assert type(found) is type(wanted)
        assert found == wanted
    assert bool(array) is True
    assert complex(array) == wanted


@each_number
def test_only_an_integer_scalar_is_an_index(x):
    array = cnp.asarray(x)
    if dtypes.is_integer(array.dtype):
        assert array.__index__() == int(x)
    else:
        with pytest.raises(TypeError, match="only integer scalars can be an index"):
            array.__index__()


def test_an_array_of_one_element_is_no_index():
    with pytest.raises(TypeError, match=r"only integer scalars .* not i32\[1\]"):
        cnp.asarray([1]).__index__()


@pytest.mark.parametrize("convert", [bool, int, float, complex])
def test_several_elements_are_no_number(convert):
    with pytest.raises((TypeError, ValueError)):
        convert(cnp.arange(3))


def test_an_element_is_picked_as_numpy_picks_it():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = cnp.asarray(values)
    for index in ((4,), (1, 2), ((0, 1),), (-1,)):
        assert x.item(*index) == values.item(*index)


@pytest.mark.parametrize("order", ["C", "F"])
def test_bytes_are_those_of_the_elements_in_order(order):
    values = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert cnp.asarray(values).tobytes(order) == values.tobytes(order)


@pytest.mark.parametrize(
    "use", [np.asarray, bool, float, lambda x: x.item(), lambda x: x.tobytes()]
)
def test_random_keys_do_not_become_numbers(use):
    with pytest.raises(DTypeError, match=r"key_data\(key\) gives their bits"):
        use(KEY)


def test_random_keys_do_not_leave_by_dlpack():
    with pytest.raises(DLPackError, match=r"no dtype for random keys .*key_data"):
        KEY.__dlpack__()


# -- NumPy -----------------------------------------------------------------------------


def test_numpy_reads_the_memory_unless_it_asks_for_a_copy():
    x = cnp.arange(4)
    view, copied = np.asarray(x), np.array(x)
    assert np.shares_memory(view, x.host())
    assert not np.shares_memory(copied, x.host())
    assert copied.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_another_dtype_needs_a_copy():
    x = cnp.arange(4)
    assert np.asarray(x, np.float64).tolist() == [0, 1, 2, 3]
    assert np.asarray(x, np.int32, copy=False).dtype == np.int32
    with pytest.raises(ValueError, match=r"i32\[4\] cannot become float64 without"):
        x.__array__(np.dtype(np.float64), copy=False)


def test_a_buffer_is_not_given_for_writing():
    x = cnp.arange(4)
    assert x.__buffer__(0).tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match=r"\(i32\[4\]\) cannot be written to"):
        x.__buffer__(1)
    with pytest.raises(BufferError, match=r"view\('uint16'\) has their bits"):
        x.astype("bfloat16").__buffer__(0)


def test_arrays_on_the_cpu_have_no_data_for_cuda():
    assert not hasattr(cnp.arange(3), "__cuda_array_interface__")


# -- in print --------------------------------------------------------------------------


def test_an_array_is_shown_with_values_type_and_weakness():
    assert repr(cnp.arange(3)) == "Array([0, 1, 2], dtype=int32)"
    assert repr(cnp.asarray(2.0)) == "Array(2., dtype=float32, weak_type=True)"
    assert repr(cnp.ones(2, "float8_e5m2")) == "Array([1., 1.], dtype=float8_e5m2)"
    assert str(cnp.arange(3)) == "[0 1 2]"
    wide = repr(cnp.arange(1000.0, 1017.0)).splitlines()
    assert wide[-1] == "      dtype=float32)", "where the line would be too long"


PRINTED = [
    "xp.ones((2, 2))",
    "xp.zeros((0, 3))",
    "xp.asarray(1.0)",
    "xp.arange(2000)",
    "xp.arange(30) * 1.0",
    "xp.ones((3, 1), 'bfloat16')",
    "xp.array([1j, xp.nan])",
    "xp.array([True, False])",
    "xp.asarray(3, xp.int4)",
    "random.key(1)",
    "random.split(random.key(0), (2, 1))",
]


@pytest.mark.parametrize("made", PRINTED)
def test_arrays_are_shown_as_in_the_field(made):
    ours = eval(made, {"xp": cnp, "random": cv.random})
    theirs = eval(made, {"xp": jnp, "random": jax.random})
    assert (repr(ours), str(ours)) == (repr(theirs), str(theirs))


def test_long_arrays_are_shown_in_part():
    assert len(repr(cnp.zeros(100_000))) < 100
    assert "..." in repr(cnp.zeros(100_000))


def test_formats_are_those_of_the_number_or_of_the_text():
    assert f"{cnp.asarray(2.0):.3f}" == "2.000"
    assert f"{cnp.asarray(7):04d}" == "0007"
    assert f"{cnp.arange(3):>9}" == "  [0 1 2]"


def test_a_format_of_numbers_is_refused_for_arrays_in_words():
    with pytest.raises(ArgumentError, match=r"'.2f' is for one number"):
        f"{cnp.ones(3):.2f}"


def test_what_has_no_numbers_is_described():
    x = cnp.arange(3)
    x.delete()
    assert f"{x}" == str(x) == repr(x) == "Array(deleted, i32[3])"
    assert f"{KEY}" == str(KEY) == repr(KEY)
