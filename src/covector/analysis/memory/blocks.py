"""Blocks of memory: what an array holds, wherever its values are, and who shares it.

An array on the CPU may have its values in a NumPy array, in a buffer, or in both, in
two blocks or in one; over several devices there is a block on each. A view holds all of
the block that it looks into. Blocks are known by their device and address, so that what
several arrays hold is counted once.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from covector.core.array import ConcreteArray
from covector.runtime import buffers, client, shards

#: where values are that NumPy holds
HOST = "host"


class Block(NamedTuple):
    """A piece of memory.

    where    the device, by name; ``host`` for the memory of the process, in which CPU
             devices have theirs as well
    address  its first byte, or what identifies it
    """

    where: str
    address: int
    bytes: int


def blocks_of(array: ConcreteArray) -> list[Block]:
    """The blocks that an array holds; none if it was deleted."""
    return list({block[:2]: block for block in _blocks(array)}.values())


def _blocks(array: ConcreteArray) -> Iterator[Block]:
    host, buffer = array._host, array._buffer
    if buffer is not None and not buffer.is_deleted():
        found = [buffer]
        if len(shards.devices_of(buffer)) > 1:
            sharding = array.sharding
            shape = sharding.shard_shape(array.shape)
            found = shards.shards_of(buffer, shape, sharding.memory_kind)
        for shard in found:
            size = shard.on_device_size_in_bytes()
            if size:
                yield Block(_where(shard), _address(shard), size)
    if host is not None:
        owner = _owner(host)
        if owner.nbytes:
            address = id(owner)
            if isinstance(owner, np.ndarray):
                address = owner.__array_interface__["data"][0]
            yield Block(HOST, address, owner.nbytes)


def _where(buffer: Any) -> str:
    device = buffers.device_of(buffer)
    return HOST if client.device_platform(device) == "cpu" else str(device)


def _address(buffer: Any) -> int:
    try:
        return buffer.unsafe_buffer_pointer()
    except buffers.JaxlibError:  # what was to fill it failed
        return id(buffer)


def _owner(values: Any) -> Any:
    """The NumPy array, or number, whose memory an array looks into."""
    while isinstance(getattr(values, "base", None), np.ndarray):
        values = values.base
    return values
