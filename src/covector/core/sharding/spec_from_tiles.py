"""Recover the PartitionSpec that produces a given tiling."""

from typing import Any

import numpy as np

from covector.core.sharding.mesh import Mesh, coordinate_along
from covector.core.sharding.shardings import NamedSharding, Tiles
from covector.core.sharding.spec import PartitionSpec, SubAxis


def with_tiles(mesh: Mesh, tiles: Tiles) -> NamedSharding | None:
    """The sharding over ``mesh`` with these tiles; None if no spec produces them.

    ``tiles.tile_indices`` are in the order of the mesh's devices.
    """
    entries: list[Any] = []
    for dim, count in enumerate(tiles.counts):
        wanted = np.array([tile_index[dim] for tile_index in tiles.tile_indices])
        names = _names_for(mesh, wanted, count)
        if names is None:
            return None
        entries.append(names)
    while entries and not entries[-1]:
        entries.pop()
    return NamedSharding(mesh, PartitionSpec(*entries))


def _names_for(mesh: Mesh, wanted: np.ndarray, count: int) -> tuple[Any, ...] | None:
    """The mesh axes along which devices have these tile indices: found from the last
    axis, the largest candidates first, so that an axis is found before its sub-axes.
    """
    if count == 1:
        return () if not wanted.any() else None
    for name, size in _candidates(mesh):
        if size > 1 and count % size == 0:
            last = coordinate_along(mesh, name)
            if np.array_equal(wanted % size, last):
                before = _names_for(mesh, wanted // size, count // size)
                if before is not None and name not in before:
                    return (*before, name)
    return None


def _candidates(mesh: Mesh) -> list[tuple[Any, int]]:
    """The axes of the mesh, then sub-axes, large ones first."""
    found: list[tuple[Any, int]] = list(mesh.shape_tuple)
    parts_of = [
        (SubAxis(name, before, size), size)
        for name, full in mesh.shape_tuple
        for size in range(2, full)
        for before in range(1, full // size + 1)
        if full % (before * size) == 0
    ]
    return found + sorted(parts_of, key=lambda pair: -pair[1])
