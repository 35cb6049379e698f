"""Device grids for meshes."""

from covector import namespaces
from covector.core.sharding.make_mesh import (
    create_device_mesh,
    create_hybrid_device_mesh,
)

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]
__dir__ = namespaces.completions(globals())
