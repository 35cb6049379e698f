"""The compiler's half of lowering, loaded when the first program is compiled.

Handlers of signals run between any two lines of the main thread, and may compute. One
that came while that thread imports would find modules half made, and an exception of
its would end the process, for MLIR imports some from C++. So another thread imports
them, and whoever needs them waits for it. But not a handler that came in the midst of
an import: the other thread would wait for that to go on.
"""

import _imp
import contextlib
import importlib
import os
import threading
import time
from types import ModuleType

_COMPILE = "covector.lowering.compile"
#: of the thread that imports
_THREAD = "covector imports MLIR"
_loaded: dict[str, ModuleType] = {}


def compiling() -> ModuleType:
    """The module ``lowering.compile``."""
    if not _loaded and _is_importing():
        _load()
    if not _loaded:
        with contextlib.suppress(RuntimeError):  # There is no new thread at the end.
            thread = threading.Thread(target=_attempt, name=_THREAD)
            thread.start()
            thread.join()
        _load()
    return _loaded[_COMPILE]


def _is_importing() -> bool:
    """Whether this thread has the lock of imports; others have it for some moments."""
    for _ in range(50):
        if not _imp.lock_held():
            return False
        time.sleep(0.001)
    return True


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
