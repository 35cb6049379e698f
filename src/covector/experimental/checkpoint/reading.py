"""Partial reads: the saved shards that a block of an array overlaps, and no others."""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from covector.errors import CheckpointError, how_many
from covector.experimental.checkpoint.contents import CHUNK, Entry, Part, Shape
from covector.experimental.checkpoint.manifest import digests, open_file


class Reader:
    """Reads blocks of arrays, each from the parts that it overlaps."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mapped: dict[str, np.ndarray] = {}
        #: chunks that were compared with their digests, by file and byte
        self._sound: set[tuple[str, int]] = set()

    def check_sizes(self, entries: Iterable[Entry]) -> None:
        """See that all parts are inside of their files, before memory is taken."""
        for entry in entries:
            for part in entry.parts:
                assert entry.type is not None, "only arrays have parts"
                self._bytes_of(part, entry.type.storage)

    def block(self, entry: Entry, start: Shape, shape: Shape) -> np.ndarray:
        """A copy of a block of an array, in the dtype that stores it."""
        assert entry.type is not None, "only arrays have blocks"
        storage = entry.type.storage
        values = np.empty(shape, storage)
        for part in entry.parts:
            here, there = _overlap(start, shape, part)
            if here is not None:
                stored = self._bytes_of(part, storage)
                first, last = (
                    int(np.ravel_multi_index([choose(s) for s in there], part.shape))
                    for choose in (lambda s: s.start, lambda s: s.stop - 1)
                )
                size = storage.itemsize
                self._check(part, stored, first * size, (last + 1) * size)
                values[here] = stored.view(storage).reshape(part.shape)[there]
        return values

    def _check(self, part: Part, stored: np.ndarray, first: int, last: int) -> None:
        """Compare with their digests the chunks of a part that have these bytes."""
        begins = [
            begin
            for begin in range(first // CHUNK * CHUNK, last, CHUNK)
            if (part.file, part.offset + begin) not in self._sound
        ]
        found = digests([stored[begin : begin + CHUNK] for begin in begins])
        for begin, digest in zip(begins, found, strict=True):
            if digest != part.digests[begin // CHUNK]:
                raise CheckpointError(
                    f"{self._folder / part.file} is damaged: its bytes from "
                    f"{part.offset + begin} on are not those that were saved."
                )
            self._sound.add((part.file, part.offset + begin))

    def _bytes_of(self, part: Part, storage: np.dtype) -> np.ndarray:
        file = self._mapped.get(part.file)
        if file is None:
            file = self._mapped[part.file] = self._map(self._folder / part.file)
        end = part.offset + math.prod(part.shape) * storage.itemsize
        if end > len(file):
            raise CheckpointError(
                f"{self._folder / part.file} is damaged: it has "
                f"{how_many(len(file), 'byte')}, but a part of the checkpoint ends at "
                f"byte {end}."
            )
        return file[part.offset : end]

    def _map(self, path: Path) -> np.ndarray:
        try:
            if self._folder.is_symlink():
                raise CheckpointError(f"{self._folder} cannot be read: it is a link.")
            with open_file(path) as file:
                # An empty file cannot be mapped; a plain array is quicker to index.
                size = os.fstat(file.fileno()).st_size
                mapped = np.memmap(file, np.uint8, "r") if size else np.empty(0, "u1")
                return np.asarray(mapped)
        except (FileNotFoundError, NotADirectoryError):
            raise CheckpointError(
                f"the checkpoint at {self._folder.parent} is damaged, or was replaced "
                f"while it was read: {path.relative_to(path.parents[1])} is missing."
            ) from None


def _overlap(start: Shape, shape: Shape, part: Part) -> tuple[Any, Any]:
    """The overlap of a block and a part, as an index of each; None without one."""
    here, there = [], []
    for a, n, b, m in zip(start, shape, part.start, part.shape, strict=True):
        low, high = max(a, b), min(a + n, b + m)
        if low >= high:
            return None, None
        here.append(slice(low - a, high - a))
        there.append(slice(low - b, high - b))
    return tuple(here), tuple(there)
