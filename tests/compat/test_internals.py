"""What private modules of the field have, and packages use."""

from collections import namedtuple

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.compat import internals
from covector.errors import AxisError


def test_classes_of_nodes_are_in_the_registry():
    registered = internals.registered
    assert list in registered and dict in registered and type(None) in registered
    assert int not in registered and "list" not in registered
    assert namedtuple("Pair", "a b") in registered


def test_what_operations_take_is_a_valid_type():
    valid = internals.valid_jaxtype
    assert all(map(valid, (1, 2.0, True, np.ones(2), np.float32(1), cnp.ones(2))))
    assert valid(cv.random.key(0))
    assert not any(map(valid, ("a", None, [1], np.array(["a"]), object())))
    seen = []
    cv.jit(lambda x: seen.append(valid(x)))(1.0)
    assert seen == [True]


def test_the_type_of_keys_is_an_extended_one():
    assert isinstance(cv.random.key(0).dtype, internals.ExtendedDType)
    assert not isinstance(np.dtype("float32"), internals.ExtendedDType)


def test_some_floating_point_dtypes_have_no_infinities():
    assert internals.supports_inf("float32") and internals.supports_inf(cnp.bfloat16)
    assert not internals.supports_inf(cnp.float8_e4m3fn)
    assert not internals.supports_inf("int32")


def test_map_and_zip_refuse_arguments_of_several_lengths():
    assert internals.safe_map(lambda a, b: a + b, [1, 2], [3, 4]) == [4, 6]
    assert internals.safe_zip([1, 2], (3, 4)) == [(1, 3), (2, 4)]
    with pytest.raises(ValueError, match="longer"):
        internals.safe_zip([1], [2, 3])
    with pytest.raises(ValueError, match="shorter"):
        internals.safe_map(max, [1, 2], [3])


def test_an_axis_is_counted_from_the_first():
    assert internals.canonicalize_axis(-1, 3) == 2
    with pytest.raises(AxisError, match="axis 3 is out of bounds"):
        internals.canonicalize_axis(3, 3)


def test_integers_are_promoted_to_floating_point():
    a, b = internals.promote_dtypes_inexact(cnp.arange(2), 1)
    assert a.dtype == b.dtype == np.float32


def test_partials_of_the_same_arguments_are_equal():
    partial = internals.HashablePartial
    assert partial(max, 1, key=abs) == partial(max, 1, key=abs)
    assert hash(partial(max, 1)) == hash(partial(max, 1)) and partial(max, 1)(2) == 2
    assert partial(max, 1) != partial(max, 2)


def test_a_class_with_an_array_needs_no_entry_to_be_taken_as_one():
    class Variable:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    handlers = internals.canonicalize_dtype_handlers
    handlers[Variable] = handlers[np.ndarray]
    assert cv.jit(cnp.sum)(Variable()) == 3
    del handlers[Variable]


def test_a_value_that_must_be_known_is_an_error_with_its_reason_where_it_is_traced():
    assert internals.concrete_or_error(int, cnp.int32(3)) == 3
    assert internals.concrete_or_error(None, "x") == "x"
    with pytest.raises(cv.errors.ConcretizationTypeError) as caught:
        cv.jit(lambda n: internals.concrete_or_error(int, n, "the length of a loop"))(3)
    assert caught.value.__notes__[0] == "the length of a loop"
