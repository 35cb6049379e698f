"""What processes tell each other of themselves: in which program they are, and at
which line.
"""

import json
import os
import sys
from typing import NamedTuple

#: code that is not the user's
_NOT_OURS = (
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
    os.path.dirname(os.path.abspath(os.__file__)) + os.sep,
    "<",
)
_INSTALLED = f"{os.sep}site-packages{os.sep}"


class Running(NamedTuple):
    """A program that processes run together, as their n-th."""

    members: tuple[int, ...]
    number: int
    name: str
    #: follows from all programs that they have run together so far
    history: int

    @property
    def with_whom(self) -> str:
        return ",".join(map(str, self.members))


class News(NamedTuple):
    """What a process says of itself."""

    beat: int
    #: the line of the user's program that its main thread is at
    line: str
    inside: bool
    #: the program that it is in, or was in last; None before the first one
    running: Running | None
    #: the last one with each set of processes
    begun: dict[str, Running]
    #: for each set, the history as of some programs, by their numbers
    marks: dict[str, dict[int, int]]

    def as_text(self) -> str:
        return json.dumps(self)

    @staticmethod
    def of(text: str) -> "News":
        beat, line, inside, running, begun, marks = json.loads(text)
        begun = {who: _running(found) for who, found in begun.items()}
        marks = {
            who: {int(number): history for number, history in found.items()}
            for who, found in marks.items()
        }
        return News(beat, line, inside, running and _running(running), begun, marks)


def _running(found: list) -> Running:
    return Running(tuple(found[0]), *found[1:])


def where(thread: int | None) -> str:
    """The innermost line of a thread that is not the library's own, or Python's."""
    frame = sys._current_frames().get(thread or 0)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if not file.startswith(_NOT_OURS) or _INSTALLED in file:
            return f"{code.co_filename}:{frame.f_lineno} ({code.co_qualname})"
        frame = frame.f_back
    return "its end"
