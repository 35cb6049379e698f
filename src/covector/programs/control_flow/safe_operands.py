"""Safe operands: what a branch computes on in lanes of a batch that did not take it.

Under vmap of a batched predicate each branch runs for all lanes, and each lane selects
its own result. What a branch computes in the other lanes is discarded, but not without
harm: a loop may never end there, and where a slope is infinite a cotangent of zero
becomes NaN. So a lane that did not take a branch computes in it what a lane that did
computes: it is given that lane's operands (the "double where").

Where nothing loops and nothing is differentiated no harm is done, and so no operand is
touched. ``SafeOperands`` waits to see whether there will be a derivative.
"""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.annotations import BatchDims, Batched, Tangents, Value, Values
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.jaxpr import Equation, Jaxpr, Var, replaced
from covector.core.masks import Mask, merge, present_mask, scatter, select
from covector.core.number_info import iinfo
from covector.core.primitive import Linearized, ManyResults, operation
from covector.core.staging import stage
from covector.core.trace import Trace
from covector.core.types import ArrayType
from covector.core.varying import Varying
from covector.core.work import Work, costs_nothing
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.argmax import Argmax
from covector.operations.broadcasting import (
    BroadcastInDim,
    align_masked,
    batched,
    broadcast_like,
    zeros,
)
from covector.operations.dynamic_slicing import DynamicSlice
from covector.operations.identities import stop_gradient
from covector.operations.reductions import ReduceOr
from covector.operations.selection import select_n
from covector.operations.transposing import Reshape
from covector.transforms.batch import batch_flat, front_dims
from covector.transforms.linearize import together

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: of the batch axes, outermost first, the ones that an operand has
Axes = tuple[bool, ...]


