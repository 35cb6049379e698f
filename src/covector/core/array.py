"""``ConcreteArray``: an array that has its values, on the host, on a device, or both.

    ┌ host    a NumPy array that nobody writes to        made on demand from the other,
    └ buffer  a PJRT buffer on a device, maybe pending   and then kept

Small eager operations work on ``host`` and never meet the compiler; compiled programs work
on ``buffer``. Which of the two an array holds is invisible from outside.
"""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.types import ArrayType
from covector.errors import DeletedArrayError
from covector.runtime import buffers, client


class ConcreteArray(Array):
    """An immutable array with known values."""

    __slots__ = ("_buffer", "_host", "device_", "type")

    def __init__(
        self, type: ArrayType, host: Any = None, buffer: Any = None, device: Any = None
    ) -> None:
        self.type = type
        self._host = host
        self._buffer = buffer
        #: the device that the user put this array on; None where it may go anywhere
        self.device_ = device

    # -- the two representations -------------------------------------------------------

    def host(self) -> Any:
        """The values as NumPy sees them, waiting for them if they are being computed."""
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
                f"An array of type {self.type} was used after it was deleted, or donated "
                "to a jitted function (donate_argnums). Use what the function returned, "
                "or pass a copy: f(x.copy())."
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
        return self.device_ or client.default_device()

    def devices(self) -> set[Any]:
        """The devices that hold this array."""
        return {self.device}

    @property
    def committed(self) -> bool:
        """Whether the user chose the device of this array."""
        return self.device_ is not None

    def copy(self) -> "ConcreteArray":
        """The same values in memory of their own."""
        if self._buffer is not None and not self.on_host():
            copied = buffers.copy_to_device(self._buffer, self.device, always=True)
            return ConcreteArray(self.type, None, copied, self.device_)
        return ConcreteArray(self.type, np.array(self.host()), None, self.device_)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = np.asarray(self.host())
        if dtypes.is_key(self.dtype):
            raise TypeError(
                f"random keys ({self.type}) have no NumPy values; "
                "covector.random.key_data gives their bits"
            )
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

    def item(self, *index: int) -> Any:
        """The one element (at ``index``) as a Python number."""
        return np.asarray(self.host()).item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return np.asarray(self.host()).tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return np.asarray(self.host()).tobytes(order)

    def __dlpack__(self, **kwargs: Any) -> Any:
        device = self.device if self.on_host() else self.device
        return buffers.to_dlpack(self.buffer(device), **kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return buffers.dlpack_device(self.device)

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


def _unpickle(type: ArrayType, values: np.ndarray) -> ConcreteArray:
    return ConcreteArray(type, values)


def from_host(values: np.ndarray, weak: bool = False) -> ConcreteArray:
    """An array of values that nobody else will write to."""
    return ConcreteArray(ArrayType(values.shape, values.dtype, weak), values)
