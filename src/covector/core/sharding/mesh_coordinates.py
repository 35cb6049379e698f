"""Mesh coordinates: the index of each device along the axes of a mesh."""

from typing import Any

import numpy as np

from covector.core.sharding.mesh import AbstractMesh, Mesh
from covector.core.sharding.spec import SubAxis


def sizes(mesh: Mesh | AbstractMesh, names: Any) -> list[int]:
    """The sizes of axes, or sub-axes, of the mesh."""
    shape = mesh.shape
    return [n.size if isinstance(n, SubAxis) else shape[n] for n in names]


def coordinate(mesh: Mesh | AbstractMesh, name: Any) -> np.ndarray:
    """The index of each device along an axis, or a sub-axis, of the mesh."""
    axis = name.axis if isinstance(name, SubAxis) else name
    number = mesh.axis_names.index(axis)
    along = np.indices(mesh.axis_sizes)[number].ravel()
    if isinstance(name, SubAxis):
        behind = mesh.axis_sizes[number] // (name.before * name.size)
        return along // behind % name.size
    return along


def position(mesh: Mesh | AbstractMesh, names: Any) -> np.ndarray:
    """The index of each device along several axes, flattened with the last fastest."""
    found = np.zeros(mesh.size, int)
    for name, size in zip(names, sizes(mesh, names), strict=True):
        found = found * size + coordinate(mesh, name)
    return found