@operation
class SafeOperands(ManyResults):
    """The operands as they are; under a derivative, safe ones, which are constants.
    With ``always``, safe ones in any case, for a branch that loops.

    ``taken``, the first operand, is the mask of lanes that take the branch. It has all
    batch axes and no other; ``axes`` says which of them the others begin with.
    """

    axes: tuple[Axes, ...]
    always: bool = False

    def type_rule(self, taken: ArrayType, *types: ArrayType) -> Sequence[ArrayType]:
        return types

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Any) -> Varying:
        """Where devices differ in what is taken, they differ in safe operands."""
        taken = types[0].varying
        return Varying([t.varying | taken for t in types], None)

    def evaluate(self, taken: Value, *operands: Value) -> Sequence[Array]:
        return self._safe(taken, *operands) if self.always else operands

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        if not self.always:
            return costs_nothing(self, types, outs)
        return Work(program=stage(self._safe, types).jaxpr)

    def lower(
        self, ctx: "Lowering", taken: HloValue, *operands: HloValue
    ) -> HloResults:
        if self.always:
            return ctx.through(self._safe, taken, *operands)
        return operands

    def _safe(self, taken: Value, *operands: Value) -> list[Array]:
        return with_safe_operands(self.axes, taken, operands)

    def linearize(
        self, active: Sequence[bool], taken: Value, *operands: Value
    ) -> Linearized:
        def push(_: None, *tangents: Value | None) -> Sequence[Array | None]:
            pairs = zip(tangents, self.axes, strict=True)
            return [t if t is None else _masked(taken, t, axes) for t, axes in pairs]

        shared = [not all(axes) for axes in select(self.axes, active[1:])]
        if any(shared) or self.always:
            return self._safe(taken, *operands), push
        # Each lane has cotangents of its own, of which those not taken are dropped.
        return self(taken, *operands), push

    def differentiate(
        self, parent: Trace, tangent_trace: Trace, primals: Values, tangents: Tangents
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        if not together(parent, tangent_trace):
            return super().differentiate(parent, tangent_trace, primals, tangents)
        # Forwards, what is computed in other lanes is dropped as their values are.
        return parent.process(self, primals), tangents[1:]

    def process_split(self, mask: Mask, taken: Value, *operands: Value) -> Values:
        """Safe values and masked tangents: what takes the tangents is transposed."""
        tangent = mask[1:]
        known = [not t for t in tangent]
        safe = with_safe_operands(
            select(self.axes, known), taken, select(operands, known)
        )
        pairs = zip(select(operands, tangent), select(self.axes, tangent), strict=True)
        masked = [_masked(taken, t, axes) for t, axes in pairs]
        return merge(masked, tangent, scatter(safe, known))

    def tangent_results(self, mask: Mask) -> set[int]:
        """Of ``process_split``, the results that are tangents."""
        return {k for k, tangent in enumerate(mask[1:]) if tangent}

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        mask = present_mask(dims[1:])
        operands = align_masked(size, args, dims, [True, *mask])
        axes = [(m, *a) for m, a in zip(mask, self.axes, strict=True)]
        return SafeOperands(tuple(axes), self.always)(*operands), front_dims(mask)


def if_taken(
    axes: tuple[Axes, ...], taken: Value, operands: Sequence[Any], loops: bool = False
) -> Sequence[Any]:
    """The operands, which a derivative takes for safe ones; where the branch loops,
    safe ones now.
    """
    if not any([x.type.inexact for x in operands]):
        return with_safe_operands(axes, taken, operands) if loops else operands
    return SafeOperands(axes, loops)(taken, *operands)


def without_safe_operands(jaxpr: Jaxpr) -> Jaxpr:
    """The program, where no derivative will be taken any more."""
    now: dict[Var, Any] = {}
    equations = []
    for e in jaxpr.equations:
        inputs = replaced(now, e.inputs)
        if type(e.op) is SafeOperands and not e.op.always:
            now.update(zip(e.outputs, inputs[1:], strict=True))
        else:
            equations.append(Equation(e.op, inputs, e.outputs, e.line))
    return Jaxpr(jaxpr.inputs, equations, replaced(now, jaxpr.outputs), jaxpr.name)


def with_safe_operands(
    axes: Sequence[Axes], taken: Value, operands: Sequence[Any]
) -> list[Any]:
    """The operands; lanes outside the mask ``taken`` get those of a lane inside it.

    That lane must have the same shared operands: so along each batch axis of an operand
    that lacks another batch axis, the lane is picked separately at every index.
    """
    partly = [a for a in axes if not all(a)]
    separate = [any(column) for column in zip(*partly, strict=True)]
    separate = separate or [False] * taken.type.ndim
    if all(separate) or not taken.type.size:
        return list(operands)
    full = [all(a) for a in axes]
    safe = _from_taken(separate, taken, select(operands, full))
    return merge(safe, full, operands)


def _from_taken(
    separate: Sequence[bool], taken: Value, operands: Sequence[Any]
) -> list[Any]:
    """Each operand from one taken lane, picked separately along some batch axes."""
    if True in separate:
        k = separate.index(True)
        size, rest = taken.type.shape[k], [*separate[:k], *separate[k + 1 :]]
        values = [taken, *operands]
        outs, dims = batch_flat(
            lambda taken, *xs: _from_taken(rest, taken, xs),
            size,
            values,
            [k] * len(values),
        )
        return [batched(size, x, d, k) for x, d in zip(outs, dims, strict=True)]
    size, count = taken.type.size, taken.type.ndim
    index_type = dtypes.int32 if size <= iinfo(dtypes.int32).max else dtypes.int64
    first = Argmax(0, index_type)(Reshape((size,))(taken))
    return [_from_lane(taken, first, x, count) for x in operands]


def _from_lane(taken: Value, index: Value, x: Value, count: int) -> Value:
    """``x``, with the element at ``index`` in all lanes that are not taken."""
    batch, rest = x.type.shape[:count], x.type.shape[count:]
    flat = Reshape((prod(batch), *rest))(x)
    zero = scalar(0, index.type.dtype)
    one = DynamicSlice((1, *rest), (0,))(flat, index, *[zero] * len(rest))
    if dtypes.is_inexact(x.type.dtype):
        one = stop_gradient(one)
    axes = tuple(range(count, x.type.ndim))
    return select_n(expand(taken, x), BroadcastInDim(x.type.shape, axes)(one), x)


def _masked(taken: Value, tangent: Any, axes: Axes) -> Value:
    """A tangent in the lanes taken, or of what one of them shares; else zeros."""
    missing = tuple([k for k, has in enumerate(axes) if not has])
    mask = ReduceOr(missing)(taken) if missing else taken
    return select_n(expand(mask, tangent), zeros(tangent.type), tangent)


def expand(mask: Value, x: Value) -> Value:
    """A mask over the leading axes of ``x``, in the shape of ``x``."""
    if not mask.type.ndim:
        return broadcast_like(mask, x)
    if mask.type.ndim == x.type.ndim:
        return mask
    return BroadcastInDim(x.type.shape, tuple(range(mask.type.ndim)))(mask)
