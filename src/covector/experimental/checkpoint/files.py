"""The directory of a checkpoint: how it comes about, and how parts of it are read.

    begin   data-4/ is made, empty; the manifest still names data-3/, if there is one
    write   every process writes its parts there, and says where they are
    commit  process 0 puts these notes together, sees that every array is whole, and
            renames the new manifest over the old one; then data-3/ is removed

Whoever is interrupted leaves a ``data-*`` folder that no manifest names; the next save
removes it. Before ``commit`` all processes meet: where one is gone, none gets there.
"""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from covector.core.types import ArrayType
from covector.errors import CheckpointError, CheckpointExists, CheckpointNotFound
from covector.experimental.checkpoint.contents import (
    Contents,
    Entry,
    Part,
    Shape,
    entry_from_json,
)
from covector.runtime import client, several

_MANIFEST = "manifest.json"
_FORMAT = "covector checkpoint"
_VERSION = 1
#: parts begin at multiples of this, so that they can be mapped into memory as arrays
_ALIGNMENT = 64
_SHARED = (
    "All processes have to save to the same directory, of a file system that they "
    "share."
)


class Manifest(NamedTuple):
    """What a checkpoint says of itself."""

    #: of the data folder
    number: int
    structure: Any
    entries: list[Entry]


#: a leaf by its number, where a block of it begins, and the values of that block
Piece = tuple[int, Shape, np.ndarray]


def data_folder(directory: Path, number: int) -> Path:
    """Where the parts are."""
    return directory / f"data-{number}"


def _data_folders(directory: Path) -> list[Path]:
    return [p for p in directory.glob("data-*") if p.name[5:].isdigit()]


# -- reading ---------------------------------------------------------------------------


