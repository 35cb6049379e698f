"""Following the lines of the user's program while it is traced.

Where a line is reached that a stop is at, or a variable that is watched gets another
value, a callback is put into the program. The trace function of Python is the one that
was there before, too: that of a coverage tool or a debugger goes on.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from covector.core.source import is_internal
from covector.core.types import ArrayType
from covector.debug.stops import At, Stop, Watch
from covector.errors import ArgumentError

_STDLIB = os.path.dirname(os.__file__) + os.sep
_INSTALLED = os.path.join(_STDLIB, "site-packages") + os.sep
#: called with a stop, the frame, and the value of a variable that is watched
Insert = Callable[[Stop, FrameType, Any], None]


def _is_pythons(file: str) -> bool:
    """Whether a file is one of Python's, or none."""
    if file.startswith(("<frozen", "<string>")):
        return True
    return file.startswith(_STDLIB) and not file.startswith(_INSTALLED)


class Follower:
    """The trace function of Python that looks for stops."""

    def __init__(self, stops: list[Stop], insert: Insert) -> None:
        self.lines = [s for s in stops if isinstance(s, At)]
        self.watches = [s for s in stops if isinstance(s, Watch)]
        self.insert = insert
        #: of each file of the user's, the lines that were run and their functions
        self.run: dict[str, dict[int, str]] = {}
        #: of each stop at a line, the file in which that was reached
        self.reached: dict[int, str] = {}
        self.watched: set[int] = set()
        self.before: Any = None

    @contextmanager
    def following(self) -> Iterator[None]:
        """While the block runs, the lines of this thread are followed."""
        self.before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(self.before)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        theirs = self._tell(self.before, frame, event, arg)
        if is_internal(frame.f_code) or _is_pythons(frame.f_code.co_filename):
            return theirs
        known: dict[int, int] = {}

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal theirs
            theirs = self._tell(theirs, frame, event, arg)
            if event in ("line", "return"):
                self._watch(frame, known)
            if event == "line":
                self._line(frame)
            return local

        return local

    def _tell(self, other: Any, frame: FrameType, event: str, arg: Any) -> Any:
        """The answer of the trace function of another tool."""
        if other is None:
            return None
        answer = other(frame, event, arg)
        if sys.gettrace() != self._enter:  # one in C makes itself the only one
            sys.settrace(self._enter)
        return answer

    def _line(self, frame: FrameType) -> None:
        file, number = frame.f_code.co_filename, frame.f_lineno
        self.run.setdefault(file, {})[number] = frame.f_code.co_name
        for k, stop in enumerate(self.lines):
            if number == stop.line and stop.is_file(file):
                first = self.reached.setdefault(k, file)
                if first != file:
                    raise ArgumentError(
                        f"debug.at({str(stop)!r}) may be a line of {first} or of "
                        f"{file}: write more of the path."
                    )
                self.insert(stop, frame, None)

    def _watch(self, frame: FrameType, known: dict[int, int]) -> None:
        """Insert a callback for each watched variable that was assigned."""
        for k, stop in enumerate(self.watches):
            value = frame.f_locals.get(stop.name, known)
            if value is known or known.get(k) == id(value):
                continue
            known[k] = id(value)
            if isinstance(getattr(value, "type", None), ArrayType) or isinstance(
                value, bool | int | float | complex
            ):
                self.watched.add(k)
                self.insert(stop, frame, value)

    def unreached(self) -> str | None:
        """The message about a stop that no line came to; None if there is none."""
        for k, at in enumerate(self.lines):
            if k not in self.reached:
                return f"{at} was not reached. {self._nearest(at)}"
        for k, watch in enumerate(self.watches):
            if k not in self.watched:
                return (
                    f"no function that was run has a variable {watch.name} with an "
                    "array or a number."
                )
        return None

    def _nearest(self, at: At) -> str:
        """The function that was run instead."""
        if not self.run:
            return (
                "No line of yours was run: what is compiled already (by lower() and "
                "compile(), or exported) is not traced again. Debug the function that "
                "it was made from."
            )
        files = [f for f in self.run if at.is_file(f)]
        if not files:
            names = sorted({f.replace("\\", "/").rpartition("/")[2] for f in self.run})
            return f"The files that were run are {', '.join(names)}."
        lines = self.run[files[0]]
        near = sorted(sorted(lines, key=lambda n: abs(n - at.line))[:3])
        shown = ", ".join([f"{n} ({lines[n]})" for n in near])
        return f"The nearest lines that were run are {shown}."
