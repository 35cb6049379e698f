"""Transfers of array values between the host and shardings.

    host → devices     to_devices   each device is sent its shard
    devices → host     to_host      the shards are assembled
    devices → devices  reshard      a shard that exists on some device is copied from
                                    there; otherwise the values pass through the host

This is correct for all shardings. On accelerators that hold the array already a
compiled program is quicker, for it moves shards between devices directly;
``device_put`` uses it there.

The options ``transfer_guard…`` forbid or log transfers: the *implicit* ones, that
follow from what a program does, or also those that it asks for by name
(``device_put``, ``device_get``). Whoever moves values asks ``guard.on`` before, and
then ``guard.check``.
"""

import logging
import threading
from typing import Any

import numpy as np

from covector import options
from covector.core.sharding.shardings import Index, Sharding
from covector.core.types import ArrayType
from covector.errors import DisallowedTransfer, ShardingError, how_many
from covector.runtime import buffers, client, memory, shards

logger: logging.Logger = logging.getLogger("covector.transfer")


class TransferGuard:
    """Whether transfers are watched, and what happens where they are."""

    #: whether any thread watches: while none does, nothing is asked
    on = False

    def __init__(self) -> None:
        self._asked_for = threading.local()

    def install(self, on: bool) -> None:
        self.on: bool = on

    def __enter__(self) -> None:
        """Until the block ends, transfers of this thread are explicit."""
        self._asked_for.depth = getattr(self._asked_for, "depth", 0) + 1

    def __exit__(self, *_: object) -> None:
        self._asked_for.depth -= 1

    def check(self, direction: str, what: object, way_out: str) -> None:
        """Log a transfer of ``what``, or raise, as the options have it.

        Args:
          direction: "host_to_device", "device_to_device" or "device_to_host".

        Raises:
          DisallowedTransfer: it is forbidden.
        """
        now = options.current()
        of_direction = getattr(now, f"transfer_guard_{direction}")
        level = of_direction or now.transfer_guard or "allow"
        explicit = getattr(self._asked_for, "depth", 0) > 0
        if level == "allow" or (explicit and not level.endswith("_explicit")):
            return
        kind = "explicit" if explicit else "implicit"
        text = f"{kind} {direction.replace('_', '-')} transfer of {what}"
        if level.startswith("log"):
            logger.warning("%s", text)
            return
        raise DisallowedTransfer(
            f"{text}: transfer_guard_{direction} is {level!r} here. "
            f"{'Allow it with a block around.' if explicit else way_out}"
        )


guard: TransferGuard = TransferGuard()
options.Switch(options.TRANSFER_GUARDS, guard.install)


def to_devices(
    values: np.ndarray, type: ArrayType, sharding: Sharding
) -> buffers.Buffer:
    """Values of the host, sharded over devices.

    Raises:
      ShardingError: the sharding does not fit the shape.
    """
    check_devices(sharding)
    indices = sharding.addressable_devices_indices_map(type.shape)
    values = np.asarray(values)
    return shards.put(
        [np.asarray(values[index]) for index in indices.values()],
        type.shape,
        sharding.layout(type.ndim),
    )


def to_host(buffer: buffers.Buffer, type: ArrayType, sharding: Sharding) -> np.ndarray:
    """All values of a buffer over several devices, read-only.

    Raises:
      ShardingError: another process has some of them.
    """
    found = _shards(buffer, type, sharding)
    if sharding.is_fully_replicated and found:
        return buffers.to_host(found[0])
    _check_all_here(type, sharding)
    indices = sharding.devices_indices_map(type.shape)
    try:
        values = np.empty(type.shape, type.storage)
    except MemoryError as error:
        raise memory.out_of_memory(error) from None
    done: set[Any] = set()
    for shard, index in zip(found, indices.values(), strict=True):
        bounds = _bounds(index)
        if bounds not in done:
            done.add(bounds)
            values[index] = buffers.to_host(shard)
    values.flags.writeable = False
    return values


