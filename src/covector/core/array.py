"""``ConcreteArray``: an array that has its values, on the host, on a device, or both.

    ┌ host    a NumPy array that nobody writes to        made on demand from the other,
    └ buffer  a PJRT buffer on a device, maybe pending   and then kept

Small eager operations work on ``host`` and never meet the compiler; compiled programs
work on ``buffer``. Which of the two an array holds is invisible from outside.

``placement`` is the sharding that the user chose, or that follows from one; None where
the array may go anywhere. Only an array with a placement can be over several devices.
"""

from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.sharding import moving
from covector.core.sharding.resolving import as_sharding
from covector.core.sharding.shard import Shard, numbered
from covector.core.sharding.shardings import Sharding, SingleDeviceSharding
from covector.core.types import ArrayType
from covector.errors import AxisError, DeletedArrayError, DLPackError
from covector.runtime import buffers, client, parts


class ConcreteArray(Array):
    """An immutable array with known values."""

    __slots__ = ("_buffer", "_host", "placement", "type")

    def __init__(
        self,
        type: ArrayType,
        host: Any = None,
        buffer: Any = None,
        placement: Sharding | None = None,
    ) -> None:
        self.type = type
        self._host = host
        self._buffer = buffer
        self.placement = placement

    # -- the two representations -------------------------------------------------------

    def host(self) -> Any:
        """The values as NumPy sees them, waiting for them if they are being
        computed.
        """
        if self._host is None:
            self._check_usable()
            if self.is_spread:
                self._host = moving.gathered(self._buffer, self.type, self.sharding)
            else:
                self._host = buffers.to_host(self._buffer)
        return self._host

    @property
    def is_spread(self) -> bool:
        """Whether the values are not all in the usual memory of one device."""
        return self.placement is not None and self.placement.single is None

    def buffer(self, device: Any) -> Any:
        """The values as a PJRT buffer on ``device``."""
        found = self._buffer
        if found is None:
            self._check_usable()
            found = self._buffer = buffers.put(np.asarray(self._host), device)
            return found
        placement = self.placement
        if placement is not None and placement.single is None:
            return self.buffer_over(SingleDeviceSharding(device))
        if buffers.device_of(found) is not device:
            return buffers.copy_to_device(found, device)
        return found

    def buffer_over(self, sharding: Sharding) -> Any:
        """The values as a PJRT buffer over the devices of ``sharding``."""
        self._check_usable()
        if self._buffer is None:
            return moving.spread(np.asarray(self._host), self.type, sharding)
        if self.sharding is sharding:
            return self._buffer
        return moving.moved(self._buffer, self.type, self.sharding, sharding)

    def on_host(self) -> bool:
        """Whether it is right, and costs nothing, to work with the values on the
        host.
        """
        if self._host is None and (
            self._buffer is None or self._buffer.platform() != "cpu"
        ):
            return False
        placement = self.placement
        return placement is None or placement.single is not None

    def _check_usable(self) -> None:
        if self._buffer is None and self._host is None:
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
        return self._buffer is None or buffers.is_ready(self._buffer)

    def block_until_ready(self) -> "ConcreteArray":
        """Wait for the values, and raise what went wrong in computing them."""
        self._check_usable()
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
        self._check_usable()
        if device is None:
            return self
        placement = as_sharding(device, "to_device")
        target = placement.single
        if target is None or self.is_spread:
            moved = self.buffer_over(placement)
            if moved is self._buffer:
                moved = moving.copied(moved, self.type, placement)
            return ConcreteArray(self.type, None, moved, placement)
        moving.check_devices(placement)
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
        if self.is_spread:
            copied = moving.copied(self._buffer, self.type, self.sharding)
            return ConcreteArray(self.type, None, copied, self.placement)
        if self._buffer is not None and not self.on_host():
            copied = buffers.copy_to_device(self._buffer, self.device, always=True)
            return ConcreteArray(self.type, None, copied, self.placement)
        return ConcreteArray(self.type, np.array(self.host()), None, self.placement)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = np.asarray(self.host())
        if dtypes.is_key(self.dtype):
            raise TypeError(
                f"random keys ({self.type}) have no NumPy values; "
                "covector.random.key_data gives their bits"
            )
        if self.dtype is dtypes.float0:
            values = np.zeros(self.shape, dtypes.float0)
        if dtype is not None and values.dtype != dtype:
            if copy is False:
                raise ValueError(f"{self.type} cannot become {dtype} without a copy")
            return values.astype(dtype)
        if copy:
            return values.copy()
        view = values.view()
        view.flags.writeable = False
        return view

    def __bool__(self) -> bool:
        return bool(self.host())

    def __int__(self) -> int:
        return int(self.host())

    def __float__(self) -> float:
        return float(self.host())

    def __complex__(self) -> complex:
        return complex(self.host())

    def __index__(self) -> int:
        if self.ndim or not dtypes.is_integer(self.dtype):
            raise TypeError(f"only integer scalars can be an index, not {self.type}")
        return int(self.host())

    def _in_python(self) -> np.ndarray:
        """The values in a dtype whose elements NumPy turns into Python numbers."""
        values = np.asarray(self.host())
        if values.dtype.isbuiltin == 1:
            return values
        return values.astype(float if dtypes.is_floating(self.dtype) else int)

    def item(self, *index: int) -> Any:
        """The one element, or that at ``index``, as a Python number."""
        return self._in_python().item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._in_python().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return np.asarray(self.host()).tobytes(order)

    def _only_buffer(self, who: str) -> Any:
        """The buffer of an array on one device."""
        sharding = self.sharding
        if sharding.num_devices > 1:
            raise DLPackError(
                f"{who} needs an array on one device, but this one ({self.type}) is "
                f"over {sharding.num_devices}: {sharding}. Bring it together with "
                "covector.device_put(x, device), or take a part: "
                "x.addressable_data(0)."
            )
        return self.buffer_over(sharding)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return buffers.to_dlpack(self._only_buffer("DLPack"), **kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return buffers.dlpack_device(buffers.device_of(self._only_buffer("DLPack")))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.platform() == "cpu":
            raise AttributeError(
                f"an array of type {self.type} on the CPU has no CUDA data"
            )
        found = self._only_buffer("__cuda_array_interface__")
        return found.__cuda_array_interface__

    def unsafe_buffer_pointer(self) -> int:
        """The address of the values; valid for as long as this array is."""
        return self._only_buffer("unsafe_buffer_pointer").unsafe_buffer_pointer()

    def on_device_size_in_bytes(self) -> int:
        """The memory that the values take on their devices together."""
        found = self.buffer_over(self.sharding)
        return found.on_device_size_in_bytes()

    # -- as one of perhaps several parts -----------------------------------------------

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
        """The parts that this process can read, with where each is."""
        return [shard for shard in self.global_shards if shard.data is not None]

    @property
    def global_shards(self) -> "list[Shard]":
        """All parts, with where each is; None for the data of other processes."""
        self._check_usable()
        sharding, shape = self.sharding, self.shape
        indices = sharding.devices_indices_map(shape)
        if sharding.single is not None:
            return numbered(indices, [self])
        kind = sharding.memory_kind
        part_type = self.type.with_shape(sharding.shard_shape(shape))
        local = sharding.layout(self.ndim).local
        here = {
            device: ConcreteArray(
                part_type, None, part, SingleDeviceSharding(device, memory_kind=kind)
            )
            for device, part in zip(
                local, parts.parts(self._buffer, part_type.shape, kind), strict=True
            )
        }
        return numbered(indices, list(map(here.get, indices)))

    def addressable_data(self, index: int) -> "ConcreteArray":
        """The values of the part with this number, among those this process can
        read.
        """
        shards = self.addressable_shards
        if not -len(shards) <= index < len(shards):
            raise AxisError(
                f"addressable_data({index}) of an array of type {self.type}, which has "
                f"{len(shards)} {'part' if len(shards) == 1 else 'parts'} here."
            )
        return shards[index].data

    def __reduce__(self) -> tuple:
        return (_unpickle, (self.type, np.asarray(self.host())))

    def __copy__(self) -> "ConcreteArray":
        return self.copy()

    def __deepcopy__(self, memo: dict) -> "ConcreteArray":
        return self.copy()

    def __format__(self, spec: str) -> str:
        if not self.ndim:
            return format(self.item(), spec)
        return format(str(self), spec)

    def __str__(self) -> str:
        if dtypes.is_key(self.dtype):
            return repr(self)
        if not self._is_readable:
            return repr(self)
        return str(np.asarray(self.host()))

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array(deleted, {self.type})"
        if not self._is_readable:
            return f"Array({self.type}, in several processes, {self.sharding})"
        values = np.asarray(self.host())
        if self.dtype.itemsize == 1 and dtypes.is_floating(self.dtype):
            values = values.astype(np.float32)
        shown = np.array2string(values, separator=", ", prefix="Array(", threshold=200)
        return f"Array({shown}, {self.type}{', weak' if self.type.weak else ''})"


def _unpickle(type: ArrayType, values: np.ndarray) -> ConcreteArray:
    return ConcreteArray(type, values)


def from_host(values: np.ndarray, weak: bool = False) -> ConcreteArray:
    """An array of values that nobody else will write to."""
    return ConcreteArray(ArrayType(values.shape, values.dtype, weak), values)
