"""Frames of packages: files whose lines are none of the user's.

Packages name their files here. covector then attributes operations to the frame that
called them, in programs and in errors, and printed tracebacks leave these frames out.
"""

from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from covector.core import source

F = TypeVar("F", bound=Callable[..., Any])

#: the files that were named; packages add to it and take away from it
exclude_paths: list[str] = []


def register_exclusion(path: str) -> None:
    """The lines of this file are a package's."""
    exclude_paths.append(path)
    source.pass_over(path)


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is the user's: neither covector's nor of a file named here."""
    file = frame.f_code.co_filename
    return not source.is_own(file) and not file.startswith(tuple(exclude_paths))


def api_boundary(fun: F, **_: Any) -> F:
    """The function itself: its frames need no preparation to be passed over."""
    return fun
