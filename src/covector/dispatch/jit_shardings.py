"""Shardings of the arguments and results of a jitted function.

``Shardings`` is what the user requested: trees that are prefixes of the arguments and
of the result. ``Resolved`` is the same per leaf, for one traced program: specs have
become shardings over the mesh in force.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from covector import tree
from covector.core.annotations import PyTree
from covector.core.array import ConcreteArray
from covector.core.flat import argument_path
from covector.core.sharding.as_sharding import as_sharding
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.errors import ArgumentError, DeviceError, DeviceMismatch, ShardingError
from covector.lowering.placement import Meshes, MeshPlacement, Placement, on_mesh
from covector.operations.placement import ShardingConstraint
from covector.placement.device_put import device_put
from covector.runtime import client
from covector.tree.registry import PyTreeDef

PerLeaf = tuple[Sharding | None, ...]


class Resolved(NamedTuple):
    """Shardings of the arguments and of the results, per leaf; none for ().

    ``moves``: arguments that the user put elsewhere are moved, and not refused.
    """

    ins: PerLeaf = ()
    outs: PerLeaf = ()
    moves: bool = False

    @property
    def meshes(self) -> Meshes:
        """The meshes that they are over."""
        found = [
            s.mesh for s in (*self.ins, *self.outs) if isinstance(s, NamedSharding)
        ]
        return tuple(dict.fromkeys(found))

    def put_inputs(
        self, leaves: Sequence[Any], in_tree: PyTreeDef | None, who: str
    ) -> Sequence[Any]:
        """The arguments, put where in_shardings says.

        Raises:
          DeviceMismatch: the user put one elsewhere.
        """
        found = list(leaves)
        for i, (x, sharding) in enumerate(zip(leaves, self.ins, strict=True)):
            if sharding is None or (isinstance(x, Tracer) and not self.moves):
                continue
            if self.moves or x.placement is None:
                found[i] = device_put(x, sharding)
            elif not x.placement.is_equivalent_to(sharding, x.ndim):
                raise DeviceMismatch(
                    f"{who} was given in_shardings={sharding} for "
                    f"{argument_path(in_tree, i)}, but that was put on {x.placement}. "
                    "Move it with covector.device_put, or leave out in_shardings: the "
                    "function is compiled for arguments where they are."
                )
        return found

    def abstract_inputs(self, inputs: Sequence[Any]) -> list[ConcreteArray]:
        """For each input of a program an array without values that has its placement;
        captured inputs are before the arguments.
        """
        captured = len(inputs) - len(self.ins)
        shardings = (
            [None] * captured + list(self.ins) if self.ins else [None] * len(inputs)
        )
        found = []
        for x, sharding in zip(inputs, shardings, strict=True):
            placement = None if isinstance(x, Tracer) else _placement_of(x)
            if placement is None or (self.moves and sharding is not None):
                placement = sharding
            found.append(ConcreteArray(x.type, None, None, placement))
        return found

    def results(
        self, types: Sequence[ArrayType], placement: Placement
    ) -> tuple[NamedSharding | None, ...]:
        """Shardings requested of the compiler: results over the program's mesh."""
        if not self.outs or not isinstance(placement, MeshPlacement):
            return ()
        return tuple(
            [
                on_mesh(s, t.ndim, placement.mesh, "jit")
                if isinstance(s, NamedSharding) and s.num_devices == placement.mesh.size
                else None
                for s, t in zip(self.outs, types, strict=True)
            ]
        )

    def put_outputs(self, outs: Sequence[Any]) -> Sequence[Any]:
        """The results, put where out_shardings says unless the program did so already;
        ``outs`` itself where it did for all.
        """
        if not self.outs:
            return outs
        moved = [
            x if s is None or x.placement is s else device_put(x, s)
            for x, s in zip(outs, self.outs, strict=True)
        ]
        return outs if all(map(operator.is_, moved, outs)) else moved

    def constrain(self, values: Sequence[Any], shardings: PerLeaf) -> Sequence[Any]:
        """The same inside a program, as constraints for the compiler."""
        if not shardings:
            return values
        return [
            ShardingConstraint(s)(x) if isinstance(s, NamedSharding) else x
            for x, s in zip(values, shardings, strict=True)
        ]


#: nothing was requested
NOTHING = Resolved()


