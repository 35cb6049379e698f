"""Multi-process runs: the questions that other modules ask about them.

The machinery is in ``lockstep``, which is imported only by ``distributed.initialize``.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class ProgramDigest(NamedTuple):
    """A program in a form that is compared between processes."""

    name: str
    digest: str
    #: the program's text, a line for each operation, made where it is needed
    text: Callable[[], str]


class _State:
    """The session of this process, if it has one."""

    def __init__(self) -> None:
        self.session: Any = None


_state = _State()


def session() -> Any:
    """The ``lockstep.Session`` of this process; None in a single-process run."""
    return _state.session


def set_session(made: Any) -> None:
    """The session from now on; None where it has ended."""
    _state.session = made


def in_lockstep(
    launch: Callable[..., Any],
    ranks: Sequence[int],
    digest: Callable[[], ProgramDigest],
) -> Callable[..., Any]:
    """``launch``, checked to be called by these processes in the same order."""
    members = tuple(sorted(set(ranks)))
    if len(members) == 1 or _state.session is None:
        return launch
    return _state.session.in_lockstep(launch, members, digest())
