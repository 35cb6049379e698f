"""Functions of the core that packages of the field replace, or want otherwise."""

import json
import pickle
import sys
from types import SimpleNamespace

import pytest

import covector as cv
import covector.numpy as cnp
from covector.compat import finder, on_request
from covector.runtime import compiler


@pytest.fixture(autouse=True)
def asked_for(monkeypatch):
    # A test before this one may have run a package that asks for the function.
    monkeypatch.setattr(compiler, "_compile", on_request._compile)
    monkeypatch.setattr(finder, "is_installed", lambda: True)


def test_as_long_as_nobody_asks_compiling_is_as_it_was():
    before = compiler._compile
    assert not hasattr(on_request, "another_name")
    assert compiler._compile is before
    assert on_request.backend_compile_and_load is not None
    assert compiler._compile is not before


def test_what_packages_put_in_its_place_is_called_for_each_compilation(monkeypatch):
    def refuse(backend, *_):
        raise RuntimeError(f"no program for {backend.platform}")

    as_it_is = on_request.backend_compile_and_load
    there = SimpleNamespace(backend_compile_and_load=refuse)
    monkeypatch.setitem(sys.modules, "jax._src.compiler", there)
    x = cnp.arange(7.0)
    with pytest.raises(RuntimeError, match="no program for cpu"):
        cv.jit(lambda x: cnp.sin(x) * 11.25)(x)
    there.backend_compile_and_load = as_it_is
    assert cv.jit(lambda x: cnp.sin(x) * 11.25)(x).shape == (7,)


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