def read_manifest(directory: Path) -> Manifest:
    """What the checkpoint in this directory says of itself.

    Raises:
      CheckpointNotFound: there is none, or it was never finished.
      CheckpointError: it is damaged, or of a later version.
    """
    try:
        said = json.loads((directory / _MANIFEST).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointNotFound(_absence(directory)) from None
    except ValueError as error:
        raise CheckpointError(
            f"{directory / _MANIFEST} is damaged: it is not JSON ({error})."
        ) from None
    if not isinstance(said, dict) or said.get("format") != _FORMAT:
        raise CheckpointError(
            f"{directory / _MANIFEST} is not the manifest of a checkpoint that "
            "covector saved."
        )
    if said["version"] > _VERSION:
        raise CheckpointError(
            f"the checkpoint at {directory} has version {said['version']} of the "
            f"format, but this covector knows versions up to {_VERSION}. Restore it "
            "with a later covector."
        )
    entries = [entry_from_json(entry) for entry in said["leaves"]]
    return Manifest(said["number"], said["tree"], entries)


def _absence(directory: Path) -> str:
    if not directory.is_dir():
        return f"there is no checkpoint at {directory}: no such directory."
    if _data_folders(directory):
        return (
            f"the checkpoint at {directory} is unfinished: the program that wrote it "
            "ended before it was whole, or has not finished yet. Restore another one."
        )
    return f"there is no checkpoint at {directory}: it has no {_MANIFEST}."


class Reader:
    """Reads blocks of arrays, each from the parts that it overlaps."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mapped: dict[str, np.ndarray] = {}

    def block(self, entry: Entry, start: Shape, shape: Shape) -> np.ndarray:
        """A copy of a block of an array, in the dtype that stores it."""
        assert entry.type is not None, "only arrays have blocks"
        storage = entry.type.storage
        values = np.empty(shape, storage)
        for part in entry.parts:
            here, there = _overlap(start, shape, part)
            if here is not None:
                values[here] = self._part(part, storage)[there]
        return values

    def _part(self, part: Part, storage: np.dtype) -> np.ndarray:
        stored = self._bytes_of(part.file)
        end = part.offset + math.prod(part.shape) * storage.itemsize
        if end > len(stored):
            raise CheckpointError(
                f"{self._folder / part.file} is damaged: it has {len(stored)} bytes, "
                f"but a part of the checkpoint ends at byte {end}."
            )
        return stored[part.offset : end].view(storage).reshape(part.shape)

    def _bytes_of(self, name: str) -> np.ndarray:
        found = self._mapped.get(name)
        if found is None:
            path = self._folder / name
            try:
                size = path.stat().st_size
                # An empty file cannot be mapped; a plain array is quicker to index.
                mapped = np.memmap(path, np.uint8, "r") if size else np.empty(0, "u1")
                found = np.asarray(mapped)
            except FileNotFoundError:
                raise CheckpointError(
                    f"the checkpoint at {self._folder.parent} is damaged, or was "
                    f"replaced while it was read: {path.relative_to(path.parents[1])} "
                    "is missing."
                ) from None
            self._mapped[name] = found
        return found


def _overlap(start: Shape, shape: Shape, part: Part) -> tuple[Any, Any]:
    """What a block and a part have in common, as an index of each; None for nothing."""
    here, there = [], []
    for a, n, b, m in zip(start, shape, part.start, part.shape, strict=True):
        low, high = max(a, b), min(a + n, b + m)
        if low >= high:
            return None, None
        here.append(slice(low - a, high - a))
        there.append(slice(low - b, high - b))
    return tuple(here), tuple(there)


# -- writing ---------------------------------------------------------------------------


def begin(directory: Path, contents: Contents, overwrite: bool) -> int:
    """Make the folder for the parts of a new checkpoint; its number.

    Raises:
      CheckpointExists: there is something that is not to be replaced.
      CheckpointError: the processes do not see the same directory.
      ProgramMismatch: other processes save another tree.
    """
    number = _next_number(directory, overwrite)
    folder = data_folder(directory, number)
    if client.process_index() == 0:
        shutil.rmtree(folder, ignore_errors=True)
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
    if (directory / _MANIFEST).exists():
        if not overwrite:
            raise CheckpointExists(
                f"save: there is a checkpoint at {directory} already. Pass "
                "overwrite=True to replace it once the new one is whole, or choose "
                "another directory."
            )
        return read_manifest(directory).number + 1
    known = _data_folders(directory)
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
            part = Part(f"{name}.bin", file.tell(), start, values.shape)
            # Dtypes of ml_dtypes have no Python buffer; their bytes do.
            if values.size:
                file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
            notes.append([number, part._asdict()])
        _sync(file)
    _write_text(folder / f"{name}.json", json.dumps(notes))


def commit(directory: Path, number: int, contents: Contents) -> None:
    """Put the new checkpoint in the place of the old one.

    Raises:
      CheckpointError: not all of it was written.
    """
    folder = data_folder(directory, number)
    _meet(f"commit data-{number}", str(number))
    if client.process_index() == 0:
        unfinished = folder / _MANIFEST
        entries = _whole(folder, contents.entries)
        _write_text(unfinished, _manifest_text(number, contents.structure, entries))
        _sync_folder(folder)
        os.replace(unfinished, directory / _MANIFEST)
        _sync_folder(directory)
        for old in _data_folders(directory):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
    _meet(f"leave data-{number}", str(number))


def _manifest_text(number: int, structure: Any, entries: list[Entry]) -> str:
    """The manifest, with a line for each leaf."""
    head = json.dumps({"format": _FORMAT, "version": _VERSION, "number": number})
    leaves = ",\n".join([json.dumps(entry.to_json()) for entry in entries])
    tree = json.dumps(structure)
    return f'{head[:-1]},\n"tree": {tree},\n"leaves": [\n{leaves}\n]}}\n'


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
            f"save: of the {type.size} elements of {path} the processes wrote "
            f"{written}, so there is no checkpoint."
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
    session = several.session()
    if session is not None:
        digest = hashlib.sha256(text.encode()).hexdigest()
        session.everyone.agree(several.Described(name, digest, lambda: text))
