"""``memory.track``: the peak of a block, and what was allocated in it, by line.

While a block is tracked, arrays are recorded, on all threads, and jitted functions are
called the long way, since the quick one tells nobody which program runs.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from covector import options
from covector.analysis.memory.ledger import Ledger, Owner
from covector.analysis.memory.tables import Tabular, shown_line, table
from covector.analysis.terminal import Table
from covector.core.annotations import MemorySize
from covector.core.array import ConcreteArray
from covector.core.recording import recorder
from covector.core.sizes import bytes_of, show_bytes
from covector.core.source import user_line
from covector.core.trace import current
from covector.dispatch.jit import PjitFunction
from covector.errors import OverBudget
from covector.lowering.compiled import CompiledProgram, ShardedProgram
from covector.lowering.evaluate import base
from covector.placement.transfer import known_arrays

#: lines that a message names
_NAMED = 5


class LineUse(NamedTuple):
    """The memory that a line took in a tracked block, in bytes.

    name         the line, as ``train.py:40 (step)``
    arrays       the number of arrays that it made
    allocated    the memory that these took, all in all
    at_peak      what it held at the peak: arrays, and temporaries of programs that it
                 ran then
    temporaries  of ``at_peak``, what belonged to the program that ran
    kept         what its arrays hold at the end
    """

    name: str
    arrays: int
    allocated: int
    at_peak: int
    temporaries: int
    kept: int


class Tracking(Tabular):
    """The memory of arrays and programs in a block; while it runs, up to now."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        #: what arrays held as the block began
        self.start_bytes: int = ledger.bytes

    @property
    def current_bytes(self) -> int:
        """The memory of arrays now, or at the end."""
        return self._ledger.settled()

    @property
    def peak_bytes(self) -> int:
        """The most that was held at once, what was there before included: arrays, and
        what programs needed while they ran.
        """
        return self._ledger.peak

    @property
    def allocated_bytes(self) -> int:
        """The memory of all arrays that were made, all in all."""
        return sum([taken for _, taken in self._ledger.made_by.values()])

    def lines(self) -> list[LineUse]:
        """The memory that each line took; the one that held most at the peak first."""
        ledger = self._ledger
        at_peak, now, made = ledger.at_peak(), dict(ledger.now), dict(ledger.made_by)
        found: dict[str, list[int]] = {}
        for owner in [*at_peak, *made]:
            found.setdefault(_name(owner), [0] * 5)
        for owner, (arrays, taken) in made.items():
            row = found[_name(owner)]
            row[0], row[1] = row[0] + arrays, row[1] + taken
            row[4] += now.get(owner, 0)
        for owner, size in at_peak.items():
            row = found[_name(owner)]
            row[2] += size
            row[3] += size if owner.temporary else 0
        uses = [LineUse(name, *row) for name, row in found.items()]
        used = [u for u in uses if u.arrays or u.at_peak]
        return sorted(used, key=lambda u: (-u.at_peak, -u.allocated))

    def to_dict(self) -> dict[str, Any]:
        """The findings, as JSON has them."""
        return {
            "version": 1,
            "start_bytes": self.start_bytes,
            "current_bytes": self.current_bytes,
            "peak_bytes": self.peak_bytes,
            "allocated_bytes": self.allocated_bytes,
            "lines": [use._asdict() for use in self.lines()],
        }

    def tables(self) -> list[Table]:
        """The tables that show it."""
        title = (
            f"at most {show_bytes(self.peak_bytes)} held; "
            f"{show_bytes(self.start_bytes)} before, "
            f"{show_bytes(self.current_bytes)} after, "
            f"{show_bytes(self.allocated_bytes)} allocated"
        )
        columns = "line", "at the peak", "temporaries", "allocated", "kept", "arrays"
        rows = []
        for u in self.lines():
            sizes = u.at_peak, u.temporaries, u.allocated, u.kept
            rows.append([u.name, *map(show_bytes, sizes), f"{u.arrays}"])
        return [table(title, columns, rows)]

    def check(self, limit: int) -> None:
        """Raise where more was held at the peak."""
        if self.peak_bytes <= limit:
            return
        lines = [u for u in self.lines() if u.at_peak][:_NAMED]
        held = "".join([f"\n  {show_bytes(u.at_peak)}  {_with(u)}" for u in lines])
        raise OverBudget(
            f"memory.track: {show_bytes(self.peak_bytes)} were held at once, but "
            f"limit is {show_bytes(limit)}. Most was held by{held}"
        )


