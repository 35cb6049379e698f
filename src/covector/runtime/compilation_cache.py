"""Executables by content, so that no program is compiled twice.

A key is a digest of all that can change the machine code: the StableHLO module without
its source locations, the compile options, the devices, jaxlib's version, ``XLA_FLAGS``
and the CPU's instruction sets. Executables stay in memory, the most recently used ones,
and, where ``COVECTOR_CACHE_DIR`` names a folder, in one file each, for other processes
to find.

    file = MAGIC, digest of the rest, serialized executable

jaxlib loads damaged machine code without complaint, hence the digest. A file that does
not check out is ignored and written anew.
"""

import functools
import hashlib
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import jaxlib.version
from jaxlib import xla_client as xc

Folder: TypeAlias = str | os.PathLike[str]

MAGIC = b"covector executable 1\n"
_HEAD = len(MAGIC) + hashlib.sha256().digest_size
_ENTRIES_IN_MEMORY = 4096


class _Cache:
    """The executables in memory, least recently used first, and the folder on disk."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.executables: OrderedDict[tuple, xc.LoadedExecutable] = OrderedDict()
        self.directory = _as_path(os.environ.get("COVECTOR_CACHE_DIR"))


def _as_path(folder: Folder | None) -> Path | None:
    return Path(folder).expanduser().absolute() if folder else None


_cache = _Cache()


def set_directory(folder: Folder | None) -> None:
    """Keep executables in this folder from now on; with None, in memory only."""
    _cache.directory = _as_path(folder)


def directory() -> Path | None:
    """The folder where executables are kept, or None."""
    return _cache.directory


def clear() -> None:
    """Forget the executables in memory. Files stay."""
    with _cache.lock:
        _cache.executables.clear()


class Entry:
    """The place of one program in the cache, filled or not."""

    def __init__(
        self, program: bytes, options: xc.CompileOptions, devices: Sequence[xc.Device]
    ) -> None:
        self.options = options
        self.devices = tuple(devices)
        self.digest = _digest(
            program,
            options.SerializeAsString(),
            # Two clients may both have a device 0: the name of a file cannot tell them
            # apart and need not, the key in memory does.
            repr([(device.id, device.device_kind) for device in devices]).encode(),
            _machine(devices[0].client),
        )
        self.key = (self.digest, self.devices)

    def find(self) -> xc.LoadedExecutable | None:
        """The executable, from memory or from disk."""
        with _cache.lock:
            found = _cache.executables.get(self.key)
            if found is not None:
                _cache.executables.move_to_end(self.key)
                return found
        serialized = self._read()
        if serialized is None:
            return None
        try:
            found = self.devices[0].client.deserialize_executable(
                serialized, xc.DeviceList(self.devices), self.options
            )
        except xc.XlaRuntimeError:
            return None
        self._remember(found)
        return found

    def keep(self, executable: xc.LoadedExecutable) -> None:
        """Fill the place with a newly compiled executable."""
        self._remember(executable)
        if _cache.directory is not None:
            self._write(executable.client.serialize_executable(executable))

    def _remember(self, executable: xc.LoadedExecutable) -> None:
        with _cache.lock:
            _cache.executables[self.key] = executable
            if len(_cache.executables) > _ENTRIES_IN_MEMORY:
                _cache.executables.popitem(last=False)

    def _path(self) -> Path | None:
        if _cache.directory is None:
            return None
        return _cache.directory / f"{self.digest}.xla"

    def _read(self) -> bytes | None:
        """What an undamaged file holds."""
        path = self._path()
        if path is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        head, serialized = content[:_HEAD], content[_HEAD:]
        return serialized if head == _head(serialized) else None

    def _write(self, serialized: bytes) -> None:
        """Write the file in one step, so that no reader sees a part of it.

        A folder that is full or read-only costs the speed-up, not the computation.
        """
        path = self._path()
        if path is None:
            return
        part = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                part = file.name
                file.write(_head(serialized) + serialized)
            os.replace(part, path)
        except OSError:
            if part is not None:
                Path(part).unlink(missing_ok=True)


def _head(serialized: bytes) -> bytes:
    return MAGIC + hashlib.sha256(serialized).digest()


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


@functools.cache
def _machine(client: xc.Client) -> bytes:
    """What else the machine code depends on: the compiler, its flags, the CPU."""
    facts = (
        jaxlib.version.__version__,
        client.platform,
        client.platform_version,
        # XLA reads its flags once, before the first client.
        os.environ.get("XLA_FLAGS", ""),
        _instruction_sets(),
    )
    return "\n".join(facts).encode()


def _instruction_sets() -> str:
    """Code for a CPU with more of them would crash on this one."""
    try:
        with open("/proc/cpuinfo") as description:
            for line in description:
                if line.startswith(("flags", "Features")):
                    return line
    except OSError:
        pass
    return str(os.uname())
