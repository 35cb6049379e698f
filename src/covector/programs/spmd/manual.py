"""Manual axes: those axes of a mesh over which a program is written per device.

``ManualAxes`` holds the mesh, its axes that are manual, and whether types track over
which axes values vary. ``local_type`` and ``global_type`` go from an array to the shard
that one device has, and back.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from covector import options
from covector.core.sharding.context_mesh import get_abstract_mesh
from covector.core.sharding.mesh import AbstractMesh, AxisType
from covector.core.sharding.spec import PartitionSpec
from covector.core.staging import Staged, stage
from covector.core.trace import Trace, current
from covector.core.types import ArrayType
from covector.core.varying import Axes


class ManualAxes(NamedTuple):
    """The mesh, and those of its axes over which a program is written for shards."""

    mesh: Any
    axes: Axes
    checked: bool = True

    def order(self, axes: Axes) -> tuple[Any, ...]:
        """Axes in the order of the mesh."""
        return tuple([a for a in self.mesh.axis_names if a in axes])

    def unnamed(self, spec: PartitionSpec) -> tuple[Any, ...]:
        """The axes that a spec does not name: over them the array is replicated."""
        return self.order(self.axes.difference(spec.names()))

    def copies(self, spec: PartitionSpec) -> int:
        """The number of devices that hold the same shard."""
        return math.prod([self.mesh.shape[a] for a in self.unnamed(spec)])

    def divisor(self, spec: PartitionSpec, dim: int) -> int:
        """The number of shards into which a spec divides an axis of an array."""
        return math.prod([self.mesh.shape[a] for a in spec.axes(dim)])

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """While the block runs, programs are those of the devices, and the mesh in
        force is that with its manual axes.
        """
        outer = current.trace
        current.trace = trace = ManualTrace(outer, self)
        try:
            with options.override(mesh=self._mesh_inside()):
                yield
        finally:
            current.trace = outer
            trace.alive = False

    def _mesh_inside(self) -> AbstractMesh:
        """The axes as they are inside: manual those of here and of around."""
        mesh = self.mesh.abstract_mesh
        manual = self.axes.union(get_abstract_mesh().manual_axes)
        types = [
            AxisType.Manual if name in manual else AxisType.Auto
            for name in mesh.axis_names
        ]
        return AbstractMesh(mesh.axis_sizes, mesh.axis_names, types)

    def stage(
        self, fun: Callable[..., Sequence[Any]], types: Sequence[ArrayType], name: str
    ) -> Staged:
        """Trace a function of shards."""
        with self.inside():
            return stage(fun, types, name)


class ManualTrace(Trace):
    """The trace around the body of a shard_map: it has the axes of the mesh.

    The body is always traced, so no operation is ever processed here.
    """

    def __init__(self, parent: Trace, manual: ManualAxes) -> None:
        #: the axes over which functions are written for one device here
        self.manual_axes = manual.order(manual.axes)
        sizes = {a: manual.mesh.shape[a] for a in self.manual_axes}
        self.parent = parent
        self.axes = {**parent.axes, **sizes}
        self.checked_axes = parent.checked_axes - manual.axes
        if manual.checked:
            self.checked_axes |= manual.axes
        self.mesh = manual.mesh
        self.name = "shard_map"


def surrounding(trace: Trace | None) -> ManualTrace | None:
    """The innermost shard_map that is being traced."""
    while trace is not None:
        if isinstance(trace, ManualTrace):
            return trace
        trace = trace.parent
    return None


def local_type(type: ArrayType, spec: PartitionSpec, manual: ManualAxes) -> ArrayType:
    """The type of the shard that one device has."""
    shape = [n // manual.divisor(spec, k) for k, n in enumerate(type.shape)]
    named = frozenset(spec.names()) if manual.checked else frozenset()
    return type.with_shape(tuple(shape)).with_varying(type.varying | named)


def global_type(type: ArrayType, spec: PartitionSpec, manual: ManualAxes) -> ArrayType:
    """The type of an array whose shard on one device has this type."""
    shape = [n * manual.divisor(spec, k) for k, n in enumerate(type.shape)]
    return type.with_shape(tuple(shape)).with_varying(type.varying - manual.axes)


def insert_axis(
    spec: PartitionSpec, dim: int | None, over: tuple[Any, ...] = ()
) -> PartitionSpec:
    """The spec of a batch whose axis, at ``dim``, is divided ``over`` these axes."""
    if dim is None or (dim >= len(spec) and not over):
        return spec
    before = [*spec[:dim], *[None] * (dim - len(spec))]
    return PartitionSpec(*before, over or None, *spec[dim:])
