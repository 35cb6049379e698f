"""A scatter of one window, written out for XLA's partitioner.

XLA makes of it the window at indices that are inside, or else what was there, and
writes that. Over several devices each brings the indices into its own part of the
array. But what was there it reads of the whole array, where it has that, without
bringing the window inside first (``windows_in_windows.py``), and so all devices but one
write elements of another one (jaxlib 0.10.2). As a window that is read, chosen and
written at starts that are inside, it is divided rightly.
"""

from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.lowering.spelling import HloValue
from covector.operations.windows import update_sizes

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

EQ = "#stablehlo<comparison_direction EQ>"


def scattered_window(
    ctx: "Lowering", scatter: Any, x: HloValue, indices: HloValue, updates: HloValue
) -> HloValue:
    """While lowering a scatter of one window, which is dropped where it is not inside:
    the array with it.
    """
    source, kind, given = ctx.in_types
    sizes = update_sizes(scatter.reading, source.shape, given.shape)
    axes = scatter.dimension_numbers.scatter_dims_to_operand_dims
    flag, index = ArrayType((), dtypes.bool_), ArrayType((), kind.dtype)
    starts = [ctx.constant(0, index) for _ in sizes]
    inside = ctx.constant(True, flag)
    row = ctx.op("stablehlo.reshape", [indices], [kind.with_shape((len(axes),))])
    for i, axis in enumerate(axes):
        one = ctx.op(
            "stablehlo.slice",
            [row],
            [kind.with_shape((1,))],
            start_indices=(i,),
            limit_indices=(i + 1,),
            strides=(1,),
        )
        start = ctx.op("stablehlo.reshape", [one], [index])
        bounds = [ctx.constant(k, index) for k in (0, source.shape[axis] - sizes[axis])]
        starts[axis] = ctx.op("stablehlo.clamp", [bounds[0], start, bounds[1]], [index])
        unmoved = ctx.op(
            "stablehlo.compare", [start, starts[axis]], [flag], comparison_direction=EQ
        )
        inside = ctx.op("stablehlo.and", [inside, unmoved], [flag])
    window = source.with_shape(sizes)
    old = ctx.op("stablehlo.dynamic_slice", [x, *starts], [window], slice_sizes=sizes)
    new = ctx.op("stablehlo.reshape", [updates], [window])
    combined = restage(lambda *pair: [scatter.element(*pair)], [window] * 2)
    (new,) = ctx.inline(combined, [old, new])
    mask = ctx.broadcast(inside, flag.with_shape(sizes))
    chosen = ctx.op("stablehlo.select", [mask, new, old], [window])
    return ctx.op("stablehlo.dynamic_update_slice", [x, chosen, *starts])
