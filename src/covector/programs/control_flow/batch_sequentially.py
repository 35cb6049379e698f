"""vmap of control flow with side effects: run the lanes one after another, as a scan.

Without effects all lanes can take all branches together, and each selects its own
results. Effects of branches not taken must not happen: so the lanes of a cond or a
while loop with effects run in turn.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.annotations import AxisName, Value
from covector.core.effects import Effect
from covector.core.masks import drop, in_groups, merge, present_mask, scatter, select
from covector.core.primitive import Primitive
from covector.core.staging import stage
from covector.errors import ArgumentError
from covector.operations.broadcasting import align_masked
from covector.programs.control_flow.scan import Scan
from covector.programs.higher_order.hash_consing import intern
from covector.transforms.batch import name_of


def batch_sequentially(
    op: Primitive,
    axis: AxisName,
    size: int,
    args: Sequence[Any],
    dims: Sequence[int | None],
) -> tuple[Sequence[Any], list[int]]:
    """``batch_named`` of an operation with effects."""
    refuse_order(op, op.name)
    name = name_of(axis)
    if name is not None and name in op.axis_names:
        raise ArgumentError(
            f"{op.name} under vmap has effects, so that the lanes of the batch run "
            f"one after the other, and cannot communicate over the axis "
            f"{name!r} in it. Take the effects or the collectives out."
        )
    mask = present_mask(dims)
    shared = drop(args, mask)
    rows = select(align_masked(size, args, dims, mask), mask)
    types = [x.type for x in shared]
    types += [x.type.without_axis(0) for x in rows]

    def one_lane(*values: Value) -> Any:
        known, lane = in_groups(values, len(shared))
        return op(*merge(lane, mask, scatter(known, [not m for m in mask])))

    jaxpr = intern(stage(one_lane, types, op.name).jaxpr)
    outs = jaxpr.memo(Scan, size, len(shared), 0)(*shared, *rows)
    return outs, [0] * len(outs)


def refuse_order(op: Primitive, who: str) -> None:
    """Raise where an operation on a batch has ordered effects."""
    if Effect.ORDERED in op.effects:
        raise ArgumentError(
            f"{who} has ordered effects, and an order of what the lanes of a batch "
            "do is not defined: it cannot be used under vmap on values that are "
            "batched. Leave ordered=True out, or take it out of vmap."
        )
