"""Export of known values: to Python, NumPy, DLPack and other libraries.

Everybody may read what leaves; nobody can write to it. Random keys do not leave as
numbers.
"""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.host_values import read_only
from covector.core.key_types import KeyType
from covector.errors import ArgumentError, DLPackError, DTypeError
from covector.runtime import buffers

#: the bit of ``inspect.BufferFlags`` with which writable memory is asked for
_WRITABLE = 1


class Exported(Array):
    """The protocols of ``ConcreteArray`` for other libraries, in terms of ``host``,
    ``buffer_over`` and the devices.
    """

    __slots__ = ()

    host: Any
    buffer_over: Any
    sharding: Any
    device: Any
    platform: Any
    is_deleted: Any
    _is_readable: Any

    # -- for Python and NumPy ----------------------------------------------------------

    def _numbers(self) -> Any:
        """The values for Python and NumPy, which know no random keys."""
        if type(self.type.dtype) is KeyType:
            raise self._no_numbers()
        return self.host()

    def _no_numbers(self) -> DTypeError:
        return DTypeError(
            f"random keys ({self.type}) do not become numbers of Python or NumPy; "
            "covector.random.key_data(key) gives their bits."
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        kept = self.type.dtype
        if kept is dtypes.float0:
            values = np.zeros(self.shape, dtypes.float0)
        else:
            values = self._numbers()
        if dtype is not None and kept != dtype:
            if copy is False:
                raise ValueError(f"{self.type} cannot become {dtype} without a copy")
            return np.asarray(values).astype(dtype)
        return np.array(values) if copy else read_only(values)

    def __buffer__(self, flags: int, /) -> memoryview:
        """The values for ``memoryview(x)``, from Python 3.12; before, ``np.asarray(x)``
        has them.
        """
        values = self.__array__()
        if flags & _WRITABLE:
            raise BufferError(f"an array ({self.type}) cannot be written to")
        if not dtypes.is_of_numpy(values.dtype):
            raise BufferError(
                f"Python's buffers have no elements of {dtypes.short_name(self.dtype)} "
                f"({self.type}); numpy.asarray(x).view('uint{8 * self.itemsize}') has "
                "their bits"
            )
        return memoryview(values)  # type: ignore[arg-type]

    # Each asks for itself, and not _numbers: loops in Python convert often.

    def __bool__(self) -> bool:
        if type(self.type.dtype) is KeyType:
            raise self._no_numbers()
        return bool(self.host())

    def __int__(self) -> int:
        if type(self.type.dtype) is KeyType:
            raise self._no_numbers()
        return int(self.host())

    def __float__(self) -> float:
        if type(self.type.dtype) is KeyType:
            raise self._no_numbers()
        return float(self.host())

    def __complex__(self) -> complex:
        if type(self.type.dtype) is KeyType:
            raise self._no_numbers()
        return complex(self.host())

    def __index__(self) -> int:
        if self.ndim or not dtypes.is_integer(self.dtype):
            raise TypeError(f"only integer scalars can be an index, not {self.type}")
        return int(self.host())

    def _in_python(self) -> np.ndarray:
        """The values in a dtype whose elements NumPy turns into Python numbers."""
        values = np.asarray(self._numbers())
        if dtypes.is_of_numpy(values.dtype):
            return values
        return values.astype(float if dtypes.is_floating(self.dtype) else int)

    def item(self, *index: int) -> Any:
        """The one element, or that at ``index``, as a Python number."""
        return self._in_python().item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._in_python().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of the elements, one row after the other."""
        return np.asarray(self._numbers()).tobytes(order)

    # -- for other libraries -----------------------------------------------------------

    def _check_on_one_device(self, who: str) -> None:
        sharding = self.sharding
        if sharding.num_devices > 1:
            raise DLPackError(
                f"{who} needs an array on one device, but this one ({self.type}) is "
                f"over {sharding.num_devices}: {sharding}. Bring it together with "
                "covector.device_put(x, device), or take a part: "
                "x.addressable_data(0)."
            )

    def _only_buffer(self, who: str) -> Any:
        """The buffer of an array on one device."""
        self._check_on_one_device(who)
        return self.buffer_over(self.sharding)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule with the values, as the array API standard has it.

        On the CPU it tells those who ask for version 1 that nobody may write to it. The
        capsules of before, and those of GPUs, cannot tell: who writes to one changes
        this array.
        """
        if dtypes.is_key(self.dtype):
            raise DLPackError(
                f"DLPack has no dtype for random keys ({self.type}); "
                "covector.random.key_data(key) gives their bits."
            )
        tells = max_version is not None and tuple(max_version) >= (1, 0)
        if tells and self.platform() == "cpu" and dtypes.is_of_numpy(self.dtype):
            self._check_on_one_device("DLPack")
            buffers.check_dlpack_device(self.device, dl_device, self.type)
            return self.__array__().__dlpack__(
                max_version=max_version, dl_device=dl_device, copy=copy
            )
        return buffers.to_dlpack(
            self._only_buffer("DLPack"),
            stream=stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=copy,
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        self._check_on_one_device("DLPack")
        return buffers.dlpack_device(self.device)

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

    # -- in print ----------------------------------------------------------------------

    def __format__(self, spec: str) -> str:
        if not self.ndim and not self._only_described:
            return format(self.item(), spec)
        try:
            return format(str(self), spec)
        except ValueError:
            raise ArgumentError(
                f"the format {spec!r} is for one number, but got {self.type}. Format "
                "its elements, or use numpy.array2string or covector.debug.print."
            ) from None

    @property
    def _only_described(self) -> bool:
        """Whether there are no numbers to print."""
        return dtypes.is_key(self.dtype) or self.is_deleted() or not self._is_readable

    def __str__(self) -> str:
        if self._only_described:
            return repr(self)
        return str(np.asarray(self.host()))

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array(deleted, {self.type})"
        if not self._is_readable:
            return f"Array({self.type}, in several processes, {self.sharding})"
        named = f"dtype={self.dtype.name}{', weak_type=True' if self.type.weak else ''}"
        values = np.asarray(self.host())
        if dtypes.is_key(self.dtype):
            words = np.ascontiguousarray(values)[..., None].view(np.uint32)
            words = words.reshape(*self.shape, -1)
            return f"Array({self.shape}, {named}) overlaying:\n{words}"
        if not self.size:
            return f"Array([], shape={self.shape}, {named})"
        if self.dtype.itemsize == 1 and dtypes.is_floating(self.dtype):
            values = values.astype(np.float32)
        shown = np.array2string(values, separator=", ", prefix="Array(", suffix=",")
        last = len(shown) - shown.rfind("\n") + len(named) + 2
        space = " " if last <= np.get_printoptions()["linewidth"] else "\n      "
        return f"Array({shown},{space}{named})"

    def _repr_html_(self) -> str:
        from covector.core.html.arrays import array_html  # noqa: PLC0415  notebooks

        return array_html(self, self._only_described)
