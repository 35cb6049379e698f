"""Where arrays live: putting them on devices, getting them back, waiting for them."""

from typing import Any

import numpy as np

from covector import tree
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.errors import DeviceError
from covector.programs import shared
from covector.runtime import buffers, client, compilation_cache


def device_put(
    x: Any,
    device: Any = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any:
    """``x``, an array or a tree of them, on a device.

    Args:
      device: a device, or something with a single one (``device_set``); None leaves
        arrays where they are, and free to move.
      donate: the arrays given up may be freed.

    Traced arrays stay as they are: where they live is decided when the program runs.

    >>> import covector as cv
    >>> device_put({"w": 1.0}, cv.devices()[0])["w"].committed
    True
    """
    target = _single_device(device)

    def put(leaf: Any) -> Any:
        array = leaf if isinstance(leaf, Array) else as_array(leaf, "device_put")
        if isinstance(array, Tracer):
            return array
        assert isinstance(array, ConcreteArray), "an array is traced or concrete"
        if target is None:
            return array
        if array._buffer is None:
            moved = array.to_device(target)
        else:
            moved = ConcreteArray(array.type, None, array.buffer(target), target)
        if donate and moved._buffer is not array._buffer:
            array.delete()
        return moved

    return tree.map(put, x)


def _single_device(device: Any) -> Any:
    if device is None or hasattr(device, "platform"):
        return device
    found = getattr(device, "device_set", None)
    if found is not None and len(found) == 1:
        return next(iter(found))
    raise DeviceError(
        "device_put needs one device, such as covector.devices()[0], but got "
        f"{device!r}."
    )


def device_get(x: Any) -> Any:
    """``x``, an array or a tree of them, as NumPy arrays.

    >>> import covector as cv
    >>> device_get([cv.numpy.arange(2)])[0].tolist()
    [0, 1]
    """
    return tree.map(lambda a: np.asarray(a) if isinstance(a, Array) else a, x)


def block_until_ready(x: Any) -> Any:
    """``x``, once every array in it has been computed; what went wrong is raised here.

    >>> import covector as cv
    >>> float(block_until_ready(cv.jit(lambda x: x + 1)(1.0)))
    2.0
    """
    pending = []
    for leaf in tree.leaves(x):
        if type(leaf) is ConcreteArray and leaf._buffer is not None:
            pending.append(leaf._buffer)
        elif not isinstance(leaf, Tracer) and hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    buffers.block_until_ready(pending)
    return x


def copy_to_host_async(x: Any) -> Any:
    """Start copying the arrays in ``x`` to the host, where they are not there yet."""
    for leaf in tree.leaves(x):
        if isinstance(leaf, ConcreteArray):
            leaf.copy_to_host_async()
    return x


def default_backend() -> str:
    """The platform on which programs run by default: "cpu" or "gpu".

    >>> default_backend() in ("cpu", "gpu")
    True
    """
    return client.default_platform()


def clear_caches() -> None:
    """Forget compiled executables; jitted functions compile again when called."""
    compilation_cache.clear()
    shared.forget_all()


def live_arrays(platform: str | None = None) -> list[Array]:
    """The arrays that hold memory on devices of a platform."""
    return [
        ConcreteArray(ArrayType(b.aval.shape, b.aval.dtype), None, b)
        for b in client.client(platform).live_arrays()
        if not b.is_deleted()
    ]
