"""``Cond``: one of several programs, chosen by a value, for ``cond`` and ``switch``.

Every rule transforms each branch, and chooses among the results as before. Where the
branches come to differ in their results (a tangent in one and none in another, other
residuals), missing results are zeros, so that all branches keep the same types.
"""

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from covector import options
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.convert import scalar
from covector.core.jaxpr import Jaxpr, Var, run
from covector.core.masks import drop, merge, present, scatter, select
from covector.core.primitive import Linear, Primitive, operation
from covector.core.source import Line
from covector.core.types import INVARIANT, ArrayType, show_types
from covector.core.varying import Axes, Varying, of_programs
from covector.errors import BatchedCondWarning, TypeMismatch
from covector.lowering.tokens import with_token
from covector.ops.bitwise import not_
from covector.ops.broadcasting import batched
from covector.ops.comparison import eq, ge, le
from covector.ops.reductions import ReduceOr
from covector.programs.control_flow.batch_sequentially import batch_sequentially
from covector.programs.control_flow.divergent_control_flow import (
    check_no_collectives,
    make_varying,
)
from covector.programs.control_flow.safe_operands import (
    SafeOperands,
    communicates,
    has_loop,
    with_safe_operands,
)
from covector.programs.higher_order.call import call, named_axes
from covector.programs.higher_order.jaxpr_passes import (
    forwarded_inputs,
    instantiate_zeros,
    select_per_lane,
)
from covector.programs.higher_order.tiering import runs_on_host
from covector.transforms.batch import batch_jaxpr
from covector.transforms.linearity import is_linear
from covector.transforms.linearize import linearize_flat, linearize_jaxpr
from covector.transforms.transpose import transpose_jaxpr


