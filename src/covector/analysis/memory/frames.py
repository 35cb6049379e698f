"""Local variables of functions that run, read without keeping them.

``frame.f_locals`` is, before Python 3.13, a dict that the frame keeps: what was in it
lives on, though the function has deleted it. So the dict is emptied again, unless the
function has asked for its ``locals()`` itself.
"""

import gc
import inspect
import sys
from types import FrameType
from typing import Any

from covector.core.source import is_own, short_name


def running_locals() -> dict[int, list[str]]:
    """For each value that a running function of the user's has in a variable, by its
    identity: names as ``x, local of step (train.py:40)``.
    """
    found: dict[int, list[str]] = {}
    for frame in sys._current_frames().values():  # pyright: ignore[reportPrivateUsage]
        current: FrameType | None = frame
        while current is not None:
            if not is_own(current.f_code.co_filename):
                for name, key in local_names(current):
                    words = f"{name}{{}}, local of {frame_name(current)}"
                    found.setdefault(key, []).append(words)
            current = current.f_back
    return found


def local_names(frame: FrameType) -> list[tuple[str, int]]:
    """The variables of a function's frame, with the identities of their values; none
    for code that is no function: its variables are globals.
    """
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return []
    before = {id(x) for x in gc.get_referents(frame)}
    variables: Any = frame.f_locals
    names = [(name, id(value)) for name, value in variables.items()]
    if type(variables) is dict and id(variables) not in before:
        variables.clear()
    return names


def frame_name(frame: FrameType) -> str:
    """``step (train.py:40)``."""
    code = frame.f_code
    file = code.co_filename.rpartition("/")[2]
    return f"{short_name(code.co_qualname)} ({file}:{frame.f_lineno})"
