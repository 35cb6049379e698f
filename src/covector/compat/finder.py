"""The finder that makes modules of the field from the table of names.

    import jax.numpy as jnp        sys.meta_path  →  Finder.find_spec("jax.numpy")
    jnp.sum                        jnp.__getattr__("sum")  →  covector.numpy.sum
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
from covector.core.operators import link
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


class FieldModule(ModuleType):
    """A module of the table. What was looked up in it once is one of its attributes."""

    def __getattr__(self, name: str) -> Any:
        path = self.__name__
        if name == "__all__":
            return [n for n in dir(self) if not n.startswith("_")]
        if f"{path}.{name}" in MODULES and name not in MODULES[path].names:
            return importlib.import_module(f"{path}.{name}")
        try:
            found = find(path, name)
        except NotThere:
            raise missing.attribute(self, name, path) from None
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        path = self.__name__
        row, inner = MODULES[path], [m.rpartition(".") for m in MODULES]
        public = [(source, name) for source in row.shows for name in _public(source)]
        shown = [name for source, name in public if not _is_module(source, name)]
        within = [name for package, _, name in inner if package == path]
        return sorted({*vars(self), *row.names, *within, *shown})


def make(name: str) -> ModuleType:
    """A module of the table, without attributes yet."""
    module = FieldModule(name, f"{name}, of covector.")
    if name == _ROOT:
        module.__file__ = str(DOOR / f"{_ROOT}.py")
    return module


def find(path: str, name: str) -> Any:
    """What a module of the table has under a name that is none of a module.

    Raises:
      NotThere: nothing.
    """
    row = MODULES[path]
    if name in row.names:
        return _entry(row.names[name])
    for source in row.shows:
        if name in _public(source) and not _is_module(source, name):
            return getattr(importlib.import_module(source), name)
    raise NotThere(name)


def _entry(source: str) -> Any:
    path, _, attribute = source.partition(":")
    module = importlib.import_module(path)
    return operator.attrgetter(attribute)(module) if attribute else module


@functools.cache
def _public(source: str) -> frozenset[str]:
    return frozenset(importlib.import_module(source).__all__)


def _is_module(source: str, name: str) -> bool:
    """Whether a name is that of a module: those of the field have rows."""
    return isinstance(getattr(importlib.import_module(source), name), ModuleType)


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
    # Libraries for several kinds of arrays know that of the field by this name.
    link.namespace = f"{_ROOT}.numpy"
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
