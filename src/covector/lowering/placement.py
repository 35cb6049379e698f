"""Placement of a program: on one device, or partitioned over the devices of a mesh.

A ``Placement`` is the key under which executables are cached: a device, or a
``MeshPlacement``, which holds the mesh and the sharding of each operand. It follows
from the placement of the operands and from the meshes that operations name.
"""

import functools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from covector import options
from covector.core.array import ConcreteArray
from covector.core.jaxpr import Jaxpr
from covector.core.sharding.mesh import AbstractMesh, Mesh
from covector.core.sharding.shardings import NamedSharding, Sharding, Tiles
from covector.core.sharding.spec import PartitionSpec
from covector.core.sharding.spec_from_tiles import with_tiles
from covector.core.types import ArrayType
from covector.errors import DeviceMismatch, ShardingError, how_many
from covector.runtime import client

REPLICATED = PartitionSpec()

#: where the user put an array; None for nowhere
placement_of = operator.attrgetter("placement")


class MeshPlacement(NamedTuple):
    """A mesh, and the sharding of each operand over it."""

    mesh: Mesh
    shardings: tuple[NamedSharding, ...]

    def __str__(self) -> str:
        return f"the devices of {self.mesh}"


Placement: TypeAlias = client.Device | MeshPlacement
Meshes: TypeAlias = tuple[Mesh | AbstractMesh, ...]


def common_placement(
    args: Sequence[ConcreteArray], who: str, meshes: Meshes = ()
) -> tuple[Placement, Sharding | None]:
    """The device or mesh for these operands; for one device also the results' sharding.

    Args:
      meshes: those that the operations name (``meshes_of``).

    Raises:
      DeviceMismatch: the operands are on different devices.
    """
    chosen = set(map(placement_of, args))
    chosen.discard(None)
    if not chosen and not meshes:
        return options.current().default_device or client.default_device(), None
    if len(chosen) == 1 and not meshes:
        (only,) = chosen
        if only.single is not None:
            return only.single, only.replicated
    placements = tuple([a.placement for a in args])
    ranks = tuple([a.type.ndim for a in args])
    return _mesh_placement(placements, ranks, who, meshes, options.current().mesh)


def placements_of_results(
    committed: Sharding | None,
    args: Sequence[ConcreteArray],
    types: Sequence[ArrayType],
) -> list[Sharding | None]:
    """The sharding of each result, where all operands are on one device.

    On a mesh of one device every spec is true: a result has that of the first operand
    of its rank.
    """
    if not isinstance(committed, NamedSharding):
        return [committed] * len(types)
    by_rank: dict[int, Sharding] = {}
    for x in args:
        placement, ndim = x.placement, x.type.ndim
        if (
            isinstance(placement, NamedSharding)
            and placement.mesh is committed.mesh
            and len(placement.spec) <= ndim
        ):
            by_rank.setdefault(ndim, NamedSharding(committed.mesh, placement.spec))
    return [by_rank.get(t.ndim, committed) for t in types]


def placement_of_known(args: Sequence[Any], who: str) -> Sharding | None:
    """The sharding of results that were computed on the host: on the device of these
    operands, replicated where one is over several devices; None where no operand is
    committed.

    Raises:
      DeviceMismatch: the operands are on different devices.
    """
    if not any([a.placement for a in args]):
        return None
    placement, committed = common_placement(args, who)
    if isinstance(placement, MeshPlacement):
        return NamedSharding(placement.mesh, REPLICATED)
    return committed


@functools.lru_cache(4096)
def _mesh_placement(
    placements: tuple[Sharding | None, ...],
    ranks: tuple[int, ...],
    who: str,
    meshes: Meshes,
    in_force: Any,
) -> tuple[Placement, Sharding | None]:
    chosen = list(dict.fromkeys([p for p in placements if p is not None]))
    named = [s for s in chosen if isinstance(s, NamedSharding)]
    mesh = _mesh(who, [s.mesh for s in named], meshes, in_force)
    _check_same_devices(who, chosen, mesh)
    if mesh is None:
        return chosen[0].flat_devices[0], chosen[0].replicated
    if mesh.size == 1:
        return mesh.flat_devices[0], NamedSharding(mesh, REPLICATED)
    shardings = [
        on_mesh(p, ndim, mesh, who) for p, ndim in zip(placements, ranks, strict=True)
    ]
    return MeshPlacement(mesh, tuple(shardings)), None


