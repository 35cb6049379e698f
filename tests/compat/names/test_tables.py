"""The table of names: all that it says is there."""

import importlib
import operator
from pathlib import Path

import pytest

from covector.compat import finder
from covector.compat.names import MODULES


def test_what_a_module_shows_has_an_all_or_is_of_this_layer():
    shown = {source for row in MODULES.values() for source in row.shows}
    below = [s for s in shown if not s.startswith("covector.compat.")]
    assert not [s for s in below if not hasattr(importlib.import_module(s), "__all__")]


def test_of_a_module_of_this_layer_classes_and_functions_are_shown():
    shown = dir(finder.make("jax.interpreters.ad"))
    assert {"Zero", "defjvp", "primitive_jvps"} <= {*shown}
    assert not {"_OfType", "RuleTable", "as_array", "tree"} & {*shown}


def test_every_entry_leads_to_an_object():
    wrong = []
    for path, row in MODULES.items():
        for name, source in row.names.items():
            module, _, attribute = source.partition(":")
            try:
                found = importlib.import_module(module)
                if attribute:
                    operator.attrgetter(attribute)(found)
            except (ImportError, AttributeError) as error:
                wrong.append(f"{path}.{name}: {error}")
    assert not wrong


def test_every_module_has_the_package_that_it_is_in():
    assert not {p.rpartition(".")[0] for p in MODULES} - {"", *MODULES}


def _used():
    """The names in ``used.txt``, each with its module."""
    module = ""
    for line in Path(__file__).with_name("used.txt").read_text().splitlines():
        if line.startswith("jax"):
            module = line
        elif line.startswith(" "):
            yield from ((module, name) for name in line.split())


def _is_there(path, name):
    """Whether an attribute of a module, or of an object in one, is there."""
    if path in MODULES and f"{path}.{name}" in MODULES:
        return True
    try:
        if path in MODULES:
            finder.find(path, name)
        else:
            around, _, owner = path.rpartition(".")
            getattr(finder.find(around, owner), name)
    except (LookupError, AttributeError):
        return False
    return True


def test_every_name_that_packages_use_is_there_or_said_not_to_be():
    lost = [f"{m}.{n}" for m, n in _used() if not _is_there(m, n)]
    unsaid = [name for name in lost if finder.way_out(name) is None]
    assert not unsaid, f"{len(unsaid)} names are lost: {', '.join(unsaid)}"


def test_what_is_said_not_to_be_there_is_not():
    found = [
        n
        for n in finder.ABSENT
        if n in MODULES and (MODULES[n].names or MODULES[n].shows)
    ]
    parts = [
        n.rpartition(".") for n in finder.ABSENT if n.rpartition(".")[0] in MODULES
    ]
    found += [
        f"{m}.{n}" for m, _, n in parts if f"{m}.{n}" not in MODULES and _is_there(m, n)
    ]
    assert not found, f"covector has {', '.join(found)}"


def test_a_missing_name_is_an_error_that_says_whether_it_is_planned():
    planned = str(finder.no_module("jax.experimental.rnn.lstm"))
    assert planned.startswith(
        "covector has no jax.experimental.rnn.lstm. It is planned."
    )
    shared = str(finder.no_module("jax.experimental.pallas.triton"))
    assert "It is not planned. Use covector.ffi, which" in shared
    unplanned = r"no jax\.interpreters\.ad\.jvp\. It is not planned\. covector\.jvp"
    with pytest.raises(AttributeError, match=unplanned):
        _ = finder.make("jax.interpreters.ad").jvp
    with pytest.raises(AttributeError, match=r"no jax\.lax\.foo, and there is no plan"):
        _ = finder.make("jax.lax").foo
    private = "covector has no jax._src.foo, which is private to jax, and not planned."
    assert str(finder.no_module("jax._src.foo")) == private


def test_missing_names_are_logged(caplog):
    with caplog.at_level("DEBUG", "covector.compat"):
        assert not hasattr(finder.make("jax.lax"), "foo")
    assert caplog.messages == ["asked for jax.lax.foo"]
