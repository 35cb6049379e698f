"""The compilation cache: executables by the content of their modules.

A key is a digest of all that can change the machine code: the StableHLO module without
its source locations, the compile options, the devices, jaxlib's version, ``XLA_FLAGS``
and the CPU's instruction sets. Executables stay in memory, the most recently used ones,
and, where ``COVECTOR_CACHE_DIR`` names a folder, in one file each, for other processes
to find.

    file = MAGIC, digest of the rest, the program's key, serialized executable

jaxlib loads damaged machine code without complaint, hence the digest; a file under
another's name would run as that program, hence the key. A file that does not check out
is ignored and written anew.

The files are machine code: whoever can write them can do what this process may do. So a
folder that others can write is not used, and a warning says so.
"""

import functools
import hashlib
import os
import stat
import tempfile
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import jaxlib.version
from jaxlib import xla_client as xc

from covector import variables
from covector.errors import SettingWarning
from covector.runtime import endings

Folder: TypeAlias = str | os.PathLike[str]

MAGIC = b"covector executable 2\n"
_DIGEST = hashlib.sha256().digest_size
_HEAD = len(MAGIC) + 2 * _DIGEST
_ENTRIES_IN_MEMORY = 1024


class _Cache:
    """The executables in memory, least recently used first, and the folder on disk."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may compile, too
        self.executables: OrderedDict[tuple, xc.LoadedExecutable] = OrderedDict()
        self.directory = _as_path(variables.CACHE_DIR.read())
        #: whether nobody else can write the directory; None before its first use
        self.private: bool | None = None


def _as_path(folder: Folder | None) -> Path | None:
    return Path(folder).expanduser().absolute() if folder else None


_cache = _Cache()

#: events, by the names that the ecosystem knows; ``covector.monitoring`` hears them
TRACED = "/jax/core/compile/jaxpr_trace_duration"
LOWERED = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILED = "/jax/core/compile/backend_compile_duration"
_REQUEST = "/jax/compilation_cache/compile_requests_use_cache"
_HIT = "/jax/compilation_cache/cache_hits"
_MISS = "/jax/compilation_cache/cache_misses"
#: who is told of events, and how many seconds those took that take time
listeners: list[Callable[[str, float | None], None]] = []


def tell(event: str, seconds: float | None = None) -> None:
    """Report an event of compilation to those who listen; called if there are any."""
    for listener in listeners:
        listener(event, seconds)


def set_directory(folder: Folder | None) -> None:
    """Keep executables in this folder from now on; with None, in memory only.

    It is made where there is none. A folder that others can write is not used: a
    ``SettingWarning`` says so once.
    """
    _cache.directory, _cache.private = _as_path(folder), None


def directory() -> Path | None:
    """The folder where executables are kept, or None."""
    return _cache.directory


def clear() -> None:
    """Forget the executables in memory. Files stay."""
    with _cache.lock:
        _cache.executables.clear()


class CacheEntry:
    """The entry of one program in the cache, filled or not."""

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
        """The executable, from memory or from disk.

        Raises:
          DeviceError: it is not in memory, and this process cannot have others.
        """
        found = self._find()
        if listeners:
            tell(_REQUEST)
            tell(_MISS if found is None else _HIT)
        return found

    def _find(self) -> xc.LoadedExecutable | None:
        with _cache.lock:
            found = _cache.executables.get(self.key)
            if found is not None:
                _cache.executables.move_to_end(self.key)
                return found
        endings.check_compiler()
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
        """Fill the entry with a newly compiled executable."""
        self._remember(executable)
        if _cache.directory is not None:
            self._write(executable.client.serialize_executable(executable))

    def _remember(self, executable: xc.LoadedExecutable) -> None:
        with _cache.lock:
            _cache.executables[self.key] = executable
            if len(_cache.executables) > _ENTRIES_IN_MEMORY:
                _cache.executables.popitem(last=False)

    def _path(self) -> Path | None:
        """The file of the program; None where there can be none."""
        if _cache.directory is None or not _is_private(_cache.directory):
            return None
        return _cache.directory / f"{self.digest}.xla"

    def _read(self) -> bytes | None:
        """The contents of the file of this program, if it is undamaged."""
        path = self._path()
        if path is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        head, serialized = content[:_HEAD], content[_HEAD:]
        return serialized if head == self._head(serialized) else None

    def _write(self, serialized: bytes) -> None:
        """Write the file in one step, so that no reader sees a part of it.

        A folder that is full or read-only costs the speed-up, not the computation.
        """
        path = self._path()
        if path is None:
            return
        part = None
        try:
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                part = file.name
                file.write(self._head(serialized) + serialized)
            os.replace(part, path)
            part = None
        except OSError:
            pass
        finally:
            if part is not None:
                Path(part).unlink(missing_ok=True)

    def _head(self, serialized: bytes) -> bytes:
        key = bytes.fromhex(self.digest)
        return MAGIC + hashlib.sha256(key + serialized).digest() + key


def _is_private(folder: Path) -> bool:
    """Whether only this user (and root) can write the folder, which is made if need be;
    asked once.
    """
    if _cache.private is None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            problem = _who_else_writes(folder)
        except OSError:
            return False
        _cache.private = problem is None
        if problem is not None:
            warnings.warn(
                f"compiled programs are not kept in {folder} (COVECTOR_CACHE_DIR): "
                f"{problem}, and who can write its files can run code in this process. "
                "Use a folder of your own, with `chmod go-w`.",
                SettingWarning,
                stacklevel=2,
            )
    return _cache.private


def _who_else_writes(folder: Path) -> str | None:
    if os.name != "posix":
        return None
    found = folder.stat()
    if found.st_uid not in (0, os.geteuid()):
        return f"it belongs to another user (number {found.st_uid})"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write it (its mode is {stat.S_IMODE(found.st_mode):o})"
    return None


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


@functools.cache
def _machine(client: xc.Client) -> bytes:
    """Further inputs of the machine code: the compiler, its flags, the CPU."""
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
