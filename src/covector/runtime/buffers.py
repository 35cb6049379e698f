"""Buffers: values that live on a device, and their way to and from NumPy.

A buffer is a jaxlib ``ArrayImpl`` on one device. It is immutable; it can be *deleted* (by hand, or
because a program was given it to reuse), and it can be *poisoned*: the program that was to fill it
failed after it was started. Both are noticed here, whenever a value is asked for.

jaxlib imports ``jax`` by itself in some calls; those stand inside ``no_jax_import``.
"""

import functools
import sys
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
from jaxlib import _jax
from jaxlib import xla_client as xc

from covector.errors import DeletedArrayError
from covector.runtime import client

Buffer = xc.ArrayImpl
JaxlibError = _jax.JaxRuntimeError

_COPY = xc.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_SHARE = xc.HostBufferSemantics.ZERO_COPY
_CPU, _CUDA = 1, 2  # device types of DLPack


class Description:
    """Shape and dtype in the form in which jaxlib asks for them."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak_type = False

    def __repr__(self) -> str:
        name = self.dtype.name
        for word, letter in (
            ("float", "f"),
            ("uint", "u"),
            ("int", "i"),
            ("complex", "c"),
        ):
            name = name.replace(word, letter)
        return f"{name}[{','.join(map(str, self.shape))}]"


describe = functools.lru_cache(maxsize=8192)(Description)


@functools.cache
def placement(device: client.Device) -> tuple[xc.GSPMDSharding, list[client.Device]]:
    """A device in the two forms in which jaxlib asks where a buffer goes."""
    on_device = xc.DeviceList((device,))
    return xc.GSPMDSharding(on_device, xc.HloSharding.replicate()), [device]


class _NoJaxImport:
    """Make jaxlib's own attempts to import jax fail at once, while inside.

    Threads may overlap inside: the first one in sets the guard, the last one out removes it.
    Where the user has imported jax there is nothing to prevent.
    """

    modules = ("jax.core", "jax._src.sharding_impls")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.blocked: list[str] = []

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1 and "jax" not in sys.modules:
                self.blocked = [m for m in self.modules if m not in sys.modules]
                sys.modules.update(dict.fromkeys(self.blocked))  # type: ignore[arg-type]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                for module in self.blocked:
                    sys.modules.pop(module, None)
                self.blocked = []


no_jax_import = _NoJaxImport()


def put(array: np.ndarray, device: client.Device, copy: bool = True) -> Buffer:
    """A buffer on `device` with the value of a NumPy array.

    With ``copy=False`` a CPU buffer may share the array's memory (it does when that is row-major
    and 64-byte aligned); the caller then promises that nobody writes to it any more.
    """
    dtype = array.dtype
    if not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
        dtype = array.dtype
    sharding, devices = placement(device)
    try:
        return xc.batched_device_put(
            describe(array.shape, dtype),
            sharding,
            [array],
            devices,
            True,
            False,
            _COPY if copy else _SHARE,
            True,
        )
    except JaxlibError as error:
        if "Unknown NumPy dtype" in str(error):
            raise TypeError(
                f"a device cannot hold an array of dtype {dtype}; convert it to a numeric or "
                "bool dtype first."
            ) from None
        raise


def to_host(buffer: Buffer) -> np.ndarray:
    """The value as a read-only NumPy array; without a copy where the device is the CPU.

    Waits for the program that computes it. Raises DeletedArrayError if the buffer is gone, and
    RuntimeError if that program failed.
    """
    try:
        return np.asarray(memoryview(buffer))
    except BufferError:
        return _to_host_without_buffer_protocol(buffer)


def _to_host_without_buffer_protocol(buffer: Buffer) -> np.ndarray:
    """For dtypes that the buffer protocol does not know, other devices, and failures."""
    check_alive(buffer)
    try:
        # Waiting is done outside the guard, which should stand as briefly as possible.
        buffer.block_until_ready()
        with no_jax_import:
            value = _fetch(buffer)
    except JaxlibError as error:
        fail(error)
    value.flags.writeable = False
    return value


def _fetch(buffer: Buffer) -> np.ndarray:
    if hasattr(buffer, "_to_np_array_did_copy"):  # jaxlib 0.11
        return buffer._to_np_array_did_copy()[0]
    return buffer._single_device_array_to_np_array_did_copy()[0]


def check_alive(buffer: Buffer) -> None:
    """Raise DeletedArrayError if the buffer has been deleted or donated."""
    if buffer.is_deleted():
        raise DeletedArrayError(
            f"Array has been deleted or donated: its {buffer.aval} is no longer there. A donated "
            "argument is given up to the function it is passed to; use that function's result, or "
            "do not donate."
        )


def fail(error: JaxlibError) -> NoReturn:
    """Raise what an error of the runtime means to a user."""
    words = str(error)
    if "donated in the same call" in words:
        raise DeletedArrayError(
            "Array has been deleted or donated: one call was given the same array as a donated "
            "argument and as another argument. Pass a copy of it, or do not donate."
        ) from None
    if "deleted or donated" in words:
        raise DeletedArrayError(f"Array has been deleted or donated. {words}") from None
    raise RuntimeError(f"the device reported an error: {words}") from error


def block_until_ready(buffers: Iterable[Buffer]) -> None:
    """Wait until every buffer has its value; RuntimeError if a computation failed."""
    buffers = list(buffers)
    for buffer in buffers:
        check_alive(buffer)
    try:
        xc.batched_block_until_ready(buffers)
    except JaxlibError as error:
        fail(error)


def is_ready(buffer: Buffer) -> bool:
    """Whether the value is there, or known to have failed."""
    check_alive(buffer)  # asking a deleted buffer ends the process
    return buffer.is_ready()


def is_deleted(buffer: Buffer) -> bool:
    return buffer.is_deleted()


def delete(buffer: Buffer) -> None:
    """Give up the buffer's memory; NumPy views of it stay valid."""
    buffer.delete()


