"""Local variables of functions that run, read without keeping them.

``frame.f_locals`` is, before Python 3.13, a dict that the frame keeps: what was in it
lives on, though the function has deleted it. So the dict is emptied again, unless
somebody else has asked for it: the function, for its ``locals()``, or a debugger.
"""

import inspect
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from covector.core.source import is_own, short_name


def running_frames() -> Iterator[FrameType]:
    """The frames of all functions that run, on all threads."""
    for frame in sys._current_frames().values():  # pyright: ignore[reportPrivateUsage]
        current: FrameType | None = frame
        while current is not None:
            yield current
            current = current.f_back


def running_locals() -> dict[int, list[tuple[str, str]]]:
    """For each value that a running function of the user's has in a variable, by its
    identity: the name, and ``, local of step (train.py:40)``.
    """
    found: dict[int, list[tuple[str, str]]] = {}
    for frame in running_frames():
        if not is_own(frame.f_code.co_filename):
            for name, key in local_names(frame):
                where = f", local of {frame_name(frame)}"
                found.setdefault(key, []).append((name, where))
    return found


def local_names(frame: FrameType) -> list[tuple[str, int]]:
    """The variables of a function's frame, with the identities of their values; none
    for code that is not a function: its variables are globals.
    """
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return []
    variables: Any = frame.f_locals
    names = [(name, id(value)) for name, value in variables.items()]
    # Referred to by the frame, by this variable and by the call, and nobody else.
    ours = type(variables) is dict and sys.getrefcount(variables) == 3
    if ours and frame.f_trace is None:
        variables.clear()
    return names


def frame_name(frame: FrameType) -> str:
    """``step (train.py:40)``."""
    code = frame.f_code
    file = code.co_filename.rpartition("/")[2]
    return f"{short_name(code.co_qualname)} ({file}:{frame.f_lineno})"
