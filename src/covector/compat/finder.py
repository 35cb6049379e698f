"""The finder that makes modules of the field from the table of names.

    import jax.numpy as jnp        sys.meta_path  →  Finder.find_spec("jax.numpy")
    jnp.sum                        jnp.__getattr__("sum")  →  covector.numpy.sum
    jnp.sum                        … which is now an attribute like any other

A module is an ordinary module object: what is assigned to it stays, and an object that
was looked up once is found as fast as in covector's own module.

For names that are not there, ``names/absent.txt`` says what is planned, and what to use
instead; for those that users of covector miss as well, ``covector.missing_names`` does.
Each is a message of level DEBUG of the logger ``covector.compat``: the list of what a
program still wants.
"""

import functools
import importlib
import logging
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

from covector.compat import config
from covector.compat.names import MODULES, rows
from covector.core.operators import link
from covector.errors import SettingError
from covector.missing_names import INSTEAD

_ROOT = "jax"
_ANY = DistributionFinder.Context()
#: holds a module ``jax`` that opens the way to covector, for processes that start with
#: this folder on their path
DOOR = Path(__file__).parent / "door"

_logger = logging.getLogger("covector.compat")
_PLANNED = "planned: "
#: what to use instead of a name, and of all below it
ABSENT = dict([row.split(None, 1) for row in rows("absent.txt")])


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
            raise no_module(fullname)
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
            raise no_attribute(self, name, path) from None
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        path = self.__name__
        row, inner = MODULES[path], [m.rpartition(".") for m in MODULES]
        public = [name for source in row.shows for name in _public(source)]
        within = [name for package, _, name in inner if package == path]
        return sorted({*vars(self), *row.names, *within, *public})


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
        if name in _public(source):
            return getattr(importlib.import_module(source), name)
    raise NotThere(name)


def _entry(source: str) -> Any:
    path, _, attribute = source.partition(":")
    module = importlib.import_module(path)
    return operator.attrgetter(attribute)(module) if attribute else module


@functools.cache
def _public(source: str) -> frozenset[str]:
    """The public names of a module: its ``__all__``, or the classes and functions that
    it defines; without modules, since those of the field have rows.
    """
    module = importlib.import_module(source)
    named = vars(module).items()
    own = [n for n, x in named if getattr(x, "__module__", None) == source]
    names = getattr(module, "__all__", [n for n in own if not n.startswith("_")])
    modules = {n for n in names if isinstance(getattr(module, n), ModuleType)}
    return frozenset(names) - modules


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


# -- names that are not there ----------------------------------------------------------


def way_out(name: str) -> str | None:
    """What is known of a missing name, or of what it is in; None for nothing."""
    while name not in ABSENT:
        around, _, last = name.rpartition(".")
        if not around:
            return None
        instead = INSTEAD.get(f"covector{around.removeprefix('jax')}", {})
        if last in instead:
            return f"Use {instead[last]}."
        name = around
    return ABSENT[name]


def _words(name: str) -> str:
    _logger.debug("asked for %s", name)
    known = way_out(name)
    if known is not None:
        plan = "planned" if known.startswith(_PLANNED) else "not planned"
        instead = known.removeprefix(_PLANNED)
        return f"covector has no {name}. It is {plan}. {instead}"
    if name.startswith("jax._src."):
        return f"covector has no {name}, which is private to jax, and not planned."
    return f"covector has no {name}, and there is no plan for one."


def no_attribute(module: object, name: str, path: str) -> AttributeError:
    """The error for a name that a module of the field does not have here.

    Names that Python asks every module for are no names of the field.
    """
    if name.startswith("__"):
        return AttributeError(f"module {path!r} has no attribute {name!r}")
    return AttributeError(_words(f"{path}.{name}"), name=name, obj=module)


def no_module(path: str) -> ModuleNotFoundError:
    """The error for a module that is not here; also of ``from package import name``.

    Python replaces an error that carries the name it looked for by one of its own
    words, so this one carries none.
    """
    return ModuleNotFoundError(_words(path))
