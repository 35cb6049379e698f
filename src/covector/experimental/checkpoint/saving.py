"""``save``: a tree of arrays goes to files, each shard written by one process."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from covector.core.array import ConcreteArray
from covector.experimental.checkpoint import files
from covector.experimental.checkpoint.contents import Contents, contents
from covector.experimental.checkpoint.manifest import data_folder
from covector.runtime import buffers, client


class Saving:
    """A checkpoint that is being written.

    It is there once ``wait`` has returned. With one process it is there also when
    ``done()`` says so, or when the program has ended normally; with several, all have
    to call ``wait``, or ``save`` again.
    """

    def __init__(self, directory: Path, number: int, found: Contents) -> None:
        self.directory: Path = directory
        self._number, self._contents = number, found
        self._written: Future[None] | None = None
        self._meets = client.process_count() > 1

    def _write(self, pieces: Any) -> None:
        with files.unharmed(self.directory, self._number):
            files.write(data_folder(self.directory, self._number), pieces)
        if not self._meets:
            self._commit()

    def _commit(self) -> None:
        with files.unharmed(self.directory, self._number):
            files.commit(self.directory, self._number, self._contents)

    def done(self) -> bool:
        """Whether the values are written, or could not be: ``wait`` takes no time."""
        return self._written is None or self._written.done()

    def wait(self) -> None:
        """Wait until the checkpoint is there, and raise what went wrong."""
        written, self._written = self._written, None
        if written is None:
            return
        _now.saving = None
        written.result()
        if self._meets:
            self._commit()


class _Now:
    """The saving that is under way, if one is, and the thread that works on it."""

    def __init__(self) -> None:
        self.saving: Saving | None = None
        self.thread = ThreadPoolExecutor(1, "covector-checkpoint")


_now = _Now()


def save(
    directory: str | os.PathLike[str],
    tree: Any,
    *,
    overwrite: bool = False,
    wait: bool = True,
) -> Saving | None:
    """Save a tree: arrays on any devices, arrays of NumPy, None, Python's numbers, str.

    Of several processes each calls this with the same tree, and writes what its own
    devices hold; what several devices hold is written once. What is not over several
    processes (arrays on one device, of NumPy, numbers) is taken from process 0. The
    directory is on a file system that all share. They wait for each other at the end,
    for as long as ``COVECTOR_PEER_TIMEOUT`` says.

    Args:
      directory: made where there is none; it holds this checkpoint and nothing else.
      overwrite: replace the checkpoint that is there. Until the new one is whole, and
        whatever happens, the old one stays.
      wait: False returns a ``Saving`` as soon as the values have been copied, and
        writes them on a thread. A ``save`` that follows waits for it first.

    Raises:
      CheckpointExists: the directory holds a checkpoint already, or other files.
      ArgumentError: a leaf is none that a checkpoint can hold.
      CheckpointError: the disk is full, or the processes do not see the same
        directory; the old checkpoint stays.
      ProgramMismatch: the processes save different trees.
      PeerLost: one of them is gone, or takes too long; the old checkpoint stays.

    >>> import tempfile
    >>> import covector as cv
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     saving = save(f"{directory}/new", [cv.numpy.ones(3)], wait=False)
    ...     saving.wait()
    """
    if _now.saving is not None:
        _now.saving.wait()
    path = Path(directory).absolute()
    found = contents(tree)
    number = files.begin(path, found, overwrite)
    saving = Saving(path, number, found._replace(leaves=[]))
    if wait:
        saving._write(_pieces(found))
        if saving._meets:
            saving._commit()
        return None
    # Arrays may be donated while the thread writes, so it has copies.
    copies = [(k, start, np.array(values)) for k, start, values in _pieces(found)]
    saving._written = _now.thread.submit(saving._write, copies)
    _now.saving = saving
    return saving


def _pieces(found: Contents) -> Iterator[files.Piece]:
    """The values that this process is to write, one part after another."""
    first = client.process_index() == 0
    for number, leaf in enumerate(found.leaves):
        if isinstance(leaf, np.ndarray | np.generic) and first:
            yield number, (0,) * leaf.ndim, np.asarray(leaf)
        # An array that one process has, every process has: they run one program.
        elif isinstance(leaf, ConcreteArray) and (
            first or not leaf.is_fully_addressable
        ):
            for shard in leaf.addressable_shards:
                if shard.replica_id == 0:
                    pairs = zip(shard.index, leaf.shape, strict=True)
                    start = tuple([s.indices(n)[0] for s, n in pairs])
                    yield number, start, _values(shard.data)


def _values(part: ConcreteArray) -> np.ndarray:
    """The values, without a second copy kept on the host."""
    if part.on_host():
        return np.asarray(part.host())
    return buffers.to_host(part.buffer_over(part.sharding))
