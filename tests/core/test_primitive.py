"""What an operation is, where somebody takes it for something else."""

import pytest

from covector.core import Primitive
from covector.core.operation_caches import same_data

NO_OPERATION = r"Primitive\('name'\) is not an operation: an operation is a class"


def test_a_primitive_made_of_a_name_is_refused_in_words():
    with pytest.raises(TypeError, match=NO_OPERATION):
        Primitive("name")


def test_data_is_the_same_by_value_and_kind_and_all_else_as_one_object():
    assert same_data((1, "a"), (1, "a")) and same_data(2.5, 2.5)
    assert same_data(float("nan"), float("nan"))
    assert not same_data(1, 1.0) and not same_data(1, True)
    assert not same_data(0.0, -0.0) and not same_data((0.0,), (-0.0,))
    assert not same_data([1], [1])
    one = [1]
    assert same_data(one, one) and same_data((one,), (one,))
