"""Lowering of collectives over mesh axes to communication between devices.

A device is known by its index in the mesh, counted with the last axis running fastest.
The devices that differ in their position along one axis only form a group, and talk to
each other.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.sharding.spec import PartitionSpec
from covector.core.types import ArrayType
from covector.lowering.sharding import manual_axes_text, shardings_text
from covector.lowering.spelling import HloValue
from covector.operations.axis_index_groups import Groups

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

Axes = Sequence[Any]


def all_reduce(
    ctx: "Lowering", x: HloValue, axes: Axes, combine: str, groups: Groups = None
) -> HloValue:
    """``x`` of all devices along axes, combined element by element."""
    (out,) = ctx.out_types
    rows = _rows(ctx, axes, groups)
    made = _talk(ctx, "all_reduce", x, out, rows, 1, use_global_device_ids="unit")
    _combine(ctx, made, out, combine)
    return made.result


def extreme(
    ctx: "Lowering", x: HloValue, axes: Axes, combine: str, groups: Groups = None
) -> Any:
    """The largest or smallest ``x`` of all devices; NaN where any device has NaN.

    Communication libraries lose NaN, so floats travel as integers of the same order, in
    which NaN is the most extreme.
    """
    (type_,) = ctx.out_types
    if not dtypes.is_floating(type_.dtype):
        return all_reduce(ctx, x, axes, combine, groups)
    bits = type_.with_dtype(np.dtype(f"int{8 * type_.dtype.itemsize}"))
    low, high = np.iinfo(bits.dtype).min, np.iinfo(bits.dtype).max
    limit = ctx.constant(high if combine.endswith("maximum") else low, bits)
    flag = type_.with_dtype(dtypes.bool_)
    is_nan = ctx.op(
        "stablehlo.compare",
        [x, x],
        [flag],
        comparison_direction="#stablehlo<comparison_direction NE>",
    )
    order = _in_order(ctx, ctx.op("stablehlo.bitcast_convert", [x], [bits]), bits)
    order = ctx.op("stablehlo.select", [is_nan, limit, order], [bits])
    rows = _rows(ctx, axes, groups)
    made = _talk(ctx, "all_reduce", order, bits, rows, 1, use_global_device_ids="unit")
    _combine(ctx, made, bits, combine)
    found = _in_order(ctx, made.result, bits)
    return ctx.op("stablehlo.bitcast_convert", [found], [type_])


def _in_order(ctx: "Lowering", x: HloValue, bits: ArrayType) -> Any:
    """The bits of floats as integers that are ordered as the floats are, and back.

    Of a negative float, all bits but the sign are flipped.
    """
    zero, mask = ctx.constant(0, bits), ctx.constant(np.iinfo(bits.dtype).max, bits)
    negative = ctx.op(
        "stablehlo.compare",
        [x, zero],
        [bits.with_dtype(dtypes.bool_)],
        comparison_direction="#stablehlo<comparison_direction LT>",
    )
    flipped = ctx.op("stablehlo.xor", [x, mask], [bits])
    return ctx.op("stablehlo.select", [negative, flipped, x], [bits])


def all_gather(ctx: "Lowering", x: HloValue, op: Any) -> Any:
    """``x`` of all devices, end to end along ``op.at``, or stacked along a new axis."""
    (x_type,), (out,) = ctx.in_types, ctx.out_types
    if not op.tiled:
        x = _reshaped(ctx, x, x_type, _inserted(x_type.shape, op.at, 1))
    rows = _rows(ctx, (op.axis,), op.groups)
    how = {"all_gather_dim": f"{op.at} : i64", "use_global_device_ids": "unit"}
    return _talk(ctx, "all_gather", x, out, rows, 0, **how)


def reduce_scatter(ctx: "Lowering", x: HloValue, op: Any) -> Any:
    """The sum of ``x`` over the devices, each with its shard of axis ``op.at``."""
    (x_type,), (out,) = ctx.in_types, ctx.out_types
    shape = list(x_type.shape)
    shape[op.at] //= op.size
    local_type = x_type.with_shape(tuple(shape))
    rows = _rows(ctx, (op.axis,), op.groups)
    how = {"scatter_dimension": f"{op.at} : i64", "use_global_device_ids": "unit"}
    made = _talk(ctx, "reduce_scatter", x, local_type, rows, 1, **how)
    _combine(ctx, made, local_type, "stablehlo.add")
    return made.result if op.tiled else _reshaped(ctx, made.result, out, out.shape)


def all_to_all(ctx: "Lowering", x: HloValue, op: Any) -> Any:
    """Part k of axis ``op.split`` goes to device k; what arrives is put along
    ``op.concat``.
    """
    (x_type,), (out,) = ctx.in_types, ctx.out_types
    split, concat = op.split, op.concat
    shape = x_type.shape
    if not op.tiled:
        # The axis that is split is left with length 1 and dropped in the end; the new
        # one stands before it or behind.
        concat += concat > split
        split += concat <= split
        shape = _inserted(shape, concat, 1)
        x = _reshaped(ctx, x, x_type, shape)
    moved = list(shape)
    moved[split] //= op.size
    moved[concat] *= op.size
    made = _talk(
        ctx,
        "all_to_all",
        x,
        x_type.with_shape(tuple(moved)),
        _rows(ctx, (op.axis,), op.groups),
        split_dimension=f"{split} : i64",
        concat_dimension=f"{concat} : i64",
        split_count=f"{op.size} : i64",
    )
    return made if op.tiled else _reshaped(ctx, made, out, out.shape)


def permute(
    ctx: "Lowering", x: HloValue, axes: Axes, pairs: tuple[tuple[int, int], ...]
) -> Any:
    """``x`` sent along axes by (from, to) pairs; zeros where none arrives."""
    groups = _groups(ctx.module.mesh, axes)
    routes = np.array([(g[s], g[t]) for g in groups for s, t in pairs], np.int64)
    return ctx.op(
        "stablehlo.collective_permute",
        [x],
        source_target_pairs=_table(routes.reshape(-1, 2)),
        channel_handle=_channel(ctx),
    )


def axis_index(ctx: "Lowering", axis: Any) -> Any:
    """The index of this device along an axis, an i32."""
    mesh, types = ctx.module.mesh, ctx.out_types
    others = [a for a in mesh.axis_names if a not in ctx.module.manual_axes]
    if not others:
        return _axis_index(ctx, axis)
    # A device has a number only where all axes are manual.
    made = ctx.op(
        "sdy.manual_computation",
        [],
        types,
        regions=1,
        in_shardings=shardings_text([], []),
        out_shardings=shardings_text([PartitionSpec()], [0]),
        manual_axes=manual_axes_text(others),
    )
    ctx.region(made, 0, [], lambda inner: [_axis_index(inner, axis)], "sdy.return")
    return made.result


def _axis_index(ctx: "Lowering", axis: Any) -> Any:
    sizes = ctx.module.mesh.axis_sizes
    k = ctx.module.mesh.axis_names.index(axis)
    uint32 = ArrayType((), dtypes.uint32)
    index = ctx.op("stablehlo.partition_id", [], [uint32])
    for name, n in (("divide", int(np.prod(sizes[k + 1 :]))), ("remainder", sizes[k])):
        number = ctx.constant(n, uint32)
        index = ctx.op(f"stablehlo.{name}", [index, number], [uint32])
    return ctx.op("stablehlo.convert", [index], [ArrayType((), dtypes.int32)])


# -- shared ----------------------------------------------------------------------------


def _rows(ctx: "Lowering", axes: Axes, groups: Groups) -> np.ndarray:
    """The replica groups of a collective, along all of the axes or in groups of their
    indices; a row may end with -1, for no device.
    """
    rows = _groups(ctx.module.mesh, axes)
    if groups is None:
        return rows
    longest = max(map(len, groups))
    filled = np.full((len(rows), len(groups), longest), -1, np.int64)
    for k, group in enumerate(groups):
        filled[:, k, : len(group)] = rows[:, group]
    return filled.reshape(-1, longest)


def _groups(mesh: Any, axes: Axes) -> np.ndarray:
    """The indices of the devices that talk to each other, a row for each group."""
    positions = np.arange(mesh.size).reshape(mesh.axis_sizes)
    along = [mesh.axis_names.index(a) for a in axes]
    size = int(np.prod([mesh.axis_sizes[k] for k in along]))
    order = range(-len(along), 0)
    return np.moveaxis(positions, along, order).reshape(-1, size)


def _talk(  # noqa: PLR0913, PLR0917  one for each part of the operation
    ctx: "Lowering",
    name: str,
    x: HloValue,
    out: ArrayType,
    rows: np.ndarray,
    regions: int = 0,
    **attributes: str,
) -> Any:
    """One operation between the devices of each row."""
    return ctx.op(
        f"stablehlo.{name}",
        [x],
        [out],
        regions,
        replica_groups=_table(rows),
        channel_handle=_channel(ctx),
        **attributes,
    )


def _combine(ctx: "Lowering", made: Any, type: ArrayType, combine: str) -> None:
    element = type.with_shape(())
    pair = [element, element]
    ctx.region(made, 0, pair, lambda c, a, b: [c.op(combine, [a, b], [element])])


def _table(rows: np.ndarray) -> str:
    shape = "x".join(map(str, rows.shape))
    values = rows.tolist() if rows.size else ""
    return f"dense<{values}> : tensor<{shape}xi64>"


def _channel(ctx: "Lowering") -> str:
    ctx.module.channels += 1
    return f"#stablehlo.channel_handle<handle = {ctx.module.channels}, type = 1>"


def _inserted(shape: tuple[int, ...], at: int, n: int) -> tuple[int, ...]:
    return (*shape[:at], n, *shape[at:])


def _reshaped(
    ctx: "Lowering", x: HloValue, type: ArrayType, shape: tuple[int, ...]
) -> Any:
    return ctx.op("stablehlo.reshape", [x], [type.with_shape(shape)])
