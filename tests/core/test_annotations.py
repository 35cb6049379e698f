"""Functions that take what another function takes."""

import inspect
from typing import Any

import pytest

import covector.numpy as cnp
from covector.core.annotations import with_parameters_of


def model(x: int, axis: int = 0, *, strict: bool = True) -> Any:
    """What the others take."""


@with_parameters_of(model)
def other(*args: Any, **options: Any) -> Any:
    """Another function."""
    return args, options


def test_the_parameters_are_those_of_the_model():
    assert inspect.signature(other) == inspect.signature(model)


def test_name_and_docstring_are_its_own_and_a_call_goes_straight_to_it():
    assert (other.__name__, other.__doc__) == ("other", "Another function.")
    assert other(1, strict=False) == ((1,), {"strict": False})


def test_a_parameter_that_there_is_not_is_refused_by_its_name():
    argmin: Any = cnp.argmin
    with pytest.raises(TypeError, match="axes"):
        argmin(cnp.ones(2), axes=0)
