"""``ConcreteArray``: an array that has its values, on the host, on a device, or both.

    ┌ host    a NumPy array that nobody writes to        made on demand from the other,
    └ buffer  a PJRT buffer on a device, maybe pending   and then kept

Small eager operations work on ``host`` and never meet the compiler; compiled programs
work on ``buffer``. Which of the two an array holds is invisible from outside.
"""

from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.types import ArrayType
from covector.errors import AxisError, DeletedArrayError, DeviceError
from covector.runtime import buffers, client


class ConcreteArray(Array):
    """An immutable array with known values."""

    __slots__ = ("_buffer", "_host", "placement", "type")

    def __init__(
        self, type: ArrayType, host: Any = None, buffer: Any = None, device: Any = None
    ) -> None:
        self.type = type
        self._host = host
        self._buffer = buffer
        #: the device that the user put this array on; None where it may go anywhere
        self.placement = device

    # -- the two representations -------------------------------------------------------

    def host(self) -> Any:
        """The values as NumPy sees them, waiting for them if they are being
        computed.
        """
        if self._host is None:
            self._check_usable()
            self._host = buffers.to_host(self._buffer)
        return self._host

    def buffer(self, device: Any) -> Any:
        """The values as a PJRT buffer on ``device``."""
        found = self._buffer
        if found is None:
            self._check_usable()
            found = self._buffer = buffers.put(np.asarray(self._host), device)
            return found
        if buffers.device_of(found) is not device:
            return buffers.copy_to_device(found, device)
        return found

    def on_host(self) -> bool:
        """Whether reading the values on the host costs nothing."""
        return self._host is not None or (
            self._buffer is not None and self._buffer.platform() == "cpu"
        )

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
    def device(self) -> Any:
        if self._buffer is not None:
            return buffers.device_of(self._buffer)
        return self.placement or client.default_device()

    def devices(self) -> set[Any]:
        """The devices that hold this array."""
        return {self.device}

    @property
    def committed(self) -> bool:
        """Whether the user chose the device of this array."""
        return self.placement is not None

    def platform(self) -> str:
        """The platform of the device: "cpu" or "gpu"."""
        return client.device_platform(self.device)

    def to_device(self, device: Any, *, stream: Any = None) -> "ConcreteArray":
        """The same values on a device, where operations on them will then run.

        Args:
          stream: accepted for the array API standard; transfers are put in order
            anyway.

        Raises:
          DeviceError: ``device`` is no device.
        """
        if not isinstance(device, client.Device):
            raise DeviceError(
                f"to_device needs a device, such as covector.devices()[0], but got "
                f"{device!r}."
            )
        self._check_usable()
        if self._host is not None and client.device_platform(device) == "cpu":
            return ConcreteArray(self.type, self._host, None, device)
        if self._buffer is None:
            moved = buffers.put(np.asarray(self._host), device)
        else:
            moved = buffers.copy_to_device(self._buffer, device, always=True)
        return ConcreteArray(self.type, None, moved, device)

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

    def __dlpack__(self, **kwargs: Any) -> Any:
        return buffers.to_dlpack(self.buffer(self.device), **kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return buffers.dlpack_device(self.device)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.platform() == "cpu":
            raise AttributeError(
                f"an array of type {self.type} on the CPU has no CUDA data"
            )
        return self.buffer(self.device).__cuda_array_interface__

    def unsafe_buffer_pointer(self) -> int:
        """The address of the values; valid for as long as this array is."""
        return self.buffer(self.device).unsafe_buffer_pointer()

    def on_device_size_in_bytes(self) -> int:
        """The memory that the values take on their device."""
        return self.buffer(self.device).on_device_size_in_bytes()

    # -- as one of perhaps several parts -----------------------------------------------

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process can read all of the values."""
        return True

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device that holds the array holds all of it."""
        return True

    @property
    def addressable_shards(self) -> "list[Shard]":
        """The parts that this process can read, with where each is."""
        whole = tuple([slice(None)] * self.ndim)
        return [Shard(self.device, whole, 0, self)]

    @property
    def global_shards(self) -> "list[Shard]":
        """All parts, with where each is."""
        return self.addressable_shards

    def addressable_data(self, index: int) -> "ConcreteArray":
        """The values of the part with this number, among those this process can
        read.
        """
        shards = self.addressable_shards
        if not -len(shards) <= index < len(shards):
            raise AxisError(
                f"addressable_data({index}) of an array of type {self.type}, which has "
                f"{len(shards)} part here."
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
        return str(np.asarray(self.host()))

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array(deleted, {self.type})"
        values = np.asarray(self.host())
        if self.dtype.itemsize == 1 and dtypes.is_floating(self.dtype):
            values = values.astype(np.float32)
        shown = np.array2string(values, separator=", ", prefix="Array(", threshold=200)
        return f"Array({shown}, {self.type}{', weak' if self.type.weak else ''})"


class Shard(NamedTuple):
    """A part of an array: the device that holds it, and which elements it has."""

    device: Any
    index: tuple[slice, ...]
    replica_id: int
    data: ConcreteArray


def _unpickle(type: ArrayType, values: np.ndarray) -> ConcreteArray:
    return ConcreteArray(type, values)


def from_host(values: np.ndarray, weak: bool = False) -> ConcreteArray:
    """An array of values that nobody else will write to."""
    return ConcreteArray(ArrayType(values.shape, values.dtype, weak), values)
