"""The compilation cache: executables by the content of their modules.

A key is a digest of all that can change the machine code: the StableHLO module without
its source locations, the compile options, the devices, jaxlib's version, ``XLA_FLAGS``
and the CPU's instruction sets. Executables stay in memory, the most recently used ones,
and in a folder for other processes to find (``cache_folder``): the one that
``COVECTOR_CACHE_DIR`` names, or, for programs of the CPU that take long to compile, one
among the caches of the user.
"""

import functools
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import jaxlib.version
from jaxlib import xla_client as xc

from covector import variables
from covector.runtime import endings
from covector.runtime.cache_folder import CacheFolder, user_cache

Folder: TypeAlias = str | os.PathLike[str]

_ENTRIES_IN_MEMORY = 1024


class Found(NamedTuple):
    """An executable, with the bytes that it was loaded from, if it was."""

    loaded: xc.LoadedExecutable
    serialized: bytes | None = None


class _Cache:
    """The executables in memory, least recently used first, and the folder on disk."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may compile, too
        self.executables: OrderedDict[tuple, Found] = OrderedDict()
        self.folder = _folder_of_settings()


def _folder_of_settings() -> CacheFolder | None:
    chosen = variables.CACHE_DIR.read()
    if chosen is not None:
        return _folder(chosen)
    found = user_cache()
    return CacheFolder(found / "programs", chosen=False) if found else None


def _folder(path: Folder | None) -> CacheFolder | None:
    found = Path(path).expanduser().absolute() if path else None
    return CacheFolder(found, chosen=True) if found else None


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
    _cache.folder = _folder(folder)


def directory() -> Path | None:
    """The folder that was chosen for executables, or None."""
    found = _cache.folder
    return found.path if found is not None and found.chosen else None


def folder() -> CacheFolder | None:
    """The folder where executables are kept, chosen or not; None for none."""
    return _cache.folder


def clear() -> None:
    """Forget the executables in memory. Files stay."""
    with _cache.lock:
        _cache.executables.clear()


class CacheEntry:
    """The entry of one program in the cache, filled or not.

    ``functions`` are those of Python that it calls; their names are in the program.
    """

    def __init__(
        self,
        program: bytes,
        options: xc.CompileOptions,
        devices: Sequence[xc.Device],
        functions: Sequence[Callable[..., tuple]] = (),
    ) -> None:
        self.options = options
        self.devices = tuple(devices)
        self.functions = list(functions)
        self.digest = _digest(
            program,
            options.SerializeAsString(),
            # Two clients may both have a device 0: the name of a file cannot tell them
            # apart and need not, the key in memory does.
            repr([(device.id, device.device_kind) for device in devices]).encode(),
            _machine(devices[0].client),
            # Programs that overlap have none, others of equal content have one.
            str(len(functions)).encode(),
        )
        self.key = (self.digest, self.devices)

    def find(self) -> Found | None:
        """The executable, from memory or from disk.

        Raises:
          DeviceError: it is not in memory, and this process cannot have others.
        """
        found = self._find()
        if listeners:
            tell(_REQUEST)
            tell(_MISS if found is None else _HIT)
        return found

    def _find(self) -> Found | None:
        with _cache.lock:
            found = _cache.executables.get(self.key)
            if found is not None:
                _cache.executables.move_to_end(self.key)
                return found
        endings.check_compiler()
        serialized = None
        if _cache.folder is not None and self._is_for(_cache.folder):
            serialized = _cache.folder.read(self.digest)
        if serialized is None:
            return None
        try:
            loaded = self.devices[0].client.deserialize_executable(
                serialized, xc.DeviceList(self.devices), self.options, self.functions
            )
        except xc.XlaRuntimeError:
            return None
        found = Found(loaded, serialized)
        self._remember(found)
        return found

    def keep(self, executable: xc.LoadedExecutable, seconds: float) -> None:
        """Fill the entry with an executable that was compiled in so many seconds."""
        self._remember(Found(executable))
        folder = _cache.folder
        if folder is not None and self._is_for(folder) and folder.takes(seconds):
            folder.write(
                self.digest, executable.client.serialize_executable(executable)
            )

    def _is_for(self, folder: CacheFolder) -> bool:
        """Whether the folder may hold the program: one that nobody has chosen is for
        programs of the CPU, of this process alone.
        """
        if folder.chosen:
            return True
        here = self.devices[0].client.process_index()
        return all(
            [d.platform == "cpu" and d.process_index == here for d in self.devices]
        )

    def _remember(self, executable: Found) -> None:
        with _cache.lock:
            _cache.executables[self.key] = executable
            if len(_cache.executables) > _ENTRIES_IN_MEMORY:
                _cache.executables.popitem(last=False)


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
