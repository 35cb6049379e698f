"""A description of this installation and machine, as plain data and as text.

Each section of ``describe`` is a small table of words. A part that does not work is
described by its problem: this is what one reads when nothing else runs.
"""

import importlib.metadata
import os
import platform
from collections.abc import Callable
from dataclasses import asdict
from typing import TypeAlias

from covector import namespaces, options
from covector.runtime import client, compilation_cache, memory, plugins
from covector.version import __version__

__all__ = ["as_text", "describe", "print_environment_info"]
__dir__ = namespaces.completions(globals())

Table: TypeAlias = dict[str, str]

_WHEELS = ("jaxlib", "numpy", "ml_dtypes", "opt_einsum")
_VARIABLES = ("COVECTOR_", "JAX_PLATFORMS", "XLA_", "CUDA_VISIBLE_DEVICES")


def versions() -> Table:
    """covector, the wheels it stands on, Python and the machine."""
    return {
        "covector": __version__,
        **{wheel: _version(wheel) for wheel in _WHEELS},
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}, "
        f"{os.cpu_count()} cores",
    }


def _version(wheel: str) -> str:
    try:
        return importlib.metadata.version(wheel)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def devices() -> Table:
    """Every device that programs can run on, by the name that arrays print."""
    found = {"default platform": client.default_platform()}
    for name, backend in client.backends().items():
        for device in backend.devices():
            kind = device.device_kind
            limit = (device.memory_stats() or {}).get("bytes_limit")
            size = f", {limit / 2**30:.0f} GiB for arrays" if limit else ""
            found[f"{name}:{device.id}"] = f"{kind}{size}"
    return found


def found_plugins() -> Table:
    """Every installed PJRT plugin, and why it is of no use where it is not."""
    found = {plugin.name: _condition(plugin) for plugin in plugins.found_plugins()}
    return found or {"none": "for an NVIDIA GPU, pip install 'covector[cuda13]'"}


def _condition(plugin: plugins.Plugin) -> str:
    if plugin.problem is not None or plugin.platform is None:
        return f"not usable: {plugin.problem}"
    try:
        client.client(plugin.platform)
    except RuntimeError as error:
        return f"not usable: {error}"
    return f"in use, {plugin.library}"


def caches() -> Table:
    """The folder of compiled programs."""
    folder = compilation_cache.folder()
    if folder is None:
        return {"programs": "in memory only; COVECTOR_CACHE_DIR names a folder to keep"}
    count, size = folder.sizes()
    return {"programs": f"{folder.path} ({count} files, {size / 2**20:.1f} MiB)"}


def memory_policy() -> Table:
    """The policy for memory that arrays no longer need."""
    if memory.keep_memory():
        return {"freed blocks": "kept for reuse; COVECTOR_KEEP_MEMORY=0 returns them"}
    return {"freed blocks": "left to the C library"}


def options_in_force() -> Table:
    """The options that can change a program."""
    return {name: str(value) for name, value in asdict(options.current()).items()}


def variables() -> Table:
    """Environment variables that covector or XLA reads, where they are set."""
    found = {k: v for k, v in sorted(os.environ.items()) if k.startswith(_VARIABLES)}
    return found or {"none": "nothing is set"}


SECTIONS: dict[str, Callable[[], Table]] = {
    "versions": versions,
    "devices": devices,
    "plugins": found_plugins,
    "caches": caches,
    "memory": memory_policy,
    "options": options_in_force,
    "environment variables": variables,
}


def describe() -> dict[str, Table]:
    """All sections. One that fails holds its error under ``"problem"``."""
    return {title: _attempt(section) for title, section in SECTIONS.items()}


def _attempt(section: Callable[[], Table]) -> Table:
    try:
        return section()
    except (OSError, RuntimeError, ValueError) as error:
        return {"problem": str(error)}


def as_text(tables: dict[str, Table]) -> str:
    """Sections one below the other, the values of each in one column."""
    sections = []
    for title, table in tables.items():
        width = max(map(len, table))
        rows = [f"  {name:<{width}}  {value}" for name, value in table.items()]
        sections.append("\n".join([title, *rows]))
    return "\n\n".join(sections)


def print_environment_info(return_string: bool = False) -> str | None:
    """Print what covector found on this machine, or return it as a string.

    >>> print(print_environment_info(return_string=True).splitlines()[0])
    versions
    """
    text = as_text(describe())
    if return_string:
        return text
    print(text)
    return None
