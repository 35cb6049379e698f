"""``ShapedArray``: types under their name in the field."""

import pickle

import pytest

import covector.numpy as cnp
from covector.compat.jaxprs import (
    AbstractValue,
    ShapedArray,
    mapped_aval,
    unmapped_aval,
)
from covector.core.dtypes import float0
from covector.core.types import ArrayType


def test_a_shaped_array_is_a_type_of_covector():
    made = ShapedArray([2, 3], "float32", weak_type=True, sharding=None)
    assert made is ArrayType((2, 3), "float32", weak=True)
    assert made.weak_type and not made.strip_weak_type().weak_type
    assert pickle.loads(pickle.dumps(made)) is made


def test_types_of_arrays_are_instances():
    aval = cnp.ones(3).aval
    assert isinstance(aval, ShapedArray) and isinstance(aval, AbstractValue)
    assert not isinstance(cnp.ones(3), ShapedArray)

    class Other(AbstractValue):
        pass

    assert isinstance(Other(), AbstractValue) and not isinstance(aval, int)


def test_types_are_changed_and_named_as_in_the_field():
    aval = ShapedArray((3,), "float32")
    assert aval.update(shape=(2, 2)) is ShapedArray((2, 2), "float32")
    assert aval.update(dtype="int8", weak_type=True).weak_type
    assert aval.update() is aval
    assert aval.str_short() == "float32[3]" and aval.str_short(True) == "f32[3]"
    assert ShapedArray((), "int32").to_tangent_aval().dtype == float0
    assert ShapedArray((), "int32").at_least_vspace().dtype == float0
    with pytest.raises(TypeError, match="layout"):
        aval.update(layout=None)


def test_an_axis_of_a_batch_is_taken_away_and_added():
    aval = ShapedArray((2, 3), "float32")
    assert mapped_aval(3, 1, aval).shape == (2,)
    assert unmapped_aval(5, 1, aval).shape == (2, 5, 3)
    assert mapped_aval(3, None, aval) is aval is unmapped_aval(3, None, aval)
