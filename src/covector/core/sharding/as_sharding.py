"""Conversion of what users pass (a device, a sharding, a spec, a format) to a sharding.

A ``Format`` is a sharding with a ``Layout``, the order of elements in memory. Arrays
are row-major, and so are arguments and results of programs: another order is for values
inside of a program (``with_layout_constraint``).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from covector import options
from covector.core.annotations import Named
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from covector.core.sharding.spec import PartitionSpec
from covector.errors import ArgumentError, DeviceError, ShardingError
from covector.runtime import client


@dataclass(frozen=True)
class Layout:
    """An order of the elements of an array in memory.

    Args:
      major_to_minor: the axes, from the one along which neighbours are farthest apart.
      tiling: of accelerators; None leaves it to the compiler.
      sub_byte_element_size_in_bits: of elements narrower than a byte; 0 for their own.

    Raises:
      ArgumentError: ``major_to_minor`` is no order of all axes.

    >>> Layout((0, 1))
    Layout(major_to_minor=(0, 1), tiling=None, sub_byte_element_size_in_bits=0)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    def __post_init__(self) -> None:
        axes = tuple(self.major_to_minor)
        if sorted(axes) != [*range(len(axes))]:
            raise ArgumentError(
                f"Layout needs the axes 0 to {len(axes) - 1} in some order, but got "
                f"{axes}."
            )
        object.__setattr__(self, "major_to_minor", axes)

    @property
    def is_row_major(self) -> bool:
        """Whether it is that of all arrays."""
        return self == Layout(tuple(range(len(self.major_to_minor))))


@dataclass(frozen=True)
class Format:
    """A layout and a sharding: all about where the elements of an array are.

    Raises:
      ArgumentError: there is a layout and no sharding.
    """

    layout: Layout | None = None
    sharding: Sharding | None = None

    def __post_init__(self) -> None:
        if self.layout is not None and not isinstance(self.sharding, Sharding):
            raise ArgumentError(
                f"Format with the layout {self.layout} needs a sharding, but got "
                f"{self.sharding!r}."
            )


def format_of(ndim: int, sharding: Sharding) -> Format:
    """The format of an array with this sharding."""
    return Format(Layout(tuple(range(ndim))), sharding)


#: what users pass for where an array is to be
ShardingLike: TypeAlias = client.Device | Sharding | PartitionSpec | Format
if not TYPE_CHECKING:
    ShardingLike = Named("ShardingLike", ShardingLike)


def as_sharding(target: object, who: str) -> Sharding:
    """The sharding that ``target`` stands for; a spec is one for the mesh in force.

    Raises:
      ArgumentError: it is a format with another layout than that of arrays.
      DeviceError: it is not a device, sharding or spec.
      ShardingError: it is a spec, and no mesh is in force.
    """
    if isinstance(target, Sharding):
        return target
    if isinstance(target, client.Device):
        return SingleDeviceSharding(target)
    if isinstance(target, PartitionSpec):
        return with_mesh(target, who)
    if isinstance(target, Format) and target.sharding is not None:
        if target.layout is not None and not target.layout.is_row_major:
            raise ArgumentError(
                f"{who} got {target.layout}, but arrays are row-major; inside of a "
                "program, covector.experimental.layout.with_layout_constraint gives a "
                "value another layout."
            )
        return target.sharding
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
