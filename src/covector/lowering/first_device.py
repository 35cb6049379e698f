"""Host callbacks with effects inside ``shard_map``, made by one device only.

Inside of a ``shard_map`` over some of the axes of a mesh, the compiler partitions the
work over the other axes. A call with effects cannot be partitioned: the first device
along these axes makes it, with all of each operand.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.sharding.spec import PartitionSpec
from covector.core.types import ArrayType
from covector.errors import ArgumentError
from covector.lowering.hlo import HloValue
from covector.lowering.sharding import manual_axes_text, shardings_text


def axes_left(module: Any) -> list[Any]:
    """Inside of a shard_map, the axes of its mesh that are not manual."""
    if module.over is None or not module.manual_axes:
        return []
    return [a for a in module.mesh.axis_names if a not in module.manual_axes]


def call_on_first(
    ctx: Any, function: Any, operands: Sequence[HloValue], types: Sequence[ArrayType]
) -> list[HloValue]:
    """``ctx.host_call`` by the first device along the axes that are left.

    Raises:
      ArgumentError: the call has results, which other devices would not have.
    """
    module, left = ctx.module, axes_left(ctx.module)
    if types:
        raise ArgumentError(
            f"{ctx.equation.op.name} gives a result, and runs once, but is called "
            f"inside of a shard_map that leaves the axes {left} to the compiler: the "
            "devices along these would have no result. Map all axes of the mesh, or "
            "use pure_callback, which every device may call."
        )
    ranks = [t.ndim for t in ctx.in_types]
    made = ctx.op(
        "sdy.manual_computation",
        operands,
        [],
        regions=1,
        in_shardings=shardings_text([PartitionSpec()] * len(ranks), ranks),
        out_shardings=shardings_text([], []),
        manual_axes=manual_axes_text(left),
    )

    def by_first(inner: Any, *values: HloValue) -> Sequence[HloValue]:
        outer, module.manual_axes = module.manual_axes, module.manual_axes.union(left)
        chosen = inner.op("stablehlo.if", [_is_first(inner, left)], [], regions=2)

        def call(branch: Any) -> Sequence[HloValue]:
            return branch.host_call(function, values, types, kept=True)

        inner.region(chosen, 0, [], call)
        inner.region(chosen, 1, [], lambda branch: [])
        module.manual_axes = outer
        return []

    ctx.region(made, 0, ctx.in_types, by_first, "sdy.return")
    return []


def _is_first(ctx: Any, axes: Sequence[Any]) -> HloValue:
    """Whether this device is the first one along each of the axes."""
    mesh = ctx.module.mesh
    indices = np.indices(mesh.axis_sizes)
    along = [indices[mesh.axis_names.index(a)] for a in axes]
    table = ArrayType((mesh.size,), dtypes.bool_)
    first = ctx.constant(~np.any(along, 0).ravel(), table)
    number = ctx.op("stablehlo.partition_id", [], [ArrayType((), dtypes.uint32)])
    mine = ctx.op(
        "stablehlo.dynamic_slice",
        [first, number],
        [table.with_shape((1,))],
        slice_sizes=(1,),
    )
    return ctx.op("stablehlo.reshape", [mine], [table.with_shape(())])
