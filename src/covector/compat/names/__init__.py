"""The table of names: each module of the field, and where its names come from.

The table is data, ``modules.txt``, which says how it is read. The finder makes modules
from it; the objects in them are covector's, the very same ones, so that a call through
a name of the field costs what a call of covector does.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: a line, and the indented ones behind it; "#" starts a comment
_ROW = re.compile(r"^[^#\s].*(?:\n .*)*", re.MULTILINE)
#: ``new=module``, or a module and, in brackets, names in it
_WORD = re.compile(r"(\w+)=(\S+)|([\w.:]+)(\[[^]]*\])?")


@dataclass(frozen=True)
class Module:
    """A module of the field.

    A name is looked up in ``names``, then among the modules of the table, then in the
    modules whose public names are taken over whole.
    """

    #: modules whose ``__all__`` it has
    shows: list[str] = field(default_factory=list)
    #: other names: ``"module:attribute"``, or a module
    names: dict[str, str] = field(default_factory=dict)

    def add(self, sources: str) -> None:
        """Add what a row of the table says."""
        for new, whole, source, listed in _WORD.findall(sources):
            if new:
                self.names[new] = _full(whole)
            elif listed:
                path, names = _full(source), listed.strip("[]").split()
                self.names.update([_entry(path, name) for name in names])
            else:
                self.shows.append(_full(source))


def rows(file: str) -> list[str]:
    """The rows of a table in this folder."""
    return _ROW.findall(Path(__file__).with_name(file).read_text())


def _full(source: str) -> str:
    return f"covector{source}".rstrip(".") if source[0] == "." else source


def _entry(source: str, word: str) -> tuple[str, str]:
    """The entry of a name of a module, ``name`` or ``new=old``."""
    new, _, old = word.partition("=")
    return new, f"{source}{'.' if ':' in source else ':'}{old or new}"


def modules() -> dict[str, Module]:
    """All modules, by their names in the field."""
    found: dict[str, Module] = {}
    for row in rows("modules.txt"):
        heads, sources = re.split(r":(?:\s+|$)", row, maxsplit=1)
        for path in _heads(heads):
            module = path if path == "jax" else f"jax.{path}"
            same = path.removeprefix("_src.")
            found.setdefault(module, Module()).add(sources or f".{same}")
    packages = [name.rpartition(".")[0] for name in found if "." in name]
    return {package: Module() for package in packages} | found


def _heads(words: str) -> Iterator[str]:
    for _, _, path, listed in _WORD.findall(words):
        yield from [f"{path}.{n}" for n in listed.strip("[]").split()] or [path]


#: the version of the interface that the names are of
API_VERSION = "0.10.2"
API_VERSION_INFO = (0, 10, 2)

#: all modules, by their names in the field
MODULES = modules()
