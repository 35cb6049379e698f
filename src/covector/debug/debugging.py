"""``debug.debug``: a function run with stops, at a line, a step and a lane.

    tracing     ``following`` sees the lines that are reached, and puts a callback into
                the program where a stop is; ``positions`` gives it the numbers of
                steps, lanes and shards as values
    running     the callback compares them, asks the condition, and opens the debugger
                (``stopped``) in the user's frame

The function is traced afresh, and no program with a stop is kept.
"""

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from covector import options
from covector.callbacks.callback import effects_barrier
from covector.core.flat import who_of
from covector.core.source import wraps
from covector.core.trace import check_not_inside, current
from covector.debug.callback import call_with_values
from covector.debug.following import Follower
from covector.debug.frames import Frame, frames_around, is_running, whole
from covector.debug.positions import Steps
from covector.debug.stopped import can_ask, open_debugger, show
from covector.debug.stops import At, Position, Stop, Watch
from covector.errors import ArgumentError, StopNotReached

P = ParamSpec("P")
R = TypeVar("R")


def debug(
    fun: Callable[P, R],
    stop: Stop | Sequence[Stop],
    *,
    stdin: Any = None,
    stdout: Any = None,
) -> Callable[P, R]:
    r"""``fun``, run with stops: a debugger opens in your frame, with real values.

    It is pdb, or IPython's where that is running, at the line of the stop, with the
    variables as they are in that step of a loop, lane of a vmap and shard of a
    shard_map, also in compiled code; under grad in the forward pass. Step and next go
    on to the next stop, quit ends the program. Where there is no terminal the line and
    its variables are printed.

    The function is traced and compiled afresh, and its programs are not kept: calls
    outside of this are as they were.

    Args:
      stop: one stop of ``debug.at`` or ``debug.watch``, or several.
      stdin, stdout: files to use instead of the terminal.

    Raises:
      ArgumentError: this is no stop, or its line may be one of several files; or it
        is called inside of a function that is transformed.
      StopNotReached: the line, the step or the lane was not reached; the message has
        the nearest lines that were.

    >>> import io, covector as cv, covector.numpy as cnp
    >>> from covector import debug
    >>> def f(x):
    ...     y = cnp.exp(x)
    ...     return y + 1
    >>> shown = io.StringIO()
    >>> g = debug.debug(cv.jit(f), debug.watch("y", when=lambda y: y > 5), stdout=shown)
    >>> float(g(0.0)), shown.getvalue()
    (2.0, '')
    >>> _ = g(2.0)
    >>> "y = Array(7.38" in shown.getvalue()
    True
    """
    stops = [stop] if isinstance(stop, Stop) else list(stop)
    for each in stops:
        if not isinstance(each, Stop):
            raise ArgumentError(
                f"debug.debug takes stops of debug.at or debug.watch, but got {each!r}."
            )
    if not stops:
        raise ArgumentError("debug.debug takes at least one stop, but got none.")
    who = who_of("debug.debug", fun)

    @wraps(fun)
    def debugged(*args: P.args, **kwargs: P.kwargs) -> R:
        check_not_inside(who)
        around = sys._getframe()
        session = _Session([s.again() for s in stops], (stdin, stdout), who, around)
        out = session.run(functools.partial(fun, *args, **kwargs))
        session.check_reached()
        return out

    return debugged


#: devices call from threads of their own
_one_at_a_time = threading.RLock()


class _Session:
    """One call of a function with stops."""

    def __init__(
        self, stops: list[Stop], files: tuple[Any, Any], who: str, around: FrameType
    ) -> None:
        self.stops, self.files, self.who, self.around = stops, files, who, around
        self.steps = Steps()
        self.follower = Follower(stops, self._insert)

    def run(self, call: Callable[[], R]) -> R:
        outer, current.observer = current.observer, self.steps
        try:
            with options.looking_into("stops"), self.follower.following():
                return call()
        finally:
            current.observer = outer
            effects_barrier()

    def _insert(self, stop: Stop, frame: FrameType, value: Any) -> None:
        """Put a callback here into the program that is being traced."""
        frames, variables = frames_around(frame, until=self.around)
        if isinstance(stop, At):
            stop.check_names(variables[0])
        names = [list(scope) for scope in variables]
        arrival = _Arrival(stop, frames, names, self.files)
        call_with_values(
            arrival,
            (variables, tuple(self.steps.position()), value),
            {},
            who=self.who,
            is_array=is_running,
        )

    def check_reached(self) -> None:
        """Raise where a stop could not stop.

        Raises:
          StopNotReached: its line or variable, or the step or lane of it.
        """
        text = self.follower.unreached()
        if text is not None:
            raise StopNotReached(f"{self.who}: {text}")
        for stop in self.stops:
            chosen = stop.step, stop.lane, stop.shard
            if stop.stopped or stop.when is not None or chosen == (None, None, None):
                continue
            if isinstance(stop, Watch):
                continue
            came = " to ".join(dict.fromkeys([str(p) for p in stop.seen]))
            raise StopNotReached(
                f"{self.who}: {stop} was reached at {came or 'no time'}, but not at "
                f"{_wanted(stop)}."
            )


def _wanted(stop: Stop) -> str:
    parts = {"step": stop.step, "lane": stop.lane, "shard": stop.shard}
    return ", ".join([f"{k} {v}" for k, v in parts.items() if v is not None])


class _Arrival:
    """The callback at a stop: compares, asks the condition, opens the debugger."""

    def __init__(
        self, stop: Stop, frames: list[Frame], names: list[list[str]], files: Any
    ) -> None:
        self.stop, self.frames, self.names, self.files = stop, frames, names, files

    def __call__(
        self, variables: list[dict[str, Any]], position: Any, value: Any
    ) -> None:
        steps, lanes, shard = position
        there = Position(
            tuple([int(i) for i in steps]),
            tuple([int(i) for i in lanes]),
            {axis: int(i) for axis, i in shard.items()},
        )
        # What runs from here on is the debugger's, and no line of the program.
        following = sys.gettrace()
        sys.settrace(None)
        try:
            with _one_at_a_time:
                self._arrive(variables, there, value)
        finally:
            sys.settrace(following)

    def _arrive(
        self, variables: list[dict[str, Any]], there: Position, value: Any
    ) -> None:
        whole(variables)
        pairs = zip(self.names, variables, strict=True)
        variables = [{name: scope[name] for name in names} for names, scope in pairs]
        here, stop = self.stop.arrives(there), self.stop
        if here is None:
            return
        if isinstance(stop, At) and not stop.holds(variables[0]):
            return
        if isinstance(stop, Watch) and not stop.changes(value, here):
            return
        stop.stopped += 1
        self._show(variables, there if stop.step is None else here)

    def _show(self, variables: list[dict[str, Any]], position: Position) -> None:
        frame = self.frames[0]
        said = f"{self.stop}: stopped at {frame} {position}".rstrip()
        stdin, stdout = self.files
        if stdin is not None or (stdout is None and can_ask()):
            open_debugger(self.frames, variables, self.files, said)
        else:
            show(self.frames, variables, stdout, said)
