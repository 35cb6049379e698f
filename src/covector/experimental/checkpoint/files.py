"""The files of a checkpoint directory, and the order in which they are written.

    begin   data-4/ is made, empty; the manifest still names data-3/, if there is one
    write   every process writes its parts there, and says where they are
    commit  process 0 puts these notes together, sees that every array is whole, and
            renames the new manifest over the old one; then data-3/ is removed

Whoever is interrupted leaves a ``data-*`` folder that no manifest names; the next save
removes it. Before ``commit`` all processes meet: where one is gone, none gets there.

A disk that is full, or that fails, leaves what was in force before (``unharmed``).
"""

import contextlib
import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from covector.core.types import ArrayType
from covector.errors import CheckpointError, CheckpointExists, CovectorError, how_many
from covector.experimental.checkpoint import manifest
from covector.experimental.checkpoint.contents import (
    CHUNK,
    Contents,
    Entry,
    Part,
    Shape,
)
from covector.runtime import client, multi_process

#: parts begin at multiples of this, so that they can be mapped into memory as arrays
_ALIGNMENT = 64
_SHARED = (
    "All processes have to save to the same directory, of a file system that they "
    "share."
)


#: a leaf by its number, where a block of it begins, and the values of that block
Piece = tuple[int, Shape, np.ndarray]


def begin(directory: Path, contents: Contents, overwrite: bool) -> int:
    """Make the folder for the parts of a new checkpoint; its number.

    Raises:
      CheckpointExists: there is something that is not to be replaced.
      CheckpointError: the processes do not see the same directory.
      ProgramMismatch: other processes save another tree.
    """
    number = _next_number(directory, overwrite)
    folder = manifest.data_folder(directory, number)
    if client.process_index() == 0:
        shutil.rmtree(folder, ignore_errors=True)
        with unharmed(directory, number):
            folder.mkdir(parents=True)
    _meet(f"save to data-{number}", f"{number}\n{contents}")
    if not folder.is_dir():
        raise CheckpointError(
            f"save: process {client.process_index()} does not see {folder}, which "
            f"process 0 made. {_SHARED}"
        )
    return number


def _next_number(directory: Path, overwrite: bool) -> int:
    if directory.exists() and not directory.is_dir():
        raise CheckpointExists(f"save: {directory} is a file, and not a directory.")
    if (directory / manifest.NAME).exists():
        if not overwrite:
            raise CheckpointExists(
                f"save: there is a checkpoint at {directory} already. Pass "
                "overwrite=True to replace it once the new one is whole, or choose "
                "another directory."
            )
        return (
            in_force(directory) or max(manifest.data_folders(directory), default=0)
        ) + 1
    known = manifest.data_folders(directory).values()
    if directory.is_dir() and (more := set(directory.iterdir()) - set(known)):
        raise CheckpointExists(
            f"save: {directory} holds other files, such as {min(more).name!r}. A "
            "checkpoint has a directory of its own."
        )
    return 1


def write(folder: Path, pieces: Iterable[Piece]) -> None:
    """Write the parts that this process has, and a note of where each is."""
    name = f"parts-{client.process_index()}"
    notes = []
    with (folder / f"{name}.bin").open("wb") as file:
        for number, start, values in pieces:
            file.write(bytes(-file.tell() % _ALIGNMENT))
            # Dtypes of ml_dtypes have no Python buffer; their bytes do. NumPy cannot
            # view an array without elements as another dtype.
            flat = np.ascontiguousarray(values).reshape(-1)
            stored = flat.view(np.uint8) if flat.size else np.empty(0, np.uint8)
            chunks = [stored[k : k + CHUNK] for k in range(0, len(stored), CHUNK)]
            digests = tuple(manifest.digests(chunks))
            part = Part(f"{name}.bin", file.tell(), start, values.shape, digests)
            file.write(stored.data)
            notes.append([number, part._asdict()])
        _sync(file)
    _write_text(folder / f"{name}.json", json.dumps(notes))


@contextlib.contextmanager
def unharmed(directory: Path, number: int) -> Iterator[None]:
    """In this block a checkpoint is written: a failure of the disk leaves the one that
    is in force, and nothing of the new one.

    Raises:
      CheckpointError: the disk is full, or cannot be written.
    """
    try:
        yield
    except CovectorError:
        raise
    except OSError as error:
        now = in_force(directory)
        # Others may be writing there still; the next save removes what they leave.
        if now != number and client.process_count() == 1:
            shutil.rmtree(manifest.data_folder(directory, number), ignore_errors=True)
        raise CheckpointError(
            f"save: {directory} could not be written: {error.strerror or error}. "
            f"{'There is no checkpoint.' if now is None else _KEPT[now == number]}"
        ) from error


#: which checkpoint is there after a failure, by whether the new one is
_KEPT = {
    False: "The checkpoint that was there before is there still.",
    True: "The new checkpoint is there, but may not survive a failure of power.",
}


def in_force(directory: Path) -> int | None:
    """The number of the data folder that the manifest names; None where it is damaged,
    or there is none.
    """
    try:
        return manifest.read_manifest(directory).number
    except CheckpointError:
        return None


def commit(directory: Path, number: int, contents: Contents) -> None:
    """Put the new checkpoint in the place of the old one.

    Raises:
      CheckpointError: not all of it was written.
    """
    folder = manifest.data_folder(directory, number)
    _meet(f"commit data-{number}", str(number))
    if client.process_index() == 0:
        unfinished = folder / manifest.NAME
        entries = _whole(folder, contents.entries)
        text = manifest.manifest_text(number, contents.structure, entries)
        _write_text(unfinished, text)
        _sync_folder(folder)
        os.replace(unfinished, directory / manifest.NAME)
        _sync_folder(directory)
        for old in manifest.data_folders(directory).values():
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
    _meet(f"leave data-{number}", str(number))


def _whole(folder: Path, entries: list[Entry]) -> list[Entry]:
    """The entries with the parts of all processes."""
    found: list[list[Part]] = [[] for _ in entries]
    for process in range(client.process_count()):
        path = folder / f"parts-{process}.json"
        try:
            notes = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise CheckpointError(
                f"save: process {process} left no parts in {folder}. {_SHARED}"
            ) from None
        for number, part in notes:
            found[number].append(Part(**part))
        path.unlink()
    whole = []
    for entry, parts in zip(entries, found, strict=True):
        _check_whole(entry.path, entry.type, parts)
        whole.append(Entry(entry.path, entry.kind, entry.type, entry.value, parts))
    return whole


def _check_whole(path: str, type: ArrayType | None, parts: list[Part]) -> None:
    written = sum(math.prod(part.shape) for part in parts)
    if type is not None and written != type.size:
        raise CheckpointError(
            f"save: of the {how_many(type.size, 'element')} of {path} the processes "
            f"wrote {written}, so there is no checkpoint."
        )


def _write_text(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        _sync(file)


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """Have the names in a folder survive a failure of power, as files do."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _meet(name: str, text: str) -> None:
    """Wait until all processes are here, and about to do the same."""
    session = multi_process.session()
    if session is not None:
        digest = hashlib.sha256(text.encode()).hexdigest()
        session.everyone.agree(multi_process.ProgramDigest(name, digest, lambda: text))
