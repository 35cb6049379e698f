"""The names of element types in the NumPy namespace: dtypes that make arrays."""

import copy
import pickle

import numpy as np
import pytest

from covector.core import dtypes
from covector.core.number_info import issubdtype
from covector.core.promotion import result_type
from covector.numpy import scalar_types
from covector.numpy.scalar_types import ScalarType

EVERY = {name: x for name, x in vars(scalar_types).items() if isinstance(x, ScalarType)}
every_name = pytest.mark.parametrize("name", EVERY)
ALIASES = {
    "bool_": "bool",
    "int_": "int64",
    "uint": "uint64",
    "single": "float32",
    "double": "float64",
    "float_": "float64",
    "csingle": "complex64",
    "cdouble": "complex128",
    "complex_": "complex128",
}


def test_every_element_type_has_its_name():
    assert {x.dtype for x in EVERY.values()} == set(dtypes.NUMBERS)


@every_name
def test_a_name_is_that_of_its_dtype(name):
    assert EVERY[name].dtype.name == EVERY[name].__name__ == ALIASES.get(name, name)


@every_name
def test_a_scalar_type_equals_its_dtype_and_the_class_of_numpy_both_ways(name):
    scalar_type = EVERY[name]
    dtype = scalar_type.dtype
    for other in (dtype, dtype.type):
        assert scalar_type == other
        assert other == scalar_type


@every_name
def test_a_class_of_numpy_is_found_by_the_scalar_type_of_its_name(name):
    scalar_type = EVERY[name]
    scalar_class = scalar_type.dtype.type
    assert hash(scalar_type) == hash(scalar_class)
    assert {scalar_class: 1}[scalar_type] == {scalar_type: 1}[scalar_class] == 1


@pytest.mark.filterwarnings("ignore::covector.errors.TruncatedDTypeWarning")
@every_name
def test_scalars_of_numpy_are_instances_of_the_scalar_type_of_their_dtype(name):
    scalar_type = EVERY[name]
    assert isinstance(scalar_type.dtype.type(1), scalar_type)
    assert not isinstance(np.datetime64(1, "s"), scalar_type)
    assert not isinstance(scalar_type(1), scalar_type)  # an array, as in JAX


@every_name
def test_a_scalar_type_is_accepted_wherever_a_dtype_is(name):
    scalar_type = EVERY[name]
    dtype = scalar_type.dtype
    assert np.dtype(scalar_type) is dtype
    assert np.zeros(2, scalar_type).dtype == dtype
    assert dtypes.as_dtype(scalar_type) is dtype
    assert issubdtype(scalar_type, np.number) == dtypes.is_numeric(dtype)
    assert issubdtype(scalar_type, scalar_type)
    assert result_type(scalar_type, "bool") == dtypes.canonical(dtype, x64=False)


def test_different_scalar_types_differ():
    distinct = {id(x): x for x in EVERY.values()}.values()
    assert len(set(distinct)) == len(distinct) == len(dtypes.NUMBERS)
    assert scalar_types.float32 != scalar_types.float64
    assert scalar_types.float32 != np.dtype("int32")
    assert scalar_types.float32 != 3
    assert scalar_types.float64 != None  # noqa: E711
    assert scalar_types.float32 != "nonsense"
    assert scalar_types.float32 != [1]


@every_name
def test_a_scalar_type_survives_pickling_and_copying_as_itself(name):
    scalar_type = EVERY[name]
    assert pickle.loads(pickle.dumps(scalar_type)) is scalar_type
    assert copy.deepcopy(scalar_type) is scalar_type


def test_a_scalar_type_prints_as_what_one_writes():
    assert repr(scalar_types.bfloat16) == "covector.numpy.bfloat16"
    assert repr(scalar_types.bool_) == "covector.numpy.bool"


def test_a_scalar_type_can_stand_in_an_annotation():
    assert (scalar_types.float32 | None).__args__ == (scalar_types.float32, type(None))


def test_calling_a_scalar_type_makes_an_array_of_its_dtype(monkeypatch):
    monkeypatch.setattr(ScalarType, "_constructor", None)
    scalar_types.install_constructor(np.asarray)
    made = scalar_types.int8([1, 2])
    assert made.dtype == np.int8
    assert made.tolist() == [1, 2]
    assert scalar_types.bfloat16(1.5).dtype == dtypes.bfloat16


def test_there_is_one_constructor_of_arrays(monkeypatch):
    monkeypatch.setattr(ScalarType, "_constructor", None)
    scalar_types.install_constructor(np.asarray)
    scalar_types.install_constructor(np.asarray)
    with pytest.raises(AssertionError, match="there is one constructor"):
        scalar_types.install_constructor(np.array)


@pytest.mark.parametrize(
    "name",
    [
        "generic",
        "number",
        "integer",
        "signedinteger",
        "unsignedinteger",
        "inexact",
        "floating",
        "complexfloating",
        "flexible",
        "character",
        "object_",
        "dtype",
    ],
)
def test_the_abstract_classes_are_those_of_numpy(name):
    assert getattr(scalar_types, name) is getattr(np, name)


@every_name
def test_what_a_scalar_type_equals_has_its_hash(name):
    scalar_type = EVERY[name]
    for other in (name, scalar_type.dtype.name, bool, int, float, complex, None):
        assert scalar_type != other or hash(scalar_type) == hash(other)
