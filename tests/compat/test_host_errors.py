"""What a function called by a program raises, as packages of the field catch it."""

import json
import pickle

import pytest

import covector as cv
import covector.numpy as cnp
from covector.compat import finder


class NoSuchRow(ValueError):
    """An error of a package."""


def program(error):
    def look_up(i):
        raise error

    return cv.jit(lambda x: cv.pure_callback(look_up, x.type, x) + 1)


def test_what_a_host_function_raises_is_an_error_of_the_runtime_too():
    runtime_error = finder.find("jax.errors", "JaxRuntimeError")
    error = NoSuchRow("no row 3")
    error.row = 3
    with pytest.raises(runtime_error, match="NoSuchRow: no row 3") as caught:
        program(error)(cnp.ones(2)).block_until_ready()
    assert isinstance(caught.value, NoSuchRow)
    assert caught.value.row == 3
    assert type(pickle.loads(pickle.dumps(caught.value))) is NoSuchRow
    # A class whose instances Python makes of several arguments:
    with pytest.raises(json.JSONDecodeError, match="bad"):
        program(json.JSONDecodeError("bad", "text", 1))(cnp.ones(2)).block_until_ready()
    with pytest.raises(KeyboardInterrupt):
        program(KeyboardInterrupt())(cnp.ones(2)).block_until_ready()
