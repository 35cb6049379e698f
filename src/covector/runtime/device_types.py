"""Devices and memories of jaxlib as editors and type checkers see them.

Only these import it: at run time the classes are those of jaxlib, which has no types.
"""

from typing import Any


class Memory:
    """A memory of a device, such as that of the host which a GPU can read."""

    kind: str
    platform: str
    process_index: int

    def addressable_by_devices(self) -> list["Device"]: ...


class Device:
    """A device that runs programs: a CPU, or one GPU."""

    id: int
    platform: str
    device_kind: str
    process_index: int
    local_hardware_id: int
    client: Any

    def default_memory(self) -> Memory: ...
    def addressable_memories(self) -> list[Memory]: ...
    def memory(self, kind: str) -> Memory: ...
    def memory_stats(self) -> dict[str, int] | None: ...
