"""Sharding constraints inside a program."""

from typing import Any, TypeVar

from covector import tree
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.sharding.as_sharding import as_sharding
from covector.core.sharding.shardings import NamedSharding
from covector.operations.placement import ShardingConstraint
from covector.placement.device_put import device_put

__all__ = [
    "with_sharding_constraint",
]

Tree = TypeVar("Tree")


def with_sharding_constraint(x: Tree, shardings: Any) -> Tree:
    """``x``, an array or a tree of them, sharded as ``shardings`` says.

    In a compiled program this tells the compiler how an intermediate value is to be
    sharded; outside it moves the array. The derivative is sharded in the same way.
    Use the result: ``x`` itself does not change.

    Args:
      x: an array or a tree of them.
      shardings: a ``NamedSharding``, a ``PartitionSpec`` for the mesh in force, or a
        tree of these that is a prefix of ``x``; None leaves an array as it is.

    Returns:
      The same tree of values.

    Raises:
      ShardingError: a spec has more entries than an array has axes, or names mean
        nothing because no mesh is in force.

    >>> import covector as cv
    >>> mesh = cv.make_mesh((1,), ("x",))
    >>> with cv.set_mesh(mesh):
    ...     print(with_sharding_constraint(cv.numpy.arange(2), cv.P("x")))
    [0 1]

    See also: ``covector.device_put``, ``covector.jit``,
    ``covector.sharding.NamedSharding``.
    """
    who = "with_sharding_constraint"
    leaves, treedef = tree.flatten(x)
    targets = tree.flatten_prefix(shardings, x, f"{who} shardings", of="x")
    return treedef.unflatten(
        [_constrained(leaf, p, who) for leaf, p in zip(leaves, targets, strict=True)]
    )


def _constrained(leaf: Value, target: Any, who: str) -> Array:
    array = leaf if isinstance(leaf, Array) else as_array(leaf, who)
    if target is None:
        return array
    sharding = as_sharding(target, who)
    if isinstance(sharding, NamedSharding):
        return ShardingConstraint(sharding)(array)
    return device_put(array, sharding)
