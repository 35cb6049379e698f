"""What an operation is, where somebody takes it for something else."""

import pytest

from covector.core import Primitive

NO_OPERATION = r"Primitive\('name'\) is not an operation: an operation is a class"


def test_a_primitive_made_of_a_name_is_refused_in_words():
    with pytest.raises(TypeError, match=NO_OPERATION):
        Primitive("name")
