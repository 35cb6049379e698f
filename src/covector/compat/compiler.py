"""The function that compiles, where packages look for it to forbid or to count.

They replace ``jax._src.compiler.backend_compile_and_load`` by a function that is given
the client first. So whatever is there when covector compiles is called: this is the one
place where the layer changes a function of the core, once somebody has asked for it.
"""

import sys
from typing import Any

from covector.compat import finder
from covector.runtime import executable

_MODULE = "jax._src.compiler"
NAME = "backend_compile_and_load"
_compile = executable._compile


def _backend_compile_and_load(backend: Any, *args: Any) -> Any:
    """Compile a module for devices of this client."""
    del backend  # the devices say it
    return _compile(*args)


def _compile_as_packages_say(module: Any, devices: Any, *rest: Any) -> Any:
    there = sys.modules.get(_MODULE) if finder.is_installed() else None
    found = getattr(there, NAME, _backend_compile_and_load)
    return found(devices[0].client, module, devices, *rest)


def __getattr__(name: str) -> Any:
    if name != NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    executable._compile = _compile_as_packages_say
    return _backend_compile_and_load
