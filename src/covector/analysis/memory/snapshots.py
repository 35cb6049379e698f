"""``memory.snapshot``: what arrays hold now, to be compared with later."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from covector.analysis.memory.held import HeldArray, held_by, line_name
from covector.analysis.memory.statistics import Statistics, statistics
from covector.analysis.memory.tables import Tabular, table, table_of_texts
from covector.analysis.terminal import Table
from covector.core.sizes import show_bytes
from covector.errors import ArgumentError, how_many
from covector.placement.transfer import known_arrays


class Change(NamedTuple):
    """Arrays of one line and type that came, or went, between two snapshots.

    arrays  how many more there are; negative where there are fewer
    bytes   how much more memory they hold
    """

    line: str
    type: str
    arrays: int
    bytes: int


@dataclass(frozen=True)
class Difference(Tabular):
    """The arrays that came and went between two snapshots, the largest first."""

    grown: tuple[Change, ...]
    shrunk: tuple[Change, ...]

    @property
    def bytes(self) -> int:
        """The growth of the memory of arrays; negative where it is less."""
        return sum([c.bytes for c in (*self.grown, *self.shrunk)])

    @property
    def arrays(self) -> int:
        """The growth of the number of arrays; negative where there are fewer."""
        return sum([c.arrays for c in (*self.grown, *self.shrunk)])

    def to_dict(self) -> dict[str, Any]:
        """The changes, as JSON has them."""
        return {
            "version": 1,
            "bytes": self.bytes,
            "arrays": self.arrays,
            "grown": [c._asdict() for c in self.grown],
            "shrunk": [c._asdict() for c in self.shrunk],
        }

    def tables(self) -> list[Table]:
        """The tables that show it."""
        if not self.grown and not self.shrunk:
            return [table("no array came, and none went")]
        columns = "type", "made at", "arrays", "memory"
        tables = []
        for title, changes in (("grew", self.grown), ("shrank", self.shrunk)):
            if changes:
                arrays = how_many(abs(sum([c.arrays for c in changes])), "array")
                size = show_bytes(abs(sum([c.bytes for c in changes])))
                rows = [
                    (c.type, c.line, f"{abs(c.arrays)}", show_bytes(abs(c.bytes)))
                    for c in changes
                ]
                tables.append(
                    table_of_texts(f"{title} by {arrays}, {size}", columns, rows, 2)
                )
        return tables


@dataclass(frozen=True)
class Snapshot(Tabular):
    """The memory of arrays at one time, as plain data: it keeps none of them alive."""

    arrays: tuple[HeldArray, ...]
    statistics: Statistics

    @property
    def total_bytes(self) -> int:
        """The memory of all arrays; what several of them hold counts once."""
        return sum([x.bytes - x.shared for x in self.arrays])

    def compare(self, earlier: "Snapshot") -> Difference:
        """Arrays that came and went since an earlier one; also ``later - earlier``.

        Arrays are compared, not numbers of them: three that went and three of the same
        kind that came are told as six changes, if other lines made them.

        Raises:
          ArgumentError: ``earlier`` is no snapshot.
        """
        if not isinstance(earlier, Snapshot):
            raise ArgumentError(
                "a snapshot is compared with an earlier one, but got a "
                f"{type(earlier).__name__}."
            )
        before = {x.number for x in earlier.arrays}
        after = {x.number for x in self.arrays}
        came = _changes([x for x in self.arrays if x.number not in before], 1)
        went = _changes([x for x in earlier.arrays if x.number not in after], -1)
        net = {
            key: (
                came.get(key, (0, 0))[0] + went.get(key, (0, 0))[0],
                came.get(key, (0, 0))[1] + went.get(key, (0, 0))[1],
            )
            for key in {**came, **went}
        }
        changes = [Change(*key, *change) for key, change in net.items() if any(change)]
        ordered = sorted(changes, key=lambda c: -abs(c.bytes))
        return Difference(
            tuple([c for c in ordered if (c.bytes, c.arrays) > (0, 0)]),
            tuple([c for c in ordered if (c.bytes, c.arrays) < (0, 0)]),
        )

    def __sub__(self, earlier: "Snapshot") -> Difference:
        return self.compare(earlier)

    def to_dict(self) -> dict[str, Any]:
        """The snapshot as JSON has it."""
        return {
            "version": 1,
            "total_bytes": self.total_bytes,
            "arrays": [x.to_dict() for x in self.arrays],
            "statistics": self.statistics.to_dict(),
        }

    def tables(self) -> list[Table]:
        """The tables that show it."""
        title = how_many(len(self.arrays), "live array")
        return [
            table(f"{title}, {show_bytes(self.total_bytes)}"),
            *self.statistics.tables(),
        ]


def _changes(
    arrays: Sequence[HeldArray], sign: int
) -> dict[tuple[str, str], tuple[int, int]]:
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for x in arrays:
        key = line_name(x), x.type
        count, size = found.get(key, (0, 0))
        found[key] = count + sign, size + sign * (x.bytes - x.shared)
    return found


def snapshot() -> Snapshot:
    """The memory of arrays now; ``later - earlier`` says what came and what went.

    >>> import covector as cv, covector.numpy as cnp
    >>> earlier = cv.memory.snapshot()
    >>> with cv.memory.record_lines():
    ...     history = [cnp.ones((1000, 1000)) for _ in range(3)]
    >>> change = cv.memory.snapshot() - earlier
    >>> change.arrays, change.bytes
    (3, 12000000)
    """
    alive = [x for x in known_arrays() if not x.is_deleted()]
    return Snapshot(tuple(held_by(alive)), statistics())
