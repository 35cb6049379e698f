"""The context mesh of a thread: specs without a mesh, like ``P('x')``, refer to it.

It is part of ``Options``, and so of every cache key.
"""

from typing import Any

from covector import options
from covector.core.sharding.mesh import EMPTY, AbstractMesh, Axes, Mesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import PartitionSpec
from covector.core.types import bind_undivided
from covector.errors import ShardingError


def get_mesh() -> Mesh:
    """The mesh in force on this thread; an empty one where there is none.

    >>> get_mesh().empty
    True
    """
    found = options.current().mesh
    return found if isinstance(found, Mesh) else EMPTY


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh in force, without devices; none where there is none. Inside
    shard_map those of its mesh, of which ``manual_axes`` are manual.

    >>> get_abstract_mesh().axis_names
    ()
    """
    found = options.current().mesh
    return (EMPTY if found is None else found).abstract_mesh


def _undivided(ndim: int) -> NamedSharding:
    return NamedSharding(get_abstract_mesh(), PartitionSpec(*[None] * ndim))


bind_undivided(_undivided)


class set_mesh:
    """Put a mesh in force: ``set_mesh(mesh)`` from now on, ``with set_mesh(mesh):`` for
    a block; on this thread.

    Specs without a mesh then mean this one. None means no mesh.

    >>> import covector as cv
    >>> with cv.set_mesh(cv.make_mesh((1,), ("x",))) as mesh:
    ...     cv.sharding.get_mesh() is mesh
    True
    """

    def __init__(self, mesh: Any) -> None:
        if mesh is not None and not isinstance(mesh, Axes):
            raise ShardingError(
                f"set_mesh needs a Mesh, such as make_mesh gives, but got {mesh!r} of "
                f"type {type(mesh).__name__}."
            )
        self.mesh = mesh
        options.push(self, mesh=None if mesh is None or mesh.empty else mesh)

    def __enter__(self) -> Any:
        return self.mesh

    def __exit__(self, *_: object) -> None:
        options.pop(self)


#: the same, as older programs call it
use_mesh = set_mesh
#: the same, for a mesh without devices
use_abstract_mesh = set_mesh
