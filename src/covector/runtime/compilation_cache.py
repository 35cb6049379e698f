"""Executables by content, so that no program is compiled twice.

The key is a digest of everything that can change the machine code: the StableHLO module
without its source locations, the compile options, the device, jaxlib's version,
``XLA_FLAGS`` and the CPU's instruction sets. Executables are kept in memory (the most
recently used of them), and, when ``COVECTOR_CACHE_DIR`` names a directory, in one file
each, where other processes find them.

A file holds a magic word, a digest of the rest, and the serialized executable: jaxlib
itself does not notice damaged machine code. A file that does not check out is ignored
and written anew.
"""

import functools
import hashlib
import os
import platform
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path

import jaxlib.version
from jaxlib import xla_client as xc

MAGIC = b"covector executable 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_MEMORY_ENTRIES = 4096


class _Cache:
    """The executables in memory, oldest first, and the directory of the others."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.executables: OrderedDict[bytes, xc.LoadedExecutable] = OrderedDict()
        self.directory: Path | None = None
        self.set_directory(os.environ.get("COVECTOR_CACHE_DIR") or None)

    def set_directory(self, directory: str | os.PathLike[str] | None) -> None:
        self.directory = None if directory is None else Path(directory).expanduser()


_cache = _Cache()


def set_directory(directory: str | os.PathLike[str] | None) -> None:
    """Keep executables in this directory from now on; None keeps them in memory only."""
    _cache.set_directory(directory)


def directory() -> Path | None:
    """Where executables are kept on disk, or None."""
    return _cache.directory


def clear() -> None:
    """Forget the executables in memory; files stay."""
    with _cache.lock:
        _cache.executables.clear()


@functools.cache
def _cpu_features() -> str:
    """The instruction sets of this CPU: machine code for one that has more crashes here."""
    try:
        with open("/proc/cpuinfo") as description:
            for line in description:
                if line.startswith(("flags", "Features")):
                    return line
    except OSError:
        pass
    return f"{platform.machine()} {platform.processor()}"


def key(program: bytes, options: xc.CompileOptions, devices: list[xc.Device]) -> bytes:
    """The digest that stands for an executable."""
    client = devices[0].client
    digest = hashlib.sha256(program)
    for part in (
        options.SerializeAsString(),
        jaxlib.version.__version__.encode(),
        f"{client.platform} {client.platform_version}".encode(),
        repr([(device.id, device.device_kind) for device in devices]).encode(),
        os.environ.get("XLA_FLAGS", "").encode(),
        _cpu_features().encode(),
    ):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def find(
    key: bytes, options: xc.CompileOptions, devices: list[xc.Device]
) -> xc.LoadedExecutable | None:
    """The executable with this key, from memory or from disk."""
    with _cache.lock:
        found = _cache.executables.get(key)
        if found is not None:
            _cache.executables.move_to_end(key)
            return found
    payload = _read(key)
    if payload is None:
        return None
    try:
        on_devices = xc.DeviceList(tuple(devices))
        found = devices[0].client.deserialize_executable(payload, on_devices, options)
    except xc.XlaRuntimeError:
        return None
    _remember(key, found)
    return found


def keep(key: bytes, executable: xc.LoadedExecutable) -> None:
    """Keep a newly compiled executable, in memory and where wanted on disk."""
    _remember(key, executable)
    if _cache.directory is not None:
        _write(key, executable.client.serialize_executable(executable))


def _remember(key: bytes, executable: xc.LoadedExecutable) -> None:
    with _cache.lock:
        _cache.executables[key] = executable
        if len(_cache.executables) > _MEMORY_ENTRIES:
            _cache.executables.popitem(last=False)


def _path(key: bytes) -> Path | None:
    return None if _cache.directory is None else _cache.directory / f"{key.hex()}.xla"


def _read(key: bytes) -> bytes | None:
    """The payload of an undamaged file, or None."""
    path = _path(key)
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + _DIGEST_BYTES
    payload = content[start:]
    if content[:start] != MAGIC + hashlib.sha256(payload).digest():
        return None
    return payload


def _write(key: bytes, payload: bytes) -> None:
    """Write a file so that no reader ever sees a part of it.

    A disk that is full or read-only costs the cache, not the computation.
    """
    path = _path(key)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(name, path)
    except OSError:
        return