def device_of(buffer: Buffer) -> client.Device:
    return buffer._sharding._internal_device_list[0]


def copy_to_device(buffer: Buffer, device: client.Device) -> Buffer:
    """The same value on another device; the buffer itself when it is there already."""
    check_alive(buffer)
    source = device_of(buffer)
    if source == device:
        return buffer
    if source.client is not device.client:
        return put(to_host(buffer), device, copy=False)
    sharding, devices = placement(device)
    try:
        (copy,) = xc.batched_copy_array_to_devices_with_sharding(
            [buffer],
            [sharding._internal_device_list],
            [sharding],
            [xc.ArrayCopySemantics.REUSE_INPUT],
        )
    except JaxlibError as error:
        fail(error)
    return copy


def dlpack_device(buffer: Buffer) -> tuple[int, int]:
    """The device of a buffer in DLPack's numbering."""
    device = device_of(buffer)
    if client.device_platform(device) == "cpu":
        return _CPU, 0
    return _CUDA, device.local_hardware_id


def to_dlpack(buffer: Buffer, stream: int | None = None) -> Any:
    """A DLPack capsule that shares the buffer's memory; BufferError if its dtype has none.

    It is taken from a clone: deleting a buffer whose own capsule is in use ends the process.
    """
    check_alive(buffer)
    try:
        return _jax.buffer_to_dlpack_managed_tensor(buffer.clone(), stream)
    except JaxlibError as error:
        if "no DLPack equivalent" in str(error):
            raise BufferError(f"DLPack has no dtype for {buffer.aval}.") from None
        fail(error)


def from_dlpack(tensor: Any) -> np.ndarray | Buffer:
    """The value of any object with ``__dlpack__``, sharing its memory where possible.

    A tensor on the CPU comes back as a NumPy array, one on a GPU as a buffer. Whoever writes to
    the tensor later changes the result.
    """
    kind, number = tensor.__dlpack_device__()
    if kind == _CPU:
        return _from_cpu_dlpack(tensor)
    if kind != _CUDA:
        raise BufferError(
            f"from_dlpack takes tensors on the CPU or on a CUDA device, but this one is on a "
            f"device of DLPack type {int(kind)}; copy it to the CPU first."
        )
    for device in client.local_devices("gpu"):
        if device.local_hardware_id == number:
            return _import_dlpack(tensor, device)
    raise BufferError(f"from_dlpack: there is no GPU with number {number} here.")


def _from_cpu_dlpack(tensor: Any) -> np.ndarray:
    try:
        return np.from_dlpack(tensor)
    except RuntimeError:
        # NumPy knows no dtypes of ml_dtypes; jaxlib does.
        return to_host(_import_dlpack(tensor, client.cpu_device()))


def _import_dlpack(tensor: Any, device: client.Device) -> Buffer:
    try:
        with no_jax_import:
            return _jax.dlpack_managed_tensor_to_buffer(
                tensor.__dlpack__(), device, None
            )
    except JaxlibError as error:
        raise BufferError(f"from_dlpack cannot share this tensor: {error}") from None
