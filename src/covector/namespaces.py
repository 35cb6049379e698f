"""Packages that are namespaces: ``covector.numpy``, ``lax``, ``random``, ``nn``.

A module of such a package states its public names once, in ``__all__``, and the package
takes them over with ``from … import *``. A module that many programs do without is
*lazy*: the package imports it when one of its names is first asked for, and until then
knows the names from the module's source.
"""

import ast
import functools
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_ALL = re.compile(r"^__all__ = (\[.*?\])", re.MULTILINE | re.DOTALL)


def public(namespace: dict[str, Any], *also: str) -> list[str]:
    """The ``__all__`` of a package: its names, without modules and private ones.

    ``also`` are modules and names of that kind that are public.
    """
    names = [
        name
        for name, value in namespace.items()
        if not (name.startswith("_") or isinstance(value, ModuleType))
    ]
    return sorted({*names, *also})


def completions(namespace: dict[str, Any]) -> Callable[[], list[str]]:
    """``__dir__`` of a module, for editors: its public names and those of Python, none
    of its own modules and helpers.
    """

    def __dir__() -> list[str]:
        return [*namespace["__all__"], *_of_python(namespace)]

    return __dir__


def _of_python(namespace: dict[str, Any]) -> list[str]:
    return [name for name in namespace if name.startswith("__")]


def no_attribute(module: str, name: str) -> AttributeError:
    """The error for a name that a module does not have, with what to use."""
    words = f"module {module!r} has no attribute {name!r}"
    missing = _imported("covector.missing_names")
    return AttributeError(words + missing.way_out(module, name), name=name)


def missing(module: str) -> Callable[[str], Any]:
    """``__getattr__`` of a module that has all of its names already."""

    def __getattr__(name: str) -> Any:
        raise no_attribute(module, name)

    return __getattr__


def declared(module: str) -> list[str]:
    """The ``__all__`` of a module, which is not imported if its source is at hand."""
    spec = importlib.util.find_spec(module)
    assert spec is not None, f"there is no module {module}"
    # Some loaders have none, and some modules are compiled only.
    source = getattr(spec.loader, "get_source", lambda module: None)(module)
    found = _ALL.search(source or "")
    return ast.literal_eval(found[1]) if found else _imported(module).__all__


def lazy(
    package: str,
    modules: Sequence[str],
    *also: str,
    packages: Sequence[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package with lazy modules.

    The first also answers with ``__all__``: the names of the lazy modules and those
    that are ``public``, with ``also``. ``packages`` are lazy too, and public by their
    own names.
    """
    namespace = vars(sys.modules[package])

    @functools.cache
    def homes() -> dict[str, str]:
        paths = [f"{package}.{module}" for module in modules]
        return {name: path for path in paths for name in declared(path)}

    def public_names() -> list[str]:
        return sorted({*homes(), *public(namespace, *also, *packages)})

    def __getattr__(name: str) -> Any:
        if name in modules or name in packages:
            return _imported(f"{package}.{name}")
        if name == "__all__":
            return public_names()
        path = None if name.startswith("_") else homes().get(name)
        if path is None:
            raise no_attribute(package, name)
        namespace[name] = found = getattr(_imported(path), name)
        return found

    def __dir__() -> list[str]:
        return [*public_names(), *_of_python(namespace)]

    return __getattr__, __dir__


def _imported(module: str) -> Any:
    return importlib.import_module(module)
