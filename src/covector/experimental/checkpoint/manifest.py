"""The manifest of a checkpoint: written last, and validated when it is read.

    {"format": "covector checkpoint", "version": 2, "digest": "5f70…",
    "number": 3,
    "tree": …,
    "leaves": [ … ]}

The digest is that of the text after the first line. Whatever is not as it was written,
and whatever no ``save`` would write, is a ``CheckpointError`` that names the file.
"""

import contextlib
import hashlib
import json
import os
import reprlib
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from covector.errors import CheckpointError, CheckpointNotFound
from covector.experimental.checkpoint.contents import (
    Entry,
    Malformed,
    entry_from_json,
    tree_from_json,
)

NAME = "manifest.json"
_FORMAT = "covector checkpoint"
_VERSION = 2


class Manifest(NamedTuple):
    """The contents of a manifest."""

    #: of the data folder
    number: int
    #: with the numbers of the entries as leaves
    tree: Any
    entries: list[Entry]


def data_folder(directory: Path, number: int) -> Path:
    """The directory of the parts."""
    return directory / f"data-{number}"


def data_folders(directory: Path) -> dict[int, Path]:
    """The folders of parts that there are, whole or not, by number."""
    found = [(p.name.removeprefix("data-"), p) for p in directory.glob("data-*")]
    return {int(n): p for n, p in found if n.isascii() and n.isdecimal()}


# -- reading ---------------------------------------------------------------------------


def read_manifest(directory: Path) -> Manifest:
    """The manifest of the checkpoint in this directory.

    Raises:
      CheckpointNotFound: there is none, or it was never finished.
      CheckpointError: it is damaged, or of another version.
    """
    path = directory / NAME
    try:
        with open_file(path) as file:
            text = file.read().decode("utf-8")
        data = json.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointNotFound(_absence(directory)) from None
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: it is not JSON ({error}).") from None
    except RecursionError:
        raise CheckpointError(f"{path} is damaged: it is nested too deeply.") from None
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise CheckpointError(
            f"{path} is not the manifest of a checkpoint that covector saved."
        )
    version = data.get("version")
    if type(version) is not int or version != _VERSION:
        raise CheckpointError(
            f"the checkpoint at {directory} has version {version} of the format, but "
            f"this covector reads version {_VERSION}. Restore it with the covector "
            "that saved it."
        )
    try:
        return _manifest(data, text.partition("\n")[2])
    except Malformed as error:
        raise CheckpointError(f"{path} is damaged: {error}.") from None
    except RecursionError:
        raise CheckpointError(f"{path} is damaged: it is nested too deeply.") from None


def _manifest(data: dict[str, Any], content: str) -> Manifest:
    if data.get("digest") != digest(content.encode()):
        raise Malformed("its content is not the one that its digest is of")
    number, leaves = data.get("number"), data.get("leaves")
    if type(number) is not int or number < 1:
        raise Malformed(f"its number is none, {reprlib.repr(number)}")
    if not isinstance(leaves, list):
        raise Malformed("it has no list of leaves")
    entries = [entry_from_json(entry) for entry in leaves]
    if len({entry.path for entry in entries}) != len(entries):
        raise Malformed("two of its leaves have the same path")
    return Manifest(number, tree_from_json(data.get("tree"), len(entries)), entries)


def _absence(directory: Path) -> str:
    if not directory.is_dir():
        return f"there is no checkpoint at {directory}: no such directory."
    if data_folders(directory):
        return (
            f"the checkpoint at {directory} is unfinished: the program that wrote it "
            "ended before it was whole, or has not finished yet. Restore another one."
        )
    return f"there is no checkpoint at {directory}: it has no {NAME}."


def open_file(path: Path) -> Any:
    """A file to read, of the checkpoint itself: no link to another, and no device.

    Raises:
      CheckpointError: it is none, or cannot be read.
      OSError: there is no such file.
    """
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):  # where known
        flags |= getattr(os, name, 0)
    try:
        opened = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        why = "it is a link" if path.is_symlink() else error.strerror
        raise CheckpointError(f"{path} cannot be read: {why}.") from None
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise CheckpointError(f"{path} cannot be read: it is not a file.")
    return open(opened, "rb")


# -- writing ---------------------------------------------------------------------------


def manifest_text(number: int, structure: Any, entries: list[Entry]) -> str:
    """The manifest, with a line for each leaf."""
    leaves = ",\n".join([json.dumps(entry.to_json()) for entry in entries])
    tree = json.dumps(structure)
    return sealed(f'"number": {number},\n"tree": {tree},\n"leaves": [\n{leaves}\n]}}\n')


def sealed(content: str) -> str:
    """The text of a manifest with this content, after a first line with its digest."""
    known = digest(content.encode())
    head = json.dumps({"format": _FORMAT, "version": _VERSION, "digest": known})
    return f"{head[:-1]},\n{content}"


# -- digests ---------------------------------------------------------------------------


def digest(content: Any) -> str:
    """The digest of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def digests(chunks: list[Any]) -> list[str]:
    """The digests of chunks, on all cores where there are several."""
    if len(chunks) > 1:
        # A program that ends starts no more threads, and still saves.
        with contextlib.suppress(RuntimeError), ThreadPoolExecutor() as pool:
            return list(pool.map(digest, chunks))
    return list(map(digest, chunks))
