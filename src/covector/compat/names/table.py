"""What a row of the table of names is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Module:
    """A module of the field.

    A name is looked up in ``names``, then among the modules of the table, then in the
    modules whose public names are taken over whole.
    """

    #: modules whose ``__all__`` it has
    shows: tuple[str, ...] = ()
    #: other names: ``"module:attribute"``, or a module
    names: Mapping[str, str] = field(default_factory=dict)


Table: TypeAlias = dict[str, Module]


def module(*shows: str, **names: str) -> Module:
    """A row of the table."""
    return Module(shows, names)


def from_module(source: str, names: str, **renamed: str) -> dict[str, str]:
    """Entries for names that are of one module: some as they are, and ``new="old"``."""
    same = {name: f"{source}:{name}" for name in names.split()}
    return same | {new: f"{source}:{old}" for new, old in renamed.items()}


def same_paths(modules: Iterable[str]) -> Table:
    """Rows of modules that are under the same path in covector."""
    return {f"jax.{name}": module(f"covector.{name}") for name in modules}
