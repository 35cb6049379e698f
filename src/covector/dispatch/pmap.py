"""``pmap``: a function run on several devices, on one lane of a batch each.

    pmap(f)(xs)     = vmap(f)(xs), and device k has entry k

It is ``jit`` of a ``shard_map`` over a mesh of one axis, whose size is that of the
mapped axes. Arguments are sharded when they are transferred, wherever they are; so each
device receives only its own entry. As under ``vmap``, a value is that of one device
even where it is equal on all, and so are derivatives taken inside: types do not track
what varies. Inside another ``shard_map`` all devices are in use already: there each of
them runs the whole batch.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

from covector import tree
from covector.core.annotations import AxisName, PyTree, Value
from covector.core.array_like import Array
from covector.core.flat import FlatFunction, arrays, who_of
from covector.core.masks import present_mask
from covector.core.sharding.make_mesh import create_device_mesh
from covector.core.sharding.mesh import HOW_TO_GET_DEVICES, Mesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import PartitionSpec
from covector.core.source import take_names, wraps
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.dispatch.arguments import (
    JitSpec,
    check_disjoint,
    complete_argnums,
    in_call,
)
from covector.dispatch.jit import PjitFunction
from covector.dispatch.jit_shardings import Resolved
from covector.errors import ArgumentError, ShardingError, TypeMismatch, how_many
from covector.operations.broadcasting import align, align_masked, move_axis
from covector.operations.transposing import Reshape
from covector.programs.spmd.manual import surrounding
from covector.programs.spmd.shard_map_api import shard_map
from covector.runtime import client
from covector.transforms.batch import batch_flat
from covector.transforms.mapped_axes import (
    batch_size,
    check_axis_name,
    in_dims,
    out_axis,
    refuse_bools,
)
from covector.tree.registry import PyTreeDef

P = ParamSpec("P")
R = TypeVar("R")

#: the axis of the mesh where the user gave it no name
UNNAMED = "<devices>"


def pmap(
    fun: Callable[P, R],
    axis_name: AxisName | None = None,
    *,
    in_axes: PyTree = 0,
    out_axes: PyTree = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
    global_arg_shapes: None = None,
) -> Callable[P, R]:
    """``fun`` compiled and run on several devices at once, each with one lane of the
    mapped axes; results are sharded over the devices.

    For new programs ``shard_map`` says more: shards of any size, meshes of any shape.

    Args:
      axis_name: a name by which collectives such as ``lax.psum`` refer to the devices.
      in_axes: which axis of each argument is mapped, as for ``vmap``; its size is the
        number of devices. None for what all devices share. Keyword arguments are mapped
        over axis 0.
      out_axes: where the mapped axis goes in the results; a prefix of the result. None
        gives the value of the first device.
      static_broadcasted_argnums: arguments that are part of the program; hashable.
      devices: as many as the mapped axis is long; the first of this process, otherwise.
      backend: the platform whose devices are meant, such as "cpu".
      axis_size: the size of the mapped axis, needed only where nothing is mapped.
      donate_argnums: arguments whose memory the results may take.
      global_arg_shapes: not there; accepted as None, for older programs.

    Returns:
      A function with the arguments of ``fun``.

    Raises:
      AxisError: an argument has no such axis, or sizes differ.
      ShardingError: there are fewer devices than the mapped axis is long.

    >>> import covector as cv
    >>> share = cv.pmap(lambda x: x / cv.lax.psum(x, "i"), axis_name="i")
    >>> share(cv.numpy.array([4.0])).tolist()
    [1.0]

    See also: ``shard_map``, ``vmap``, ``jit``.
    """
    who = who_of("pmap", fun)
    if global_arg_shapes is not None:
        raise ArgumentError(
            f"{who}: global_arg_shapes is not there. Shards of other shapes than "
            "the array are what covector.shard_map is for."
        )
    if not isinstance(in_axes, int | tuple | list | None):
        raise TypeMismatch(
            f"{who}: in_axes must be an int, None, or a tuple with an entry per "
            f"positional argument, but got {in_axes!r}."
        )
    refuse_bools(who, in_axes=in_axes, out_axes=out_axes)
    check_axis_name(who, axis_name)
    static = complete_argnums(
        fun, who, static_broadcasted_argnums, None, "static_broadcasted"
    )
    donated = complete_argnums(fun, who, donate_argnums, None, "donate")
    check_disjoint(who, static, donated)
    if isinstance(in_axes, tuple | list):
        dropped = in_call(static, len(in_axes))
        in_axes = tuple([a for i, a in enumerate(in_axes) if i not in dropped])
    chosen = None if devices is None else tuple(devices)
    how = Mapping(
        _flat(in_axes), _flat(out_axes), axis_name, chosen, backend, axis_size
    )
    spec = JitSpec(static, donated, shardings=how)
    return PmapFunction(Mapped(fun, spec), spec, "pmap")


class Mapping(NamedTuple):
    """The options of ``pmap``, as a value; trees are leaves and structure."""

    in_axes: tuple[tuple[Any, ...], Any]
    out_axes: tuple[tuple[Any, ...], Any]
    axis_name: Any
    devices: tuple[Any, ...] | None
    backend: str | None
    axis_size: int | None

    def opened(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        types: Sequence[ArrayType],
        in_tree: PyTreeDef,
        who: str,
    ) -> tuple[list[int | None], int]:
        """The mapped axis of each leaf, and the size of them all."""
        leaves, treedef = self.in_axes
        axes = treedef.unflatten(leaves)
        dims = in_dims(None, axes, args, kwargs, types, in_tree, who)
        return dims, batch_size(types, dims, self.axis_size, in_tree, who)

    def mesh(self, size: int, who: str) -> Mesh:
        """The devices, in a line."""
        found = self.devices
        if found is None:
            found = tuple(client.local_devices(backend=self.backend))
            if size > len(found):
                raise ShardingError(
                    f"{who}: the mapped axis has size {size}, an entry for a device, "
                    f"but there are {how_many(len(found), 'device')}. "
                    f"{HOW_TO_GET_DEVICES} For a batch of any size on one device use "
                    "vmap; for several entries on each, shard_map."
                )
        elif size != len(found):
            raise ShardingError(
                f"{who}: the mapped axis has size {size}, but devices= has "
                f"{len(found)}. Each takes one entry."
            )
        name = UNNAMED if self.axis_name is None else self.axis_name
        return Mesh(create_device_mesh((size,), found[:size]), (name,))

    def resolved(
        self,
        in_tree: PyTreeDef,
        in_types: Sequence[ArrayType],
        out_tree: PyTreeDef,
        out_types: Sequence[ArrayType],
        who: str,
    ) -> Resolved:
        """The shardings to which ``jit`` transfers the arguments."""
        args, kwargs = in_tree.unflatten(in_types)
        dims, size = self.opened(args, kwargs, in_types, in_tree, who)
        mesh = self.mesh(size, who)
        specs = [_sharded_at(d, mesh.axis_names[0]) for d in dims]
        return Resolved(tuple([NamedSharding(mesh, s) for s in specs]), moves=True)


class Mapped:
    """The function over a whole batch, before it is compiled."""

    #: what it is, for another function that calls it (``fingerprint``)
    fingerprint_fields = ("fun", "spec")

    def __init__(self, fun: Callable[..., Any], spec: JitSpec) -> None:
        take_names(self, fun)
        self.fun = fun
        self.spec = spec
        self.who = who_of("pmap", fun)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """On the devices of a mesh."""
        flat, leaves, dims, size = self._opened(args, kwargs)
        mesh = self.spec.shardings.mesh(size, self.who)
        (name,) = mesh.axis_names
        specs = tuple([_sharded_at(None if d is None else 0, name) for d in dims])

        @wraps(self.fun)
        def on_device(*shards: Any) -> list[Array]:
            operands = [
                x if d is None else Reshape(x.type.shape[1:])(x)
                for x, d in zip(shards, dims, strict=True)
            ]
            return [Reshape((1, *x.type.shape))(x) for x in flat(*operands)]

        over = shard_map(
            on_device,
            mesh=mesh,
            in_specs=specs,
            out_specs=PartitionSpec(name),
            check_vma=False,
        )
        mapped = present_mask(dims)
        outs = over(*align_masked(size, leaves, dims, mapped))
        return self._result(flat.out_tree, outs)

    def on_each(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """As a batch, on whichever devices run this already."""
        flat, leaves, dims, size = self._opened(args, kwargs)
        name = self.spec.shardings.axis_name
        outs, found = batch_flat(flat, size, leaves, dims, name, self.who)
        return self._result(flat.out_tree, align(size, outs, found))

    def _opened(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[FlatFunction, list[Any], list[int | None], int]:
        """The flat function and its arguments, their mapped axes, and the size."""
        split = self.spec.split_static(args, kwargs, self.who, self.fun)
        args, kwargs, statics = split
        fun = self.spec.with_statics(self.fun, statics)
        leaves, in_tree = tree.flatten((args, kwargs))
        leaves = arrays(leaves, self.who)
        types = [x.type for x in leaves]
        found = self.spec.shardings.opened(args, kwargs, types, in_tree, self.who)
        return FlatFunction(fun, in_tree, self.who), leaves, *found

    def _result(self, out_tree: PyTreeDef, outs: Sequence[Value]) -> Any:
        """Results, whose mapped axis is in front, with it where it is wanted."""
        prefix, treedef = self.spec.shardings.out_axes
        axes = tree.flatten_prefix(
            treedef.unflatten(prefix), out_tree, "pmap out_axes", of="the result"
        )
        results = []
        for i, (x, axis) in enumerate(zip(outs, axes, strict=True)):
            if axis is None:
                results.append(x[0])
                continue
            where = f"the result{tree.keystr(tree.leaf_path(out_tree, i))}"
            at = out_axis(axis, str(x.type), x.type.ndim, where, self.who)
            results.append(move_axis(x, 0, at))
        return out_tree.unflatten(results)


class PmapFunction(PjitFunction):
    """A function over devices that compiles itself; what ``pmap`` returns."""

    def _call_inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if surrounding(current.trace) is not None:
            return self.fun.on_each(args, kwargs)
        return super()._call_inside(args, kwargs)


def _sharded_at(dim: int | None, name: Any) -> PartitionSpec:
    """An array whose axis ``dim`` has an entry for each device; None for copies."""
    return PartitionSpec() if dim is None else PartitionSpec(*[None] * dim, name)


def _flat(prefix: PyTree) -> tuple[tuple[Any, ...], Any]:
    leaves, treedef = tree.flatten(prefix, lambda x: x is None)
    return tuple(leaves), treedef
