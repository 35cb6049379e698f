"""Buffers over several devices: one part on each, in the order of the devices.

A ``Layout`` says which part each device has. All parts of a buffer have the same shape.
Where devices belong to other processes, this one deals with the parts on its own, the
*local* ones, and everything here is about these.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxlib import xla_client as xc

from covector.errors import ShardingError
from covector.runtime import buffers, client
from covector.runtime.buffers import Buffer, JaxlibError, check_alive, describe, report

Devices: TypeAlias = tuple[client.Device, ...]
#: into how many parts each axis is divided, and the place of each device's part
Division: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


class Layout(NamedTuple):
    """How arrays of some rank are divided over devices."""

    devices: Devices
    #: what jaxlib is told of it
    sharding: xc.GSPMDSharding
    #: whether there are several parts, and several devices with the same one
    partly_replicated: bool
    #: the devices of this process
    local: Devices


def layout(devices: Devices, division: Division, memory_kind: str | None) -> Layout:
    """The layout of arrays that are divided like this."""
    tiles = int(np.prod(division[0]))
    sharding = xc.GSPMDSharding(
        xc.DeviceList(devices),
        _hlo_sharding(division, tiles),
        memory_kind=memory_kind,
    )
    local = tuple(filter(client.is_local, devices))
    return Layout(devices, sharding, 1 < tiles < len(devices), local)


def _hlo_sharding(division: Division, tiles: int) -> xc.HloSharding:
    counts, places = division
    if tiles == 1:
        return xc.HloSharding.replicate()
    copies = len(places) // tiles
    # Devices with the same part stand beside each other, on an axis of their own.
    order = sorted(range(len(places)), key=lambda device: places[device])
    described = xc.OpSharding()
    described.type = xc.OpSharding.Type.OTHER
    described.tile_assignment_dimensions = [*counts, copies]
    described.tile_assignment_devices = order
    described.replicate_on_last_tile_dim = True
    return xc.HloSharding.from_proto(described)


def division(found: xc.OpSharding | None, rank: int, devices: int) -> Division:
    """The division that jaxlib tells of, of an array of this rank."""
    sharding = xc.HloSharding.replicate()
    if found is not None:
        sharding = xc.HloSharding.from_proto(found)
    return _division(sharding, rank, devices)


def _division(sharding: xc.HloSharding, rank: int, devices: int) -> Division:
    if sharding.is_replicated():
        return (1,) * rank, ((0,) * rank,) * devices
    assert sharding.is_tiled(), f"an array on one of the devices only: {sharding}"
    grid = tuple(sharding.tile_assignment_dimensions())
    order = np.array(sharding.tile_assignment_devices()).reshape(grid)
    places = [(0,) * rank] * devices
    for place, device in np.ndenumerate(order):
        places[device] = place[:rank]
    return grid[:rank], tuple(places)


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
    layout: Layout,
) -> Buffer:
    """A buffer of this shape with these parts, copied to the local devices."""
    dtype = values[0].dtype
    semantics = xc.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
    if layout.partly_replicated or 0 in shape:
        # Of these jaxlib 0.10 makes no copies, so they are made here.
        values = [np.array(part) for part in values]
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


def assemble(found: Sequence[Buffer], shape: tuple[int, ...], layout: Layout) -> Buffer:
    """A buffer of this shape whose parts are these buffers, without a copy."""
    whole = describe(shape, found[0].aval.dtype)
    return Buffer(
        whole, layout.sharding, list(found), committed=True, _skip_checks=True
    )


def parts(
    buffer: Buffer, part_shape: tuple[int, ...], memory_kind: str | None = None
) -> list[Buffer]:
    """The local parts of a buffer, each a buffer of its own that shares the memory."""
    check_alive(buffer)
    devices = filter(client.is_local, devices_of(buffer))
    with buffers.no_jax_import:
        found = buffer._arrays
    described = describe(part_shape, buffer.aval.dtype)
    return [
        part._rewrap_with_aval_and_sharding(described, _on_one(device, memory_kind))
        for part, device in zip(found, devices, strict=True)
    ]


def devices_of(buffer: Buffer) -> Devices:
    """The devices that hold the parts, also those of others, in order."""
    return tuple(buffer._sharding._internal_device_list)


def copy_parts(
    found: Sequence[Buffer], devices: Devices, memory_kind: str | None = None
) -> list[Buffer]:
    """Copies of buffers in memory of their own, each on the device beside it."""
    targets = [_on_one(device, memory_kind) for device in devices]
    for buffer in found:
        check_alive(buffer)
    try:
        return xc.batched_copy_array_to_devices_with_sharding(
            list(found),
            [target._internal_device_list for target in targets],
            targets,
            [xc.ArrayCopySemantics.ALWAYS_COPY] * len(targets),
        )
    except JaxlibError as error:
        report(error)