def _mesh(
    who: str, of_args: Sequence[Any], of_program: Meshes, in_force: Any
) -> Mesh | None:
    """The mesh to run on: one that an operation names, or that of an operand."""
    for mesh in (*of_program, *of_args):
        if isinstance(mesh, Mesh):
            return mesh
    if not of_program:
        return None
    if isinstance(in_force, Mesh):
        return in_force
    raise ShardingError(
        f"{who} is over {of_program[0]}, which has no devices. Put a mesh in force, "
        "with covector.set_mesh(mesh):, or pass arguments that are on one."
    )


def _check_same_devices(who: str, chosen: Sequence[Sharding], mesh: Any) -> None:
    names = list(map(shown, chosen))
    sets = [s.device_set for s in chosen]
    if mesh is not None:
        names.append(f"{mesh} of the program")
        sets.append(set(mesh.flat_devices))
    for name, devices in zip(names, sets, strict=True):
        if devices != sets[0]:
            if mesh is None:
                raise DeviceMismatch(
                    f"{who} needs operands on one device, but they were put on "
                    f"{', '.join(sorted(set(names)))}. Bring them together with "
                    "covector.device_put."
                )
            raise DeviceMismatch(
                f"{who} needs operands over the same devices, but one is on "
                f"{names[0]} ({how_many(len(sets[0]), 'device')}) and one on {name} "
                f"({len(devices)}). Bring them together with covector.device_put."
            )


def shown(sharding: Sharding) -> str:
    """A sharding in the words of messages; of one device, the device."""
    if isinstance(sharding, NamedSharding):
        return str(sharding)
    return str(sharding.flat_devices[0])


def on_mesh(
    sharding: Sharding | None, ndim: int, mesh: Mesh, who: str
) -> NamedSharding:
    """The same tiling of an array, expressed with the axes of ``mesh``.

    Raises:
      DeviceMismatch: the axes of ``mesh`` cannot express it.
    """
    if isinstance(sharding, NamedSharding) and sharding.mesh is mesh:
        return NamedSharding(mesh, sharding.spec)
    if sharding is None or (
        sharding.is_fully_replicated and len(sharding.flat_devices) == mesh.size
    ):
        return NamedSharding(mesh, REPLICATED)
    assert isinstance(sharding, NamedSharding), "on several devices, so named"
    if not sharding.flat_devices and sharding.mesh.shape_tuple == mesh.shape_tuple:
        return NamedSharding(mesh, sharding.spec)
    counts, indices = sharding.tiles(ndim)
    index_of = dict(zip(sharding.flat_devices, indices, strict=True))
    if index_of.keys() == set(mesh.flat_devices):
        ordered = tuple([index_of[device] for device in mesh.flat_devices])
        found = with_tiles(mesh, Tiles(counts, ordered))
        if found is not None:
            return found
    raise DeviceMismatch(
        f"{who} runs on {mesh}, whose axes cannot say how an array is sharded that was "
        f"put on {sharding}. Move it there: covector.device_put(x, "
        "NamedSharding(mesh, spec))."
    )


def meshes_of(jaxpr: Jaxpr) -> Meshes:
    """The meshes that the operations of a program name, each once."""
    found: dict[Any, None] = {}
    for e in jaxpr.equations:
        found.update(dict.fromkeys(meshes_named(e.op)))
        if e.op.meshes_within is not None:
            types = tuple([a.type for a in e.inputs])
            found.update(dict.fromkeys(e.op.meshes_within(types)))
    return tuple(found)


def meshes_named(op: Any) -> Meshes:
    """The meshes that an operation or the programs that it carries name."""
    if op.mesh is not None:
        return (op.mesh,)
    return () if op.interned else tuple(_in_programs(op.parameters.values()))


def _in_programs(values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, Jaxpr):
            found += value.memo(meshes_of)
        elif isinstance(value, tuple):
            found += _in_programs(value)
    return found
