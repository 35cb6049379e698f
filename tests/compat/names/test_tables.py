"""The table of names: all that it says is there."""

import importlib
import operator

from covector.compat.names import MODULES


def test_what_a_module_shows_has_an_all():
    shown = {source for row in MODULES.values() for source in row.shows}
    missing = [s for s in shown if not hasattr(importlib.import_module(s), "__all__")]
    assert not missing


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
