"""Programs of the CPU that run while Python goes on.

Handing a program to another thread takes some 10 µs, so most run on the thread that
calls them. Some *overlap*: while one runs, Python prepares the next call (decision 3).
Those of many small arrays always do, since a call takes about 1 µs for each array.
Others do while they are called again and again and nobody reads a result, as in a loop
of training steps: who waits for each result has it sooner from the calling thread.

Some are under way at a time, so that results that nobody has read yet do not pile up.
Every other program begins when those are done, and is itself done when its call
returns.

A program over several devices of one CPU is handed to threads by XLA in any case. It is
under way as well, but alone.
"""

import atexit
import enum
import functools
import itertools
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from jaxlib import _jax

from covector import variables
from covector.runtime import client


class Overlap(enum.Enum):
    """When a program runs while Python goes on."""

    NEVER = enum.auto()
    #: while nobody reads results, if it is worth it
    UNREAD = enum.auto()
    ALWAYS = enum.auto()


Launch: TypeAlias = Callable[..., Any]
LoadApart: TypeAlias = Callable[[], tuple[Launch, int] | None]


@functools.cache
def runs_inline(device: client.Device) -> bool:
    """Whether a program has been run when its call returns, unless it overlaps."""
    return client.device_platform(device) == "cpu" and not variables.ASYNC_CPU.read()


@functools.cache
def may_overlap(device: client.Device) -> bool:
    """Whether a program can run while Python goes on, if it is chosen to."""
    return runs_inline(device) and client.cpu_is_asynchronous()


#: programs that may be under way, and bytes of their results, before the older half is
#: waited for: at once, since each wait is a change of threads
_MOST, _MOST_BYTES = 32, 2**26

#: programs that may be running, each with its number and its token
under_way: deque[tuple[int, Any]] = deque()
#: later ones have higher numbers
_numbers = itertools.count()


