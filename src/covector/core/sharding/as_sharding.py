"""Conversion of what users pass (a device, a sharding or a spec) to a sharding."""

from typing import TypeAlias

from covector import options
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from covector.core.sharding.spec import PartitionSpec
from covector.errors import DeviceError, ShardingError
from covector.runtime import client

#: what users pass for where an array is to be
ShardingLike: TypeAlias = client.Device | Sharding | PartitionSpec


def as_sharding(target: ShardingLike, who: str) -> Sharding:
    """The sharding that ``target`` stands for; a spec is one for the mesh in force.

    Raises:
      DeviceError: it is no device, sharding or spec.
      ShardingError: it is a spec, and no mesh is in force.
    """
    if isinstance(target, Sharding):
        return target
    if isinstance(target, client.Device):
        return SingleDeviceSharding(target)
    if isinstance(target, PartitionSpec):
        return with_mesh(target, who)
    raise DeviceError(
        f"{who} needs a device, such as covector.devices()[0], a Sharding, or a "
        f"PartitionSpec, but got {target!r} of type {type(target).__name__}."
    )


def with_mesh(spec: PartitionSpec, who: str) -> NamedSharding:
    """A spec for the mesh in force."""
    mesh = options.current().mesh
    if mesh is None:
        raise ShardingError(
            f"{who} got {spec} and no mesh is in force, so its names mean nothing. Put "
            "one in force, with covector.set_mesh(mesh):, or pass a sharding: "
            f"NamedSharding(mesh, {spec})."
        )
    return NamedSharding(mesh, spec)
