"""Whether this process is one of several: what others ask, who need not know more.

Everything that it takes to be one of several is in ``together``, which only those
import who ask for it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Described(NamedTuple):
    """A program, for comparing it with those of others."""

    name: str
    digest: str
    #: its text, a line for each operation, made where it is needed
    text: Callable[[], str]


class _Now:
    """The session of this process, if it has one."""

    def __init__(self) -> None:
        self.session: Any = None


_now = _Now()


def session() -> Any:
    """The ``together.Session`` of this process; None where it works alone."""
    return _now.session


def set_session(made: Any) -> None:
    """The session from now on; None where it has ended."""
    _now.session = made


def spanning(
    launch: Callable[..., Any],
    ranks: Sequence[int],
    described: Callable[[], Described],
) -> Callable[..., Any]:
    """``launch``, as a call that these processes make together; as it is for one."""
    members = tuple(sorted(set(ranks)))
    if len(members) == 1 or _now.session is None:
        return launch
    return _now.session.launch_together(launch, members, described())
