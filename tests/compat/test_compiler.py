"""The function that compiles, as packages replace it."""

import sys
from types import SimpleNamespace

import pytest

import covector as cv
import covector.numpy as cnp
from covector.compat import compiler, finder
from covector.runtime import executable


@pytest.fixture(autouse=True)
def asked_for(monkeypatch):
    # A test before this one may have run a package that asks for the function.
    monkeypatch.setattr(executable, "_compile", compiler._compile)
    monkeypatch.setattr(finder, "is_installed", lambda: True)


def test_as_long_as_nobody_asks_compiling_is_as_it_was():
    before = executable._compile
    assert not hasattr(compiler, "another_name")
    assert executable._compile is before
    assert compiler.backend_compile_and_load is not None
    assert executable._compile is not before


def test_what_packages_put_in_its_place_is_called_for_each_compilation(monkeypatch):
    def refuse(backend, *_):
        raise RuntimeError(f"no program for {backend.platform}")

    as_it_is = compiler.backend_compile_and_load
    there = SimpleNamespace(backend_compile_and_load=refuse)
    monkeypatch.setitem(sys.modules, "jax._src.compiler", there)
    x = cnp.arange(7.0)
    with pytest.raises(RuntimeError, match="no program for cpu"):
        cv.jit(lambda x: cnp.sin(x) * 11.25)(x)
    there.backend_compile_and_load = as_it_is
    assert cv.jit(lambda x: cnp.sin(x) * 11.25)(x).shape == (7,)
