"""``memory.statistics``: what devices and the process hold, as their allocators say."""

import sys
from dataclasses import asdict, dataclass
from typing import Any

from covector.analysis.memory.tables import Tabular, table
from covector.analysis.terminal import Table
from covector.core.sizes import show_bytes
from covector.runtime import client
from covector.runtime.memory import heap, keeps_memory


@dataclass(frozen=True)
class DeviceMemory:
    """The counts of the allocator of a device, in bytes; None for what it does not say.

    The allocator of the CPU says nothing: its arrays are in the heap of the process.
    """

    device: str
    in_use: int | None
    peak: int | None
    limit: int | None


@dataclass(frozen=True)
class ProcessMemory:
    """The memory of the process, in bytes; None for what the system does not tell.

    resident       in main memory
    peak_resident  the most that was
    heap_in_use    of the heap, what somebody uses
    heap_kept      of the heap, what was freed and is kept for the next arrays
    heap_mapped    blocks beside the heap, which the system gets back when freed
    keeps          whether freed memory is kept (``COVECTOR_KEEP_MEMORY``)
    """

    resident: int | None
    peak_resident: int | None
    heap_in_use: int | None
    heap_kept: int | None
    heap_mapped: int | None
    keeps: bool


@dataclass(frozen=True)
class Statistics(Tabular):
    """The memory of devices and of the process."""

    devices: tuple[DeviceMemory, ...]
    process: ProcessMemory

    def to_dict(self) -> dict[str, Any]:
        """The numbers as JSON has them."""
        return {
            "version": 1,
            "devices": [asdict(d) for d in self.devices],
            "process": asdict(self.process),
        }

    def tables(self) -> list[Table]:
        """The tables that show it."""
        process = self.process
        names = {
            "resident": process.resident,
            "resident at most": process.peak_resident,
            "heap, in use": process.heap_in_use,
            "heap, freed and kept": process.heap_kept,
            "mapped beside the heap": process.heap_mapped,
        }
        rows = [(name, _shown(size)) for name, size in names.items()]
        tables = [table("the process", ("", "memory"), rows)]
        told = [d for d in self.devices if d.in_use is not None]
        if told:
            rows = [
                (d.device, _shown(d.in_use), _shown(d.peak), _shown(d.limit))
                for d in told
            ]
            columns = "device", "in use", "at most", "limit"
            tables.append(table("devices", columns, rows))
        return tables


def _shown(size: int | None) -> str:
    return "?" if size is None else show_bytes(size)


def statistics() -> Statistics:
    """The memory of devices and of the process, as their allocators say.

    By default the heap of the process keeps what is freed, for the next arrays: arrays
    on the CPU that are gone are in ``process.heap_kept``, and ``process.resident`` does
    not fall.

    >>> import covector as cv
    >>> found = cv.memory.statistics()
    >>> found.process.resident is None or found.process.resident > 10_000_000
    True
    """
    devices = [_of_device(d) for d in client.local_devices()]
    found, status = heap(), _status()
    return Statistics(
        tuple(devices),
        ProcessMemory(
            resident=status.get("VmRSS"),
            peak_resident=status.get("VmHWM"),
            heap_in_use=None if found is None else found.in_use,
            heap_kept=None if found is None else found.kept,
            heap_mapped=None if found is None else found.mapped,
            keeps=keeps_memory(),
        ),
    )


def _of_device(device: Any) -> DeviceMemory:
    told = device.memory_stats() or {}
    names = "bytes_in_use", "peak_bytes_in_use", "bytes_limit"
    return DeviceMemory(str(device), *[told.get(name) for name in names])


def _status() -> dict[str, int]:
    """The sizes in ``/proc/self/status``."""
    if sys.platform != "linux":
        return {}
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        fields = [line.split() for line in lines]
    return {f[0].rstrip(":"): 1024 * int(f[1]) for f in fields if f[-1] == "kB"}
