"""Functions of the core that this layer replaces, once somebody asks for a name.

- ``backend_compile_and_load``: packages put a function of theirs in its place, to
  forbid compiling or to count. Whatever is there when covector compiles is called, with
  the client first.
- ``JaxRuntimeError``: as this, packages catch what a function called by a program
  raised. Covector raises the exception itself, which then is both.
"""

import functools
import sys
from typing import Any

from covector import errors
from covector.compat import finder
from covector.runtime import compiler, host_calls

_compile, _raised = compiler._compile, host_calls.raised


def __getattr__(name: str) -> Any:
    if name == "backend_compile_and_load":
        compiler._compile = _compile_as_packages_say
        return _backend_compile_and_load
    if name == "JaxRuntimeError":
        host_calls.raised = _raised_as_both
        return errors.JaxRuntimeError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _backend_compile_and_load(backend: Any, *args: Any) -> Any:
    """Compile a module for devices of this client."""
    del backend  # the devices say it
    return _compile(*args)


def _compile_as_packages_say(module: Any, devices: Any, *rest: Any) -> Any:
    there = sys.modules.get("jax._src.compiler") if finder.is_installed() else None
    default = _backend_compile_and_load
    found = getattr(there, "backend_compile_and_load", default)
    return found(devices[0].client, module, devices, *rest)


def _raised_as_both(words: str, last: bool = False) -> BaseException | None:
    error = _raised(words, last)
    if not isinstance(error, Exception) or isinstance(error, errors.CovectorError):
        return error
    kind = _both(type(error))
    if kind is None:
        return error
    made = kind.__new__(kind, *error.args)
    made.__dict__.update(error.__dict__, as_raised=error)
    made.__cause__, made.__suppress_context__ = error.__cause__, True
    return made.with_traceback(error.__traceback__)


@functools.lru_cache(256)
def _both(kind: type[Exception]) -> Any:
    """The class of exceptions of a class that are errors of the runtime as well; None
    where Python cannot make one.
    """
    members = {
        "__module__": kind.__module__,
        "__str__": lambda error: f"{kind.__name__}: {error.as_raised}",
        "__reduce_ex__": lambda error, how: error.as_raised.__reduce_ex__(how),
    }
    try:
        return type(kind.__name__, (kind, errors.JaxRuntimeError), members)  # type: ignore
    except TypeError:
        return None
