"""``device_put`` and ``reshard``: arrays copied to a device or a sharding."""

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from covector import options, tree
from covector.core.annotations import ArrayLike, LinearMaps, PyTree, Value, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.jaxpr import Jaxpr, identity
from covector.core.primitive import Operand, operation
from covector.core.sharding.as_sharding import ShardingLike, as_sharding
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from covector.core.sharding.transfer import check_devices, guard
from covector.core.trace import Tracer
from covector.core.work import moves
from covector.errors import ArgumentError
from covector.lowering.loading import compiling
from covector.lowering.placement import Placement, common_placement
from covector.operations.identities import Identity
from covector.operations.placement import ShardingConstraint
from covector.runtime import client

Tree = TypeVar("Tree")


@overload
def device_put(
    x: ArrayLike,
    device: PyTree = None,
    *,
    src: PyTree = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Array: ...
@overload
def device_put(
    x: Tree,
    device: PyTree = None,
    *,
    src: PyTree = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Tree: ...
def device_put(
    x: PyTree,
    device: PyTree = None,
    *,
    src: PyTree = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> PyTree:
    """``x``, an array or a tree of them, on a device, or sharded over several.

    It returns before the copy is done. An array that was put on a device is *committed*
    to it: operations run there, and refuse arrays committed elsewhere.

    Args:
      x: an array, NumPy's or a number, or a tree of them.
      device: a device, a ``Sharding``, or a ``PartitionSpec`` for the mesh in force; or
        a tree of these, each for the arrays below that node of ``x``. None leaves
        arrays where they are, and free to move.
      src: where ``x`` is; it makes no difference, for arrays know.
      donate: the arrays given up may be freed.
      may_alias: False makes a copy also of what is there already.

    Arrays that are differentiated or batched eagerly are moved, and their gradients
    move back. Those of a program are put where a sharding says when the program runs; a
    device says nothing to them, for that is decided where the program is called.

    Returns:
      The same tree, of arrays that are there.

    Raises:
      DeviceError: ``device`` is none of these.
      ShardingError: an array cannot be sharded like this.
      TreeMismatch: the tree of devices does not fit that of arrays.

    >>> import covector as cv
    >>> device_put({"w": 1.0}, cv.devices()[0])["w"].committed
    True

    See also: ``device_get``, ``covector.sharding.NamedSharding``,
    ``covector.lax.with_sharding_constraint`` for values inside a program.
    """
    if donate and may_alias:
        raise ArgumentError(
            "device_put got donate=True and may_alias=True: an array that is given up "
            "cannot stay in use under another name. Pass one of them."
        )
    leaves, treedef = tree.flatten(x)
    wanted = tree.flatten_prefix(device, x, "device_put device", of="x")
    with guard:
        put = [
            _put(leaf, target, donate, may_alias)
            for leaf, target in zip(leaves, wanted, strict=True)
        ]
    return treedef.unflatten(put)


def reshard(xs: Tree, out_shardings: PyTree) -> Tree:
    """``xs``, an array or a tree of them, sharded as ``out_shardings`` says.

    Args:
      out_shardings: a ``NamedSharding``, a ``PartitionSpec`` for the mesh in force, or
        a tree of these that is a prefix of ``xs``.

    Raises:
      ShardingError: an array cannot be sharded like this.

    >>> import covector as cv
    >>> mesh = cv.make_mesh((1,), ("x",))
    >>> cv.reshard(cv.numpy.ones(2), cv.NamedSharding(mesh, cv.P("x"))).sharding
    NamedSharding(Mesh('x': 1), P('x'))
    """
    return device_put(xs, out_shardings)


def _put(
    leaf: ArrayLike, target: ShardingLike | None, donate: bool, may_alias: bool | None
) -> Value:
    array = leaf if isinstance(leaf, Array) else as_array(leaf, "device_put")
    if isinstance(array, ConcreteArray):
        array.check_usable()
    if target is None:
        return array.copy() if may_alias is False else array
    sharding = as_sharding(target, "device_put")
    if isinstance(array, Tracer):
        if isinstance(sharding, NamedSharding):
            return ShardingConstraint(sharding)(array)
        known = _concrete(array)
        return array if known is None else DevicePut(sharding, known.placement)(array)
    assert isinstance(array, ConcreteArray), "an array is traced or concrete"
    moved = array.to_device(sharding) if may_alias is False else _there(array, sharding)
    if donate and moved._buffer is not array._buffer:
        array.forget()
    return moved


@operation
class DevicePut(Identity):
    """The operand on one device; its cotangent goes back to where the operand was.

    None stands for no choice of the user's. A compiled program runs where its operands
    are, so there it says nothing.
    """

    name = "device_put"

    sharding: Sharding | None
    source: Sharding | None
    work = moves

    def evaluate(self, x: ConcreteArray) -> Sequence[Array]:
        if self.sharding is not None:
            return (_there(x, self.sharding),)
        device = options.current().default_device or client.default_device()
        there = _there(x, SingleDeviceSharding(device))
        return (ConcreteArray(x.type, there._host, there._buffer),)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [DevicePut(self.source, self.sharding)(cotangents[0])]


def _concrete(x: Any) -> ConcreteArray | None:
    """The array whose derivative or batch a tracer is, where that is known now."""
    while isinstance(x, Tracer):
        x = getattr(x, "primal", getattr(x, "value", None))
    return x


def _there(array: ConcreteArray, sharding: Sharding) -> ConcreteArray:
    """The array where ``sharding`` says, without a copy if it is there already."""
    target = sharding.single
    if target is None or array.is_sharded:
        if _moves_directly(array, sharding):
            return resharded(array, sharding)  # type: ignore[arg-type]
        buffer = array.buffer_over(sharding)
        return ConcreteArray(array.type, None, buffer, sharding)
    check_devices(sharding)
    sharding.shard_shape(array.shape)
    if array._buffer is None:
        return array.to_device(sharding)
    return ConcreteArray(array.type, None, array.buffer(target), sharding)


def _moves_directly(array: ConcreteArray, sharding: Sharding) -> bool:
    """Whether shards go from device to device: between accelerators it is quicker, and
    between processes there is no other way.
    """
    return (
        array.is_sharded
        and (array.platform() != "cpu" or not array.is_fully_addressable)
        and isinstance(sharding, NamedSharding)
        and array.sharding.memory_kind == sharding.memory_kind
        and array.sharding.device_set == sharding.device_set
        and not array.sharding.is_equivalent_to(sharding, array.ndim)
    )


def resharded(array: ConcreteArray, sharding: NamedSharding) -> ConcreteArray:
    """The array in another sharding over the same devices, by a compiled program: data
    goes directly from device to device.
    """
    sharding.shard_shape(array.shape)
    program = identity(array.type, "reshard")
    placement, _ = common_placement([array], "device_put", (sharding.mesh,))
    (out,) = program.memo(_compile_resharding, placement, sharding)([array])
    return out


def _compile_resharding(
    jaxpr: Jaxpr, placement: Placement, sharding: NamedSharding
) -> Any:
    lowered = compiling().LoweredProgram
    return lowered(jaxpr, "reshard", placement, results=(sharding,)).compile()
