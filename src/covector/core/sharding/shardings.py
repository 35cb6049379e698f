"""``Sharding``: the map from devices to the elements of an array that they hold.

    NamedSharding(mesh, P('x', None))      rows over the devices along x
    SingleDeviceSharding(device)           all on one device

A sharding applies to arrays of any shape that it fits. It is evaluated to *tiles*: into
how many shards each axis is partitioned, and which shard each device holds. All shards
have the same shape. Shardings are interned: equal ones are one object.
"""

import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from covector.core.sharding.mesh import AbstractMesh, Mesh, position_along, sizes_along
from covector.core.sharding.spec import PartitionSpec, SubAxis
from covector.errors import ShardingError, did_you_mean, how_many
from covector.runtime import client, shards

Index = tuple[slice, ...]
Shape = tuple[int, ...]


class Tiles(NamedTuple):
    """The partition of an array's axes into shards."""

    #: into how many shards each axis is partitioned
    counts: Shape
    #: for each device in order, the index of its shard along each axis
    tile_indices: tuple[Shape, ...]


_interned: dict[tuple[Any, ...], Any] = {}


class Sharding:
    """Which elements of an array each device holds: the base of all shardings.

    ``x.sharding`` is that of an array; ``NamedSharding`` makes one from a mesh.
    """

    __slots__ = ("_layouts", "_tiles", "flat_devices", "memory_kind", "single")

    #: the devices, in the order in which programs number them
    flat_devices: tuple[client.Device, ...]
    #: the kind of memory, by the name that the devices give it
    memory_kind: str | None
    #: the one device, where there is one and the memory is that which programs run on
    single: client.Device | None
    _tiles: dict[int, Tiles]
    _layouts: dict[int, shards.ShardLayout]

    @classmethod
    def _made(cls, devices: tuple[client.Device, ...], kind: str | None) -> Any:
        """A new object, with the attributes that all shardings have."""
        made = object.__new__(cls)
        made.flat_devices, made.memory_kind = devices, kind
        made._tiles, made._layouts = {}, {}
        usual = len(devices) == 1 and kind == shards.memory_kind(devices, None)
        made.single = devices[0] if usual else None
        return made

    # -- which devices -----------------------------------------------------------------

    @property
    def num_devices(self) -> int:
        """The number of devices that hold a shard."""
        return len(self.flat_devices)

    @property
    def device_set(self) -> set[client.Device]:
        """The devices that hold a shard."""
        return set(self.flat_devices)

    @property
    def addressable_devices(self) -> set[client.Device]:
        """The devices that belong to this process."""
        return {d for d in self.flat_devices if client.is_local(d)}

    @property
    def has_addressable_devices(self) -> bool:
        return bool(self.addressable_devices)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process can read all shards."""
        return all(map(client.is_local, self.flat_devices))

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the whole array."""
        raise NotImplementedError

    @property
    def replicated(self) -> "Sharding":
        """Replicated over the same devices, in the memory that programs use."""
        raise NotImplementedError

    # -- which elements ----------------------------------------------------------------

    def tiles(self, ndim: int) -> Tiles:
        """The tiles of an array with ``ndim`` axes."""
        found = self._tiles.get(ndim)
        if found is None:
            found = self._tiles[ndim] = self._work_out(ndim)
        return found

    def _work_out(self, ndim: int) -> Tiles:
        raise NotImplementedError

    def layout(self, ndim: int) -> shards.ShardLayout:
        """The same in the form of the runtime."""
        found = self._layouts.get(ndim)
        if found is None:
            found = shards.layout(self.flat_devices, self.tiles(ndim), self.memory_kind)
            self._layouts[ndim] = found
        return found

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of each shard of an array of this shape.

        Raises:
          ShardingError: the array has fewer axes than the spec, or a length cannot be
            sharded evenly.
        """
        counts = self.tiles(len(global_shape)).counts
        for axis, (length, count) in enumerate(zip(global_shape, counts, strict=True)):
            if length % count:
                more = count - length % count
                raise ShardingError(
                    f"{self} shards axis {axis} of an array of shape "
                    f"{global_shape} into {how_many(count, 'shard')}, but its length "
                    f"{length} is not a multiple of {count}. Pad the axis by {more}, "
                    f"to {length + more}, with covector.numpy.pad, or shard another "
                    "axis."
                )
        return tuple([n // c for n, c in zip(global_shape, counts, strict=True)])

    def devices_indices_map(self, global_shape: Shape) -> Mapping[Any, Index]:
        """The elements that each device holds, of an array of this shape."""
        return dict(_indices(self, tuple(global_shape)))

    def addressable_devices_indices_map(self, global_shape: Shape) -> Mapping[Any, Any]:
        """``devices_indices_map`` for the devices of this process."""
        everything = self.devices_indices_map(global_shape)
        return {d: index for d, index in everything.items() if client.is_local(d)}

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether the two put the same elements of an array of ``ndim`` axes on the
        same devices.
        """
        if self is other:
            return True
        if not isinstance(other, Sharding) or self.memory_kind != other.memory_kind:
            return False
        mine, theirs = self.tiles(ndim), other.tiles(ndim)
        return mine.counts == theirs.counts and dict(
            zip(self.flat_devices, mine.tile_indices, strict=True)
        ) == dict(zip(other.flat_devices, theirs.tile_indices, strict=True))

    def with_memory_kind(self, kind: str) -> "Sharding":
        """The same in another kind of memory."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from covector.core.html.shardings import sharding_html  # noqa: PLC0415  notebooks only

        return sharding_html(self)

    def __copy__(self) -> "Sharding":
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> "Sharding":
        return self


@functools.lru_cache(4096)
def _indices(sharding: Sharding, shape: Shape) -> dict[client.Device, Index]:
    lengths = sharding.shard_shape(shape)
    tile_indices = sharding.tiles(len(shape)).tile_indices
    return {
        device: tuple(
            [
                slice(None) if p == n else slice(k * p, (k + 1) * p)
                for k, p, n in zip(tile_index, lengths, shape, strict=True)
            ]
        )
        for device, tile_index in zip(sharding.flat_devices, tile_indices, strict=True)
    }


class SingleDeviceSharding(Sharding):
    """All elements on one device.

    Args:
      device: such as ``covector.devices()[0]``.
      memory_kind: such as "pinned_host"; None for the memory that programs run on.

    Raises:
      ShardingError: ``device`` is not a device, or has no such memory.

    >>> import covector as cv
    >>> SingleDeviceSharding(cv.devices()[0]).shard_shape((2, 3))
    (2, 3)

    See also: ``NamedSharding``, ``device_put``.
    """

    __slots__ = ()

    def __new__(
        cls, device: client.Device, *, memory_kind: str | None = None
    ) -> "SingleDeviceSharding":
        if not isinstance(device, client.Device):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ShardingError(
                "SingleDeviceSharding needs a device, such as covector.devices()[0], "
                f"but got {device!r}."
            )
        kind = shards.memory_kind((device,), memory_kind)
        key = (cls, device, kind)
        found = _interned.get(key)
        return found or _interned.setdefault(key, cls._made((device,), kind))

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def replicated(self) -> "SingleDeviceSharding":
        if self.single is not None:
            return self
        return SingleDeviceSharding(self.flat_devices[0])

    def _work_out(self, ndim: int) -> Tiles:
        return Tiles((1,) * ndim, ((0,) * ndim,))

    def with_memory_kind(self, kind: str) -> "SingleDeviceSharding":
        return SingleDeviceSharding(self.flat_devices[0], memory_kind=kind)

    def __reduce__(self) -> tuple[Any, ...]:
        device = self.flat_devices[0]
        key = client.device_platform(device), device.id, self.memory_kind
        return (_single_device, key)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding({self.flat_devices[0]}{_shown_kind(self)})"


def _single_device(platform: str, number: int, kind: str) -> SingleDeviceSharding:
    for device in client.devices(platform):
        if device.id == number:
            return SingleDeviceSharding(device, memory_kind=kind)
    raise ShardingError(f"there is no {platform} device number {number} here.")


def make_single_device_sharding(
    device: Any, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """``SingleDeviceSharding(device)``, for programs that call a function."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def _shown_kind(sharding: Sharding) -> str:
    if not sharding.flat_devices:
        return ""
    usual = shards.memory_kind(sharding.flat_devices, None)
    kind = sharding.memory_kind
    return "" if kind == usual else f", memory_kind={kind!r}"


