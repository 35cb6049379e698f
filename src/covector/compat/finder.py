"""The finder that makes modules of the field from the table of names.

    import jax.numpy as jnp        sys.meta_path  →  Finder.find_spec("jax.numpy")
    jnp.sum                        _attribute(jnp, "sum")  →  covector.numpy.sum
    jnp.sum                        … which is now an attribute like any other

A module is an ordinary module object: what is assigned to it stays, and an object that
was looked up once is found as fast as in covector's own module.
"""

import functools
import importlib
import operator
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder, PathDistribution
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from covector.compat import config, missing
from covector.compat.names import MODULES
from covector.compat.names.table import Module
from covector.errors import SettingError

_ROOT = "jax"
_ANY = DistributionFinder.Context()
#: holds a module ``jax`` that opens the way to covector, for processes that start with
#: this folder on their path
DOOR = Path(__file__).parent / "door"


class NotThere(LookupError):
    """A module of the table does not have a name."""


class Finder(DistributionFinder, Loader):
    """Finds and makes the modules of the table, and the metadata of ``jax``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        if fullname != _ROOT and not fullname.startswith(f"{_ROOT}."):
            return None
        if fullname not in MODULES:
            raise missing.module(fullname)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return make(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run: names are looked up when they are asked for."""

    def find_distributions(
        self, context: DistributionFinder.Context = _ANY
    ) -> Iterable[Distribution]:
        if context.name in (None, _ROOT):
            yield from map(PathDistribution, DOOR.glob("*.dist-info"))


_finder = Finder()


def make(name: str) -> ModuleType:
    """A module of the table, without attributes yet."""
    module = ModuleType(name, f"{name}, of covector.")
    if name == _ROOT:
        module.__file__ = str(DOOR / f"{_ROOT}.py")
    module.__getattr__ = functools.partial(_attribute, module, name)  # type: ignore[method-assign]
    module.__dir__ = functools.partial(_names, module, name)  # type: ignore[method-assign]
    return module


def _attribute(module: ModuleType, path: str, name: str) -> Any:
    if name == "__all__":
        return [n for n in _names(module, path) if not n.startswith("_")]
    if f"{path}.{name}" in MODULES and name not in MODULES[path].names:
        return importlib.import_module(f"{path}.{name}")
    try:
        found = find(path, name)
    except NotThere:
        raise missing.attribute(module, name, path) from None
    setattr(module, name, found)
    return found


def find(path: str, name: str) -> Any:
    """What a module of the table has under a name that is none of a module.

    Raises:
      NotThere: nothing.
    """
    row = MODULES[path]
    if name in row.names:
        return _entry(row.names[name])
    return _shown(row, name)


def _entry(source: str) -> Any:
    path, _, attribute = source.partition(":")
    module = importlib.import_module(path)
    return operator.attrgetter(attribute)(module) if attribute else module


@functools.cache
def _public(source: str) -> frozenset[str]:
    return frozenset(importlib.import_module(source).__all__)


def _is_module(source: str, name: str) -> bool:
    return isinstance(getattr(importlib.import_module(source), name), ModuleType)


def _shown(row: Module, name: str) -> Any:
    """What the modules that a row shows have under a name; NotThere for nothing.

    A module of covector is no answer: the modules of the field have rows.
    """
    for source in row.shows:
        if name in _public(source) and not _is_module(source, name):
            return getattr(importlib.import_module(source), name)
    raise NotThere(name)


def _names(module: ModuleType, path: str) -> list[str]:
    row = MODULES[path]
    within = [other.rpartition(".") for other in MODULES]
    children = [name for package, _, name in within if package == path]
    shown = [
        name
        for source in row.shows
        for name in _public(source)
        if not _is_module(source, name)
    ]
    return sorted({*vars(module), *row.names, *children, *shown})


def is_installed() -> bool:
    """Whether ``import jax`` is covector in this process."""
    return _finder in sys.meta_path


def install() -> None:
    """From now on ``import jax`` is covector, here and in processes started from here.

    Raises:
      SettingError: another ``jax`` is imported already.
    """
    if is_installed():
        return
    loaded = sys.modules.get(_ROOT)
    if loaded is not None:
        where = getattr(loaded, "__file__", None) or "unknown place"
        raise SettingError(
            "covector.compat.install must come before anything imports jax, but "
            f"{where} is imported already. Put it into the first line of the program, "
            "or start the program with: covector run program.py"
        )
    _begin()
    tell_children()


def _begin() -> None:
    sys.meta_path.insert(0, _finder)
    config.from_environment()


def tell_children() -> None:
    """Put the door first on the path of Python processes that this one starts."""
    rest = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(DOOR), *[p for p in rest if p and p != str(DOOR)]]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def open_door(name: str) -> None:
    """What the module ``jax`` of the door does: give its place to covector's.

    Other processes find the door as this one did.
    """
    if not is_installed():
        _begin()
    sys.modules[name] = module_from_spec(ModuleSpec(name, _finder, is_package=True))
