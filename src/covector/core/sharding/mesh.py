"""``Mesh``: devices in a grid with named axes.

    make_mesh((2, 4), ("x", "y"))       0 1 2 3     x ↓   y →
                                        4 5 6 7

Meshes are interned: equal ones are one object. ``AbstractMesh`` has sizes and names but
no devices. The coordinate of a device is its index along an axis.
"""

import enum
import math
import operator
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import options
from covector.core.sharding.spec import SubAxis
from covector.errors import ShardingError
from covector.runtime import client


class AxisType(enum.Enum):
    """The partitioning of arrays over a mesh axis: by the compiler, or by hand.

    ``Auto``: the compiler decides, within what arguments, results and constraints say.
    ``Manual``: inside ``shard_map`` over that axis. ``Explicit``, where types say it,
    has its name here for programs that ask; no mesh can have such an axis.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


def _check_names(who: str, names: tuple[Any, ...]) -> None:
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise ShardingError(
            f"{who} needs axis names that differ, but {repeated[0]!r} occurs more than "
            f"once in {names}."
        )


def _axis_types(types: Any, names: tuple[Any, ...]) -> tuple[AxisType, ...]:
    if types is None:
        return (AxisType.Auto,) * len(names)
    types = (types,) * len(names) if isinstance(types, AxisType) else tuple(types)
    if AxisType.Explicit in types:
        raise ShardingError(
            f"the axes {names} were given the types {types}, but types of arrays do "
            "not say shardings here, so no axis can be Explicit. Leave axis_types out, "
            "or use AxisType.Auto: the compiler partitions the work, and "
            "with_sharding_constraint tells it how."
        )
    if len(types) != len(names) or not all(isinstance(t, AxisType) for t in types):
        raise ShardingError(
            f"axis_types needs one AxisType for each of the axes {names}, but got "
            f"{types}."
        )
    return types


class Axes:
    """The common base of meshes with and without devices: the axes."""

    __slots__ = ()

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> "OrderedDict[Any, int]":
        """The sizes of the axes by name."""
        return OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether there is no mesh: this one stands for none."""
        return not self.axis_names

    @property
    def is_multi_process(self) -> bool:
        """Whether some of the devices belong to other processes."""
        return False

    def _axes_of(self, kind: AxisType) -> tuple[Any, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple([name for name, t in pairs if t is kind])

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        return self._axes_of(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        return self._axes_of(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        return self._axes_of(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return self.auto_axes == self.axis_names

    @property
    def are_all_axes_explicit(self) -> bool:
        return self.explicit_axes == self.axis_names

    @property
    def are_all_axes_manual(self) -> bool:
        return self.manual_axes == self.axis_names

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        return self

    def __copy__(self) -> Any:
        return self

    def _shown(self) -> str:
        shown = [f"{name!r}: {size}" for name, size in self.shape_tuple]
        if not self.are_all_axes_auto:
            shown.append(f"axis_types={self.axis_types}")
        return f"{type(self).__name__}({', '.join(shown)})"


_interned: dict[tuple[Any, ...], Any] = {}


class AbstractMesh(Axes):
    """Names and sizes of mesh axes, without devices.

    Use it to trace, lower or export a program for a mesh that this machine does not
    have. Nothing can run on it.

    Args:
      axis_sizes: the number of devices along each axis.
      axis_names: as many names.
      axis_types: an ``AxisType`` for each axis; ``Auto`` by default.

    Raises:
      ShardingError: names repeat, or there are not as many as sizes.

    >>> AbstractMesh((2, 4), ("x", "y")).shape["y"]
    4
    """

    __slots__ = ("axis_names", "axis_sizes", "axis_types")

    def __new__(
        cls,
        axis_sizes: Sequence[int],
        axis_names: Sequence[Any],
        axis_types: Any = None,
    ) -> "AbstractMesh":
        sizes, names = sizes_and_names("AbstractMesh", axis_sizes, axis_names)
        _check_names("AbstractMesh", names)
        key = (cls, sizes, names, _axis_types(axis_types, names))
        found = _interned.get(key)
        if found is None:
            found = object.__new__(cls)
            found.axis_sizes, found.axis_names, found.axis_types = key[1:]
            found = _interned.setdefault(key, found)
        return found

    @property
    def abstract_mesh(self) -> "AbstractMesh":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (AbstractMesh, (self.axis_sizes, self.axis_names, self.axis_types))

    def __repr__(self) -> str:
        return self._shown()


def sizes_and_names(
    who: str, axis_sizes: Any, axis_names: Any
) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Sizes and names of axes as tuples of one length."""
    sizes, names = axis_sizes_of(who, axis_sizes), axis_tuple(axis_names)
    if len(sizes) != len(names):
        raise ShardingError(
            f"{who} needs one name for each size, but got the sizes {sizes} and the "
            f"names {names}."
        )
    return sizes, names


def axis_sizes_of(who: str, sizes: Any) -> tuple[int, ...]:
    """Sizes of axes as a tuple of ints."""
    try:
        return tuple([operator.index(n) for n in sizes])
    except TypeError:
        raise ShardingError(
            f"{who} needs the sizes of the axes first and then their names, as "
            f"{who}((2, 4), ('x', 'y')), but got {sizes!r} for the sizes."
        ) from None


def axis_tuple(axis_names: Any) -> tuple[Any, ...]:
    """Names of axes as a tuple; a string is one name."""
    return (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)


class Mesh(Axes):
    """Devices in a grid with named axes.

    Shardings and ``shard_map`` refer to its axes by name. ``make_mesh`` makes one from
    a shape, and chooses the order of the devices; this class takes them in the order
    given. A mesh is a context manager too: ``with mesh:`` makes it the current one.

    Args:
      devices: an array of devices, or nested sequences, of as many axes as names.
      axis_names: the names, or the one name.
      axis_types: an ``AxisType`` for each axis; ``Auto`` by default.

    Raises:
      ShardingError: names repeat, a device occurs twice, or their numbers do not fit.

    >>> import covector as cv
    >>> dict(Mesh(cv.devices()[:1], "x").shape)
    {'x': 1}

    See also: ``covector.make_mesh``, ``covector.set_mesh``.
    """

    __slots__ = ("axis_names", "axis_sizes", "axis_types", "devices", "flat_devices")

    devices: np.ndarray
    flat_devices: tuple[client.Device, ...]

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> "Mesh":
        grid = np.array(devices, dtype=object)
        names = axis_tuple(axis_names)
        if grid.ndim != len(names):
            raise ShardingError(
                f"Mesh needs one name for each axis of its devices, but got devices of "
                f"shape {grid.shape} and the names {names}. Reshape the devices: "
                "numpy.array(devices).reshape(...); or use make_mesh."
            )
        flat = tuple(grid.ravel().tolist()) if names else ()
        key = (cls, flat, grid.shape, names, _axis_types(axis_types, names))
        found = _interned.get(key)
        if found is None:
            cls._check(flat, names)
            found = object.__new__(cls)
            grid.flags.writeable = False
            found.devices, found.flat_devices = grid, flat
            found.axis_sizes, found.axis_names, found.axis_types = key[2:]
            found = _interned.setdefault(key, found)
        return found

    @staticmethod
    def _check(devices: tuple[Any, ...], names: tuple[Any, ...]) -> None:
        _check_names("Mesh", names)
        if names and not devices:
            raise ShardingError(
                f"Mesh needs at least one device for its axes {names}, but got none."
            )
        for i, device in enumerate(devices):
            if not isinstance(device, client.Device):
                raise ShardingError(
                    "Mesh needs devices, such as covector.devices(), but got "
                    f"{device!r} of type {type(device).__name__}."
                )
            if device in devices[:i]:
                raise ShardingError(f"Mesh got the device {device} more than once.")

    @property
    def device_ids(self) -> np.ndarray:
        """The numbers of the devices, in the grid."""
        ids = [device.id for device in self.flat_devices]
        return np.array(ids, np.int64).reshape(self.devices.shape)

    @property
    def local_devices(self) -> list[client.Device]:
        """The devices of this process."""
        return list(filter(client.is_local, self.flat_devices))

    @property
    def is_multi_process(self) -> bool:
        return not all(map(client.is_local, self.flat_devices))

    @property
    def local_mesh(self) -> "Mesh":
        """The sub-mesh of this process's devices."""
        if not self.is_multi_process:
            return self
        here = set(self.local_devices)
        mine = np.vectorize(here.__contains__, otypes=[bool])(self.devices)
        box = tuple([slice(i.min(), i.max() + 1) for i in np.nonzero(mine)])
        return Mesh(self.devices[box], self.axis_names, self.axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes, without the devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def update(
        self, devices: Any = None, axis_names: Any = None, axis_types: Any = None
    ) -> "Mesh":
        """The mesh with other devices, names or types of axes."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __enter__(self) -> "Mesh":
        options.push(self, mesh=self)
        return self

    def __exit__(self, *_: object) -> None:
        options.pop(self)

    def __reduce__(self) -> tuple[Any, ...]:
        platform = client.device_platform(self.flat_devices[0]) if self.size else None
        ids = self.device_ids if self.size else None
        return (_unpickled, (platform, ids, self.axis_names, self.axis_types))

    def __repr__(self) -> str:
        return self._shown()

    def _repr_html_(self) -> str:
        from covector.core.html.shardings import mesh_html  # noqa: PLC0415  notebooks only

        return mesh_html(self)


def _unpickled(platform: Any, ids: Any, names: Any, types: Any) -> Mesh:
    if platform is None:
        return EMPTY
    known = {device.id: device for device in client.devices(platform)}
    missing = [int(i) for i in ids.ravel() if int(i) not in known]
    if missing:
        raise ShardingError(
            f"this mesh was pickled where {platform} had a device number {missing[0]}, "
            f"but here it has {len(known)}. {HOW_TO_GET_DEVICES}"
        )
    grid = np.empty(ids.shape, object)
    for index, i in np.ndenumerate(ids):
        grid[index] = known[int(i)]
    return Mesh(grid, names, types)


#: the mesh that stands for none
EMPTY = Mesh(np.empty((), object), ())

HOW_TO_GET_DEVICES = (
    "The CPU appears as several devices with COVECTOR_NUM_CPU_DEVICES=8 in the "
    "environment, or config.update('num_cpu_devices', 8) before the first array is "
    "made."
)


def sizes_along(mesh: Mesh | AbstractMesh, names: Any) -> list[int]:
    """The sizes of axes, or sub-axes, of the mesh."""
    shape = mesh.shape
    return [n.size if isinstance(n, SubAxis) else shape[n] for n in names]


def coordinate_along(mesh: Mesh | AbstractMesh, name: Any) -> np.ndarray:
    """The index of each device along an axis, or a sub-axis, of the mesh."""
    axis = name.axis if isinstance(name, SubAxis) else name
    number = mesh.axis_names.index(axis)
    along = np.indices(mesh.axis_sizes)[number].ravel()
    if isinstance(name, SubAxis):
        behind = mesh.axis_sizes[number] // (name.before * name.size)
        return along // behind % name.size
    return along


def position_along(mesh: Mesh | AbstractMesh, names: Any) -> np.ndarray:
    """The index of each device along several axes, flattened with the last fastest."""
    found = np.zeros(mesh.size, int)
    for name, size in zip(names, sizes_along(mesh, names), strict=True):
        found = found * size + coordinate_along(mesh, name)
    return found