class NamedSharding(Sharding):
    """An array partitioned over the axes of a mesh.

    Give it to ``device_put``, or to ``jit`` as ``in_shardings`` and ``out_shardings``.
    The size of an array axis must be a multiple of the number of shards along it.

    Args:
      mesh: a ``Mesh``; an ``AbstractMesh`` where no devices are needed.
      spec: for each axis of the array, the mesh axes that it is partitioned over.
      memory_kind: such as "pinned_host"; None for the memory that programs run on.

    Raises:
      ShardingError: the spec names an axis that the mesh does not have, or one twice.

    >>> import covector as cv
    >>> NamedSharding(cv.make_mesh((1,), ("x",)), PartitionSpec("x"))
    NamedSharding(Mesh('x': 1), P('x'))

    See also: ``covector.P``, ``covector.make_mesh``, ``covector.device_put``.
    """

    __slots__ = ("mesh", "spec")

    mesh: Mesh | AbstractMesh
    spec: PartitionSpec

    def __new__(
        cls,
        mesh: Mesh | AbstractMesh,
        spec: PartitionSpec,
        *,
        memory_kind: str | None = None,
    ) -> "NamedSharding":
        _check(mesh, spec)
        flat = mesh.flat_devices if isinstance(mesh, Mesh) else ()
        kind = shards.memory_kind(flat, memory_kind) if flat else memory_kind
        key = (cls, mesh, spec, kind)
        found = _interned.get(key)
        if found is None:
            found = cls._made(flat, kind)
            found.mesh, found.spec = mesh, spec
            found = _interned.setdefault(key, found)
        return found

    @property
    def is_fully_replicated(self) -> bool:
        return math.prod(sizes_along(self.mesh, self.spec.names())) == 1

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    @property
    def replicated(self) -> "NamedSharding":
        return NamedSharding(self.mesh, PartitionSpec())

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The axes of the mesh that no axis of the array is partitioned over."""
        return frozenset(self.mesh.axis_names) - frozenset(self.spec.names())

    def check_compatible_aval(self, aval_shape: Shape) -> None:
        """Raise where an array of this shape has fewer axes than the spec.

        Raises:
          ShardingError: so it is.
        """
        if len(self.spec) > len(aval_shape):
            raise ShardingError(
                f"{self} has {how_many(len(self.spec), 'entry', 'entries')}, but here "
                f"is an array of shape {tuple(aval_shape)}. A spec has at most one "
                "entry for each axis."
            )

    def shard_shape(self, global_shape: Shape) -> Shape:
        self.check_compatible_aval(global_shape)
        return super().shard_shape(global_shape)

    def _work_out(self, ndim: int) -> Tiles:
        axes = [self.spec.axes(dim) for dim in range(ndim)]
        counts = tuple([math.prod(sizes_along(self.mesh, names)) for names in axes])
        columns = [position_along(self.mesh, names) for names in axes]
        rows = np.stack(columns, 1) if columns else np.zeros((self.mesh.size, 0), int)
        return Tiles(counts, tuple(map(tuple, rows.tolist())))

    def update(self, **changes: Any) -> "NamedSharding":
        """The same with another ``mesh``, ``spec`` or ``memory_kind``."""
        now: dict[str, Any] = {
            "mesh": self.mesh,
            "spec": self.spec,
            "memory_kind": self.memory_kind,
        }
        return NamedSharding(**(now | changes))

    def with_memory_kind(self, kind: str) -> "NamedSharding":
        return self.update(memory_kind=kind)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self.mesh, self.spec, self.memory_kind))

    def __repr__(self) -> str:
        return f"NamedSharding({self.mesh}, {self.spec}{_shown_kind(self)})"


def _named(mesh: Any, spec: PartitionSpec, kind: str | None) -> NamedSharding:
    return NamedSharding(mesh, spec, memory_kind=kind)


def _check(mesh: Any, spec: Any) -> None:
    if not isinstance(mesh, Mesh | AbstractMesh):
        raise ShardingError(
            f"NamedSharding needs a Mesh, such as make_mesh gives, but got {mesh!r} of "
            f"type {type(mesh).__name__}."
        )
    if not isinstance(spec, PartitionSpec):
        raise ShardingError(
            "NamedSharding needs a PartitionSpec, such as P('x', None), but got "
            f"{spec!r} of type {type(spec).__name__}."
        )
    names = spec.names()
    for i, name in enumerate(names):
        axis = name.axis if isinstance(name, SubAxis) else name
        if axis not in mesh.axis_names:
            raise ShardingError(
                f"{spec} names the axis {axis!r}, but {mesh} has the axes "
                f"{mesh.axis_names}.{did_you_mean(axis, mesh.axis_names)}"
            )
        if name in names[:i]:
            raise ShardingError(
                f"{spec} names the axis {name!r} twice. An axis of the mesh can shard "
                "one axis of an array only."
            )
