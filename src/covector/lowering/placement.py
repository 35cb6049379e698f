"""Where a program runs: on a device, or spread over the devices of a mesh.

A *place* is the key under which executables are kept: a device, or a ``Spread``, which
holds the mesh and, for each operand, how it is divided. It follows from where the
operands are, and from the meshes that operations of the program name.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from covector import options
from covector.core.array import ConcreteArray
from covector.core.jaxpr import Jaxpr
from covector.core.sharding.mesh import AbstractMesh, Mesh
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    Tiles,
)
from covector.core.sharding.spec import PartitionSpec
from covector.core.sharding.spec_from_tiles import with_tiles
from covector.core.types import ArrayType
from covector.errors import DeviceMismatch, ShardingError
from covector.runtime import client

REPLICATED = PartitionSpec()


class Spread(NamedTuple):
    """A mesh, and how each operand is divided over it."""

    mesh: Mesh
    shardings: tuple[NamedSharding, ...]

    def __str__(self) -> str:
        return f"the devices of {self.mesh}"


Place: TypeAlias = client.Device | Spread
Meshes: TypeAlias = tuple[Mesh | AbstractMesh, ...]


def common_place(
    args: Sequence[ConcreteArray], who: str, meshes: Meshes = ()
) -> tuple[Place, Sharding | None]:
    """Where to run on these operands; and, on one device, the placement of the results.

    Args:
      meshes: those that the operations name (``meshes_of``).

    Raises:
      DeviceMismatch: the operands are on different devices.
    """
    chosen = {a.placement for a in args if a.placement is not None}
    if not chosen and not meshes:
        return options.current().default_device or client.default_device(), None
    if len(chosen) == 1 and not meshes:
        (only,) = chosen
        if only.single is not None:
            return only.single, only.whole
    placements = tuple([a.placement for a in args])
    ranks = tuple([a.type.ndim for a in args])
    return _spread(placements, ranks, who, meshes, options.current().mesh)


def placements_of_results(
    committed: Sharding | None,
    args: Sequence[ConcreteArray],
    types: Sequence[ArrayType],
) -> list[Sharding | None]:
    """Where each result is, for operands on one device and what ``common_place`` says
    of them.

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
    """Where results are that were worked out on the host: with these operands, and
    whole where one is over several devices; None where no operand has a place.

    Raises:
      DeviceMismatch: the operands are on different devices.
    """
    if not any([a.placement for a in args]):
        return None
    place, committed = common_place(args, who)
    if isinstance(place, Spread):
        return NamedSharding(place.mesh, REPLICATED)
    return committed


@functools.lru_cache(4096)
def _spread(
    placements: tuple[Sharding | None, ...],
    ranks: tuple[int, ...],
    who: str,
    meshes: Meshes,
    in_force: Any,
) -> tuple[Place, Sharding | None]:
    chosen = list(dict.fromkeys([p for p in placements if p is not None]))
    named = [s for s in chosen if isinstance(s, NamedSharding)]
    mesh = _mesh(who, [s.mesh for s in named], meshes, in_force)
    _check_same_devices(who, chosen, mesh)
    if mesh is None:
        return chosen[0].flat_devices[0], chosen[0].whole
    if mesh.size == 1:
        return mesh.flat_devices[0], NamedSharding(mesh, REPLICATED)
    shardings = [
        on_mesh(p, ndim, mesh, who) for p, ndim in zip(placements, ranks, strict=True)
    ]
    return Spread(mesh, tuple(shardings)), None


def _mesh(
    who: str, of_args: Sequence[Any], of_program: Meshes, in_force: Any
) -> Mesh | None:
    """The mesh to run on: that which an operation names, or that of an operand."""
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
    places = list(map(shown, chosen))
    sets = [s.device_set for s in chosen]
    if mesh is not None:
        places.append(f"{mesh} of the program")
        sets.append(set(mesh.flat_devices))
    for place, devices in zip(places, sets, strict=True):
        if devices != sets[0]:
            if mesh is None:
                raise DeviceMismatch(
                    f"{who} needs operands on one device, but they were put on "
                    f"{', '.join(sorted(set(places)))}. Bring them together with "
                    "covector.device_put."
                )
            raise DeviceMismatch(
                f"{who} needs operands over the same devices, but one is on "
                f"{places[0]} ({len(sets[0])} devices) and one on {place} "
                f"({len(devices)}). Bring them together with covector.device_put."
            )


def shown(sharding: Sharding) -> str:
    """Where something is, in words."""
    if isinstance(sharding, NamedSharding):
        return str(sharding)
    return str(sharding.flat_devices[0])


def on_mesh(
    sharding: Sharding | None, ndim: int, mesh: Mesh, who: str
) -> NamedSharding:
    """The same division of an array, in terms of the axes of ``mesh``.

    Raises:
      DeviceMismatch: those axes cannot say it.
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
    counts, places = sharding.tiles(ndim)
    place_of = dict(zip(sharding.flat_devices, places, strict=True))
    if place_of.keys() == set(mesh.flat_devices):
        ordered = tuple([place_of[device] for device in mesh.flat_devices])
        found = with_tiles(mesh, Tiles(counts, ordered))
        if found is not None:
            return found
    raise DeviceMismatch(
        f"{who} runs on {mesh}, whose axes cannot say how an array is divided that was "
        f"put on {sharding}. Move it there: covector.device_put(x, "
        "NamedSharding(mesh, spec))."
    )


def meshes_of(jaxpr: Jaxpr) -> Meshes:
    """The meshes that the operations of a program name, each once."""
    return tuple(
        dict.fromkeys([m for e in jaxpr.equations for m in meshes_named(e.op)])
    )


def meshes_named(op: Any) -> Meshes:
    """The meshes that an operation names, by itself or in programs that it carries."""
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
