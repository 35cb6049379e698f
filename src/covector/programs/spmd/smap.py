"""``smap``: ``shard_map`` over one axis of the mesh in force, called as ``vmap`` is.

The sharded axis of each array is given as a number, from which the spec follows.
"""

import operator
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from covector import tree
from covector.core.annotations import AxisName, PyTree, decorating
from covector.core.sharding.spec import PartitionSpec
from covector.errors import ShardingError
from covector.programs.spmd.shard_map_api import shard_map

P = ParamSpec("P")
R = TypeVar("R")


@overload
def smap(
    f: Callable[P, R], /, *, in_axes: PyTree, out_axes: PyTree, axis_name: AxisName
) -> Callable[P, R]: ...
@overload
def smap(
    f: None = None, /, *, in_axes: PyTree, out_axes: PyTree, axis_name: AxisName
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@decorating
def smap(
    f: Callable[..., Any], /, *, in_axes: PyTree, out_axes: PyTree, axis_name: AxisName
) -> Any:
    """``f`` run by each device along one axis of the mesh in force, on its shards.

    The compiler partitions the work over the other axes, unless another ``smap``
    inside or around maps them.

    Args:
      in_axes: for each argument the array axis that is sharded, or None for a copy on
        each device; a number for all, or a tree that is a prefix of the arguments.
      out_axes: the same of the result: along which axis the shards are concatenated, or
        None for what is the same on all devices.
      axis_name: the axis of the mesh.

    Raises:
      ShardingError: no mesh is in force, an axis is not a number from 0, or a result
        differs between devices though its axis is None.

    >>> import covector as cv, covector.numpy as cnp
    >>> rows = cv.smap(cnp.cumsum, in_axes=0, out_axes=0, axis_name="x")
    >>> with cv.set_mesh(cv.make_mesh((1,), ("x",))):
    ...     print(rows(cnp.ones(3)))
    [1. 2. 3.]
    """
    if isinstance(axis_name, tuple | list | set | frozenset):
        raise ShardingError(
            f"smap maps one axis of the mesh, but got axis_name={axis_name!r}. Nest "
            "one smap in another, or use shard_map with specs."
        )
    return shard_map(
        f,
        in_specs=_specs("in_axes", in_axes, axis_name),
        out_specs=_specs("out_axes", out_axes, axis_name),
        axis_names={axis_name},
    )


def _specs(what: str, axes: Any, axis_name: AxisName) -> Any:
    """The tree of specs for a tree of array axes."""

    def spec(axis: Any) -> PartitionSpec:
        if axis is None:
            return PartitionSpec()
        try:
            before = operator.index(axis)
        except TypeError:
            before = -1
        if before < 0:
            raise ShardingError(
                f"smap: {what} must be None or numbers of array axes from 0, but one "
                f"is {axis!r}."
            )
        return PartitionSpec(*[None] * before, axis_name)

    return tree.map(spec, axes, is_leaf=lambda x: x is None)
