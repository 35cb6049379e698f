"""Reads the table of names, ``modules.txt``, which says how, and ``same_paths.txt``."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: ``new=module``, or a module and those of its names that are listed in brackets
_SOURCE = re.compile(r"(\w+)=(\S+)|([\w.:]+)(?:\[([^]]*)\])?")


@dataclass(frozen=True)
class Module:
    """A module of the field.

    A name is looked up in ``names``, then among the modules of the table, then in the
    modules whose public names are taken over whole.
    """

    #: modules whose ``__all__`` it has
    shows: tuple[str, ...]
    #: other names: ``"module:attribute"``, or a module
    names: Mapping[str, str]


def modules() -> dict[str, Module]:
    """All modules, by their names in the field."""
    here = Path(__file__)
    rows = dict(_rows(here.with_name("modules.txt").read_text()))
    same = here.with_name("same_paths.txt").read_text().split()
    named = {name: _module(row, rows) for name, row in rows.items() if name[0] == "j"}
    return {f"jax.{name}": Module((f"covector.{name}",), {}) for name in same} | named


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """The rows of a table, by their first words."""
    for row in re.split(r"\n(?=\S)", text):
        name, *sources = row.split(None, 1)
        if not name.startswith("#"):
            yield name, "".join(sources)


def _module(row: str, rows: Mapping[str, str]) -> Module:
    shows: list[str] = []
    names: dict[str, str] = {}
    for new, whole, source, listed in _SOURCE.findall(row):
        if new:
            names[new] = whole
        elif source in rows:
            group = _module(rows[source], rows)
            shows += group.shows
            names |= group.names
        elif listed:
            names |= dict(_listed(source, listed.split()))
        else:
            shows.append(source)
    return Module(tuple(shows), names)


def _listed(source: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """Entries of names of one module: ``name``, or ``new=old``."""
    for name in names:
        new, _, old = name.partition("=")
        yield new, f"{source}{'.' if ':' in source else ':'}{old or name}"
