"""Constructors of meshes from the available devices."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core.sharding.mesh import (
    HOW_TO_GET_DEVICES,
    Mesh,
    axis_sizes_of,
    sizes_and_names,
)
from covector.errors import ShardingError
from covector.runtime import client


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Devices in a grid of this shape, for ``Mesh``.

    Devices are taken in their order: CPUs and the GPUs of one host are all equally near
    to each other. The two switches are for machines whose devices are not.

    Raises:
      ShardingError: the number of devices is not that of the grid's positions.

    >>> import covector as cv
    >>> create_device_mesh((1, 1), cv.devices()[:1]).shape
    (1, 1)
    """
    shape = axis_sizes_of("create_device_mesh", mesh_shape)
    chosen = list(client.devices() if devices is None else devices)
    if math.prod(shape) != len(chosen):
        raise ShardingError(
            f"create_device_mesh needs {math.prod(shape)} devices for the shape "
            f"{shape}, but got {len(chosen)}. {HOW_TO_GET_DEVICES}"
        )
    grid = np.empty(len(chosen), object)
    grid[:] = chosen
    return grid.reshape(shape)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: Any = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh of this shape, of the first devices of the default platform.

    Args:
      devices: those to take instead.

    Raises:
      ShardingError: there are too few devices, or names and sizes do not fit.

    >>> make_mesh((1,), ("data",)).size
    1
    """
    shape, names = sizes_and_names("make_mesh", axis_shapes, axis_names)
    if any(n < 1 for n in shape):
        raise ShardingError(
            f"make_mesh needs positive sizes, but got {shape} for the axes {names}."
        )
    chosen = list(client.devices() if devices is None else devices)
    count = math.prod(shape)
    if count > len(chosen):
        raise ShardingError(
            f"make_mesh needs {count} devices for the shape {shape}, but there are "
            f"{len(chosen)}. {HOW_TO_GET_DEVICES}"
        )
    return Mesh(create_device_mesh(shape, chosen[:count]), names, axis_types)
