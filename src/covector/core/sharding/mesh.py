"""``Mesh``: devices in a grid whose axes have names.

    make_mesh((2, 4), ("x", "y"))       0 1 2 3     x ↓   y →
                                        4 5 6 7

Meshes are interned: equal ones are one object. ``AbstractMesh`` has sizes and names but
no devices. A mesh is put in force for a thread by ``with set_mesh(mesh):``; specs
without a mesh (``P('x')``) then mean that one. It is part of ``Options``, and so of
every key.
"""

import enum
import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import options
from covector.errors import ShardingError
from covector.runtime import client


class AxisType(enum.Enum):
    """How arrays are divided over an axis: by the compiler, in types, or by hand.

    Every axis that is not manual is treated as ``Auto``: the compiler decides, within
    what arguments, results and constraints say.
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
    if isinstance(types, AxisType):
        return (types,) * len(names)
    types = tuple(types)
    if len(types) != len(names) or not all(isinstance(t, AxisType) for t in types):
        raise ShardingError(
            f"axis_types needs one AxisType for each of the axes {names}, but got "
            f"{types}."
        )
    return types


class _Grid:
    """What meshes with and without devices have in common: axes."""

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

    def __deepcopy__(self, memo: dict) -> Any:
        return self

    def __copy__(self) -> Any:
        return self

    def _shown(self) -> str:
        shown = [f"{name!r}: {size}" for name, size in self.shape_tuple]
        if not self.are_all_axes_auto:
            shown.append(f"axis_types={self.axis_types}")
        return f"{type(self).__name__}({', '.join(shown)})"


_interned: dict[tuple, Any] = {}


class AbstractMesh(_Grid):
    """Names and sizes of axes, without devices.

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
        sizes, names = tuple(map(int, axis_sizes)), _names(axis_names)
        if len(sizes) != len(names):
            raise ShardingError(
                f"AbstractMesh needs one name for each size, but got the sizes {sizes} "
                f"and the names {names}."
            )
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

    def __reduce__(self) -> tuple:
        return (AbstractMesh, (self.axis_sizes, self.axis_names, self.axis_types))

    def __repr__(self) -> str:
        return self._shown()


def _names(axis_names: Any) -> tuple[Any, ...]:
    return (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)


class Mesh(_Grid):
    """Devices in a grid with named axes.

    Args:
      devices: an array of devices, or nested sequences, of as many axes as names.
      axis_names: the names, or the one name.
      axis_types: an ``AxisType`` for each axis; ``Auto`` by default.

    Raises:
      ShardingError: names repeat, a device occurs twice, or their numbers do not fit.

    >>> import covector as cv
    >>> dict(Mesh(cv.devices()[:1], "x").shape)
    {'x': 1}
    """

    __slots__ = ("axis_names", "axis_sizes", "axis_types", "devices", "flat_devices")

    devices: np.ndarray
    flat_devices: tuple[client.Device, ...]

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> "Mesh":
        grid = np.array(devices, dtype=object)
        names = _names(axis_names)
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
        return len(self.local_devices) < len(self.flat_devices)

    @property
    def local_mesh(self) -> "Mesh":
        """The part of the grid that this process has."""
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
        options.push(mesh=self)
        return self

    def __exit__(self, *_: object) -> None:
        options.pop()

    def __reduce__(self) -> tuple:
        platform = client.device_platform(self.flat_devices[0]) if self.size else None
        ids = self.device_ids if self.size else None
        return (_unpickled, (platform, ids, self.axis_names, self.axis_types))

    def __repr__(self) -> str:
        return self._shown()


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
    for place, i in np.ndenumerate(ids):
        grid[place] = known[int(i)]
    return Mesh(grid, names, types)


#: the mesh that stands for none
EMPTY = Mesh(np.empty((), object), ())

HOW_TO_GET_DEVICES = (
    "The CPU appears as several devices with COVECTOR_NUM_CPU_DEVICES=8 in the "
    "environment, or config.update('num_cpu_devices', 8) before the first array is "
    "made."
)


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Devices in a grid of this shape, for ``Mesh``.

    Devices are taken in their order: CPUs and the GPUs of one host are all equally near
    to each other. The two switches are for machines whose devices are not.

    Raises:
      ShardingError: there are not as many devices as the grid has places.

    >>> create_device_mesh((1, 1)).shape
    (1, 1)
    """
    shape = tuple(map(int, mesh_shape))
    chosen = list(client.devices() if devices is None else devices)
    if math.prod(shape) != len(chosen):
        raise ShardingError(
            f"create_device_mesh needs {math.prod(shape)} devices for the shape "
            f"{shape}, but got {len(chosen)}. {HOW_TO_GET_DEVICES}"
        )
    grid = np.empty(len(chosen), object)
    grid[:] = chosen
    return grid.reshape(shape)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: Any = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh of this shape, of the first devices of the default platform.

    Args:
      devices: those to take instead.

    Raises:
      ShardingError: there are too few devices, or names and sizes do not fit.

    >>> make_mesh((1,), ("data",)).size
    1
    """
    shape, names = tuple(map(int, axis_shapes)), _names(axis_names)
    if len(shape) != len(names):
        raise ShardingError(
            f"make_mesh needs one name for each size, but got the sizes {shape} and "
            f"the names {names}."
        )
    if any(n < 1 for n in shape):
        raise ShardingError(
            f"make_mesh needs positive sizes, but got {shape} for the axes {names}."
        )
    chosen = list(client.devices() if devices is None else devices)
    count = math.prod(shape)
    if count > len(chosen):
        raise ShardingError(
            f"make_mesh needs {count} devices for the shape {shape}, but there are "
            f"{len(chosen)}. {HOW_TO_GET_DEVICES}"
        )
    return Mesh(create_device_mesh(shape, chosen[:count]), names, axis_types)


# -- the mesh in force -----------------------------------------------------------------


def get_mesh() -> Mesh:
    """The mesh in force on this thread; an empty one where there is none.

    >>> get_mesh().empty
    True
    """
    found = options.current().mesh
    return found if isinstance(found, Mesh) else EMPTY


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh in force, without devices; none where there is none.

    >>> get_abstract_mesh().axis_names
    ()
    """
    found = options.current().mesh
    return (EMPTY if found is None else found).abstract_mesh


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
        if mesh is not None and not isinstance(mesh, _Grid):
            raise ShardingError(
                f"set_mesh needs a Mesh, such as make_mesh gives, but got {mesh!r} of "
                f"type {type(mesh).__name__}."
            )
        self.mesh = mesh
        options.push(mesh=None if mesh is None or mesh.empty else mesh)

    def __enter__(self) -> Any:
        return self.mesh

    def __exit__(self, *_: object) -> None:
        options.pop()


#: the same, as older programs call it
use_mesh = set_mesh
#: the same, for a mesh without devices
use_abstract_mesh = set_mesh
