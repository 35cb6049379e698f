"""Recording of arrays: the line of the user's program that made each of them.

While the option ``record_lines`` is on, in any thread, arrays have another constructor,
which remembers the line that it is called from. Otherwise they have their own, and
arrays cost what they cost. Whoever wants to know more (``memory.track``) *watches*: it
is told of each array that is made, that gets or loses memory, or goes.

An array is known by a *record*, a weak reference: it lives on as long as without.
"""

import itertools
import threading
import weakref
from typing import Any, Protocol

from covector.core.source import Line, user_line


class Record(weakref.ref[Any]):
    """Which array it is, among all that were, and the line that made it."""

    __slots__ = ("key", "line", "number")

    key: int
    #: counts all records: another array has another number
    number: int
    #: None where it was not recorded, or no line of a user's made it
    line: Line | None


class Watcher(Protocol):
    """An observer, which is told of arrays on the thread that makes them."""

    def made(self, array: Any, record: Record) -> None:
        """An array was made."""

    def changed(self, array: Any, record: Record) -> None:
        """An array has its values in another place too, or gave them up."""

    def gone(self, record: Record) -> None:
        """An array is no more. It may be told of at any time, by the collector: only
        take note of it.
        """


#: methods of arrays after which they may hold other memory
_CHANGING = ("buffer", "forget", "host")


class Recorder:
    """The records of arrays, and who watches."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}
        self._numbers = itertools.count()
        self._watchers: tuple[Watcher, ...] = ()
        self._lock = threading.RLock()
        self._originals: dict[str, Any] = {}

    def line_of(self, array: Any) -> Line | None:
        """The line that made an array, where it was recorded."""
        record = self._records.get(id(array))
        return None if record is None else record.line

    def record_of(self, array: Any) -> Record:
        """The record of an array; without a line where none was made before."""
        return self._records.get(id(array)) or self._record(array, None)

    def _record(self, array: Any, line: Line | None) -> Record:
        record = Record(array, self._gone)
        record.key, record.number, record.line = id(array), next(self._numbers), line
        self._records[record.key] = record
        return record

    def _gone(self, record: Any) -> None:
        if self._records.get(record.key) is record:
            del self._records[record.key]
        for watcher in self._watchers:
            watcher.gone(record)

    # -- other methods for the class of arrays -----------------------------------------

    def install(self, kind: type, on: bool) -> None:
        """Give the class of arrays the constructor that records, or take it back."""
        with self._lock:
            self._exchange(kind, ("__init__",), on, self._constructor)

    def watch(self, kind: type, watcher: Watcher) -> None:
        """Tell this watcher from now on."""
        with self._lock:
            self._watchers = (*self._watchers, watcher)
            self._exchange(kind, _CHANGING, True, self._telling)

    def unwatch(self, kind: type, watcher: Watcher) -> None:
        """Tell it no longer."""
        with self._lock:
            self._watchers = tuple([w for w in self._watchers if w is not watcher])
            self._exchange(kind, _CHANGING, bool(self._watchers), self._telling)

    def _exchange(self, kind: Any, names: tuple[str, ...], on: bool, make: Any) -> None:
        for name in names:
            if on and name not in self._originals:
                self._originals[name] = vars(kind)[name]
                setattr(kind, name, make(self._originals[name]))
            elif not on and name in self._originals:
                setattr(kind, name, self._originals.pop(name))

    def _constructor(self, construct: Any) -> Any:
        def recorded(array: Any, *args: Any, **named: Any) -> None:
            construct(array, *args, **named)
            record = self._record(array, user_line())
            for watcher in self._watchers:
                watcher.made(array, record)

        return recorded

    def _telling(self, method: Any) -> Any:
        def told(array: Any, *args: Any, **named: Any) -> Any:
            before = array._host is None, array._buffer is None
            result = method(array, *args, **named)
            if (array._host is None, array._buffer is None) != before:
                for watcher in self._watchers:
                    watcher.changed(array, self.record_of(array))
            return result

        return told


recorder = Recorder()
