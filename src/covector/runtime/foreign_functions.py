"""Functions of other languages, made known to XLA by name.

They are written against the headers that jaxlib carries (``xla/ffi/api/``), compiled
into a shared library, and handed over as *capsules*: objects that hold an address.
"""

import ctypes
import os
from collections.abc import Mapping
from typing import Any

import jaxlib
from jaxlib import xla_client as xc

from covector.errors import ArgumentError
from covector.runtime import lapack
from covector.runtime.buffers import JaxlibError

#: platforms as XLA calls them
_PLATFORMS = {"gpu": "CUDA", "cuda": "CUDA", "rocm": "ROCM"}

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def include_dir() -> str:
    """The folder of the headers: for ``-I`` of a compiler."""
    return os.path.join(os.path.dirname(jaxlib.__file__), "include")


def capsule(address: Any) -> Any:
    """A capsule with the address of a function of ``ctypes``."""
    return _new_capsule(ctypes.cast(address, ctypes.c_void_p), None, None)


def register_target(
    name: str, function: Any, platform: str, api_version: int, **further: Any
) -> None:
    """Make a function known: a capsule, or one for each stage of a call by name.

    Raises:
      ArgumentError: XLA does not take it: another one has this name, for instance.
    """
    known_as = _PLATFORMS.get(platform, platform)
    try:
        xc.register_custom_call_target(
            name, function, platform=known_as, api_version=api_version, **further
        )
    except (JaxlibError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"register_ffi_target cannot make {name!r} known for {platform}: {error}"
        ) from None


def register_type(name: str, registration: Mapping[str, Any], platform: str) -> None:
    """Make a type of states known, by the capsules of what describes it.

    Raises:
      ArgumentError: XLA does not take it.
    """
    known_as = _PLATFORMS.get(platform, platform)
    try:
        xc.register_custom_type(name, registration, platform=known_as)
    except (JaxlibError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"register_ffi_type cannot make {name!r} known for {platform}: {error}"
        ) from None


def register_as_batch_partitionable(name: str) -> None:
    """Let XLA divide calls of a target between devices along leading axes."""
    xc.register_custom_call_as_batch_partitionable(name)


def prepare(name: str) -> None:
    """Make a target of jaxlib's known that is about to be called, if it is one."""
    if name.startswith(lapack.PREFIX) or name == lapack.PERTURBED:
        lapack.prepare()
