"""``Checkpoint``: the operation that trades memory for computation in reverse mode.

The intermediate values of a checkpointed program are not saved for the derivative but
recomputed from its inputs, except those that a *policy* says are worth saving. So its
derivative is partitioned (``higher_order/partition.py``): forward, to the results and
saved values; backward, from the inputs and saved values to the residuals. The second is
a call that XLA compiles separately, since otherwise it would see that the same was
computed before, and keep it after all.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask
from covector.core.primitive import Linearized, Primitive, operation
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.lowering.spelling import HloResults, HloValue
from covector.programs.higher_order.call import Call, Inlined, call
from covector.programs.higher_order.dead_code import dce
from covector.programs.higher_order.jaxpr_passes import without_effects
from covector.programs.higher_order.partition import (
    Partition,
    Policy,
    of_call,
    partition,
)
from covector.transforms.batch import batch_jaxpr
from covector.transforms.linearize import LinearizedProgram, linearize_jaxpr

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Recomputed(Inlined):
    """Run ``jaxpr``; its derivative computes again what it does not keep."""

    jaxpr: Jaxpr

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        program, out_dims = self.jaxpr.memo(batch_jaxpr, size, tuple(dims), None, axis)
        return self.replace(jaxpr=program)(*args), out_dims

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        return self.replace(jaxpr=programs[0])

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition:
        """One that is not differentiated here is a call like any other."""
        return of_call(self.jaxpr, later, policy, call)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.call(self.jaxpr, operands)


@operation
class Checkpoint(Recomputed):
    """Run ``jaxpr``; keep for its derivative only what ``policy`` says."""

    name = "checkpoint"

    jaxpr: Jaxpr
    policy: Policy
    prevent_cse: bool = True

    def __repr__(self) -> str:
        return f"Checkpoint({self.jaxpr.name})"

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        settings = tuple(active), self.policy, self.prevent_cse
        split = self.jaxpr.memo(linearize_checkpoint, *settings)
        return split.at(primals, lambda op, args: op(*args))


def linearize_checkpoint(
    jaxpr: Jaxpr, active: Mask, policy: Policy, separate: bool
) -> LinearizedProgram[Call]:
    """Calls of a program and of its derivative, which computes residuals again and may
    be compiled separately (memoise on the program).

    ``primal`` gives the outputs and what the policy keeps; the residuals between the
    two are that, and the inputs from which the others are computed.
    """
    split = jaxpr.memo(linearize_jaxpr, active)
    primal, count = split.primal, len(jaxpr.outputs)
    residuals = split.residuals(primal.inputs, primal.outputs)
    whole = Jaxpr(
        primal.inputs,
        primal.equations,
        [*primal.outputs[:count], *residuals],
        jaxpr.name,
    )
    later = (*[False] * count, *[True] * len(residuals))
    now = tuple([not m for m in later])
    parts = whole.memo(partition, later, policy, now)
    kept = (True,) * (len(parts.forward.outputs) - len(later))
    forward = parts.forward.memo(dce, (*now, *kept))
    recompute = parts.recompute.memo(without_effects)
    known = len(recompute.inputs)

    def recompute_and_push(*values: Value) -> list[Any]:
        given = run(recompute, values[:known])
        return run(split.linear, [*given, *values[known:]])

    tangent_types = split.linear.in_types[len(residuals) :]
    program = restage(
        recompute_and_push,
        [*recompute.in_types, *tangent_types],
        f"{jaxpr.name}_recomputed",
    )
    sources = [
        i if i >= ~count + 1 else i + len(residuals) for i in parts.residual_sources
    ]
    parts = call(forward), call(program, separate)
    return LinearizedProgram(*parts, tuple(sources), split.nonzero)
