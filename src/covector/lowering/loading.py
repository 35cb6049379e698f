"""The compiler's half of lowering, loaded when the first program is compiled.

Handlers of signals run between any two lines of the main thread, and may compute. One
that came while that thread imports would find modules half made, and an exception of
its would end the process, for MLIR imports some from C++. So another thread imports
them, and whoever needs them waits for it.
"""

import contextlib
import importlib
import os
import threading
from types import ModuleType

_COMPILE = "covector.lowering.compile"
#: of the thread that imports
_THREAD = "covector imports MLIR"
_loaded: dict[str, ModuleType] = {}


def compiling() -> ModuleType:
    """The module ``lowering.compile``."""
    if not _loaded:
        with contextlib.suppress(RuntimeError):  # There is no new thread at the end.
            thread = threading.Thread(target=_attempt, name=_THREAD)
            thread.start()
            thread.join()
        _load()
    return _loaded[_COMPILE]


def _load() -> None:
    _loaded[_COMPILE] = importlib.import_module(_COMPILE)


def _attempt() -> None:
    with contextlib.suppress(Exception):  # Who waits tries again, and is told.
        _load()


def _wait() -> None:
    """Until no import is under way: a child would wait for ever for its end."""
    for thread in threading.enumerate():
        if thread.name == _THREAD:
            thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait)
