"""Axes of meshes in numbers: where each device is along them."""

from typing import Any

import numpy as np

from covector.core.sharding.mesh import AbstractMesh, Mesh
from covector.core.sharding.spec import AxisPart


def sizes(mesh: Mesh | AbstractMesh, names: Any) -> list[int]:
    """The sizes of axes of the mesh, or of parts of them."""
    shape = mesh.shape
    return [n.size if isinstance(n, AxisPart) else shape[n] for n in names]


def coordinate(mesh: Mesh | AbstractMesh, name: Any) -> np.ndarray:
    """Where each device is along an axis of the mesh, or a part of one."""
    axis = name.axis if isinstance(name, AxisPart) else name
    number = mesh.axis_names.index(axis)
    along = np.indices(mesh.axis_sizes)[number].ravel()
    if isinstance(name, AxisPart):
        behind = mesh.axis_sizes[number] // (name.before * name.size)
        return along // behind % name.size
    return along


def position(mesh: Mesh | AbstractMesh, names: Any) -> np.ndarray:
    """Where each device is along several axes, the last one running fastest."""
    found = np.zeros(mesh.size, int)
    for name, size in zip(names, sizes(mesh, names), strict=True):
        found = found * size + coordinate(mesh, name)
    return found
