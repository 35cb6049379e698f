"""``memory.report``: who holds what."""

from dataclasses import dataclass
from typing import Any

from covector.analysis.memory.held import (
    Group,
    HeldArray,
    group_table,
    groups,
    held_by,
    line_name,
)
from covector.analysis.memory.holders import holders_of
from covector.analysis.memory.tables import Tabular, table, table_of_texts
from covector.analysis.terminal import Table
from covector.core.sizes import show_bytes
from covector.errors import how_many
from covector.placement.transfer import known_arrays

#: what is said where lines are unknown
HINT = (
    "Lines are recorded inside memory.record_lines(), and with COVECTOR_RECORD_LINES=1 "
    "in the environment."
)


@dataclass(frozen=True)
class MemoryReport(Tabular):
    """The live arrays of this process, as plain data: it keeps none of them alive.

    arrays   each of them, the largest first
    deleted  how many others were deleted or donated: they hold no memory
    """

    arrays: tuple[HeldArray, ...]
    deleted: int

    @property
    def total_bytes(self) -> int:
        """The memory of all arrays; what several of them hold counts once."""
        return sum([x.bytes - x.shared for x in self.arrays])

    def by_line(self) -> list[Group]:
        """The memory by the line that made it, the largest first."""
        return groups(self.arrays, line_name)

    def by_type(self) -> list[Group]:
        """The memory by the type of arrays, the largest first."""
        return groups(self.arrays, lambda x: x.type)

    def by_device(self) -> list[Group]:
        """The memory by the device, or the sharding, of arrays, the largest first."""
        return groups(self.arrays, lambda x: x.device)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {
            "version": 1,
            "total_bytes": self.total_bytes,
            "deleted": self.deleted,
            "arrays": [x.to_dict() for x in self.arrays],
            "lines": [g.to_dict() for g in self.by_line()],
            "types": [g.to_dict() for g in self.by_type()],
            "devices": [g.to_dict() for g in self.by_device()],
        }

    def tables(self) -> list[Table]:
        """The tables that show it."""
        count = how_many(len(self.arrays), "live array")
        title = f"{count}, {show_bytes(self.total_bytes)}"
        if self.deleted:
            title += f"; {how_many(self.deleted, 'other')} deleted or donated"
        asked = any([x.holders is not None for x in self.arrays])
        columns = ["type", "made at", "device", "note", "memory"]
        rows = [
            [x.type, line_name(x), x.device, x.note, show_bytes(x.bytes)]
            for x in self.arrays
        ]
        if asked:
            columns.insert(2, "held by")
            for row, x in zip(rows, self.arrays, strict=True):
                row.insert(2, "; ".join(x.holders or ("nothing that is known",)))
        tables = [table_of_texts(title, columns, rows, len(columns) - 1)]
        if any([x.line is None for x in self.arrays]):
            tables.append(table(HINT))
        if self.arrays:
            tables += [
                group_table("by line", "made at", self.by_line()),
                group_table("by type", "type", self.by_type()),
            ]
        return tables


def report(*, holders: bool = False, internals: bool = False) -> MemoryReport:
    """The live arrays, on all devices: how much memory each holds, and the line that
    made it where that was recorded (inside ``record_lines`` and ``track``).

    Args:
      holders: also find who refers to each array: a global, an attribute, a closure, a
        local variable of a function that runs, a compiled program. It looks at every
        object of the process, several times: a second where there are millions.
      internals: also list what only the library holds: numbers in programs and caches.

    >>> import covector as cv, covector.numpy as cnp
    >>> with cv.memory.record_lines():
    ...     table = cnp.ones((250, 1000))
    >>> found = [x for x in cv.memory.report().arrays if x.shape == (250, 1000)]
    >>> found[0].type, found[0].bytes, found[0].line.function
    ('f32[250,1000]', 1000000, '<module>')
    """
    arrays = known_arrays(internals)
    alive = [x for x in arrays if not x.is_deleted()]
    deleted = len(arrays) - len(alive)
    del arrays
    names = holders_of(alive) if holders else None
    return MemoryReport(tuple(held_by(alive, names)), deleted)
