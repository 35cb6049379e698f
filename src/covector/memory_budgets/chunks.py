"""``vmap(f, memory=)``: a batch in chunks, each as large as a budget of memory allows.

The program of one lane is staged once. ``Chunked`` runs it over the batch: a scan over
chunks of lanes, and then the lanes that are left. Which size of a chunk fits is found
by compiling. Its derivative is that of a scan whose body is a checkpoint: a chunk keeps
nothing but its operands, and the size is chosen anew so that values and cotangents fit
together.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask, drop, merge, present_mask, select
from covector.core.primitive import Linearized, Primitive, operation
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.errors import AxisError
from covector.memory_budgets.compiled_memory import (
    check_alone,
    largest_made,
    memory_of,
    over_budget,
    value_and_pullback,
)
from covector.memory_budgets.scan_segments import rows_of
from covector.operations.broadcasting import move_axis
from covector.operations.joining import Concatenate
from covector.operations.slicing import index_axis
from covector.operations.transposing import Reshape
from covector.programs.control_flow.scan import Scan
from covector.programs.higher_order.call import Inlined, call
from covector.programs.higher_order.dead_code import dce
from covector.programs.higher_order.partition import Partition, Policy, of_call
from covector.programs.higher_order.regions import Region, call_region
from covector.programs.remat.checkpoint import Checkpoint
from covector.programs.remat.policies import checkpoint_policies
from covector.runtime.executable import MemoryUse
from covector.transforms.batch import batch_jaxpr, front_dims
from covector.transforms.linearize import linearize_jaxpr

#: sizes of a chunk that are compiled, besides one lane and the whole batch
TRIALS = 4
#: the part of a budget that is used well enough to try no larger chunk
ENOUGH = 0.9


# -- programs --------------------------------------------------------------------------


class Batch(NamedTuple):
    """The program of one lane, and the batch that it is run over.

    ``mapped`` masks the inputs of which each lane has its element along axis 0.
    """

    lane: Jaxpr
    size: int
    mapped: Mask

    def at_once(self, size: int) -> tuple[Jaxpr, Mask]:
        """The program for so many lanes together, and the mask of the outputs that have
        an axis for them, in front.
        """
        force = (False,) * len(self.lane.outputs)
        dims = front_dims(self.mapped)
        program, found = self.lane.memo(batch_jaxpr, size, dims, force)
        return program, present_mask(found)

    def in_chunks(self, chunk: int, kept: Callable[[Jaxpr], Any]) -> Jaxpr:
        """The program for the whole batch by chunks of so many lanes; ``kept(program)``
        is the operation that runs that of a chunk.
        """
        if chunk >= self.size:
            return self.at_once(self.size)[0]
        program, batched = self.at_once(chunk)
        count, left = divmod(self.size, chunk)
        in_types = self.lane.in_types

        def over_batch(*args: Value) -> list[Any]:
            outs = self._scanned(kept(program), batched, args, chunk, count)
            if left:
                rest = self._part(args, count * chunk, self.size)
                last = select(kept(self.at_once(left)[0])(*rest), batched)
                pairs = zip(outs, last, strict=True)
                outs = [Concatenate(0)(x, y) for x, y in pairs]
            return merge(outs, batched, self._shared(batched, args))

        types = [
            t.with_axis(0, self.size) if m else t
            for t, m in zip(in_types, self.mapped, strict=True)
        ]
        return restage(over_batch, types, f"{self.lane.name}_in_chunks")

    def _scanned(
        self, op: Any, batched: Mask, args: Values, chunk: int, count: int
    ) -> list[Any]:
        """The results of the first ``count`` chunks."""
        mapped = self.mapped
        consts = drop(args, mapped)
        first = select(self._part(args, 0, count * chunk), mapped)
        xs = [Reshape((count, chunk, *x.type.shape[1:]))(x) for x in first]

        def step(*values: Value) -> list[Any]:
            given, x = values[: len(consts)], values[len(consts) :]
            others = iter(given)
            operands = merge(x, mapped, [None if m else next(others) for m in mapped])
            return select(op(*operands), batched)

        x_types = [x.type.without_axis(0) for x in xs]
        types = [*[c.type for c in consts], *x_types]
        body = restage(step, types, f"{self.lane.name}_chunk")
        outs = body.memo(Scan, count, len(consts), 0)(*consts, *xs)
        return [Reshape((count * chunk, *y.type.shape[2:]))(y) for y in outs]

    def _part(self, args: Values, start: int, stop: int) -> list[Any]:
        """The operands of some of the lanes."""
        return [
            rows_of(x, start, stop) if m else x
            for x, m in zip(args, self.mapped, strict=True)
        ]

    def _shared(self, batched: Mask, args: Values) -> list[Any]:
        """The results that all lanes share, computed once; None for the others."""
        if all(batched):
            return [None] * len(batched)
        program = self.lane.memo(dce, tuple([not b for b in batched]))
        one = [
            index_axis(x.type.shape, 0, 0)(x) if m else x
            for x, m in zip(args, self.mapped, strict=True)
        ]
        outs = iter(run(program, one))
        return [None if b else next(outs) for b in batched]


# -- the size of a chunk ---------------------------------------------------------------


def largest_chunk(size: int, use: Callable[[int], MemoryUse], limit: int) -> int | None:
    """The largest of the tried sizes with which the program needs at most ``limit``
    bytes; None if one lane at a time needs more.

    Memory is nearly a + b·chunk: a and b come from one lane and the whole batch, and
    from what was tried since.
    """
    if (whole := use(size).peak) <= limit or size < 2:
        return size if whole <= limit else None
    if (least := use(1).peak) > limit:
        return None
    low, high = (1, least), (size, whole)
    for _ in range(TRIALS):
        slope = max(1, high[1] - low[1]) / (high[0] - low[0])
        wanted = low[0] + int((limit - low[1]) / slope)
        chunk = _without_remainder(size, min(wanted, high[0] - 1))
        if chunk <= low[0]:
            break
        peak = use(chunk).peak
        if peak <= limit:
            low = chunk, peak
        else:
            high = chunk, peak
        if ENOUGH * limit <= low[1] or high[0] - low[0] < 2:
            break
    return low[0]


def _without_remainder(size: int, chunk: int) -> int:
    """A divisor of ``size`` not far below ``chunk``, if there is one: with lanes left
    over, operands and results are copied.
    """
    divisors = [c for c in range(chunk, chunk // 2, -1) if size % c == 0]
    return divisors[0] if divisors else chunk


# -- the operation ---------------------------------------------------------------------


class Budget(NamedTuple):
    """The bytes that a batch may need, and whose batch it is, for messages."""

    limit: int
    who: str

    def fit(self, batch: Batch, make: Callable[[int], Jaxpr]) -> Jaxpr:
        """``make(chunk)`` for the largest chunk that fits.

        Raises:
          OverBudget: one lane at a time needs more.
        """
        check_alone(batch.lane, self.who)
        made: dict[int, Jaxpr] = {}
        uses: dict[int, MemoryUse] = {}

        def use(chunk: int) -> MemoryUse:
            made[chunk] = make(chunk)
            uses[chunk] = memory_of(made[chunk])
            return uses[chunk]

        chunk = largest_chunk(batch.size, use, self.limit)
        if chunk is None:
            least = min(uses.values(), key=lambda u: u.peak)
            largest = largest_made(batch.lane)
            raise over_budget(self.who, self.limit, least, largest)
        return made[chunk]


@operation
class Chunked(Inlined):
    """``jaxpr``, the program of a lane, over a batch of ``size`` by chunks of lanes.

    The operands that ``mapped`` masks have the batch in front, as have the results
    that differ between lanes.
    """

    name = "chunked_vmap"

    jaxpr: Jaxpr
    size: int
    mapped: Mask
    budget: Budget

    def __repr__(self) -> str:
        return f"Chunked({self.jaxpr.name}, {self.size})"

    @cached_property
    def batch_of_lanes(self) -> Batch:
        return Batch(self.jaxpr, self.size, self.mapped)

    @cached_property
    def batched_results(self) -> Mask:
        """The mask of the results that differ between lanes."""
        return self.batch_of_lanes.at_once(self.size)[1]

    @cached_property
    def program(self) -> Jaxpr:  # type: ignore[override]
        """The program over the whole batch, within the budget."""
        batch = self.batch_of_lanes
        return self.budget.fit(batch, lambda chunk: batch.in_chunks(chunk, call))

    @cached_property
    def regions(self) -> Sequence[Region]:  # type: ignore[override]
        return (call_region(self.program),)

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return self.batch_of_lanes.at_once(self.size)[0].out_types

    def evaluate(self, *args: ConcreteArray) -> Sequence[Array]:
        return call(self.program).evaluate(*args)

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        lane = self.jaxpr.memo(dce, results)
        inputs, mapped = select(lane.inputs, operands), select(self.mapped, operands)
        lane = Jaxpr(inputs, lane.equations, lane.outputs, lane.name)
        return self.replace(jaxpr=lane, mapped=mapped) if any(mapped) else call(lane)

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        try:
            program = self.jaxpr.memo(_for_derivatives, self, tuple(active))
        except AxisError as error:
            error.add_note(
                f"in a derivative of {self.budget.who} with memory=: rules cannot "
                "communicate over its axis, since it runs in chunks. Leave memory= out."
            )
            raise
        split = program.memo(linearize_jaxpr, tuple(active), "_jvp")
        return split.at(primals, lambda part, args: call(part)(*args))

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        """A batch of batches: a lane is what the other batch has of it."""
        # The lanes stay in front; an element of an operand is without that axis.
        args = [
            x if d is None else move_axis(x, d, int(m))
            for x, d, m in zip(args, dims, self.mapped, strict=True)
        ]
        inner = front_dims(present_mask(dims))
        lane, found = self.jaxpr.memo(batch_jaxpr, size, inner, None, axis)
        outs = self.replace(jaxpr=lane)(*args)
        pairs = zip(found, self.batched_results, strict=True)
        return outs, [None if d is None else d + b for d, b in pairs]

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition:
        return of_call(self.program, later, policy, call)


def _for_derivatives(jaxpr: Jaxpr, op: Chunked, active: Mask) -> Jaxpr:
    """The program over the batch of which values and cotangents together are within the
    budget (memoise on the program).
    """
    batch = op.batch_of_lanes
    made: dict[Jaxpr, Jaxpr] = {}

    def keeping_operands(program: Jaxpr) -> Any:
        return program.memo(Checkpoint, checkpoint_policies.nothing_saveable, False)

    def with_cotangents(chunk: int) -> Jaxpr:
        program = batch.in_chunks(chunk, keeping_operands)
        both = value_and_pullback(program, active)
        made[both] = program
        return both

    return made[op.budget.fit(batch, with_cotangents)]