@operation
class Cond(Primitive):
    """Run the branch with the number ``index`` on the other operands.

    The index is a bool, between two branches, or an int32; one that is out of range
    stands for the nearest branch. With a batch of indices all branches run, and each
    lane of the batch takes its own result; but where branches have effects, the
    lanes run one after the other.
    """

    interned = False
    multiple_results = True
    name = "cond"  # type: ignore[assignment]

    branches: tuple[Jaxpr, ...]

    #: where the user asked for the choice, for warnings; None for what follows from it
    line = None

    def __repr__(self) -> str:
        return f"Cond({', '.join([b.name for b in self.branches])})"

    def type_rule(self, index: ArrayType, *types: ArrayType) -> Sequence[ArrayType]:
        count = len(self.branches)
        wanted = (dtypes.int32, dtypes.bool_) if count == 2 else (dtypes.int32,)
        if index.shape or index.dtype not in wanted:
            raise TypeMismatch(
                f"cond chooses among {count} branches by a scalar i32 (or by a bool, "
                f"between two), but got {index}."
            )
        given = [t.strong() for t in types]
        for branch in self.branches:
            if [t.strong() for t in branch.in_types] != given:
                raise TypeMismatch(
                    f"cond needs operands of types {show_types(branch.in_types)} for "
                    f"the branch {branch.name}, but got {show_types(types)}."
                )
        columns = zip(*[b.out_types for b in self.branches], strict=True)
        return [_common(column) for column in columns]

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        check_no_collectives("cond", "the predicate", self.branches, types[0].varying)
        return of_programs([types[0], *self.branches[0].in_types])

    def branch_at(self, index: ConcreteArray) -> Jaxpr:
        """The branch for a known index; the nearest one if it is out of range."""
        return self.branches[max(0, min(int(index.host()), len(self.branches) - 1))]

    def stage(self, trace: Any, args: Sequence[Any]) -> Sequence[Any] | None:
        """Where the index is known, the branch stands in the program alone."""
        index, *operands = args
        return run(self.branch_at(index), operands) if _is_known(index) else None

    def evaluate(self, index: Any, *operands: Any) -> Sequence[Any]:
        branch = self.branch_at(index)
        if branch.memo(runs_on_host):
            return run(branch, operands)
        return call(branch)(*operands)

    def linearize(self, active: Any, index: Any, *operands: Any) -> Any:
        if _is_known(index):
            return _linearize_known(self.branch_at(index), active[1:], operands)
        first, *rest = self.branches
        split = first.memo(
            _linearized, tuple(rest), tuple(active[1:]), self.line, index.type.varying
        )
        outs = split.primal(index, *operands)
        residuals = [operands[i] if i >= 0 else outs[~i] for i in split.residual_places]

        def push(_: None, *tangents: Any) -> Sequence[Any]:
            outs = split.linear(index, *residuals, *present(tangents))
            return scatter(outs, split.nonzero)

        return outs[: len(split.nonzero)], push

    def transpose(
        self, cotangents: Sequence[Any], index: Any, *args: Any
    ) -> Sequence[Any]:
        linear = tuple([type(a) is Linear for a in args])
        nonzero_cts = tuple([ct is not None for ct in cotangents])
        first, *rest = self.branches
        transposed, nonzero = first.memo(_transposed, tuple(rest), linear, nonzero_cts)
        known = drop(args, linear)
        cts_in = transposed(index, *known, *present(cotangents))
        return [None, *scatter(cts_in, nonzero)]

    def linear_in(self, args: Any) -> bool:
        linear = tuple([type(a) is Linear for a in args])
        return not linear[0] and all(
            [is_linear(branch, linear[1:]) for branch in self.branches]
        )

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        index, *operands = args
        dim, rest = dims[0], tuple(dims[1:])
        if dim is not None and any([i is not None for i in self.forwarded]):
            return self._batch_computed(axis, size, args, dims)
        if dim is not None and not self.pure:
            return batch_sequentially(self, axis, size, args, dims)
        if dim is not None:
            _warn_of_select(self)
            operands = [
                x if d is None else batched(size, x, d)
                for x, d in zip(operands, rest, strict=True)
            ]
            rest = tuple([None if d is None else 0 for d in rest])
        found = [b.memo(batch_jaxpr, size, rest, None, axis)[1] for b in self.branches]
        force = tuple(
            [
                dim is not None or any([d is not None for d in ds])
                for ds in zip(*found, strict=True)
            ]
        )
        if dim is None:
            branches = [
                b.memo(batch_jaxpr, size, rest, force, axis)[0] for b in self.branches
            ]
            outs = make_cond(branches, self.line)(index, *operands)
            return outs, [0 if f else None for f in force]
        masks = _lane_masks(index, len(self.branches))
        columns = zip(
            *[
                _in_lanes(branch, (size, rest, force, axis), taken, operands)
                for branch, taken in zip(self.branches, masks, strict=True)
            ],
            strict=True,
        )
        return [select_per_lane(index, column) for column in columns], [0] * len(force)

    @cached_property
    def forwarded(self) -> list[int | None]:
        """The index, after that of the branch, of the operand that all branches return
        as this result; None where they do not.
        """
        return forwarded_inputs(self.branches, range(len(self.branches[0].outputs)))

    def _batch_computed(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        """Results that all branches forward are operands, whichever branch runs."""
        mask = tuple([i is None for i in self.forwarded])
        computed = make_cond(
            [b.memo(_select_outputs, mask) for b in self.branches], self.line
        )
        outs, out_dims = computed.batch_named(axis, size, args, dims)
        operands = [None if i is None else args[1 + i] for i in self.forwarded]
        operand_dims = [None if i is None else dims[1 + i] for i in self.forwarded]
        return merge(outs, mask, operands), merge(out_dims, mask, operand_dims)

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        names = [n for branch in self.branches for n in branch.memo(named_axes)]
        return tuple(dict.fromkeys(names))

    def with_token(self) -> tuple["Cond", int]:
        """Where no branch has the effect the token passes through."""
        return make_cond([b.memo(with_token) for b in self.branches]), 1

    def lower(self, ctx: Any, index: Any, *operands: Any) -> Any:
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


def _select_outputs(branch: Jaxpr, mask: tuple[bool, ...]) -> Jaxpr:
    """The branch with only its results in the mask."""
    outputs = select(branch.outputs, mask)
    return Jaxpr(branch.inputs, branch.equations, outputs, branch.name)


def _is_known(index: Any) -> bool:
    return type(index) is ConcreteArray


def _common(types: Sequence[ArrayType]) -> ArrayType:
    varying = INVARIANT.union(*[t.varying for t in types])
    types = [t.with_varying(varying) for t in types]
    first = types[0]
    if any([t.strong() is not first.strong() for t in types]):
        raise TypeMismatch(
            f"the branches of cond must give one type, but give {show_types(types)}."
        )
    return first if all([t.weak for t in types]) else first.strong()


def _linearize_known(branch: Jaxpr, active: Sequence[bool], operands: Any) -> Any:
    """The branch alone, where it is known which one runs."""
    outs, linear = linearize_flat(
        lambda *xs: run(branch, xs), operands, active, branch.name
    )

    def push(_: None, *tangents: Any) -> Sequence[Any]:
        operands = [*linear.residuals, *present(tangents)]
        return scatter(run(linear.jaxpr, operands), linear.nonzero)

    return outs, push


class _LinearizedCond(NamedTuple):
    """As ``LinearizedJaxpr``, with a choice of programs for each program."""

    primal: Cond
    linear: Cond
    residual_places: list[int]
    nonzero: list[bool]


def _linearized(
    first: Jaxpr,
    rest: tuple[Jaxpr, ...],
    active: tuple[bool, ...],
    line: Line | None,
    varying: Axes,
) -> _LinearizedCond:
    """The derivative of a choice is the same choice among the derivatives.

    All branches return their residuals in the same slots: residuals of one type share a
    slot, and a branch without a residual for it returns zeros.
    """
    splits = [b.memo(linearize_jaxpr, active) for b in (first, *rest)]
    count = len(first.outputs)
    nonzero = [any(column) for column in zip(*[s.nonzero for s in splits], strict=True)]
    slots: list[ArrayType] = []
    sources: list[int] = []
    primals, indices = [], []
    for split in splits:
        extra = split.primal.out_types[count:]
        taken = allocate(extra, slots)
        primals.append((split.primal, taken))
        wanted = [
            p if p >= -count else ~(count + taken[~p - count])
            for p in split.residual_places
        ]
        indices.append(allocate(wanted, sources))
    slotted = [with_slots(p, count, taken, slots) for p, taken in primals]
    out_types = [
        *map(_common, zip(*[s.primal.out_types[:count] for s in splits], strict=True))
    ]
    types = [
        first.inputs[p].type if p >= 0 else [*out_types, *slots][~p] for p in sources
    ]
    tangent_types = [t.strong() for t in select(out_types, nonzero)]
    linear = []
    for split, taken in zip(splits, indices, strict=True):
        mask = select(split.nonzero, nonzero)
        full = instantiate_zeros(split.linear, mask, tangent_types)
        linear.append(_with_residuals(full, taken, types))
    if varying:
        # The residuals of a device depend on the branch that it took.
        slotted = [make_varying(p, varying) for p in slotted]
        linear = [make_varying(p, varying) for p in linear]
    return _LinearizedCond(
        make_cond(slotted, line), make_cond(linear), sources, nonzero
    )


def allocate(wanted: Sequence[Any], slots: list[Any]) -> list[int]:
    """A slot with an equal value for each one wanted, shared by no two; new ones are
    appended.
    """
    free: dict[Any, list[int]] = {}
    for i in reversed(range(len(slots))):
        free.setdefault(slots[i], []).append(i)
    taken = []
    for value in wanted:
        if not free.get(value):
            free[value] = [len(slots)]
            slots.append(value)
        taken.append(free[value].pop())
    return taken


def with_slots(
    primal: Jaxpr, count: int, taken: Sequence[int], slots: Sequence[ArrayType]
) -> Jaxpr:
    """A primal program with its residuals in these slots, and zeros in the others."""
    residuals = dict(zip(taken, primal.outputs[count:], strict=True))
    in_order = [residuals[k] for k in sorted(residuals)]
    ordered = Jaxpr(
        primal.inputs,
        primal.equations,
        [*primal.outputs[:count], *in_order],
        primal.name,
    )
    mask = [True] * count + [k in residuals for k in range(len(slots))]
    return instantiate_zeros(ordered, mask, [*primal.out_types[:count], *slots])


def _with_residuals(
    linear: Jaxpr, indices: Sequence[int], types: Sequence[ArrayType]
) -> Jaxpr:
    """A linear program that takes the residuals of all branches, and reads some."""
    inputs = [Var(t) for t in types]
    for v, i in zip(linear.inputs, indices, strict=False):
        inputs[i] = v
    tangents = linear.inputs[len(indices) :]
    return Jaxpr([*inputs, *tangents], linear.equations, linear.outputs, linear.name)


def _transposed(
    first: Jaxpr,
    rest: tuple[Jaxpr, ...],
    linear: tuple[bool, ...],
    nonzero_cts: tuple[bool, ...],
) -> tuple[Cond, list[bool]]:
    pairs = [b.memo(transpose_jaxpr, linear, nonzero_cts) for b in (first, *rest)]
    nonzero = [any(column) for column in zip(*[z for _, z in pairs], strict=True)]
    types = [t.strong() for t in select(first.in_types, nonzero)]
    branches = [instantiate_zeros(p, select(z, nonzero), types) for p, z in pairs]
    return make_cond(branches), nonzero


# -- batches of indices ----------------------------------------------------------------


def _lane_masks(index: Any, count: int) -> list[Any]:
    """For each branch, the mask of the lanes of a batch that take it."""
    if dtypes.is_bool(index.type.dtype):
        return [not_(index), index]
    last = count - 1
    number = [scalar(k, dtypes.int32) for k in range(count)]
    between = [eq(index, number[k]) for k in range(1, last)]
    return [le(index, number[0]), *between, ge(index, number[last])]


def _in_lanes(
    branch: Jaxpr, batch: tuple[Any, ...], taken: Any, operands: Sequence[Any]
) -> Sequence[Any]:
    """The results of a branch over a batch, valid in the lanes that take it.

    A branch with a loop is not run at all where no lane takes it. ``batch`` is how
    the branch is batched: the key of ``batch_jaxpr``, with batch axes in front.
    """
    _, dims, _, axis = batch
    program, _ = branch.memo(batch_jaxpr, *batch)
    axes = tuple([(d is not None,) for d in dims])
    loops = program.memo(has_loop)
    if axis is None or not branch.memo(communicates, axis):
        if loops:
            operands = with_safe_operands(axes, taken, operands)
        elif program.equations and any([t.inexact for t in branch.in_types]):
            operands = SafeOperands(axes)(taken, *operands)
    if not loops:
        return run(program, operands)
    nothing = Jaxpr(program.inputs, [], [], program.name)
    nothing = instantiate_zeros(
        nothing, [False] * len(program.outputs), program.out_types
    )
    return make_cond([nothing, program])(ReduceOr((0,))(taken), *operands)


def _warn_of_select(op: Cond) -> None:
    """Tell users who asked for it where a choice no longer saves work."""
    line: Any = op.line
    if line is None or not options.current().warn_batched_cond:
        return
    names = ", ".join([b.name for b in op.branches])
    words = (
        f"the choice between {names} is by a batch of values, so every branch runs for "
        "all lanes of the batch. To run only one of them, choose by what is the same "
        "for all lanes."
    )
    warnings.warn_explicit(words, BatchedCondWarning, line.file, line.number)


def _lower_index(ctx: Any, index: Any, type: ArrayType, last: int) -> Any:
    """The index as ``stablehlo.case`` takes it: an i32, and never out of range."""
    int32 = ArrayType((), dtypes.int32)
    if dtypes.is_bool(type.dtype):
        return ctx.op("stablehlo.convert", [index], [int32])
    bounds = [ctx.constant(k, int32) for k in (0, last)]
    return ctx.op("stablehlo.clamp", [bounds[0], index, bounds[1]], [int32])
