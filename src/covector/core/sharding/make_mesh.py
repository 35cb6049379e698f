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
from covector.errors import ShardingError, how_many
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
            f"create_device_mesh needs {how_many(math.prod(shape), 'device')} for the "
            f"shape {shape}, but got {len(chosen)}. {HOW_TO_GET_DEVICES}"
        )
    grid = np.empty(len(chosen), object)
    grid[:] = chosen
    return grid.reshape(shape)


def create_hybrid_device_mesh(  # noqa: PLR0913  as the field has it
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Devices in a grid, for ``Mesh``, that are near to each other in blocks: those of
    one slice, or of one process.

    Args:
      mesh_shape: the shape of a block.
      dcn_mesh_shape: how many blocks there are along each axis.
      devices: all devices of the default platform, or these.
      process_is_granule: a block is the devices of a process, not of a slice.
      should_sort_granules_by_key: blocks follow each other by the number of their slice
        or process, not as ``devices`` begins with them.
      allow_split_physical_axes: as of ``create_device_mesh``.

    Returns:
      An array of devices, whose shape is the product of both shapes.

    Raises:
      ShardingError: there are more or fewer blocks, or devices in one of them; or the
        devices belong to no slices.

    >>> import covector as cv
    >>> one = cv.devices()[:1]
    >>> create_hybrid_device_mesh((1, 1), (1, 1), one, process_is_granule=True).shape
    (1, 1)
    """
    shape = axis_sizes_of("create_hybrid_device_mesh", mesh_shape)
    outer = axis_sizes_of("create_hybrid_device_mesh", dcn_mesh_shape)
    if len(shape) != len(outer):
        raise ShardingError(
            "create_hybrid_device_mesh needs two shapes of one length, but got "
            f"{shape} and {outer}."
        )
    chosen = list(client.devices() if devices is None else devices)
    blocks = _blocks(chosen, process_is_granule, should_sort_granules_by_key)
    if len(blocks) != math.prod(outer):
        raise ShardingError(
            f"create_hybrid_device_mesh needs {math.prod(outer)} blocks of devices for "
            f"the shape {outer}, but got {len(blocks)}."
        )
    grid = np.empty((len(blocks), *shape), object)
    for index, block in enumerate(blocks):
        grid[index] = create_device_mesh(
            shape, block, allow_split_physical_axes=allow_split_physical_axes
        )
    # Along each axis: the blocks, and then what is inside of a block.
    n = len(shape)
    order = [
        axis for pair in zip(range(n), range(n, 2 * n), strict=True) for axis in pair
    ]
    sizes = [a * b for a, b in zip(outer, shape, strict=True)]
    return grid.reshape(*outer, *shape).transpose(order).reshape(sizes)


def _blocks(
    devices: Sequence[Any], of_processes: bool, in_order: bool
) -> list[list[Any]]:
    key = "process_index" if of_processes else "slice_index"
    if not all(hasattr(device, key) for device in devices):
        raise ShardingError(
            "create_hybrid_device_mesh puts devices of one slice together, but these "
            "belong to none. With process_is_granule=True it takes those of a process."
        )
    found: dict[int, list[Any]] = {}
    for device in devices:
        found.setdefault(getattr(device, key), []).append(device)
    return [found[k] for k in (sorted(found) if in_order else found)]


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

    See also: ``covector.sharding.Mesh``, ``covector.sharding.NamedSharding``,
    ``shard_map``.
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
            f"make_mesh needs {how_many(count, 'device')} for the shape {shape}, but "
            f"there are {len(chosen)}. {HOW_TO_GET_DEVICES}"
        )
    return Mesh(create_device_mesh(shape, chosen[:count]), names, axis_types)
