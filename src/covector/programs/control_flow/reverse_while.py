"""``ReverseWhile``: a while loop in reverse, with cotangents carried from step to step.

    operands    count          how many steps the loop took
                consts         the same at every step
                primal carry   the carry of the loop before its first step
                ct carry       cotangents, as they are after the last step
    results     the cotangents, as they are before the first step

    primal carry   p₀ → p₁ → … → pₙ     by ``forward``, as often as it takes
    ct carry       c₀ ← c₁ ← … ← cₙ     cₖ = backward(cₖ₊₁, pₖ)

It is the transpose of a while loop. The primal carry is the part of the loop's carry
that derivatives depend on; the ct carry holds cotangents of the rest, and of consts,
which are accumulated. No more than ``checkpoints`` values of the primal carry are kept
at any time (``treeverse``). The ct carry is linear in itself, so derivatives of a
ReverseWhile are ReverseWhiles.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from covector.core.annotations import AxisName, BatchDims, Batched, Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask, drop, in_groups, present_mask, scatter, select
from covector.core.primitive import (
    Linearized,
    Operand,
    Primitive,
    linear_mask,
    operation,
)
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.core.varying import Axes, Varying
from covector.errors import NotDifferentiable
from covector.lowering.evaluate import evaluate_compiled
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add
from covector.operations.broadcasting import align_masked, batched, zeros
from covector.operations.comparison import lt
from covector.operations.extrema import max_
from covector.operations.reductions import ReduceMax
from covector.programs.control_flow.divergent_control_flow import check_no_collectives
from covector.programs.control_flow.lanes import step_running
from covector.programs.control_flow.loop_primitive import LoopPrimitive, batch_step
from covector.programs.control_flow.scan_rules import jvp_body
from covector.programs.control_flow.treeverse import visit_backwards
from covector.programs.control_flow.while_rules import adjoint
from covector.programs.higher_order.call import call
from covector.programs.higher_order.dead_code import trimmed
from covector.programs.higher_order.jaxpr_passes import needed_part
from covector.programs.higher_order.program_primitive import Execution, Where
from covector.programs.higher_order.regions import (
    Region,
    communicates,
    loop_region,
    named_axes,
)
from covector.transforms.batch import front_dims
from covector.transforms.transpose import instantiate

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

Values = list[Any]


class _LateBinding:
    """The loops of ``while_loop``, which imports this module; bound once, there."""

    loop: Callable[..., Values]
    repeat: Callable[..., Values]


def bind_loops(loop: Callable[..., Values], repeat: Callable[..., Values]) -> None:
    """``loop(test, step, *carry)`` runs functions, ``repeat(body, count, consts, carry,
    checkpoints)`` runs a program ``count`` times.
    """
    _LateBinding.loop, _LateBinding.repeat = staticmethod(loop), staticmethod(repeat)


def reverse_while(
    programs: tuple[Jaxpr, Jaxpr],
    counts: Sequence[int],
    checkpoints: int,
    *operands: Any,
) -> Values:
    """The ct carry before the first step; ``counts`` are of consts and primal carry.

    The loop is run without the operands that it does not need.
    """
    forward, backward = programs
    made = forward.memo(_trimmed, backward, *counts[:2], checkpoints)
    return [*made.op(*select(operands, made.operands))]


def _trimmed(
    forward: Jaxpr, backward: Jaxpr, consts: int, primals: int, checkpoints: int
) -> Any:
    results = len(backward.outputs)
    every = [True] * len(backward.inputs)
    backward = needed_part(backward, every, backward.outputs)
    op = ReverseWhile(forward, backward, consts, primals, checkpoints)
    return trimmed(op, (True,) * results, 1 + consts + primals + results)


@operation
class ReverseWhile(LoopPrimitive):
    """Run ``backward`` on consts, ct carry and primal carry for each step from the last
    to the first.

    ``forward`` takes consts and primal carry.
    """

    forward: Jaxpr
    backward: Jaxpr
    num_consts: int
    num_primals: int
    checkpoints: int

    deciding_operands = (0,)

    def __repr__(self) -> str:
        return f"ReverseWhile({self.backward.name})"

    def split(self, operands: Sequence[Any]) -> list[Values]:
        """The count, consts, primal carry and ct carry."""
        return in_groups(operands, 1, self.num_consts, self.num_primals)

    def type_rule(self, count: ArrayType, *types: ArrayType) -> Sequence[ArrayType]:
        return [t.strong() for t in self.backward.out_types]

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        # Over the axes of the steps themselves devices took as many: that was checked.
        divergent = types[0].varying.difference(self.forward.memo(named_axes))
        check_no_collectives("while_loop", "its test", [self.backward], divergent)
        return super().varying_rule(types, checked_axes)

    @cached_property
    def regions(self) -> Sequence[Region]:
        count = len(self.forward.inputs) + len(self.backward.outputs)
        _, consts, primals, cts = self.split(range(1 + count))
        nothing = [None] * len(primals)
        return [
            loop_region(self.forward, [*consts, *primals], primals, nothing),
            loop_region(self.backward, [*consts, *cts, *primals], cts, range(len(cts))),
        ]

    # -- values ------------------------------------------------------------------------

    def evaluate(self, *args: Value) -> Sequence[Array]:
        return evaluate_compiled(self, self.plan(tuple([a.type for a in args])), args)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.through(self._visit, *operands)

    def _visit(self, *operands: Value) -> Values:
        (count,), consts, primals, cts = self.split(operands)

        def forward(_: Any, primals: Values) -> Values:
            return run(self.forward, [*consts, *primals])

        def backward(_: Any, primals: Values, cts: Values) -> Values:
            return run(self.backward, [*consts, *cts, *primals])

        loop, most = _LateBinding.loop, self.checkpoints
        return visit_backwards(loop, count, most, forward, backward, primals, cts)

    def executions(self, operands: Sequence[Any]) -> Iterator[Execution]:
        (count,), consts, primals, cts = self.split(operands)
        before = []
        for _ in range(int(count)):
            before.append(primals)
            primals = call(self.forward)(*consts, *primals)
        for i in reversed(range(len(before))):
            args = [*consts, *cts, *before[i]]
            where = Where(f" in step {i} of while_loop, backwards", "step", i)
            yield Execution(self.backward, args, where)
            cts = call(self.backward)(*args)

    # -- derivatives -------------------------------------------------------------------

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        """The derivative runs the loop again, for it needs the values at each step."""
        outs = self(*primals)
        return outs, lambda *tangents: self.jvp(primals, tangents, separate=True)[1]

    def with_tangents(self, groups: Any, separate: bool) -> Any:
        _, consts, primals, cts = groups
        active, now = (*consts, *primals), (len(consts), len(primals))
        forward = self.forward.memo(jvp_body, *now, active, separate)
        active, now = (*consts, *cts, *forward.carry), (len(consts), len(cts))
        backward = self.backward.memo(jvp_body, *now, active, separate)
        masks = consts, forward.carry, backward.carry
        counts = [len(mask) + sum(mask) for mask in masks]
        run_reverse = partial(
            reverse_while, (forward.jaxpr, backward.jaxpr), counts, self.checkpoints
        )
        return run_reverse, ([False], *masks), (backward.carry,)

    def transpose(
        self, cotangents: Sequence[Value | None], count: Operand, *args: Operand
    ) -> Sequence[Value | None]:
        """The cotangents of the ct carry forwards, the others then backwards."""
        _, *groups = self.split((count, *args))
        linear = [linear_mask(group) for group in groups]
        made = self.forward.memo(adjoint, self.backward, *linear)
        masks = (linear[0], made.primal_carry, made.ct_carry)
        known = [drop(*pair) for pair in zip(groups, masks, strict=True)]
        types = [count.type, *self.forward.in_types, *self.backward.out_types]
        _, *types = self.split([t.strong() for t in types])
        pairs = zip(cotangents, types[2], strict=True)
        cts_out = [instantiate(*pair) for pair in select(pairs, made.ct_carry)]
        start = (known[0], [*known[1], *cts_out])
        ends = _LateBinding.repeat(made.forward, count, *start, self.checkpoints)
        found: list[Values] = [[], [], ends[len(known[1]) :]]
        if any(made.primal_carry) or any(linear[0]):
            pairs = zip(types[:2], masks[:2], strict=True)
            sums = [zeros(t) for pair in pairs for t in select(*pair)]
            values = [x for group in (*start, known[2], sums) for x in group]
            programs, counts = (made.forward, made.backward), [*map(len, start)]
            outs = reverse_while(programs, counts, self.checkpoints, count, *values)
            split = len(known[2]) + sum(linear[0])
            found[:2] = outs[len(known[2]) : split], outs[split:]
        cts_in = [scatter(*pair) for pair in zip(found, masks, strict=True)]
        return [None, *[ct for group in cts_in for ct in group]]

    # -- parts -------------------------------------------------------------------------

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        forward, backward = programs
        _, consts, primals, _ = self.split(operands)
        counts = sum(consts), sum(primals)
        return forward.memo(ReverseWhile, backward, *counts, self.checkpoints)

    # -- batches -----------------------------------------------------------------------

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        """The ct carry is batched if it starts so, or is made so by another operand."""
        (count, *operands), diverges = args, dims[0] is not None
        mixes = [p.memo(communicates, axis) for p in (self.forward, self.backward)]
        if diverges and any(mixes):
            raise _mixes(axis)
        _, consts, primals, cts = [present_mask(group) for group in self.split(dims)]
        if diverges:
            primals, cts = (True,) * len(primals), (True,) * len(cts)

        batch, dims_of_consts = (size, axis), front_dims(consts)
        (forward, _), primals = batch_step(
            self.forward, *batch, dims_of_consts, primals, ()
        )
        (backward, _), cts = batch_step(
            self.backward, *batch, dims_of_consts, cts, front_dims(primals)
        )
        values = align_masked(size, operands, dims[1:], (*consts, *primals, *cts))
        counts = [self.num_consts, self.num_primals]
        if diverges:
            count = batched(size, count, dims[0])
            programs = forward.memo(in_lanes, backward, consts, count.type)
            most = max_(ReduceMax((0,))(count), scalar(0, count.type.dtype))
            values.insert(counts[0], scalar(0, count.type.dtype))
            values, count = [count, *values], most
            (forward, backward), counts = programs, [n + 1 for n in counts]
        over = forward.memo(ReverseWhile, backward, *counts, self.checkpoints)
        return over(count, *values), list(front_dims(cts))


def in_lanes(
    forward: Jaxpr, backward: Jaxpr, consts: Mask, count: ArrayType
) -> tuple[Jaxpr, Jaxpr]:
    """The programs of a reverse loop over a batch of which each lane takes its number
    of steps (memoise on forward): that is the first const, and the number of the step
    is the first of the primal carry. All after the consts are per lane.
    """
    sizes = len(consts), len(backward.outputs)
    of_consts, of_cts, of_primals = in_groups(backward.in_types, *sizes)
    of_consts, of_primals = [count, *of_consts], [count.with_shape(()), *of_primals]

    def step_forward(*values: Value) -> list[Any]:
        (count, *known), (k, *primals) = in_groups(values, len(of_consts))
        mask = (*consts, *[True] * len(primals))
        operands = [*known, *primals]
        after = step_running(forward, mask, lt(k, count), operands, sizes[0])
        return [add(k, scalar(1, k.type.dtype)), *after]

    def step_backward(*values: Value) -> list[Any]:
        groups = in_groups(values, len(of_consts), sizes[1])
        (count, *known), cts, (k, *primals) = groups
        mask = (*consts, *[True] * (len(cts) + len(primals)))
        operands = [*known, *cts, *primals]
        return step_running(backward, mask, lt(k, count), operands, sizes[0])

    types = [*of_consts, *of_primals], [*of_consts, *of_cts, *of_primals]
    return (
        stage(step_forward, types[0], forward.name).jaxpr,
        stage(step_backward, types[1], backward.name).jaxpr,
    )


def _mixes(axis: AxisName) -> NotDifferentiable:
    return NotDifferentiable(
        f"the reverse-mode derivative of a while_loop that communicates over the vmap "
        f"axis {axis!r} in its body, where lanes of the batch take "
        "different numbers of steps. Differentiate the whole batch: grad of vmap, not "
        "vmap of grad."
    )
