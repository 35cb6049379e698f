"""Where arrays live: putting them on devices, getting them back, waiting for them."""

from typing import Any

import numpy as np

from covector import tree
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.sharding.finding import with_tiles
from covector.core.sharding.mesh import Mesh
from covector.core.sharding.shardings import (
    Sharding,
    Tiles,
)
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.runtime import buffers, client, parts


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


def live_arrays(platform: str | None = None) -> list[Array]:
    """The arrays that hold memory on devices of a platform."""
    return [
        ConcreteArray(ArrayType(b.aval.shape, b.aval.dtype), None, b, _placement(b))
        for b in client.client(platform).live_arrays()
        # Parts that jaxlib made for itself have no type.
        if b.aval is not None and not b.is_deleted()
    ]


def _placement(buffer: Any) -> Sharding | None:
    """The sharding of a buffer over several devices, whose mesh is forgotten."""
    devices = parts.devices_of(buffer)
    if len(devices) == 1:
        return None
    tiles = Tiles(*parts.division_of(buffer))
    return with_tiles(Mesh(devices, "devices"), tiles)
