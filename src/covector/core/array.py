"""``ConcreteArray``: an array with known values, on the host, on a device, or both.

    ┌ host    a NumPy array that nobody writes to        made on demand from the other,
    └ buffer  a PJRT buffer on a device, maybe pending   and then kept

Small eager operations work on ``host`` and never meet the compiler; compiled programs
work on ``buffer``. Which of the two an array holds is invisible from outside.

``placement`` is the sharding that the user chose, or that follows from one; None where
the array may go anywhere. Only an array with a placement can be over several devices.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covector import options
from covector.core.exported import Exported
from covector.core.host_values import read_only, with_dtype
from covector.core.sharding import transfer
from covector.core.sharding.as_sharding import Format, as_sharding, format_of
from covector.core.sharding.shardings import Index, Sharding, SingleDeviceSharding
from covector.core.types import ArrayType
from covector.errors import AxisError, DeletedArrayError
from covector.runtime import buffers, client, memory, shards


class ConcreteArray(Exported):
    """An immutable array with known values."""

    __slots__ = ("_buffer", "_host", "placement", "type")

    def __init__(
        self,
        type: ArrayType,
        host: Any = None,
        buffer: Any = None,
        placement: Sharding | None = None,
    ) -> None:
        self.type: ArrayType = type
        self._host = host
        self._buffer = buffer
        self.placement: Sharding | None = placement

    # -- the two representations -------------------------------------------------------

    def host(self) -> Any:
        """The values as NumPy sees them, waiting for them if they are being
        computed.
        """
        if self._host is None:
            self.check_usable()
            if transfer.guard.on and self.platform() != "cpu":
                way_out = "Ask for the values: covector.device_get(x)."
                transfer.guard.check("device_to_host", self.type, way_out)
            if self.is_sharded:
                self._host = transfer.to_host(self._buffer, self.type, self.sharding)
            else:
                self._host = buffers.to_host(self._buffer)
        return self._host

    @property
    def is_sharded(self) -> bool:
        """Whether the values are not all in the usual memory of one device."""
        return self.placement is not None and self.placement.single is None

    def buffer(self, device: Any) -> Any:
        """The values as a PJRT buffer on ``device``."""
        found = self._buffer
        if found is None:
            self.check_usable()
            found = self._buffer = buffers.put(np.asarray(self._host), device)
            return found
        placement = self.placement
        if placement is not None and placement.single is None:
            return self.buffer_over(SingleDeviceSharding(device))
        if buffers.device_of(found) is not device:
            if transfer.guard.on:
                _check_move(self.type, device)
            return buffers.copy_to_device(found, device)
        return found

    def buffer_over(self, sharding: Sharding) -> Any:
        """The values as a PJRT buffer over the devices of ``sharding``."""
        self.check_usable()
        if self._buffer is None:
            return transfer.to_devices(np.asarray(self._host), self.type, sharding)
        if self.sharding is sharding:
            return self._buffer
        if transfer.guard.on and not sharding.is_equivalent_to(
            self.sharding, self.ndim
        ):
            _check_move(self.type, sharding)
        return transfer.reshard(self._buffer, self.type, self.sharding, sharding)

    def on_host(self) -> bool:
        """Whether it is right, and costs nothing, to work with the values on the
        host.
        """
        found = self._buffer
        # One that is gone has no platform to ask for; ``host`` says that it is gone.
        if self._host is None and (
            found is None or not (found.is_deleted() or found.platform() == "cpu")
        ):
            return False
        placement = self.placement
        return placement is None or placement.single is not None

    def check_usable(self) -> None:
        """Raise DeletedArrayError if the values are gone."""
        if self._host is None and (self._buffer is None or self._buffer.is_deleted()):
            raise DeletedArrayError(
                f"An array of type {self.type} was used after it was deleted, or "
                "donated to a jitted function (donate_argnums). Use what the function "
                "returned, or pass a copy: f(x.copy())."
            )

    def forget(self) -> None:
        """Drop the values: the buffer has been donated."""
        self._host = self._buffer = None

    # -- for users ---------------------------------------------------------------------

    def delete(self) -> None:
        """Free the memory of this array now; using it afterwards is an error."""
        if self._buffer is not None:
            buffers.delete(self._buffer)
        self.forget()

    def is_deleted(self) -> bool:
        if self._host is None and self._buffer is None:
            return True
        return self._host is None and buffers.is_deleted(self._buffer)

    def is_ready(self) -> bool:
        """Whether the values have been computed."""
        self.check_usable()
        return self._buffer is None or buffers.is_ready(self._buffer)

    def block_until_ready(self) -> "ConcreteArray":
        """Wait for the values, and raise what went wrong in computing them."""
        self.check_usable()
        if self._buffer is not None:
            buffers.block_until_ready([self._buffer])
        return self

    @property
    def sharding(self) -> Sharding:
        """Which device holds which elements.

        Values that no program has needed on a device yet are on the default one.
        """
        if self.placement is not None:
            return self.placement
        if self._buffer is not None:
            return SingleDeviceSharding(buffers.device_of(self._buffer))
        return SingleDeviceSharding(
            options.current().default_device or client.default_device()
        )

    @property
    def format(self) -> Format:
        """The sharding, with the layout, which is row-major for all arrays."""
        return format_of(self.ndim, self.sharding)

    @property
    def device(self) -> Any:
        """The device that holds this array; of several, the sharding."""
        sharding = self.sharding
        return sharding if sharding.num_devices > 1 else sharding.flat_devices[0]

    def devices(self) -> set[Any]:
        """The devices that hold this array."""
        return self.sharding.device_set

    @property
    def committed(self) -> bool:
        """Whether the user chose where this array is."""
        return self.placement is not None

    def platform(self) -> str:
        """The platform of the device: "cpu" or "gpu"."""
        return client.device_platform(self.sharding.flat_devices[0])

    def to_device(self, device: Any, *, stream: Any = None) -> "ConcreteArray":
        """The same values on a device, or where a sharding says; operations on them
        will then run there.

        Args:
          device: a device, a ``Sharding``, or a ``PartitionSpec`` for the mesh in
            force; None leaves the array where it is.
          stream: accepted for the array API standard; transfers are put in order
            anyway.

        Raises:
          DeviceError: ``device`` is none of these.
          ShardingError: the sharding does not fit the array.
        """
        self.check_usable()
        if device is None:
            return self
        placement = as_sharding(device, "to_device")
        target = placement.single
        if target is None or self.is_sharded:
            moved = self.buffer_over(placement)
            if moved is self._buffer:
                moved = transfer.copy(moved, self.type, placement)
            return ConcreteArray(self.type, None, moved, placement)
        transfer.check_devices(placement)
        placement.shard_shape(self.shape)
        if self._host is not None and client.device_platform(target) == "cpu":
            return ConcreteArray(self.type, self._host, None, placement)
        if self._buffer is None:
            moved = buffers.put(np.asarray(self._host), target)
        else:
            moved = buffers.copy_to_device(self._buffer, target, always=True)
        return ConcreteArray(self.type, None, moved, placement)

    def copy_to_host_async(self) -> None:
        """Begin to bring the values to the host, where reading them will find them.

        Values on the CPU are there already; from other devices this waits for them.
        """
        self.host()

    def clone(self) -> "ConcreteArray":
        """The same values in memory of their own."""
        return self.copy()

    def copy(self) -> "ConcreteArray":
        """The same values in memory of their own."""
        if self.is_sharded:
            copied = transfer.copy(self._buffer, self.type, self.sharding)
            return ConcreteArray(self.type, None, copied, self.placement)
        if self._buffer is not None and not self.on_host():
            copied = buffers.copy_to_device(self._buffer, self.device, always=True)
            return ConcreteArray(self.type, None, copied, self.placement)
        try:
            values = np.array(self.host())
        except MemoryError as error:
            raise memory.out_of_memory(error) from None
        return ConcreteArray(self.type, values, None, self.placement)

    # -- shards ------------------------------------------------------------------------

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process can read all of the values."""
        return self.sharding.is_fully_addressable

    @property
    def _is_readable(self) -> bool:
        """Whether this process has all values, of some device or other."""
        return self.placement is None or (
            self.is_fully_addressable or self.is_fully_replicated
        )

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device that holds the array holds all of it."""
        return self.sharding.is_fully_replicated

    @property
    def addressable_shards(self) -> "list[Shard]":
        """The shards that this process can read, with the device and index of each."""
        return [shard for shard in self.global_shards if shard.data is not None]

    @property
    def global_shards(self) -> "list[Shard]":
        """All shards, with device and index; None for the data of other processes."""
        self.check_usable()
        sharding, shape = self.sharding, self.shape
        indices = sharding.devices_indices_map(shape)
        if sharding.single is not None:
            return numbered(indices, [self])
        kind = sharding.memory_kind
        shard_type = self.type.with_shape(sharding.shard_shape(shape))
        local = sharding.layout(self.ndim).local
        here = {
            device: ConcreteArray(
                shard_type, None, shard, SingleDeviceSharding(device, memory_kind=kind)
            )
            for device, shard in zip(
                local,
                shards.shards_of(self._buffer, shard_type.shape, kind),
                strict=True,
            )
        }
        return numbered(indices, list(map(here.get, indices)))

    def addressable_data(self, index: int) -> "ConcreteArray":
        """The values of one shard, counted among those that this process can read."""
        shards = self.addressable_shards
        if not -len(shards) <= index < len(shards):
            raise AxisError(
                f"addressable_data({index}) of an array of type {self.type}, which has "
                f"{len(shards)} {'shard' if len(shards) == 1 else 'shards'} here."
            )
        return shards[index].data

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickle, (self.type, read_only(np.asarray(self.host()))))

    def __copy__(self) -> "ConcreteArray":
        return self.copy()

    def __deepcopy__(self, memo: dict[Any, Any]) -> "ConcreteArray":
        return self.copy()


#: what Python's own messages call it
ConcreteArray.__name__ = "Array"


def _record_lines(on: bool) -> None:
    # Imported when it is first asked for: most programs record nothing.
    if on or "covector.core.recording" in sys.modules:
        from covector.core.recording import recorder  # noqa: PLC0415

        recorder.install(ConcreteArray, on)


options.Switch(("record_lines",), _record_lines)


def _check_move(type: ArrayType, target: object) -> None:
    """Raise where an array is not to be copied to other devices without being asked."""
    way_out = f"Move it there: covector.device_put(x, device), to {target}."
    transfer.guard.check("device_to_device", type, way_out)


def _unpickle(type: ArrayType, values: np.ndarray) -> ConcreteArray:
    # The memory may be that of a buffer beside the pickle, which others write to.
    return ConcreteArray(type, with_dtype(np.array(values), type.storage))


def from_host(values: np.ndarray, weak: bool = False) -> ConcreteArray:
    """An array of values that nobody else will write to."""
    type_ = ArrayType(values.shape, values.dtype, weak)
    if values.dtype is not type_.dtype:
        values = with_dtype(values, type_.storage)
    return ConcreteArray(type_, values)


def from_buffer(buffer: Any) -> ConcreteArray:
    """An array with the values of a buffer on one device, and committed to that."""
    held = buffer.aval
    type_ = ArrayType(tuple(held.shape), held.dtype)
    return ConcreteArray(
        type_, None, buffer, SingleDeviceSharding(buffers.device_of(buffer))
    )


@dataclass(frozen=True)
class Shard:
    """A shard of an array: its device, the index of its elements, and the number of
    devices before this one that hold the same.
    """

    device: Any
    index: Index
    replica_id: int
    data: Any


def numbered(indices: Mapping[Any, Index], data: Sequence[Any]) -> list[Shard]:
    """The shards that devices hold, replicas numbered."""
    seen: Counter[str] = Counter()
    shards: list[Shard] = []
    for (device, index), shard in zip(indices.items(), data, strict=True):
        shards.append(Shard(device, index, seen[str(index)], shard))
        seen[str(index)] += 1
    return shards
