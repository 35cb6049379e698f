"""Installing the finder; what it makes is tried in ``door`` and ``names``."""

import sys
from types import ModuleType

import pytest

from covector.compat import finder, load_ipython_extension
from covector.errors import SettingError


def test_to_install_it_after_another_jax_is_an_error_that_says_where_that_is(
    monkeypatch,
):
    other = ModuleType("jax")
    other.__file__ = "/packages/jax/__init__.py"
    monkeypatch.setitem(sys.modules, "jax", other)
    with pytest.raises(
        SettingError,
        match=r"must come before .* but /packages/jax/__init__\.py is imported"
        r".*covector run program\.py",
    ):
        finder.install()
    with pytest.raises(SettingError, match="must come before"):
        load_ipython_extension(None)
    assert not finder.is_installed() and sys.modules["jax"] is other


def test_other_modules_are_no_concern_of_the_finder():
    assert finder.Finder().find_spec("jaxtyping") is None
    assert finder.Finder().find_spec("jax_plugins.cuda") is None


def test_a_module_says_what_it_has():
    module = finder.make("jax.tree")
    assert "map" in dir(module) and "map" in module.__all__
    assert not [name for name in module.__all__ if name.startswith("_")]
    assert "covector" in repr(module.map.__module__)


def test_a_module_of_covector_without_a_counterpart_is_not_shown():
    assert "environment" not in dir(finder.make("jax"))
    with pytest.raises(AttributeError, match=r"covector has no jax\.environment"):
        _ = finder.make("jax").environment


def test_a_fault_of_a_module_is_not_a_missing_name(monkeypatch):
    def fault(source):
        raise KeyError(source)

    monkeypatch.setattr(finder, "_entry", fault)
    with pytest.raises(KeyError, match="checkpoint"):
        _ = finder.make("jax").checkpoint