def _with(use: LineUse) -> str:
    if not use.temporaries:
        return use.name
    return f"{use.name}, {show_bytes(use.temporaries)} of it by a program that it ran"


def _name(owner: Owner) -> str:
    if owner.before and owner.line is None:
        return "before the block"
    return shown_line(owner.line)


@contextlib.contextmanager
def track(limit: MemorySize | None = None) -> Iterator[Tracking]:
    """Track memory until the block ends: the peak, and what each line allocated.

    The peak is what live arrays hold together, on all threads and devices, with what
    was there before; and, while a program runs, what that needs for itself. What NumPy
    holds for a moment inside of an eager operation is not seen. Blocks may nest. Inside
    of one, an eager operation takes some microseconds longer, and a jitted call some
    tens.

    Args:
      limit: raise at the end of the block where more was held: a number of bytes, or
        such as ``"1.5GB"``.

    Yields:
      A ``Tracking``, with ``peak_bytes``, ``allocated_bytes``, ``lines()`` and
      ``to_dict()``; printed, it is a table by line.

    Raises:
      ArgumentError: ``limit`` is not a size.
      OverBudget: more was held than ``limit``; it names the lines that held most.

    >>> import covector as cv, covector.numpy as cnp
    >>> with cv.memory.track() as tracking:
    ...     x = cnp.ones(1_000_000)
    ...     y = cnp.ones(500_000)
    ...     del x
    >>> tracking.peak_bytes - tracking.start_bytes
    6000000
    >>> sorted([(use.allocated, use.kept) for use in tracking.lines()])[-2:]
    [(2000000, 2000000), (4000000, 0)]
    """
    most = None if limit is None else bytes_of(limit, "memory.track")
    ledger = Ledger()
    with options.override(record_lines=True):
        for array in known_arrays():
            ledger.before(array, recorder.record_of(array))
        tracking = Tracking(ledger)
        recorder.watch(ConcreteArray, ledger)
        _programs.watch(ledger)
        try:
            yield tracking
        finally:
            _programs.unwatch(ledger)
            recorder.unwatch(ConcreteArray, ledger)
    if most is not None:
        tracking.check(most)


class _Programs:
    """Tells ledgers of the programs that run."""

    def __init__(self) -> None:
        self._ledgers: tuple[Ledger, ...] = ()
        self._lock = threading.RLock()
        #: the methods that calls have otherwise
        self.originals: dict[Any, Any] = {}

    def watch(self, ledger: Ledger) -> None:
        with self._lock:
            if not self._ledgers:
                self.originals = {kind: kind.__call__ for kind in _WATCHED}
                for kind, method in _WATCHED.items():
                    kind.__call__ = method
            self._ledgers = (*self._ledgers, ledger)

    def unwatch(self, ledger: Ledger) -> None:
        with self._lock:
            self._ledgers = tuple([x for x in self._ledgers if x is not ledger])
            if not self._ledgers:
                for kind, method in self.originals.items():
                    kind.__call__ = method

    def ran(self, program: CompiledProgram) -> None:
        if self._ledgers:
            devices = len(program.lowered.devices)
            needed = devices * program.executable.memory_use().temporaries
            for ledger in self._ledgers:
                ledger.ran(needed, user_line())


_programs = _Programs()


def _call(function: PjitFunction, *args: Any, **kwargs: Any) -> Any:
    """A call of a jitted function that comes to its ``CompiledProgram``."""
    if current.trace is not base:
        return function._call_inside(args, kwargs)
    return function._call_first(args, kwargs)


def _run(program: Any, *args: Any) -> list[Any]:
    outs = _programs.originals[type(program)](program, *args)
    _programs.ran(program)
    return outs


_WATCHED: dict[Any, Any] = {
    PjitFunction: _call,
    CompiledProgram: _run,
    ShardedProgram: _run,
}
