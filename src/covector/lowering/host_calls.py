"""Calls of Python functions of NumPy arrays, in the midst of a program.

    host_call     one of the user's; on several devices, by the first one
    numpy_call    a standard one of the library's, in programs of one CPU

Inside of a ``shard_map`` over some of the axes of a mesh, the compiler partitions the
work over the other axes. A call with effects cannot be partitioned: the first device
along these axes makes it, with all of each operand.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.sharding.spec import PartitionSpec
from covector.core.types import ArrayType
from covector.errors import ArgumentError
from covector.lowering import hlo, spelling
from covector.lowering.sharding import manual_axes_text, shardings_text
from covector.lowering.spelling import HloValue
from covector.runtime.host_calls import standard


def host_call(
    ctx: Any,
    function: Callable[..., tuple[np.ndarray, ...]],
    operands: Sequence[HloValue],
    types: Sequence[ArrayType],
    kept: bool,
) -> list[HloValue]:
    """Call a function of NumPy arrays; where it is ``kept``, also for no results.

    On several devices the first one calls it, with all of each operand; inside of a
    shard_map each calls it, with its shard, and of the devices along axes that are
    not manual the first. Nobody checks what it returns: a tuple of arrays
    of exactly these types.

    Raises:
      ArgumentError: it is kept and has results, and some axes are not manual.
    """
    if kept and axes_left(ctx.module):
        return _call_on_first(ctx, function, operands, types)
    module = ctx.module.module
    module.host_functions.append(function)
    further = {}
    if kept and ctx.is_partitioned:
        first = module.first_device()
        each = ", ".join([f"<@{first}, []>" for _ in types])
        further["sdy.sharding"] = f"#sdy.sharding_per_value<[{each}]>"
    number = len(module.host_functions) - 1
    return _call_of(ctx, number, operands, types, kept, further)


def numpy_call(
    ctx: Any,
    name: str,
    operands: Sequence[HloValue],
    types: Sequence[ArrayType],
    overwritten: Mapping[int, int],
) -> list[HloValue]:
    """Call a standard function by its name, where ``ctx.is_of_one_cpu``.

    The name is part of the module: on disk, it says what the number means.
    ``overwritten`` operands are given up, for results to be where they were.
    """
    functions, function = ctx.module.module.host_functions, standard[name]
    if function not in functions:
        functions.append(function)
    further = {
        "mhlo.frontend_attributes": f'{{covector.function = "{name}"}}',
        "output_operand_aliases": spelling.aliases(overwritten, len(types)),
    }
    return _call_of(ctx, functions.index(function), operands, types, False, further)


def _call_of(
    ctx: Any,
    number: int,
    operands: Sequence[HloValue],
    types: Sequence[ArrayType],
    kept: bool,
    further: dict[str, str],
) -> list[HloValue]:
    """The call of a host function by its number, row-major arrays in and out."""
    attributes = {
        "call_target_name": f'"xla_ffi_python_{ctx.platform}_callback"',
        "api_version": "4 : i32",
        "has_side_effect": str(kept).lower(),
        "backend_config": f"{{index = {number} : ui64}}",
        "operand_layouts": spelling.row_major(map(hlo.rank, operands)),
        "result_layouts": spelling.row_major([t.ndim for t in types]),
        **further,
    }
    made = hlo.operation(
        "stablehlo.custom_call",
        [hlo.tensor_type(t) for t in types],
        operands,
        {name: hlo.attribute(text) for name, text in attributes.items()},
        ctx.location,
        ctx.point,
    )
    return list(made.results)


def axes_left(module: Any) -> list[Any]:
    """Inside of a shard_map, the axes of its mesh that are not manual."""
    if module.over is None or not module.manual_axes:
        return []
    return [a for a in module.mesh.axis_names if a not in module.manual_axes]


def _call_on_first(
    ctx: Any, function: Any, operands: Sequence[HloValue], types: Sequence[ArrayType]
) -> list[HloValue]:
    """``host_call`` by the first device along the axes that are left.

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
            return host_call(branch, function, values, types, kept=True)

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
