"""What each thread of the host worked on, from the events of the profiler.

A kernel on the CPU may be split into tasks, which wait in a queue until a thread takes
them. So its event, on the thread that starts it, tells of a part only:

    thread 1   |─ kernel ───|                    its event
                  · Record 7                     a task enters the queue
    thread 2           |─ StartRegion 7 … Stop ─|    and is run here, for the kernel

While a task waits, the kernel is not done, but takes nobody's time.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

#: a program and one of its kernels
Key = tuple[str, str]

_QUEUED = "ThreadpoolListener::Record"
_BEGUN = "ThreadpoolListener::StartRegion"
_ENDED = "ThreadpoolListener::StopRegion"


class ThreadEvent(NamedTuple):
    """An event of a thread; ``key`` is the kernel that it runs, if any."""

    thread: int
    name: str
    start: float
    duration: float
    stats: dict[Any, Any]
    key: Key | None


class Segment(NamedTuple):
    """A time during which a thread worked on a kernel."""

    key: Key
    start: float
    end: float


def segments(events: Iterable[ThreadEvent]) -> list[Segment]:
    """The work of threads; of what is nested, the innermost."""
    threads: dict[int, _Thread] = {}
    tasks: dict[Any, Key | None] = {}
    found: list[Segment] = []
    for now, begins, event in _moments(events):
        thread = threads.setdefault(event.thread, _Thread(now))
        if event.name == _QUEUED:
            tasks[event.stats.get("_p")] = thread.now_at
            continue
        if thread.now_at is not None and now > thread.since:
            found.append(Segment(thread.now_at, thread.since, now))
        thread.since = now
        if event.name == _BEGUN:
            thread.push(_ENDED, tasks.get(event.stats.get("_c")))
        elif event.name == _ENDED:
            thread.pop(_ENDED)
        elif begins:
            thread.push(event, event.key)
        else:
            thread.pop(event)
    return found


class _Thread:
    """The open work of a thread, the innermost last; and since when nothing changed."""

    def __init__(self, now: float) -> None:
        self.since = now
        self.stack: list[tuple[object, Key | None]] = []

    @property
    def now_at(self) -> Key | None:
        return self.stack[-1][1] if self.stack else None

    def push(self, what: object, key: Key | None) -> None:
        self.stack.append((what, key))

    def pop(self, what: object) -> None:
        """End the innermost of this, if it began while this was recorded."""
        for k in reversed(range(len(self.stack))):
            if self.stack[k][0] is what:
                del self.stack[k]
                return


def _moments(
    events: Iterable[ThreadEvent],
) -> Iterator[tuple[float, bool, ThreadEvent]]:
    """Beginnings and ends of kernels, and what happens to tasks, in order."""
    found: list[tuple[float, int, int, bool, ThreadEvent]] = []
    for number, event in enumerate(events):
        if event.key is not None:
            end = event.start + event.duration
            found += [
                (event.start, 1, number, True, event),
                (end, 0, -number, False, event),
            ]
        elif event.name in (_QUEUED, _BEGUN, _ENDED):
            found.append((event.start, 1, number, True, event))
    found.sort(key=_in_order)
    for now, _, _, begins, event in found:
        yield now, begins, event


def _in_order(moment: Sequence[Any]) -> tuple[float, int, int]:
    return moment[0], moment[1], moment[2]