def reshard(
    buffer: buffers.Buffer, type: ArrayType, source: Sharding, target: Sharding
) -> buffers.Buffer:
    """A buffer with these values and the sharding ``target``; shards that are on their
    device already share the memory.

    Raises:
      ShardingError: the target does not fit the shape.
    """
    check_devices(target)
    indices = target.addressable_devices_indices_map(type.shape)
    found = _shards(buffer, type, source)
    homes = source.addressable_devices_indices_map(type.shape)
    here = {
        (device, _bounds(index)): shard
        for (device, index), shard in zip(homes.items(), found, strict=True)
    }
    anywhere = {bounds: shard for (_, bounds), shard in reversed(here.items())}
    same_memory = source.memory_kind == target.memory_kind
    wanted = [(device, _bounds(index)) for device, index in indices.items()]
    one_client = len({d.client for d in (*homes, *indices)}) == 1
    if not one_client or any(bounds not in anywhere for _, bounds in wanted):
        return to_devices(to_host(buffer, type, source), type, target)
    sources = [here.get(home) if same_memory else None for home in wanted]
    missing = [k for k, shard in enumerate(sources) if shard is None]
    copies = shards.copy_shards(
        [anywhere[wanted[k][1]] for k in missing],
        tuple([wanted[k][0] for k in missing]),
        target.memory_kind,
    )
    for k, made in zip(missing, copies, strict=True):
        sources[k] = made
    return shards.assemble(sources, type.shape, target.layout(type.ndim))  # type: ignore[arg-type]


def copy(buffer: buffers.Buffer, type: ArrayType, sharding: Sharding) -> buffers.Buffer:
    """The same values on the same devices, in new memory."""
    found = _shards(buffer, type, sharding)
    layout = sharding.layout(type.ndim)
    copies = shards.copy_shards(found, layout.local, sharding.memory_kind)
    return shards.assemble(copies, type.shape, layout)


def check_devices(sharding: Sharding) -> None:
    """Raise where arrays cannot be put on this sharding.

    Raises:
      ShardingError: it has no devices, or none of this process, or leaves an axis to
        the compiler.
    """
    if not sharding.flat_devices:
        raise ShardingError(
            f"{sharding} has no devices, so no array can be put there. Use a Mesh: "
            "covector.make_mesh(...)."
        )
    if not any(map(client.is_local, sharding.flat_devices)):
        raise ShardingError(
            f"all devices of {sharding} belong to other processes, so no array can be "
            "put there from here. This process has covector.local_devices()."
        )
    spec = getattr(sharding, "spec", None)
    if spec is not None and spec.is_open:
        raise ShardingError(
            f"{sharding} leaves an axis to the compiler, so it does not say where an "
            "array is to be. P.UNCONSTRAINED is for with_sharding_constraint."
        )


def _check_all_here(type: ArrayType, sharding: Sharding) -> None:
    if sharding.is_fully_addressable:
        return
    raise ShardingError(
        f"the values of an array of type {type} are not all in this process: it is "
        f"over {sharding}, and of its {how_many(sharding.num_devices, 'device')} "
        f"{len(sharding.addressable_devices)} are here. Gather it in every process, "
        "with covector.experimental.multihost_utils.process_allgather(x, tiled=True), "
        "look at the shards that are here with x.addressable_shards, or reduce it in a "
        "program whose result is replicated."
    )


def _shards(
    buffer: buffers.Buffer, type: ArrayType, sharding: Sharding
) -> list[buffers.Buffer]:
    shape = sharding.shard_shape(type.shape)
    return shards.shards_of(buffer, shape, sharding.memory_kind)


def _bounds(index: Index) -> tuple[tuple[int | None, int | None], ...]:
    # Slices have no hash before Python 3.12.
    return tuple([(s.start, s.stop) for s in index])
