"""Heartbeat records: the program and source line that each process is currently at."""

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
    """A running program of a group of processes: the ``number``-th one of the group."""

    members: tuple[int, ...]
    number: int
    name: str
    #: follows from all programs that they have run together so far
    history: int

    @property
    def with_whom(self) -> str:
        return ",".join(map(str, self.members))


class Heartbeat(NamedTuple):
    """The state of a process, as it reports it about every second."""

    beat: int
    #: the line of the user's program that its main thread is at
    line: str
    inside: bool
    #: the program that it is in, or was in last; None before the first one
    running: Running | None
    #: the last one with each set of processes
    begun: dict[str, Running]
    #: for each set, the history as of some programs, by their numbers
    digests: dict[str, dict[int, int]]

    def as_text(self) -> str:
        return json.dumps(self)

    @staticmethod
    def of(text: str) -> "Heartbeat":
        beat, line, inside, running, begun, digests = json.loads(text)
        begun = {who: _running(found) for who, found in begun.items()}
        digests = {
            who: {int(number): history for number, history in found.items()}
            for who, found in digests.items()
        }
        running = running and _running(running)
        return Heartbeat(beat, line, inside, running, begun, digests)


def _running(found: list) -> Running:
    return Running(tuple(found[0]), *found[1:])


def where(thread: int | None) -> str:
    """The innermost line of a thread outside of this library and Python's."""
    frame = sys._current_frames().get(thread or 0)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if not file.startswith(_NOT_OURS) or _INSTALLED in file:
            return f"{code.co_filename}:{frame.f_lineno} ({code.co_qualname})"
        frame = frame.f_back
    return "its end"
