"""Frames of the user's program, and their variables.

Variables that are being traced become operands of a callback, which sees the values
that they have when the program runs. Those of no traced value are passed as they are.
"""

from collections.abc import Sequence
from types import FrameType
from typing import Any, NamedTuple

from covector import tree
from covector.core.source import is_own
from covector.core.trace import Tracer, current, within


class Frame(NamedTuple):
    """A function of the user's on its way, and its variables."""

    function: str
    file: str
    line: int
    globals: dict[str, Any]
    #: the first line of the function
    first: int

    def __str__(self) -> str:
        return f"{self.file}({self.line}){self.function}()"


def is_running(x: Any) -> bool:
    """Whether a variable has its value only when the program runs."""
    return isinstance(x, Tracer) and x.owner.alive and within(x.owner, current.trace)


def frames_around(
    found: FrameType | None,
    filtered: bool = True,
    most: int | None = None,
    until: FrameType | None = None,
) -> tuple[list[Frame], list[dict[str, Any]]]:
    """A frame and those around it, the innermost first, and their variables; as far as
    ``until``, without that.
    """
    frames: list[Frame] = []
    variables: list[dict[str, Any]] = []
    while found not in (None, until) and len(frames) != most:
        assert found is not None, "the loop ends there"
        code = found.f_code
        if not (filtered and is_own(code.co_filename)):
            where = code.co_qualname, code.co_filename, found.f_lineno
            frames.append(Frame(*where, found.f_globals, code.co_firstlineno))
            at_top = found.f_locals is found.f_globals
            variables.append({} if at_top else _flattened(found.f_locals))
        found = found.f_back
    return frames, variables


def _flattened(variables: dict[str, Any]) -> dict[str, Any]:
    """Variables as they are, but those that are no proper trees as one leaf."""
    kept = {}
    for name, value in variables.items():
        try:
            leaves = tree.leaves(value)
        except Exception:  # noqa: BLE001  anything may stand in a variable
            leaves = []
        kept[name] = value if any(map(is_running, leaves)) else _Leaf(value)
    return kept


class _Leaf:
    """A value that is not looked into."""

    def __init__(self, value: Any) -> None:
        self.value = value


def whole(variables: Sequence[dict[str, Any]]) -> None:
    """Make the variables what they were, where they were taken as one leaf."""
    for scope in variables:
        for name, value in scope.items():
            if isinstance(value, _Leaf):
                scope[name] = value.value
