"""Buffers: device memory, and transfers to and from NumPy.

A buffer is a jaxlib ``ArrayImpl``. It is immutable, but it can be *deleted* (by hand,
or because it was donated to a program, which reuses its memory) and it can be
*poisoned*: the program that was to fill it failed after it was started. Both are
reported here, in words, wherever a value is asked for; jaxlib itself may crash or
return nonsense.

jaxlib imports ``jax`` by itself in some of its calls. They stand in ``no_jax_import``.
"""

import functools
import math
import sys
import threading
from typing import Any, NoReturn

import numpy as np
from jaxlib import _jax
from jaxlib import xla_client as xc

from covector.errors import DeletedArrayError, DeviceError, DLPackError, DTypeError
from covector.runtime import client, dlpack, host_calls, memory
from covector.runtime.overlap import waits

Buffer = xc.ArrayImpl
JaxlibError = _jax.JaxRuntimeError

_COPY = xc.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_SHARE = xc.HostBufferSemantics.ZERO_COPY
#: of memory that a buffer can share, in bytes
_ALIGNMENT = 64
_ABBREVIATIONS = (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"))


class Description:
    """Shape and dtype, under the names by which jaxlib asks for them."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape: tuple[int, ...] = shape
        self.dtype: np.dtype[Any] = dtype
        self.weak_type: bool = False

    def __repr__(self) -> str:
        name = self.dtype.name
        for word, letter in _ABBREVIATIONS:
            name = name.replace(word, letter)
        return f"{name}[{','.join(map(str, self.shape))}]"


describe = functools.lru_cache(maxsize=8192)(Description)


@functools.cache
def placement(device: client.Device) -> tuple[xc.GSPMDSharding, list[client.Device]]:
    """One device, in the two forms in which jaxlib takes it."""
    on_device = xc.DeviceList((device,))
    return xc.GSPMDSharding(on_device, xc.HloSharding.replicate()), [device]


class _NoJaxImport:
    """A block in which jaxlib's own attempts to import jax fail at once.

    Blocks of several threads may overlap: the first one in sets the guard, the last one
    out lifts it. Where the user has imported jax there is nothing to prevent; a package
    that only goes by its name is hidden, for jaxlib would take it for jax.
    """

    modules = ("jax.core", "jax._src.sharding_impls")
    in_jax_only = "jax._src.cloud_tpu_init"

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may come in between
        self.inside = 0
        self.hidden: dict[str, Any] = {}

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1 and self.in_jax_only not in sys.modules:
                self.hidden = {name: sys.modules.get(name) for name in self.modules}
                # Python takes None for a module that cannot be imported.
                sys.modules.update(dict.fromkeys(self.modules))  # type: ignore[arg-type]

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                for name, module in self.hidden.items():
                    if module is None:
                        sys.modules.pop(name, None)
                    else:
                        sys.modules[name] = module
                self.hidden = {}


no_jax_import = _NoJaxImport()


def put(array: np.ndarray, device: client.Device, copy: bool = True) -> Buffer:
    """A buffer on a device with the values of a NumPy array.

    With ``copy=False`` a buffer on the CPU may share the array's memory, and does if
    that is row-major and 64-byte aligned; nobody may then write to the array any more.
    """
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    sharding, devices = placement(device)
    semantics = _COPY if copy else _SHARE
    try:
        return xc.batched_device_put(
            describe(array.shape, array.dtype),
            sharding,
            [array],
            devices,
            True,
            False,
            semantics,
            True,
        )
    except JaxlibError as error:
        if "Unknown NumPy dtype" not in str(error):
            report(error)
        raise DTypeError(
            f"no device holds elements of dtype {array.dtype}; convert the array to "
            "bool or to a numeric dtype first."
        ) from None


def shared(
    shape: tuple[int, ...], dtype: np.dtype, device: client.Device
) -> tuple[np.ndarray, Buffer]:
    """Memory of a CPU, as an array of NumPy and as a buffer: what is written to the one
    is in the other.
    """
    size = math.prod(shape) * dtype.itemsize
    octets = np.empty(size + _ALIGNMENT, np.uint8)
    start = -octets.ctypes.data % _ALIGNMENT
    values = octets[start : start + size].view(dtype).reshape(shape)
    return values, put(values, device, copy=False)


def to_host(buffer: Buffer) -> np.ndarray:
    """The values as a read-only NumPy array, on the CPU without a copy.

    Waits for the program that computes them. Raises DeletedArrayError if the buffer is
    gone, DeviceError if that program failed.
    """
    waits.count += 1
    try:
        return np.asarray(memoryview(buffer))
    except BufferError:
        return _fetch(buffer)


def _fetch(buffer: Buffer) -> np.ndarray:
    """``to_host`` for what has no Python buffer: ml_dtypes, other devices, failures."""
    check_alive(buffer)
    try:
        # The guard should stand only for a moment, so the waiting is done before it.
        buffer.block_until_ready()
        with no_jax_import:
            if hasattr(buffer, "_to_np_array_did_copy"):  # from jaxlib 0.11
                values = buffer._to_np_array_did_copy()[0]
            else:
                values = buffer._single_device_array_to_np_array_did_copy()[0]
    except (JaxlibError, MemoryError) as error:
        report(error)
    values.flags.writeable = False
    return values


def check_alive(buffer: Buffer) -> None:
    """Raise DeletedArrayError if the buffer has been deleted or donated."""
    if buffer.is_deleted():
        raise DeletedArrayError(
            f"Array has been deleted or donated: its {buffer.aval} is gone. A donated "
            "argument is given up to the function that it is passed to. Use what the "
            "function returned, or do not donate."
        )


def donated_twice(error: Exception) -> bool:
    """Whether one call got a buffer as a donated argument and as another one."""
    return "donated in the same call" in str(error)


def report(error: JaxlibError | MemoryError) -> NoReturn:
    """Raise what an error of the runtime means to a user."""
    words = str(error)
    raised = host_calls.raised(words)
    if raised is not None:
        raise raised
    if donated_twice(error):
        raise DeletedArrayError(
            "Array has been deleted or donated: one call got the same array as a "
            "donated argument and as another argument. Pass a copy, or do not donate."
        ) from None
    if "deleted or donated" in words:
        raise DeletedArrayError(f"Array has been deleted or donated: {words}") from None
    if memory.is_shortage(error):
        raise memory.out_of_memory(error) from None
    raise DeviceError(f"a program failed on its device: {words}") from error


def block_until_ready(buffers: list[Buffer]) -> None:
    """Wait until every buffer has its values.

    Raises DeletedArrayError and DeviceError as ``to_host`` does.
    """
    waits.count += 1
    try:
        xc.batched_block_until_ready(buffers)
    except JaxlibError as error:
        for buffer in buffers:
            check_alive(buffer)
        report(error)


def is_ready(buffer: Buffer) -> bool:
    """Whether the values are there, or known never to come."""
    check_alive(buffer)  # jaxlib crashes when it is asked about a deleted buffer
    return buffer.is_ready()


def is_deleted(buffer: Buffer) -> bool:
    """Whether the buffer has been deleted, or donated to a program."""
    return buffer.is_deleted()


def delete(buffer: Buffer) -> None:
    """Give up the memory of a buffer; NumPy views of it keep what they see."""
    buffer.delete()


def device_of(buffer: Buffer) -> client.Device:
    """The device that holds the buffer; of several, the first."""
    return buffer._sharding._internal_device_list[0]


def copy_to_device(
    buffer: Buffer, device: client.Device, *, always: bool = False
) -> Buffer:
    """The same values on a device.

    A buffer that is there already is returned as it is, unless ``always`` asks for
    memory of its own.
    """
    check_alive(buffer)
    source = device_of(buffer)
    if source is device and not always:
        return buffer
    if source.client is not device.client:
        return put(to_host(buffer), device, copy=always)
    sharding, _ = placement(device)
    semantics = xc.ArrayCopySemantics.ALWAYS_COPY
    try:
        (copy,) = xc.batched_copy_array_to_devices_with_sharding(
            [buffer], [sharding._internal_device_list], [sharding], [semantics]
        )
    except JaxlibError as error:
        report(error)
    return copy


def dlpack_device(device: client.Device) -> tuple[int, int]:
    """A device as DLPack counts them: (device type, number)."""
    if client.device_platform(device) == "cpu":
        return dlpack.CPU, 0
    return dlpack.CUDA, device.local_hardware_id


def check_dlpack_device(
    here: client.Device, wanted: tuple[int, int] | None, what: object
) -> None:
    """Raise DLPackError if an array on a device is wanted on another one."""
    if wanted is not None and tuple(wanted) != dlpack_device(here):
        raise DLPackError(
            f"{what} is on {here} and cannot be exported to another device; "
            "move it there first."
        )


def to_dlpack(
    buffer: Buffer,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule with the values, sharing memory; arguments as in ``__dlpack__``.

    The capsule is of the unversioned kind, which every consumer accepts. It is made
    from a
    clone: deleting a buffer while its own capsule is in use would end the process.

    Raises DLPackError for a dtype that DLPack does not have, or another device.
    """
    waits.count += 1
    here = device_of(buffer)
    check_dlpack_device(here, dl_device, buffer.aval)
    check_alive(buffer)
    if copy:
        buffer = copy_to_device(buffer, here, always=True)
    try:
        return _jax.buffer_to_dlpack_managed_tensor(buffer.clone(), stream)
    except JaxlibError as error:
        if "no DLPack equivalent" not in str(error):
            report(error)
        raise DLPackError(f"DLPack has no dtype for {buffer.aval}.") from None


def from_dlpack(tensor: Any) -> np.ndarray | Buffer:
    """The values of any object with ``__dlpack__``, sharing its memory where possible.

    A tensor on the CPU becomes a NumPy array, one on a GPU a buffer. Whoever writes to
    the tensor afterwards changes them.
    """
    kind, number = map(int, tensor.__dlpack_device__())
    if kind == dlpack.CPU:
        try:
            return np.from_dlpack(tensor)
        except RuntimeError:
            # NumPy does not read the dtypes of ml_dtypes, jaxlib does.
            return to_host(_import_dlpack(tensor, client.cpu_device()))
    if kind != dlpack.CUDA:
        raise DLPackError(
            "from_dlpack takes tensors on the CPU or a CUDA device, but this one is on "
            f"a device of DLPack type {kind}; copy it to the CPU first."
        )
    for device in client.local_devices(backend="gpu"):
        if device.local_hardware_id == number:
            return _row_major(_import_dlpack(tensor, device))
    raise DLPackError(f"from_dlpack: this process does not use GPU number {number}.")


def _import_dlpack(tensor: Any, device: client.Device) -> Buffer:
    capsule = tensor.__dlpack__()
    shape, dtype = dlpack.shape_and_dtype(capsule)
    sharding, _ = placement(device)
    try:
        with no_jax_import:
            found = _jax.dlpack_managed_tensor_to_buffer(capsule, device, None)
    except JaxlibError as error:
        raise DLPackError(
            f"from_dlpack cannot share a tensor of type {describe(shape, dtype)} in "
            f"this layout; make it contiguous first. ({error})"
        ) from None
    return found._rewrap_with_aval_and_sharding(describe(shape, dtype), sharding)


def _row_major(buffer: Buffer) -> Buffer:
    """The same values in the layout that programs take for granted."""
    order = buffer._pjrt_layout._xla_layout().minor_to_major()
    if list(order) == sorted(order, reverse=True):
        return buffer
    return put(to_host(buffer), device_of(buffer))
