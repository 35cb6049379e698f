"""Sharded buffers: one shard on each of several devices, in the order of the devices.

A ``ShardLayout`` says which shard each device has. All shards of a buffer have the same
shape. Where some devices belong to other processes, this process handles the shards on
its *local* devices only.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxlib import xla_client as xc

from covector.errors import ShardingError
from covector.runtime import buffers, client
from covector.runtime.buffers import Buffer, JaxlibError, check_alive, describe, report

Devices: TypeAlias = tuple[client.Device, ...]
#: into how many shards each axis is partitioned, and the index of each device's shard
Tiling: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


class ShardLayout(NamedTuple):
    """The partition of arrays of some rank over devices."""

    devices: Devices
    #: the same for jaxlib, which has no types
    sharding: Any
    #: whether there are several shards, and several devices with the same one
    partly_replicated: bool
    #: the devices of this process
    local: Devices


def layout(devices: Devices, tiling: Tiling, memory_kind: str | None) -> ShardLayout:
    """The layout of arrays with this tiling."""
    tiles = int(np.prod(tiling[0]))
    sharding = xc.GSPMDSharding(
        xc.DeviceList(devices),
        _hlo_sharding(tiling, tiles),
        memory_kind=memory_kind,
    )
    local = tuple(filter(client.is_local, devices))
    return ShardLayout(devices, sharding, 1 < tiles < len(devices), local)


def _hlo_sharding(tiling: Tiling, tiles: int) -> xc.HloSharding:
    counts, tile_indices = tiling
    if tiles == 1:
        return xc.HloSharding.replicate()
    copies = len(tile_indices) // tiles
    # Devices with the same shard stand beside each other, on an axis of their own.
    order = sorted(range(len(tile_indices)), key=lambda device: tile_indices[device])
    described = xc.OpSharding()
    described.type = xc.OpSharding.Type.OTHER
    described.tile_assignment_dimensions = [*counts, copies]
    described.tile_assignment_devices = order
    described.replicate_on_last_tile_dim = True
    return xc.HloSharding.from_proto(described)


def tiling(found: xc.OpSharding | None, rank: int, devices: int) -> Tiling:
    """The tiling that jaxlib reports for an array of this rank."""
    sharding = xc.HloSharding.replicate()
    if found is not None:
        sharding = xc.HloSharding.from_proto(found)
    return _tiling(sharding, rank, devices)


def _tiling(sharding: xc.HloSharding, rank: int, devices: int) -> Tiling:
    if sharding.is_replicated():
        return (1,) * rank, ((0,) * rank,) * devices
    assert sharding.is_tiled(), f"an array on one of the devices only: {sharding}"
    grid = tuple(sharding.tile_assignment_dimensions())
    order = np.array(sharding.tile_assignment_devices()).reshape(grid)
    tile_indices = [(0,) * rank] * devices
    for tile_index, device in np.ndenumerate(order):
        tile_indices[device] = tile_index[:rank]
    return grid[:rank], tuple(tile_indices)


@functools.cache
def _on_one(device: client.Device, memory_kind: str | None) -> xc.GSPMDSharding:
    return layout((device,), ((), ((),)), memory_kind).sharding


@functools.cache
def memory_kind(devices: Devices, kind: str | None) -> str:
    """The name of a kind of memory that these devices have; of the usual one for None.

    Raises:
      ShardingError: they have no such memory.
    """
    if kind is None:
        return devices[0].default_memory().kind
    known = [memory.kind for memory in devices[0].addressable_memories()]
    if kind not in known:
        raise ShardingError(
            f"{devices[0]} has no memory of the kind {kind!r}, only "
            f"{', '.join(map(repr, known))}."
        )
    return kind


def put(
    values: Sequence[np.ndarray],
    shape: tuple[int, ...],
    layout: ShardLayout,
) -> Buffer:
    """A buffer of this shape with these shards, copied to the local devices."""
    dtype = values[0].dtype
    semantics = xc.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
    if layout.partly_replicated or 0 in shape:
        # Of these jaxlib 0.10 makes no copies, so they are made here.
        values = [np.array(shard) for shard in values]
        semantics = xc.HostBufferSemantics.ZERO_COPY
    try:
        return xc.batched_device_put(
            describe(shape, dtype),
            layout.sharding,
            list(values),
            list(layout.local),
            True,
            False,
            semantics,
            True,
        )
    except JaxlibError as error:
        report(error)


def assemble(
    found: Sequence[Buffer], shape: tuple[int, ...], layout: ShardLayout
) -> Buffer:
    """A buffer of this shape whose shards are these buffers, without a copy."""
    described = describe(shape, found[0].aval.dtype)
    return Buffer(
        described, layout.sharding, list(found), committed=True, _skip_checks=True
    )


def shards_of(
    buffer: Buffer, shard_shape: tuple[int, ...], memory_kind: str | None = None
) -> list[Buffer]:
    """The local shards of a buffer, each a buffer of its own that shares the memory."""
    check_alive(buffer)
    devices = filter(client.is_local, devices_of(buffer))
    with buffers.no_jax_import:
        found = buffer._arrays
    described = describe(shard_shape, buffer.aval.dtype)
    return [
        shard._rewrap_with_aval_and_sharding(described, _on_one(device, memory_kind))
        for shard, device in zip(found, devices, strict=True)
    ]


def devices_of(buffer: Buffer) -> Devices:
    """The devices that hold the shards, also those of other processes, in order."""
    return tuple(buffer._sharding._internal_device_list)


def copy_shards(
    found: Sequence[Buffer], devices: Devices, memory_kind: str | None = None
) -> list[Buffer]:
    """Copies of buffers, each on the device given with it.

    Between devices of the CPU they are there when this returns: the runtime copies on
    the threads that partitions run on, which would wait in a collective for the one
    partition that waits for its copy.
    """
    targets = [_on_one(device, memory_kind) for device in devices]
    for buffer in found:
        check_alive(buffer)
    try:
        copies = xc.batched_copy_array_to_devices_with_sharding(
            list(found),
            [target._internal_device_list for target in targets],
            targets,
            [xc.ArrayCopySemantics.ALWAYS_COPY] * len(targets),
        )
    except JaxlibError as error:
        report(error)
    if devices and client.device_platform(devices[0]) == "cpu":
        buffers.block_until_ready(copies)
    return copies
