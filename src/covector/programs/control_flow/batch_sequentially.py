"""vmap of control flow with side effects: run the lanes one after another, as a scan.

Without effects all lanes can take all branches together, and each selects its own
results. Effects of branches not taken must not happen: so the lanes of a cond or a
while loop with effects run in turn.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.effects import Effect
from covector.core.primitive import Primitive
from covector.core.staging import stage
from covector.errors import ArgumentError
from covector.ops.broadcasting import move_axis
from covector.programs.control_flow.scan import Scan
from covector.programs.higher_order.hash_consing import intern
from covector.transforms.batch import name_of


def batch_sequentially(
    op: Primitive, axis: Any, size: int, args: Sequence[Any], dims: Sequence[int | None]
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
    shared = [i for i, d in enumerate(dims) if d is None]
    per_lane = [i for i, d in enumerate(dims) if d is not None]
    rows = [
        move_axis(x, d, 0) for x, d in zip(args, dims, strict=True) if d is not None
    ]
    types = [args[i].type for i in shared]
    types += [x.type.with_shape(x.type.shape[1:]) for x in rows]

    def one_lane(*values: Any) -> Any:
        operands = dict(zip([*shared, *per_lane], values, strict=True))
        return op(*[operands[i] for i in range(len(args))])

    jaxpr = intern(stage(one_lane, types, op.name).jaxpr)
    loop = jaxpr.memo(Scan, size, len(shared), 0)
    outs = loop(*[args[i] for i in shared], *rows)
    return outs, [0] * len(outs)


def refuse_order(op: Primitive, who: str) -> None:
    """Raise where an operation on a batch has ordered effects."""
    if Effect.ORDERED in op.effects:
        raise ArgumentError(
            f"{who} has ordered effects, and an order of what the lanes of a batch "
            "do is not defined: it cannot be used under vmap on values that are "
            "batched. Leave ordered=True out, or take it out of vmap."
        )
