"""``Scan``: a program run step after step, over a carry and the leading axis of arrays.

    operands    consts   the same at every step
                carry    what a step hands to the next
                xs       arrays with a leading axis; a step sees one element of each
    results     the last carry, and ys: the other results of each step, stacked

The body takes ``consts, carry, x`` and returns ``carry, y``. Derivatives of a scan are
scans: forward beside it, backward with the steps in reverse order. A carry has a
tangent (or a batch axis) if it starts with one, or gets one from another; which ones do
is found by iterating to the fixpoint.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import (
    Mask,
    at_sources,
    in_groups,
    present,
    present_mask,
    scatter,
    select,
)
from covector.core.primitive import (
    Linear,
    Linearized,
    Operand,
    Primitive,
    linear_mask,
    operation,
)
from covector.core.types import ArrayType, show_types
from covector.errors import TypeMismatch
from covector.lowering.evaluate import evaluate_compiled
from covector.lowering.placement import common_placement
from covector.lowering.spelling import HloResults, HloValue
from covector.lowering.tokens import Thread
from covector.operations.broadcasting import align_masked, move_axis, zeros
from covector.programs.control_flow.loop_lowering import lower_scan
from covector.programs.control_flow.loop_primitive import (
    LoopPrimitive,
    batch_step,
    tangents_of,
)
from covector.programs.control_flow.scan_rules import (
    jvp_body,
    linearize_body,
    partition_body,
    transpose_body,
)
from covector.programs.control_flow.weight_gradients import sum_products
from covector.programs.higher_order.call import call
from covector.programs.higher_order.partition import Partition, Policy
from covector.programs.higher_order.program_primitive import Execution, Where
from covector.programs.higher_order.regions import Region, loop_region
from covector.programs.higher_order.tiering import Budget, commit_results
from covector.transforms.transpose import instantiate

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Scan(LoopPrimitive):
    """Run ``jaxpr`` for ``length`` steps; from the last element when ``reverse``.

    ``unroll`` steps are written out in each turn of the compiled loop.
    """

    name = "scan"  # type: ignore[assignment]

    jaxpr: Jaxpr
    length: int
    num_consts: int
    num_carry: int
    reverse: bool = False
    unroll: int = 1

    def __repr__(self) -> str:
        return f"Scan({self.jaxpr.name}, {self.length})"

    def like(
        self, jaxpr: Jaxpr, num_consts: int, num_carry: int, flip: bool = False
    ) -> "Scan":
        """Another scan of as many steps; in the other order with ``flip``."""
        reverse = self.reverse != flip
        return jaxpr.memo(
            Scan, self.length, num_consts, num_carry, reverse, self.unroll
        )

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of consts and of the carry."""
        return self.num_consts, self.num_carry

    def split(self, operands: Sequence[Any]) -> list[list[Any]]:
        """Operands, or what is known of each, as consts, carry and xs."""
        return in_groups(operands, *self.counts)

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        consts, carry, xs = self.split(self.jaxpr.in_types)
        wanted = [*consts, *carry, *[stacked_type(t, self.length) for t in xs]]
        if [t.strong() for t in types] != [t.strong() for t in wanted]:
            raise TypeMismatch(
                f"scan of {self.jaxpr.name} needs operands of types "
                f"{show_types(wanted)}, but got {show_types(types)}."
            )
        after, ys = in_groups(self.jaxpr.out_types, self.num_carry)
        if [t.strong() for t in after] != [t.strong() for t in carry]:
            raise TypeMismatch(
                f"scan of {self.jaxpr.name} has a carry of types {show_types(carry)}, "
                f"but a step makes of it {show_types(after)}."
            )
        return [*after, *[stacked_type(t, self.length) for t in ys]]

    @cached_property
    def regions(self) -> Sequence[Region]:
        operands = range(len(self.jaxpr.inputs))
        results = range(len(self.jaxpr.outputs))
        return [loop_region(self.jaxpr, operands, self.split(operands)[1], results)]

    # -- values ------------------------------------------------------------------------

    def evaluate(self, *args: ConcreteArray) -> Sequence[Array]:
        plan = self.plan(tuple([a.type for a in args]))
        here = plan.executable is None and all([a.on_host() for a in args])
        if here and self.jaxpr.memo(Budget, (), self.length).try_spend():
            return self._step_by_step(args)
        return evaluate_compiled(self, plan, args)

    def _step_by_step(self, args: Sequence[ConcreteArray]) -> Sequence[Array]:
        _, placement = common_placement(args, self.name)
        consts, carry, xs = self.split(args)
        x_types = self.jaxpr.in_types[self.num_consts + self.num_carry :]
        placements = [x.placement and x.placement.replicated for x in xs]
        steps = range(self.length)
        rows = []
        for i in reversed(steps) if self.reverse else steps:
            x = [
                ConcreteArray(t, x.host()[i], None, at)
                for t, x, at in zip(x_types, xs, placements, strict=True)
            ]
            outs = run(self.jaxpr, [*consts, *carry, *x])
            carry = outs[: self.num_carry]
            rows.append(outs[self.num_carry :])
        if self.reverse:
            rows.reverse()
        outs: list[Any] = [*carry, *self._stacked(rows)]
        return commit_results(outs, placement, args)

    def _stacked(self, rows: Sequence[Sequence[Any]]) -> list[Array]:
        ys = []
        for k, t in enumerate(self.jaxpr.out_types[self.num_carry :]):
            type_ = stacked_type(t, self.length)
            values = np.empty(type_.shape, type_.storage)
            for i, row in enumerate(rows):
                values[i] = row[k].host()
            ys.append(ConcreteArray(type_, values))
        return ys

    def threaded(self, thread: Thread) -> tuple["Scan", int]:
        """The values in the carry."""
        body = thread.through(self.jaxpr, self.num_consts)
        count = self.num_carry + len(thread.types)
        return self.like(body, self.num_consts, count), self.num_consts

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return lower_scan(self, ctx, *self.split(operands))

    # -- derivatives -------------------------------------------------------------------

    def with_tangents(self, groups: Any, separate: bool) -> Any:
        active = tuple([m for group in groups for m in group])
        made = self.jaxpr.memo(jvp_body, *self.counts, active, separate)
        consts, _, xs = groups
        counts = len(consts) + sum(consts), len(made.carry) + sum(made.carry)
        masks = (consts, made.carry, xs), (made.carry, made.ys)
        return self.like(made.jaxpr, *counts), *masks

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        made = self.jaxpr.memo(linearize_body, *self.counts, tuple(active))
        consts, carry, xs = self.split(primals)
        consts += run(made.before, consts)
        outs = self.like(made.primal, len(consts), len(carry))(*consts, *carry, *xs)
        invariant = [consts[i] for i in made.const_indices]
        per_step = at_sources(made.step_indices, xs, outs)

        def push(*tangents: Value | None) -> Sequence[Array | None]:
            const_tangents, carry_tangents, x_tangents = self.split(tangents)
            given = [*invariant, *present(const_tangents)]
            start = tangents_of(carry, carry_tangents, made.carry)
            linear = self.like(made.linear, len(given), len(start))
            out_tangents = linear(*given, *start, *per_step, *present(x_tangents))
            return scatter(out_tangents, (*made.carry, *made.ys))

        return outs[: len(self.jaxpr.outputs)], push

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Operand
    ) -> Sequence[Array | None]:
        linear = linear_mask(args)
        nonzero = present_mask(cotangents)
        made = self.jaxpr.memo(transpose_body, *self.counts, linear, nonzero)
        consts, carry, xs = self.split(args)
        known, known_xs = _known(consts), _known(xs)
        carry_before: Sequence[Any] = []
        if any(made.known_carry):
            start = select(carry, made.known_carry)
            forward = self.like(made.forward, len(known), len(start))
            carry_before = forward(*known, *start, *known_xs)[len(start) :]
        types = [t.strong() for t in self.jaxpr.in_types]
        const_types, carry_types, _ = self.split(types)
        products = scatter(made.products, made.consts)
        summed = [m and p is None for m, p in zip(made.consts, products, strict=True)]
        sums = [zeros(t) for t in select(const_types, summed)]
        after, y_cts = in_groups(cotangents, self.num_carry)
        pairs = select(zip(after, carry_types, strict=True), made.carry)
        start = sums + [instantiate(*pair) for pair in pairs]
        stacked = [*carry_before, *known_xs, *present(y_cts)]
        back = self.like(made.jaxpr, len(known), len(start), flip=True)
        outs = back(*known, *start, *stacked)
        cts_in = scatter(outs, (*summed, *made.carry, *made.xs))
        factors = outs[len(start) + sum(made.xs) :]
        for k, parts in enumerate(products):
            if parts is not None:
                cts_in[k] = sum_products(parts, stacked, factors)
        # A carry that starts known, at zero, has no cotangent to give back.
        return [ct if m else None for ct, m in zip(cts_in, linear, strict=True)]

    # -- parts -------------------------------------------------------------------------

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        consts, carry, _ = self.split(operands)
        return self.like(programs[0], sum(consts), sum(carry))

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition:
        """Values saved at each step become further ys, and then further xs."""
        made, *counts = self.jaxpr.memo(partition_body, *self.counts, later, policy)
        return made._replace(
            forward=self.like(made.forward, *self.counts),
            recompute=self.like(made.recompute, *counts),
        )

    def at_step(self, i: int) -> Where:
        """A step, in the words of messages."""
        return Where(f" in scan step {i}", "step", i)

    def executions(self, operands: Sequence[Any]) -> Iterator[Execution]:
        consts, carry, xs = self.split(operands)
        steps = range(self.length)
        for i in reversed(steps) if self.reverse else steps:
            args = [*consts, *carry, *[x[i] for x in xs]]
            yield Execution(self.jaxpr, args, self.at_step(i))
            carry = call(self.jaxpr)(*args)[: self.num_carry]

    # -- batches -----------------------------------------------------------------------

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        """A carry is batched if it starts so, or is made so by another."""
        consts, carry, xs = self.split(args)
        const_dims, carry_dims, x_dims = self.split(dims)
        # The leading axis has to stay in front; an element of xs is without it.
        pairs = zip(xs, x_dims, strict=True)
        xs = [move_axis(x, 0, 1) if d == 0 else x for x, d in pairs]
        step_dims = [None if d is None else max(d - 1, 0) for d in x_dims]
        mask = present_mask(carry_dims)
        (program, out_dims), mask = batch_step(
            self.jaxpr, size, axis, const_dims, mask, step_dims
        )
        carry = align_masked(size, carry, carry_dims, mask)
        outs = self.like(program, len(consts), len(carry))(*consts, *carry, *xs)
        after, ys = in_groups(out_dims, self.num_carry)
        return outs, [*after, *[None if d is None else 1 for d in ys]]


def stacked_type(type: ArrayType, length: int) -> ArrayType:
    """The type of ``length`` values of a type, stacked."""
    return type.with_axis(0, length)


def _known(args: Sequence[Operand]) -> list[Any]:
    return [a for a in args if type(a) is not Linear]
