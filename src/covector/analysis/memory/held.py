"""What arrays hold, as plain data: it keeps no array alive.

Blocks that several arrays hold are counted for the first of them, the largest; a
``HeldArray`` says how much of its memory an earlier one has as well.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from covector.analysis.memory.blocks import Block, blocks_of
from covector.analysis.memory.tables import shown_line, table
from covector.analysis.terminal import Table
from covector.core.array import ConcreteArray
from covector.core.recording import recorder
from covector.core.sizes import show_bytes
from covector.core.source import Line


@dataclass(frozen=True)
class HeldArray:
    """A live array, in plain data.

    type     as in messages, ``f32[3,4]``
    shape    as a tuple
    dtype    by name
    device   the device that its values are on, or the sharding over several
    nbytes   the size of its values
    bytes    all memory that it holds: of a view, what it looks into; of an array with
             values on the host and on a device, or over several devices, that of each
    shared   of these, the bytes that an earlier array of the list holds as well
    blocks   the number of blocks of memory that these are
    line     the line that made it, where that was recorded
    number   another array has another number, in this process
    holders  who refers to it, in words; None where that was not asked for
    """

    type: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int
    bytes: int
    shared: int
    blocks: int
    line: Line | None
    number: int
    holders: tuple[str, ...] | None = None

    @property
    def note(self) -> str:
        """The unusual facts about its memory, in words."""
        if self.shared == self.bytes and self.shared:
            return "shares its memory"
        if self.shared:
            return f"shares {show_bytes(self.shared)}"
        if self.blocks > 1 and self.bytes > self.nbytes:
            return f"{self.blocks} copies"
        if self.bytes > self.nbytes:
            return f"a view into {show_bytes(self.bytes)}"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """The fields, as JSON has them."""
        return {
            "type": self.type,
            "shape": [*self.shape],
            "dtype": self.dtype,
            "device": self.device,
            "nbytes": self.nbytes,
            "bytes": self.bytes,
            "shared": self.shared,
            "blocks": self.blocks,
            "line": line_data(self.line),
            "holders": None if self.holders is None else [*self.holders],
        }


class Group(NamedTuple):
    """Arrays that have a line, or a type, in common; each block counts once."""

    name: str
    arrays: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


def line_data(line: Line | None) -> dict[str, Any] | None:
    """A line as JSON has it."""
    if line is None:
        return None
    return {"file": line.file, "line": line.number, "function": line.function}


def held_by(
    arrays: Sequence[ConcreteArray],
    holders: Sequence[tuple[str, ...]] | None = None,
) -> list[HeldArray]:
    """The memory of these arrays, the largest first."""
    blocks = [blocks_of(x) for x in arrays]
    sizes = [sum([b.bytes for b in found]) for found in blocks]
    counted: set[tuple[str, int]] = set()
    made = []
    # Of equal ones the oldest first: the others share its memory.
    for i in sorted(range(len(arrays)), key=lambda i: (-sizes[i], i)):
        record = recorder.record_of(arrays[i])
        named = None if holders is None else holders[i]
        shared = _already(blocks[i], counted)
        measured = sizes[i], shared, len(blocks[i])
        made.append(_held(arrays[i], measured, record, named))
    return made


def _already(blocks: Iterable[Block], counted: set[tuple[str, int]]) -> int:
    """The bytes of blocks that were counted; from now on all of them are."""
    keys = [(b[:2], b.bytes) for b in blocks]
    shared = sum([size for key, size in keys if key in counted])
    counted.update([key for key, _ in keys])
    return shared


def _held(
    array: ConcreteArray,
    measured: tuple[int, int, int],
    record: Any,
    holders: tuple[str, ...] | None,
) -> HeldArray:
    type_, where = array.type, array.sharding
    one = where.num_devices == 1
    return HeldArray(
        type=str(type_),
        shape=tuple(type_.shape),
        dtype=str(type_.dtype),
        device=str(where.flat_devices[0] if one else where),
        nbytes=type_.size * type_.storage.itemsize,
        bytes=measured[0],
        shared=measured[1],
        blocks=measured[2],
        line=record.line,
        number=record.number,
        holders=holders,
    )


def groups(
    arrays: Iterable[HeldArray], name: Callable[[HeldArray], Any]
) -> list[Group]:
    """The arrays with the same name together, the largest group first."""
    found: dict[Hashable, list[int]] = {}
    for x in arrays:
        counts = found.setdefault(name(x), [0, 0])
        counts[0] += 1
        counts[1] += x.bytes - x.shared
    ordered = sorted(found.items(), key=lambda item: -item[1][1])
    return [Group(str(key), *counts) for key, counts in ordered]


def line_name(x: HeldArray) -> str:
    """The line that made an array, in words."""
    return shown_line(x.line)


def group_table(title: str, kind: str, found: Sequence[Group]) -> Table:
    """A table of groups."""
    rows = [(g.name, f"{g.arrays}", show_bytes(g.bytes)) for g in found]
    return table(title, (kind, "arrays", "memory"), rows)