class ReshardOutputs(NamedTuple):
    """The tree of a result, whose leaves are put where out_shardings says first."""

    out_tree: PyTreeDef
    requested: Resolved

    def unflatten(self, outs: Iterable[Any]) -> PyTree:
        return self.out_tree.unflatten(self.requested.put_outputs(list(outs)))


#: a tree of shardings as a value: its leaves and its structure
Prefix = tuple[tuple[Any, ...], Any]


class Shardings(NamedTuple):
    """The requested shardings, as a value; with ``device`` all is put there."""

    ins: Prefix | None = None
    outs: Prefix | None = None
    device: SingleDeviceSharding | None = None

    def resolved(
        self,
        in_tree: PyTreeDef,
        in_types: Sequence[ArrayType],
        out_tree: PyTreeDef,
        out_types: Sequence[ArrayType],
        who: str,
    ) -> Resolved:
        """Per leaf of the arguments and of the result.

        Raises:
          ShardingError: a sharding does not fit its array.
          TreeMismatch: a tree is not a prefix of the arguments, or of the result.
        """
        if self.device is not None:
            ins, outs = [(self.device,) * len(types) for types in (in_types, out_types)]
            return Resolved(ins, outs, moves=True)
        args_tree, kwargs_tree = in_tree.children()
        ins = _per_leaf(self.ins, args_tree, f"{who} in_shardings", "the arguments")
        if ins:
            ins += [None] * kwargs_tree.num_leaves
        outs = _per_leaf(self.outs, out_tree, f"{who} out_shardings", "the result")
        path = functools.partial(argument_path, in_tree)
        return Resolved(
            _checked(ins, in_types, path, f"{who}: in_shardings"),
            _checked(outs, out_types, "result {}".format, f"{who}: out_shardings"),
        )


def requested_shardings(
    in_shardings: PyTree, out_shardings: PyTree, device: Any = None, backend: Any = None
) -> Shardings | None:
    """The user's request as a value; None for nothing.

    Raises:
      ArgumentError: there are two answers to where arguments are to be.
      DeviceError: ``device`` or ``backend`` is not a device.
    """
    given = {
        "device": device,
        "backend": backend,
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
    }
    names = [name for name, value in given.items() if value is not None]
    if device is None and backend is None:
        if isinstance(in_shardings, list):
            in_shardings = tuple(in_shardings)  # as the arguments are
        ins, outs = _flat(in_shardings), _flat(out_shardings)
        return None if ins is outs is None else Shardings(ins, outs)
    if len(names) > 1:
        raise ArgumentError(
            f"jit got {' and '.join(names)}, which both say where arguments and "
            "results are to be. Pass one of them."
        )
    if backend is not None:
        device = client.local_devices(backend=backend)[0]
    elif not isinstance(device, client.Device):
        raise DeviceError(
            "jit(device=) needs a device, such as covector.devices()[0], but got "
            f"{device!r} of type {type(device).__name__}. For shardings pass "
            "in_shardings."
        )
    return Shardings(device=SingleDeviceSharding(device))


def _flat(prefix: PyTree) -> Prefix | None:
    if prefix is None:
        return None
    leaves, treedef = tree.flatten(prefix, lambda x: x is None)
    return tuple(leaves), treedef


def _per_leaf(prefix: Prefix | None, whole: PyTreeDef, what: str, of: str) -> list[Any]:
    if prefix is None:
        return []
    leaves, treedef = prefix
    return tree.flatten_prefix(treedef.unflatten(leaves), whole, what, of=of)


def _placement_of(x: Any) -> Sharding | None:
    if isinstance(x, ConcreteArray):
        return x.placement
    return None if x.sharding is None else as_sharding(x.sharding, "ShapeDtypeStruct")


def _checked(
    wanted: Sequence[Any],
    types: Sequence[ArrayType],
    name: Callable[[int], str],
    who: str,
) -> PerLeaf:
    found = [None if target is None else as_sharding(target, who) for target in wanted]
    for i, sharding in enumerate(found):
        if sharding is not None:
            try:
                sharding.shard_shape(types[i].shape)
            except ShardingError as error:
                what = f"{who} of {name(i)}"
                raise ShardingError(f"{what}: {error!s}") from None
    return tuple(found)
