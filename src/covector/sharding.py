"""Meshes of devices and shardings of arrays over them.

>>> import covector as cv
>>> from covector.sharding import NamedSharding, PartitionSpec as P
>>> mesh = cv.make_mesh((1,), ("data",))
>>> x = cv.device_put(cv.numpy.zeros((4, 2)), NamedSharding(mesh, P("data")))
>>> x.sharding.shard_shape(x.shape)
(4, 2)
"""

from covector import namespaces
from covector.core.sharding.context_mesh import (
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
    use_mesh,
)
from covector.core.sharding.make_mesh import make_mesh
from covector.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)
from covector.core.sharding.spec import PartitionSpec
from covector.placement.device_put import reshard

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
__getattr__ = namespaces.missing(__name__)
__dir__ = namespaces.completions(globals())
