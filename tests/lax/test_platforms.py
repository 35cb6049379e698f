"""Functions chosen by the platform."""

import pytest

import covector as cv
from covector import errors, lax


def test_the_function_of_the_platform_is_called_and_no_other():
    def never(x):
        raise AssertionError(f"called with {x}")

    mine = cv.default_backend()
    named = {mine: lambda x: 2 * x, "tpu": never}
    assert lax.platform_dependent(3.0, **named, default=never) == 6
    assert float(cv.jit(lambda x: lax.platform_dependent(x, **named))(3.0)) == 6
    assert lax.platform_dependent(3.0, tpu=never, default=lambda x: x) == 3


def test_a_platform_without_a_function_is_named():
    with pytest.raises(
        errors.ArgumentError, match=r"functions for \('tpu',\), but the"
    ):
        lax.platform_dependent(1.0, tpu=lambda x: x)
