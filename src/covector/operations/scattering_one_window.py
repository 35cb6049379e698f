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
from covector.core.annotations import Value, Values
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.lowering.spelling import HloValue
from covector.operations.selection import where
from covector.operations.slicing import index_axis
from covector.operations.transposing import Reshape
from covector.operations.windows import are_inside, moved_inside, update_sizes

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


def scattered_window(
    ctx: "Lowering", scatter: Any, x: HloValue, indices: HloValue, updates: HloValue
) -> HloValue:
    """While lowering a scatter of one window, which is dropped where it is not inside:
    the array with it.
    """
    source, kind, given = ctx.in_types
    sizes = update_sizes(scatter.reading, source.shape, given.shape)
    axes = scatter.dimension_numbers.scatter_dims_to_operand_dims

    def places(x: Value, indices: Value, _: Value) -> Values:
        inside = are_inside(indices, axes, sizes, x.type)
        row = Reshape((len(axes),))(moved_inside(indices, axes, sizes, x.type))
        starts = [index_axis((len(axes),), 0, i)(row) for i in range(len(axes))]
        return [Reshape(())(inside), *starts]

    def chosen(inside: Value, old: Value, updates: Value) -> Values:
        new = Reshape(sizes)(updates)
        return [where(inside, scatter.element(old, new), old)]

    inside, *named = ctx.through(places, x, indices, updates)
    start_of = dict(zip(axes, named, strict=True))
    zero = ctx.constant(0, kind.with_shape(()))
    starts = [start_of.get(axis, zero) for axis in range(source.ndim)]
    window = source.with_shape(sizes)
    old = ctx.op("stablehlo.dynamic_slice", [x, *starts], [window], slice_sizes=sizes)
    types = [ArrayType((), dtypes.bool_), window, given]
    (new,) = ctx.inline(restage(chosen, types), [inside, old, updates])
    return ctx.op("stablehlo.dynamic_update_slice", [x, new, *starts])
