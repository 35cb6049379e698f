"""``Cond``: one of several programs, chosen by a value, for ``cond`` and ``switch``.

Every rule transforms each branch, and chooses among the results as before. Where the
branches come to differ in their results (a tangent in one and none in another, other
residuals), missing results are zeros, so that all branches keep the same types.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from covector import options
from covector.core import dtypes
from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask, drop, merge, present, present_mask, scatter
from covector.core.primitive import (
    Linearized,
    Operand,
    Primitive,
    linear_mask,
    operation,
)
from covector.core.source import Line
from covector.core.staging import StagingTrace
from covector.core.types import ArrayType, show_types
from covector.core.varying import Axes, Varying
from covector.errors import BatchedCondWarning, TypeMismatch, how_many
from covector.lowering.spelling import HloResults, HloValue
from covector.lowering.tokens import Thread
from covector.operations.bitwise import not_
from covector.operations.broadcasting import align_masked
from covector.operations.casting import ConvertElementType
from covector.operations.comparison import eq, ge, le
from covector.operations.reductions import ReduceOr
from covector.programs.control_flow.batch_sequentially import batch_sequentially
from covector.programs.control_flow.cond_rules import (
    Branches,
    common_type,
    linearize_branches,
    partition_branches,
    transpose_branches,
)
from covector.programs.control_flow.divergent_control_flow import check_no_collectives
from covector.programs.control_flow.safe_operands import if_taken
from covector.programs.higher_order.call import call
from covector.programs.higher_order.dead_code import dce
from covector.programs.higher_order.jaxpr_passes import (
    forwarded_inputs,
    instantiate_zeros,
    select_per_lane,
)
from covector.programs.higher_order.partition import Partition, Policy
from covector.programs.higher_order.program_primitive import (
    Execution,
    ProgramPrimitive,
    Where,
)
from covector.programs.higher_order.regions import (
    Kind,
    Region,
    call_region,
    communicates,
    has_loop,
)
from covector.programs.higher_order.tiering import runs_on_host
from covector.transforms.batch import batch_jaxpr, front_dims
from covector.transforms.linearize import linearize_flat

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Cond(ProgramPrimitive):
    """Run the branch with the number ``index`` on the other operands.

    The index is a bool, between two branches, or an int32; one that is out of range
    stands for the nearest branch. With a batch of indices all branches run, and each
    lane of the batch takes its own result; but where branches have effects, the
    lanes run one after the other.
    """

    name = "cond"  # type: ignore[assignment]

    branches: Branches

    deciding_operands = (0,)
    interpreted = True
    #: where the user asked for the choice, for warnings; None for what follows from it
    line = None

    def __repr__(self) -> str:
        return f"Cond({', '.join([b.name for b in self.branches])})"

    def type_rule(self, index: ArrayType, *types: ArrayType) -> Sequence[ArrayType]:
        count = len(self.branches)
        wanted = (dtypes.int32, dtypes.bool_) if count == 2 else (dtypes.int32,)
        if index.shape or index.dtype not in wanted:
            raise TypeMismatch(
                f"cond chooses among {how_many(count, 'branch', 'branches')} by a "
                f"scalar i32 (or by a bool, between two), but got {index}."
            )
        given = [t.strong() for t in types]
        for branch in self.branches:
            if [t.strong() for t in branch.in_types] != given:
                raise TypeMismatch(
                    f"cond needs operands of types {show_types(branch.in_types)} for "
                    f"the branch {branch.name}, but got {show_types(types)}."
                )
        columns = zip(*[b.out_types for b in self.branches], strict=True)
        return [common_type(column) for column in columns]

    def written_out(self, types: Sequence[ArrayType]) -> Any:
        """The choice by an integer, also between two."""
        if types[0].dtype is not dtypes.bool_:
            return None
        number = ConvertElementType(dtypes.int32)
        return lambda index, *operands: self(number(index), *operands)

    @cached_property
    def regions(self) -> Sequence[Region]:
        return [call_region(branch, 1, Kind.BRANCH) for branch in self.branches]

    def replace(self, **changes: Any) -> "Cond":
        return make_cond(changes.get("branches", self.branches), self.line)

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        check_no_collectives("cond", "the predicate", self.branches, types[0].varying)
        return super().varying_rule(types, checked_axes)

    def _of_branches(self, change: Callable[..., Any], *key: Any) -> Any:
        """``change(first, rest, *key)`` of the branches, memoised on the first."""
        first, *rest = self.branches
        return first.memo(change, tuple(rest), *key)

    def branch_at(self, index: Any) -> Jaxpr:
        """The branch for a known index; the nearest one if it is out of range."""
        return self.branches[max(0, min(int(index.host()), len(self.branches) - 1))]

    def stage(self, trace: StagingTrace, args: Sequence[Value]) -> Sequence[Any] | None:
        """With a known index, stage only the operations of its branch."""
        index, *operands = args
        return run(self.branch_at(index), operands) if _is_known(index) else None

    def evaluate(self, index: ConcreteArray, *operands: Value) -> Sequence[Array]:
        branch = self.branch_at(index)
        if branch.memo(runs_on_host):
            return run(branch, operands)
        return call(branch)(*operands)

    def linearize(
        self, active: Sequence[bool], index: Value, *operands: Value
    ) -> Linearized:
        if _is_known(index):
            return _linearize_known(self.branch_at(index), active[1:], operands)
        key = tuple(active[1:]), index.type.varying
        split = self._of_branches(linearize_branches, *key)
        split = split._replace(
            primal=make_cond(split.primal, self.line), linear=make_cond(split.linear)
        )
        outs, push = split.at(operands, lambda op, args: op(index, *args))
        return outs, lambda _, *tangents: push(*tangents)

    def transpose(
        self, cotangents: Sequence[Value], index: Operand, *args: Operand
    ) -> Sequence[Array | None]:
        linear = linear_mask(args)
        key = linear, present_mask(cotangents)
        branches, nonzero = self._of_branches(transpose_branches, *key)
        known = drop(args, linear)
        cts_in = make_cond(branches)(index, *known, *present(cotangents))
        return [None, *scatter(cts_in, nonzero)]

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        return make_cond(programs, self.line)

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition:
        key = later, policy, types[0].varying
        made = self._of_branches(partition_branches, *key)
        sources = [i + 1 if i >= 0 else i for i in made.residual_sources]
        return Partition(
            make_cond(made.forward, self.line),
            make_cond(made.recompute),
            (0, *sources),
            made.gives,
        )

    def executions(self, operands: Sequence[Any]) -> Iterator[Execution]:
        branch = self.branch_at(operands[0])
        number = self.branches.index(branch)
        where = Where(f" in branch {number} of cond", "branch", number)
        yield Execution(branch, [*operands[1:]], where)

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        index, *operands = args
        dim, rest = dims[0], tuple(dims[1:])
        same = forwarded_inputs(self.branches, range(len(self.branches[0].outputs)))
        computed = tuple([i is None for i in same])
        if dim is not None and not all(computed):
            # What all branches forward are operands, whichever branch runs.
            branches = [b.memo(dce, computed) for b in self.branches]
            found = make_cond(branches, self.line).batch_named(axis, size, args, dims)
            numbers = [0 if i is None else 1 + i for i in same]
            pairs = zip(found, (args, dims), strict=True)
            outs, out_dims = [
                merge(xs, computed, [known[i] for i in numbers]) for xs, known in pairs
            ]
            return outs, out_dims
        if dim is not None and not self.pure:
            return batch_sequentially(self, axis, size, args, dims)
        if dim is not None:
            _warn_of_select(self)
            mask = present_mask(rest)
            operands = align_masked(size, operands, rest, mask)
            rest = front_dims(mask)
        found = [b.memo(batch_jaxpr, size, rest, None, axis)[1] for b in self.branches]
        force = tuple(
            [
                dim is not None or any(present_mask(ds))
                for ds in zip(*found, strict=True)
            ]
        )
        if dim is None:
            branches = [
                b.memo(batch_jaxpr, size, rest, force, axis)[0] for b in self.branches
            ]
            outs = make_cond(branches, self.line)(index, *operands)
            return outs, front_dims(force)
        masks = _lane_masks(index, len(self.branches))
        columns = zip(
            *[
                _in_lanes(branch, (size, rest, force, axis), taken, operands)
                for branch, taken in zip(self.branches, masks, strict=True)
            ],
            strict=True,
        )
        return [select_per_lane(index, column) for column in columns], [0] * len(force)

    def threaded(self, thread: Thread) -> tuple["Cond", int]:
        """A branch that does not change the values returns them as they are."""
        return make_cond([thread.through(b) for b in self.branches]), 1

    def lower(
        self, ctx: "Lowering", index: HloValue, *operands: HloValue
    ) -> HloResults:
        index = _lower_index(ctx, index, ctx.in_types[0], len(self.branches) - 1)
        op = ctx.op("stablehlo.case", [index], regions=len(self.branches))
        for k, branch in enumerate(self.branches):
            ctx.region(op, k, [], lambda inner, b=branch: inner.inline(b, operands))
        return op


def make_cond(branches: Sequence[Jaxpr], line: Line | None = None) -> Cond:
    """The operation that chooses among these programs, memoised on the first."""
    first, *rest = branches
    return first.memo(_make_cond, tuple(rest), line)


def _make_cond(first: Jaxpr, rest: tuple[Jaxpr, ...], line: Line | None) -> Cond:
    made = Cond((first, *rest))
    object.__setattr__(made, "line", line)
    return made


def _is_known(index: Value) -> bool:
    return type(index) is ConcreteArray


def _linearize_known(branch: Jaxpr, active: Sequence[bool], operands: Values) -> Any:
    """The branch alone, where it is known which one runs."""
    outs, linear = linearize_flat(
        lambda *xs: run(branch, xs), operands, active, branch.name
    )

    def push(_: None, *tangents: Value | None) -> Sequence[Array | None]:
        operands = [*linear.residuals, *present(tangents)]
        return scatter(run(linear.jaxpr, operands), linear.nonzero)

    return outs, push


# -- batches of indices ----------------------------------------------------------------


def _lane_masks(index: Value, count: int) -> list[Any]:
    """For each branch, the mask of the lanes of a batch that take it."""
    if dtypes.is_bool(index.type.dtype):
        return [not_(index), index]
    last = count - 1
    number = [scalar(k, dtypes.int32) for k in range(count)]
    between = [eq(index, number[k]) for k in range(1, last)]
    return [le(index, number[0]), *between, ge(index, number[last])]


def _in_lanes(
    branch: Jaxpr, batch: tuple[Any, ...], taken: Value, operands: Sequence[Any]
) -> Sequence[Any]:
    """The results of a branch over a batch, valid in the lanes that take it.

    A branch with a loop is not run at all where no lane takes it. ``batch`` is how
    the branch is batched: the key of ``batch_jaxpr``, with batch axes in front.
    """
    _, dims, _, axis = batch
    program, _ = branch.memo(batch_jaxpr, *batch)
    axes = tuple([(d is not None,) for d in dims])
    loops = program.memo(has_loop)
    mixes = axis is not None and branch.memo(communicates, axis)
    if program.equations and not mixes:
        operands = if_taken(axes, taken, operands, loops)
    if not loops:
        return run(program, operands)
    nothing = Jaxpr(program.inputs, [], [], program.name)
    nothing = instantiate_zeros(
        nothing, [False] * len(program.outputs), program.out_types
    )
    return make_cond([nothing, program])(ReduceOr((0,))(taken), *operands)


def _warn_of_select(op: Cond) -> None:
    """Tell users who asked for it where a choice no longer saves work."""
    line: Line | None = op.line
    if line is None or not options.current().warn_batched_cond:
        return
    names = ", ".join([b.name for b in op.branches])
    words = (
        f"the choice between {names} is by a batch of values, so every branch runs for "
        "all lanes of the batch. To run only one of them, choose by what is the same "
        "for all lanes."
    )
    warnings.warn_explicit(words, BatchedCondWarning, line.file, line.number)


def _lower_index(ctx: "Lowering", index: HloValue, type: ArrayType, last: int) -> Any:
    """The index as ``stablehlo.case`` takes it: an i32, and never out of range."""
    int32 = ArrayType((), dtypes.int32)
    if dtypes.is_bool(type.dtype):
        return ctx.op("stablehlo.convert", [index], [int32])
    bounds = [ctx.constant(k, int32) for k in (0, last)]
    return ctx.op("stablehlo.clamp", [bounds[0], index, bounds[1]], [int32])
