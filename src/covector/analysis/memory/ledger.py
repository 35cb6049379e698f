"""The ledger of a tracked block: what arrays hold now, what they held at the peak.

It is told of each array that is made, that gets or loses memory, or goes, and of each
program that ran. A block of memory belongs to the line of the first array that has it,
until the last one lets go.
"""

import threading
from collections import deque
from typing import Any, NamedTuple

from covector.analysis.memory.blocks import blocks_of
from covector.core.recording import Record
from covector.core.source import Line


class Owner(NamedTuple):
    """An owner of memory: a line, and whether its array was there before the
    block began, or is none but what a program that the line called needed for itself.
    """

    line: Line | None
    before: bool = False
    temporary: bool = False


class _Held:
    """A block of memory that arrays hold."""

    __slots__ = ("bytes", "owner", "users")

    def __init__(self, size: int, owner: Owner) -> None:
        self.bytes: int = size
        self.owner: Owner = owner
        self.users: int = 0


class Ledger:
    """The bytes that arrays hold, by owner, now and at the peak."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        #: records of arrays that went: the collector may tell of them at any time
        self._gone: deque[Record] = deque()
        self._blocks: dict[tuple[str, int], _Held] = {}
        #: the blocks of each array, by its number
        self._of_array: dict[int, dict[tuple[str, int], int]] = {}
        self._owners: dict[int, Owner] = {}
        self.now: dict[Owner, int] = {}
        self.bytes: int = 0
        self.peak: int = 0
        #: what was held at the peak; None while that is what is held now
        self._at_peak: dict[Owner, int] | None = None
        #: arrays that were made, and memory that they took, by owner
        self.made_by: dict[Owner, tuple[int, int]] = {}

    # -- what it is told ---------------------------------------------------------------

    def before(self, array: Any, record: Record) -> None:
        """An array is there as the block begins."""
        with self._lock:
            self._owners[record.number] = Owner(record.line, before=True)
            self._update(array, record)

    def made(self, array: Any, record: Record) -> None:
        """An array was made."""
        with self._lock:
            self._release_gone()
            owner = Owner(record.line)
            self._owners[record.number] = owner
            taken = self._update(array, record)
            self._count(owner, 1, taken)

    def changed(self, array: Any, record: Record) -> None:
        """An array has its values in another place too, or gave them up."""
        with self._lock:
            self._release_gone()
            owner = self._owners.setdefault(record.number, Owner(record.line, True))
            taken = self._update(array, record)
            if taken and not owner.before:
                self._count(owner, 0, taken)

    def gone(self, record: Record) -> None:
        """An array is no more."""
        self._gone.append(record)

    def ran(self, temporaries: int, line: Line | None) -> None:
        """A program ran that needed so many bytes beside arguments and results."""
        with self._lock:
            self._release_gone()
            if self.bytes + temporaries > self.peak:
                self.peak = self.bytes + temporaries
                owner = Owner(line, temporary=True)
                self._at_peak = {**self.now, owner: temporaries}

    def settled(self) -> int:
        """The bytes that arrays hold now, those that went left out."""
        with self._lock:
            self._release_gone()
            return self.bytes

    def at_peak(self) -> dict[Owner, int]:
        """The bytes held at the peak, by owner."""
        with self._lock:
            self._release_gone()
            return dict(self.now if self._at_peak is None else self._at_peak)

    # -- the books ---------------------------------------------------------------------

    def _count(self, owner: Owner, arrays: int, taken: int) -> None:
        before = self.made_by.get(owner, (0, 0))
        self.made_by[owner] = before[0] + arrays, before[1] + taken

    def _release_gone(self) -> None:
        while self._gone:
            number = self._gone.popleft().number
            self._owners.pop(number, None)
            for key in self._of_array.pop(number, ()):
                self._release(key)

    def _update(self, array: Any, record: Record) -> int:
        """The blocks of an array as they are now; the bytes that were not held yet."""
        here = {block[:2]: block.bytes for block in blocks_of(array)}
        before = self._of_array.get(record.number, {})
        self._of_array[record.number] = here
        owner, taken = self._owners[record.number], 0
        for key, size in here.items():
            if key not in before:
                taken += self._take(key, size, owner)
        for key in before:
            if key not in here:
                self._release(key)
        return taken

    def _take(self, key: tuple[str, int], size: int, owner: Owner) -> int:
        held, taken = self._blocks.get(key), 0
        if held is None:
            held = self._blocks[key] = _Held(size, owner)
            self._add(owner, size)
            taken = size
        held.users += 1
        return taken

    def _release(self, key: tuple[str, int]) -> None:
        held = self._blocks.get(key)
        if held is not None:
            held.users -= 1
            if not held.users:
                del self._blocks[key]
                self._add(held.owner, -held.bytes)

    def _add(self, owner: Owner, size: int) -> None:
        if size < 0 and self.bytes == self.peak and self._at_peak is None:
            self._at_peak = dict(self.now)
        self.bytes += size
        self.now[owner] = self.now.get(owner, 0) + size
        if self.bytes > self.peak:
            self.peak, self._at_peak = self.bytes, None