class _Waits:
    """How often somebody has waited for results, in this process."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


#: who reads the values of a buffer counts it here
waits = _Waits()

#: calls in a row that nobody waits between, before a program overlaps. Where it then
#: did for fewer, it takes twice as many the next time, up to the most
_PATIENCE, _MOST_CALLS = 4, 4096
#: measurements of which the shortest says what a program takes; and the seconds for
#: which it is worth it: more than to hand it over, and not so many that a call is
#: nothing beside it
_TRIALS = 16
_WORTH_IT = (12e-6, 1e-3)
#: times the seconds on the calling thread that it may take where it overlaps
_SLOWER = 1.1


class Overlapping:
    """The call of a program that is not waited for."""

    def __init__(self, launch: Launch, size: int, alone: float = math.inf) -> None:
        """
        Args:
          launch: hands the program to a thread of the runtime.
          size: bytes that a call allocates.
          alone: seconds that it takes on the calling thread.
        """
        self.launch, self.alone = launch, alone
        self.most = max(2, min(_MOST, _MOST_BYTES // max(size, 1)))
        self.calls, self.since = 0, 0.0
        self.shortest, self.trials = math.inf, 0
        #: whether it is found to take longer than on the calling thread
        self.loses = False

    def __call__(self, buffers: Sequence[Any]) -> Any:
        if len(under_way) >= self.most:
            _finish(list(under_way)[: self.most // 2])
            if self.trials < _TRIALS:
                self._look_at_the_clock()
        results = self.launch(buffers, True)
        under_way.append((next(_numbers), results.consume_token()))
        self.calls += 1
        return results

    def _look_at_the_clock(self) -> None:
        """The runtime has had as much to do as it may have, since the last time if so
        many calls of this program and of no other came between. XLA divides the work of
        a large array among all cores, one of which Python has: on some machines that
        takes longer than on the calling thread.
        """
        seconds = time.perf_counter()
        if self.calls == self.most // 2:
            self.shortest = min(self.shortest, (seconds - self.since) / self.calls)
            self.trials += 1
            if self.trials == _TRIALS:
                self.loses = self.shortest > _SLOWER * self.alone
        self.calls, self.since = 0, seconds


#: held while a program over several devices begins
_begins = threading.Lock()


def one_at_a_time(launch: Launch) -> Launch:
    """``launch`` of a program over several devices of one CPU, which begins when no
    other is under way.

    Partitions that wait for each other, in a collective, keep a thread each. XLA has no
    more threads than devices, and those of one program could keep all for which those
    of the other wait: for ever, until XLA ends the process after 40 seconds.
    """

    def launch_alone(buffers: Sequence[Any]) -> Any:
        with _begins:
            finish()
            results = launch(buffers, with_tokens=True)
            under_way.append((next(_numbers), results.consume_token()))
        return results

    return launch_alone


def until_done(launch: Launch) -> Launch:
    """``launch`` of such a program that calls Python, which is done when that returns:
    what it calls may start another program.
    """

    def launch_and_wait(buffers: Sequence[Any], with_tokens: bool = False) -> Any:
        results = launch(buffers, with_tokens=True)
        results.consume_token().block_until_ready()
        return results

    return launch_and_wait


class _Trial:
    """Calls of a program on the calling thread, from which follows whether it is to
    overlap.
    """

    def __init__(self, launch: Launch, load_apart: LoadApart) -> None:
        self.launch, self.load_apart = launch, load_apart
        self.calls = 0
        self.shortest = math.inf

    def call(self, buffers: Sequence[Any]) -> Any:
        """``launch``, with a look at the clock."""
        finish()
        start = time.perf_counter()
        results = self.launch(buffers)
        self.shortest = min(self.shortest, time.perf_counter() - start)
        self.calls += 1
        return results

    def apart(self) -> Overlapping | None:
        """The call that hands the program over, if that is worth it."""
        found = None
        if _WORTH_IT[0] <= self.shortest <= _WORTH_IT[1]:
            found = self.load_apart()
        return found and Overlapping(*found, self.shortest)


def overlapping_when_unread(launch: Launch, load_apart: LoadApart) -> Launch:
    """``launch`` of a program that overlaps while nobody waits for results.

    Args:
      launch: runs it on the calling thread.
      load_apart: gives the call that hands it to another one, if there is one, and the
        bytes that a call allocates; called once, when it is first needed.
    """
    trial: _Trial | None = _Trial(launch, load_apart)
    apart: Overlapping | None = None
    unread, seen, patience = 0, waits.count, _PATIENCE

    def launch_when_unread(buffers: Sequence[Any]) -> Any:
        nonlocal trial, apart, unread, seen, patience
        tried, overlaps = trial, apart  # another thread may decide meanwhile
        if tried is not None or overlaps is not None:
            if waits.count != seen:
                if unread > patience:
                    in_vain = unread < patience + _PATIENCE
                    patience = min(2 * patience, _MOST_CALLS) if in_vain else _PATIENCE
                unread, seen = 0, waits.count
            unread += 1
            if overlaps is not None and unread > patience:
                if not overlaps.loses:
                    return overlaps(buffers)
                apart = None
            if tried is not None and unread > 1:
                results = tried.call(buffers)
                if tried.calls >= _TRIALS:
                    apart, trial = tried.apart(), None
                return results
        if under_way:
            finish()
        return launch(buffers)

    return launch_when_unread


def now() -> int:
    """A moment, for ``is_done``: what was launched before has lower numbers."""
    return next(_numbers)


def is_done(moment: int) -> bool:
    """Whether all that was under way at that moment is known to be done."""
    try:
        return under_way[0][0] > moment
    except IndexError:
        return True


def finish() -> None:
    """Wait for all that is under way; what failed is said by the results."""
    if under_way:
        waits.count += 1
        _finish(list(under_way))


def _finish(programs: Sequence[tuple[int, Any]]) -> None:
    # Taken away when they are done: another thread that comes meanwhile waits for them,
    # too, and may take them away first. Contexts would cost more than all of this.
    for _, token in programs:
        try:  # noqa: SIM105
            token.block_until_ready()
        except _jax.JaxRuntimeError:  # who reads a result is told
            pass
    for program in programs:
        try:  # noqa: SIM105
            under_way.remove(program)
        except ValueError:
            pass


# Threads of the runtime neither outlive the interpreter nor come along into a fork.
atexit.register(finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=finish)
