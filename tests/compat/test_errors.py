"""Exceptions under their names in the field."""

import builtins

import jax
import jax.errors
import pytest

from covector.compat import finder
from covector.errors import CovectorError

_NAMES = sorted(n for n in dir(jax.errors) if isinstance(getattr(jax.errors, n), type))


def _ours(name):
    return finder.find("jax.errors", name)


@pytest.mark.parametrize("name", _NAMES)
def test_who_catches_an_error_of_the_field_catches_covectors(name):
    ours = _ours(name)
    assert issubclass(ours, CovectorError)
    for base in getattr(jax.errors, name).__mro__:
        if base.__module__ == builtins.__name__:
            assert issubclass(ours, base)
        elif base.__name__ in _NAMES:
            assert issubclass(ours, _ours(base.__name__))
    assert str(ours("in words")) == "in words"
