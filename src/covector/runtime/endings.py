"""Shutdown of threads and processes: what XLA's threads do not survive.

When the interpreter ends, a daemon thread that comes back from C++ is ended by Python
in the middle of C++, which aborts the process. So daemon threads that compute are ended
before: a SystemExit is raised in them, with which threads end in silence, and they are
waited for.

When the process is forked, the threads of the compiler are not in the child. Programs
that were compiled before run there; compiling would hang, and is an error instead.
"""

import atexit
import ctypes
import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from covector.errors import DeviceError

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
#: seconds for which the end of the interpreter waits for threads that compute
_PATIENCE = 5.0
_PAUSE = 0.002
#: seconds for which threads have to be seen outside of covector, longer than a busy
#: machine keeps one from running
_QUIET = 0.25
#: after so many pauses a thread that went on is told again
_AGAIN = 25


class _Process:
    """The state of this process."""

    #: whether it has used its devices, and so has threads of the compiler
    used = False
    #: whether it was forked from one that had
    forked = False


def devices_are_used() -> None:
    """From now on there are threads of the compiler."""
    _Process.used = True


def check_compiler() -> None:
    """Raise where there is no compiler.

    Raises:
      DeviceError: this process was forked from one that had used its devices.
    """
    if _Process.forked:
        raise DeviceError(
            "nothing can be compiled in this process: it was forked, as "
            "multiprocessing does, from one that had used its devices, and the threads "
            "of the compiler are not in a fork. Functions that were called before the "
            "fork can be called here. Fork before the first use of a device, or start "
            "processes with multiprocessing.get_context('spawn')."
        )


def end_threads() -> None:
    """End the daemon threads that use covector, before the interpreter does."""
    if not _Process.used:
        return
    inside = time.monotonic()
    end, pauses = inside + _PATIENCE, 0
    told: set[int] = set()
    threading.excepthook = functools.partial(_unless_told, told, threading.excepthook)
    while (now := time.monotonic()) < end:
        using = _using()
        if not using:
            return
        for thread in using:
            if not pauses % _AGAIN:
                told.add(thread)
                _raise_in(thread)
        # Who stays outside of covector does not get there any more. One look is not
        # enough: an exception that meets a finalizer is lost, and the thread goes on.
        if any(using.values()):
            inside = now
        elif now - inside > _QUIET:
            return
        pauses += 1
        time.sleep(_PAUSE)


def _raise_in(thread: int) -> None:
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raise_in(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))


def _unless_told(
    told: set[int], excepthook: Callable[..., object], args: threading.ExceptHookArgs
) -> None:
    """Report an exception of a thread; what came of ending it is no news."""
    if args.thread is None or args.thread.ident not in told:
        excepthook(args)


def _using() -> dict[int, bool]:
    """Other threads whose functions use covector, and whether they are inside of it."""
    found = {}
    for thread, frame in sys._current_frames().items():
        if thread != threading.get_ident():
            frames = _frames(frame)
            inside = any([f.f_code.co_filename.startswith(_HERE) for f in frames])
            if inside or any([_names_covector(f.f_globals) for f in frames]):
                found[thread] = inside
    return found


def _frames(frame: FrameType | None) -> list[FrameType]:
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def _names_covector(names: dict[str, Any]) -> bool:
    """Whether one of these is a module of covector, or an object of its classes."""
    for value in list(names.values()):
        module = value.__name__ if type(value) is ModuleType else type(value).__module__
        if isinstance(module, str) and module.partition(".")[0] == "covector":
            return True
    return False


def _in_child() -> None:
    _Process.forked = _Process.used


# Registered before all that others register, so it runs after them: they may need their
# threads.
atexit.register(end_threads)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
