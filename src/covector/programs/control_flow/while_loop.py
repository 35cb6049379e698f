"""``While``: a program run for as long as another one returns True.

    operands    consts of the test, consts of the body, carry
    results     the carry for which the test returned False

How many steps there will be is not known beforehand, so nothing can be kept for each of
them. Forward, the derivative is computed beside the values. In reverse the steps are
counted, and the loop is run again and then backwards (``reverse_while``):

    values      how many steps did it take?     count, carry
    tangents    so many steps, both at once     While, counted
    cotangents  the transpose of that           ReverseWhile
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.annotations import AxisName, BatchDims, Value, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask, in_groups, present_mask, scatter, select
from covector.core.primitive import (
    Linear,
    Linearized,
    Operand,
    Primitive,
    linear_mask,
    operation,
)
from covector.core.staging import stage
from covector.core.types import ArrayType, show_types
from covector.core.varying import Axes, Varying, pvary_like
from covector.errors import NotDifferentiable, TypeMismatch
from covector.lowering.evaluate import evaluate_compiled
from covector.lowering.placement import common_placement
from covector.lowering.spelling import HloResults, HloValue
from covector.lowering.tokens import Thread
from covector.operations.broadcasting import align_masked, zeros
from covector.programs.control_flow.batch_sequentially import batch_sequentially
from covector.programs.control_flow.divergent_control_flow import check_no_collectives
from covector.programs.control_flow.lanes import until_all_fail, until_all_stop
from covector.programs.control_flow.loop_lowering import lower_while
from covector.programs.control_flow.loop_primitive import LoopPrimitive, batch_step
from covector.programs.control_flow.reverse_while import bind_loops, reverse_while
from covector.programs.control_flow.scan_rules import jvp_body, transpose_body
from covector.programs.control_flow.while_rules import (
    counting_body,
    repeating_test,
    testing_first,
)
from covector.programs.higher_order.call import call
from covector.programs.higher_order.dead_code import dce, trimmed
from covector.programs.higher_order.jaxpr_passes import (
    cast_outputs,
    forwarded_inputs,
    with_inputs,
    without_effects,
)
from covector.programs.higher_order.program_primitive import Execution, Where
from covector.programs.higher_order.regions import (
    Kind,
    Region,
    communicates,
    loop_region,
)
from covector.programs.higher_order.tiering import Budget, commit_results
from covector.transforms.batch import batch_jaxpr, front_dims
from covector.transforms.transpose import instantiate

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: states that are kept in reverse mode, unless the caller says otherwise
CHECKPOINTS = 64


@operation
class While(LoopPrimitive):
    """Run ``body_jaxpr`` on the carry while ``cond_jaxpr`` of it is True.

    In reverse ``checkpoints`` carries are kept. A loop that is ``counted`` takes as
    many steps as the const of its test says, and its carry begins with their number.
    One that ``settles`` would not be changed by more steps than it takes.
    """

    name = "while"  # type: ignore[assignment]

    cond_jaxpr: Jaxpr
    body_jaxpr: Jaxpr
    cond_nconsts: int
    body_nconsts: int
    checkpoints: int = CHECKPOINTS
    counted: bool = False
    settles: bool = False

    def __repr__(self) -> str:
        return f"While({self.cond_jaxpr.name}, {self.body_jaxpr.name})"

    def split(self, operands: Sequence[Any]) -> list[list[Any]]:
        """Operands in three groups: consts of the test, consts of the body, carry."""
        return in_groups(operands, self.cond_nconsts, self.body_nconsts)

    def like(
        self, test: Jaxpr, body: Jaxpr, test_consts: int, body_consts: int
    ) -> "While":
        """Another loop over programs with so many consts, otherwise as this one."""
        settings = self.checkpoints, self.counted, self.settles
        return make_while(test, body, test_consts, body_consts, *settings)

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        test, body = self.cond_jaxpr, self.body_jaxpr
        given, test_ins, body_ins, body_outs = [
            [t.strong() for t in group]
            for group in (types, test.in_types, body.in_types, body.out_types)
        ]
        test_consts, consts, carry = self.split(given)
        if test_ins != [*test_consts, *carry]:
            raise TypeMismatch(
                f"while_loop needs operands of types {show_types(test.in_types)} for "
                f"its test {test.name}, but got {show_types([*test_consts, *carry])}."
            )
        (running,) = test.out_types
        if running.shape or running.dtype != dtypes.bool_:
            raise TypeMismatch(
                f"the test {test.name} of while_loop must give one scalar bool, but "
                f"gives {show_types(test.out_types)}."
            )
        if body_ins != [*consts, *carry] or body_outs != carry:
            raise TypeMismatch(
                f"while_loop has a carry of types {show_types(carry)}, but its body "
                f"{body.name} takes {show_types(body.in_types)} and gives "
                f"{show_types(body.out_types)}."
            )
        return body.out_types

    @cached_property
    def regions(self) -> Sequence[Region]:
        count = self.cond_nconsts + len(self.body_jaxpr.inputs)
        test_consts, consts, carry = self.split(range(count))
        test = Region(
            Kind.LOOP, self.cond_jaxpr, (*test_consts, *carry), (None,), (None,)
        )
        results = range(len(carry))
        return [test, loop_region(self.body_jaxpr, [*consts, *carry], carry, results)]

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        programs = [self.cond_jaxpr, self.body_jaxpr]
        varying = self.cond_jaxpr.out_types[0].varying
        check_no_collectives("while_loop", "the test", programs, varying)
        return super().varying_rule(types, checked_axes)

    # -- values ------------------------------------------------------------------------

    def evaluate(self, *args: ConcreteArray) -> Sequence[Array]:
        """The first steps on the host, where they are quick; then a compiled loop."""
        test, body = self.cond_jaxpr, self.body_jaxpr
        plan = self.plan(tuple([a.type for a in args]))
        if plan.executable is None and all([a.on_host() for a in args]):
            test_consts, consts, carry = self.split(args)
            _, placement = common_placement(args, self.name)
            budget = test.memo(Budget, (body,))
            while budget.try_spend():
                (running,) = run(test, [*test_consts, *carry])
                if not running.host():
                    return commit_results(carry, placement, args)
                carry = run(body, [*consts, *carry])
            args = (*test_consts, *consts, *carry)
        return evaluate_compiled(self, plan, args)

    def threaded(self, thread: Thread) -> tuple[Primitive, int]:
        """The values in the carry. A test gives nothing but its answer, so one that
        changes them is run before the loop and in its body.
        """
        if thread.concerns(self.cond_jaxpr):
            return call(self.cond_jaxpr.memo(testing_first, self, thread)), 0
        first, count = self.cond_nconsts, self.body_nconsts
        body, test = thread.through(self.body_jaxpr, count), self.cond_jaxpr
        test = test.memo(with_inputs, first, tuple(thread.types))
        return self.like(test, body, first, count), first + count

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return lower_while(self, ctx, *self.split(operands))

    # -- derivatives -------------------------------------------------------------------

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        """The derivative runs the loop again, for it needs the values at each step."""
        if not any(self.with_tangents(self.split(active), True)[2][0]):
            return self(*primals), lambda *_: [None] * len(self.body_jaxpr.outputs)
        if self.counted:
            return self(*primals), lambda *ts: self.jvp(primals, ts, separate=True)[1]
        _, consts, carry = self.split(primals)
        loop, operands = self._counting(*primals)
        count, *outs = loop(*operands)
        again, operands = self._again(count, consts, carry)

        def push(*tangents: Value | None) -> Sequence[Array]:
            _, const_tangents, carry_tangents = self.split(tangents)
            tangents = (None, *const_tangents, None, *carry_tangents)
            return again.jvp(operands, tangents, separate=True)[1][1:]

        return outs, push

    def _counting(self, *operands: Value) -> tuple["While", list[Any]]:
        """The loop with the number of steps in front of its carry, and what it is
        called with.
        """
        test_consts, consts, carry = self.split(operands)
        type_ = self.cond_jaxpr.out_types[0].with_dtype(dtypes.int32, False)
        test = self.cond_jaxpr.memo(with_inputs, self.cond_nconsts, (type_,))
        body = self.body_jaxpr.memo(counting_body, self.body_nconsts, type_)
        loop = make_while(test, body, self.cond_nconsts, self.body_nconsts)
        return loop, [*test_consts, *consts, zeros(type_), *carry]

    def _again(
        self, count: Value, consts: Values, carry: Values
    ) -> tuple["While", list[Any]]:
        """The loop that takes a known number of steps, without effects, and what it is
        called with.
        """
        body = self.body_jaxpr.memo(without_effects)
        return _repeating(body, count, consts, carry, self.checkpoints)

    def with_tangents(self, groups: Any, separate: bool) -> Any:
        test_consts, consts, carry = groups
        active, num_consts = (*consts, *carry), self.body_nconsts
        made = self.body_jaxpr.memo(jvp_body, num_consts, len(carry), active, separate)
        types = [v.type.strong() for v in self.cond_jaxpr.inputs[self.cond_nconsts :]]
        more = tuple(select(types, made.carry))
        test = self.cond_jaxpr.memo(with_inputs, len(self.cond_jaxpr.inputs), more)
        counts = self.cond_nconsts, num_consts + sum(consts)
        masks = [False] * len(test_consts), consts, made.carry
        return self.like(test, made.jaxpr, *counts), masks, (made.carry,)

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Operand
    ) -> Sequence[Array | None]:
        if not self.counted:
            return self._transpose_uncounted(cotangents, *args)
        (count,), consts, carry = self.split(args)
        linear = linear_mask(args[1:])
        given = present_mask(cotangents)
        body, counts = self.body_jaxpr, (len(consts), len(carry))
        made = body.memo(transpose_body, *counts, linear, given, False)
        nonzero = (*made.consts, *made.carry)
        types = [t.strong() for t in select(body.in_types, nonzero)]
        cts = select([*[None] * len(consts), *cotangents], nonzero)
        cts = map(instantiate, cts, types)
        consts = [a for a in consts if type(a) is not Linear]
        carry = select(carry, made.known_carry)
        outputs = range(len(made.forward.outputs))
        forward = made.forward.memo(dce, tuple([k < len(carry) for k in outputs]))
        settings = (forward, made.jaxpr), (len(consts), len(carry)), self.checkpoints
        cts_in = reverse_while(*settings, count, *consts, *carry, *cts)
        # A carry that starts known, at zero, has no cotangent to give back.
        pairs = zip(scatter(cts_in, nonzero), linear, strict=True)
        return [None, *[ct if m else None for ct, m in pairs]]

    def _transpose_uncounted(self, cotangents: Any, *args: Any) -> Sequence[Any]:
        """As much of the loop as its test needs counts the steps."""
        test_consts, consts, carry = self.split(args)
        loop, operands = self._counting(*args)
        made: Any = trimmed(loop, (True, *[False] * len(carry)), len(operands))
        needed = select(operands, made.operands)
        if Linear in map(type, needed):
            raise NotDifferentiable(
                "while_loop cannot be transposed where its test depends on what it is "
                "linear in: how many steps it takes is not a linear function. Let the "
                "test depend on other values."
            )
        again, operands = self._again(made.op(*needed)[0], consts, carry)
        cts_in = again.transpose([None, *cotangents], *operands)
        _, of_consts, _, of_carry = in_groups(cts_in, 1, len(consts), 1)
        return [*[None] * len(test_consts), *of_consts, *of_carry]

    # -- parts -------------------------------------------------------------------------

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        test, body = programs
        test_consts, consts, _ = self.split(operands)
        return self.like(test, body, sum(test_consts), sum(consts))

    def executions(self, operands: Sequence[Any]) -> Iterator[Execution]:
        test_consts, consts, carry = self.split(operands)
        i = 0
        while bool(call(self.cond_jaxpr)(*test_consts, *carry)[0]):
            where = Where(f" in step {i} of while_loop", "step", i)
            yield Execution(self.body_jaxpr, [*consts, *carry], where)
            carry = call(self.body_jaxpr)(*consts, *carry)
            i += 1

    # -- batches -----------------------------------------------------------------------

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Any:
        """A carry is batched if it starts so or is made so by another; where lanes take
        different numbers of steps, all of it is but what no step changes.
        """
        test_consts, consts, carry = self.split(args)
        test_dims, const_dims, carry_dims = self.split(dims)
        const_mask, carry_mask = [
            present_mask(group) for group in (const_dims, carry_dims)
        ]

        def over_batch(mask: Mask) -> Any:
            """Test, whether it is of each lane, body and mask for a carry in a mask."""
            now = (size, axis, front_dims(const_mask), mask, ())
            (body, _), mask = batch_step(self.body_jaxpr, *now)
            dims = (*test_dims, *front_dims(mask))
            test, (dim,) = self.cond_jaxpr.memo(batch_jaxpr, size, dims, (False,), axis)
            return test, dim is not None, body, mask

        test, diverges, body, carry_mask = over_batch(carry_mask)
        if diverges and not self.pure:
            return batch_sequentially(self, axis, size, args, dims)
        if diverges and not self.settles:
            forwarded = forwarded_inputs([self.body_jaxpr], range(len(carry)))
            changed = [i != len(consts) + k for k, i in enumerate(forwarded)]
            pairs = zip(carry_mask, changed, strict=True)
            test, _, body, carry_mask = over_batch(tuple([m or c for m, c in pairs]))
        mask = (*const_mask, *carry_mask)
        values = align_masked(size, [*consts, *carry], [*const_dims, *carry_dims], mask)
        counts = self.cond_nconsts, self.body_nconsts
        out_dims = front_dims(carry_mask)
        if not diverges or self.settles:
            test = test.memo(until_all_fail) if diverges else test
            return self.like(test, body, *counts)(*test_consts, *values), out_dims
        mixes = self.body_jaxpr.memo(communicates, axis)
        runs, masked = body.memo(until_all_stop, test, len(test_consts), mask, mixes)
        consts, carry = values[: len(consts)], values[len(consts) :]
        running = run(test, [*test_consts, *carry])
        loop = make_while(runs, masked, 0, sum(counts), self.checkpoints, settles=True)
        return loop(*test_consts, *consts, *running, *carry)[1:], out_dims


def make_while(
    test: Jaxpr,
    body: Jaxpr,
    test_consts: int,
    body_consts: int,
    checkpoints: int = CHECKPOINTS,
    counted: bool = False,
    settles: bool = False,
) -> While:
    """The operation that loops over these programs; the same one each time."""
    counts = test_consts, body_consts
    return test.memo(While, body, *counts, checkpoints, counted, settles)


def _repeating(
    body: Jaxpr, count: Value, consts: Values, carry: Values, checkpoints: int
) -> tuple[While, list[Any]]:
    """The loop that runs a body ``count`` times, and what it is called with."""
    counting = body.memo(counting_body, len(consts), count.type)
    test = counting.memo(repeating_test, len(consts), count.type)
    loop = make_while(test, counting, 1, len(consts), checkpoints, counted=True)
    return loop, [count, *consts, zeros(count.type), *carry]


def _repeat(*loop_and_operands: Any) -> list[Any]:
    loop, operands = _repeating(*loop_and_operands)
    return [*loop(*operands)[1:]]


def _loop(test: Any, step: Any, *carry: Any) -> list[Array]:
    """The carry of ``step`` for which ``test`` does not hold; both are functions."""
    types = [x.type for x in carry]
    while True:
        tested = stage(lambda *xs: [test(*xs)], types, "test")
        stepped = stage(step, types, "step")
        varying = tested.jaxpr.out_types[0].varying
        wider = [
            t.with_varying(t.varying | after.varying | varying)
            for t, after in zip(types, stepped.jaxpr.out_types, strict=True)
        ]
        if wider == types:
            break
        types = wider
    captured = [*tested.captured, *stepped.captured]
    counts = len(tested.captured), len(stepped.captured)
    loop = make_while(tested.jaxpr, cast_outputs(stepped.jaxpr, types), *counts)
    return [*loop(*captured, *map(pvary_like, carry, types))]


bind_loops(_loop, _repeat)
