"""Meshes of devices, and how arrays are divided over them.

>>> import covector as cv
>>> from covector.sharding import NamedSharding, PartitionSpec as P
>>> mesh = cv.make_mesh((1,), ("data",))
>>> x = cv.device_put(cv.numpy.zeros((4, 2)), NamedSharding(mesh, P("data")))
>>> x.sharding.shard_shape(x.shape)
(4, 2)
"""

from covector.core.sharding.in_force import (
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
    use_mesh,
)
from covector.core.sharding.making import make_mesh
from covector.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)
from covector.core.sharding.spec import PartitionSpec
from covector.programs.placing import reshard

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_abstract_mesh",
    "get_mesh",
    "make_mesh",
    "make_single_device_sharding",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
    "use_mesh",
]
