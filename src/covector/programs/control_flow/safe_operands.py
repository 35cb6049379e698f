"""Operands of a branch, for the members of a batch that did not choose it.

Over a batch of predicates each branch runs for all members, and each member takes its
own result. What a branch makes of the others is thrown away, but not without harm: a
loop may never end for them, and where a slope is infinite a cotangent of zero becomes
NaN. So a member that did not choose a branch computes there what one that did
computes: it is given the operands of that one, its *stand-ins*.

Where nothing loops and nothing is differentiated no harm is done, and so no operand is
touched. ``StandIn`` waits to see whether there will be a derivative.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from covector.core import dtypes
from covector.core.convert import scalar
from covector.core.jaxpr import Jaxpr
from covector.core.number_info import iinfo
from covector.core.primitive import Primitive, operation
from covector.core.show import nested_programs
from covector.core.types import ArrayType
from covector.ops.argmax import Argmax
from covector.ops.broadcasting import BroadcastInDim, batched, spread_like, zeros
from covector.ops.dynamic_slicing import DynamicSlice
from covector.ops.identities import stop_gradient
from covector.ops.reductions import ReduceOr
from covector.ops.selection import select_n
from covector.ops.transposing import Reshape
from covector.transforms.batch import batch_flat, name_of

#: of the batch axes, outermost first, the ones that an operand has
Axes = tuple[bool, ...]


@operation
class StandIn(Primitive):
    """The operands as they are; under a derivative, with stand-ins, which do not move.

    ``chosen``, the first operand, says for each member whether its operands matter. It
    has all batch axes and no other; ``axes`` says which the others begin with.
    """

    multiple_results = True

    axes: tuple[Axes, ...]

    def type_rule(self, chosen: ArrayType, *types: ArrayType) -> Sequence[ArrayType]:
        return types

    def evaluate(self, chosen: Any, *operands: Any) -> Sequence[Any]:
        return operands

    def lower(self, ctx: Any, chosen: Any, *operands: Any) -> Any:
        return operands

    def linearize(self, active: Any, chosen: Any, *operands: Any) -> Any:
        def push(_: None, *tangents: Any) -> Sequence[Any]:
            pairs = zip(tangents, self.axes, strict=True)
            return [t if t is None else _masked(chosen, t, axes) for t, axes in pairs]

        return with_stand_ins(self.axes, chosen, operands), push

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        chosen = batched(size, args[0], dims[0])
        operands = [
            x if d is None else batched(size, x, d)
            for x, d in zip(args[1:], dims[1:], strict=True)
        ]
        axes = [(d is not None, *a) for d, a in zip(dims[1:], self.axes, strict=True)]
        out_dims = [None if d is None else 0 for d in dims[1:]]
        return StandIn(tuple(axes))(chosen, *operands), out_dims


def with_stand_ins(
    axes: Sequence[Axes], chosen: Any, operands: Sequence[Any]
) -> list[Any]:
    """The operands, those of all members that are not ``chosen`` from one that is.

    Who stands in shares with the member whatever is shared: along axes that an operand
    has which lacks others, members have each their own.
    """
    shared = [a for a in axes if not all(a)]
    apart = [any(column) for column in zip(*shared, strict=True)]
    apart = apart or [False] * chosen.type.ndim
    if all(apart) or not chosen.type.size:
        return list(operands)
    pairs = zip(operands, axes, strict=True)
    found = iter(_of_each(apart, chosen, [x for x, a in pairs if all(a)]))
    return [next(found) if all(a) else x for x, a in zip(operands, axes, strict=True)]


def _of_each(apart: Sequence[bool], chosen: Any, operands: Sequence[Any]) -> list[Any]:
    """Stand-ins among all members, and for each along the axes that are ``apart``."""
    if True in apart:
        k = apart.index(True)
        size, rest = chosen.type.shape[k], [*apart[:k], *apart[k + 1 :]]
        values = [chosen, *operands]
        outs, dims = batch_flat(
            lambda chosen, *xs: _of_each(rest, chosen, xs),
            size,
            values,
            [k] * len(values),
        )
        return [batched(size, x, d, k) for x, d in zip(outs, dims, strict=True)]
    size, count = chosen.type.size, chosen.type.ndim
    place_type = dtypes.int32 if size <= iinfo(dtypes.int32).max else dtypes.int64
    first = Argmax(0, place_type)(Reshape((size,))(chosen))
    return [_with_one(chosen, first, x, count) for x in operands]


def _with_one(chosen: Any, place: Any, x: Any, count: int) -> Any:
    """``x``, with its element number ``place`` for all that are not chosen."""
    batch, own = x.type.shape[:count], x.type.shape[count:]
    flat = Reshape((prod(batch), *own))(x)
    zero = scalar(0, place.type.dtype)
    one = DynamicSlice((1, *own), (0,))(flat, place, *[zero] * len(own))
    if dtypes.is_inexact(x.type.dtype):
        one = stop_gradient(one)
    kept = tuple(range(count, x.type.ndim))
    return select_n(_spread(chosen, x), BroadcastInDim(x.type.shape, kept)(one), x)


def _masked(chosen: Any, tangent: Any, axes: Axes) -> Any:
    """A tangent where it is of a chosen member, or of what one of them shares."""
    missing = tuple([k for k, has in enumerate(axes) if not has])
    mask = ReduceOr(missing)(chosen) if missing else chosen
    return select_n(_spread(mask, tangent), zeros(tangent.type), tangent)


def _spread(mask: Any, x: Any) -> Any:
    """A mask over the leading axes of ``x``, in the shape of ``x``."""
    if not mask.type.ndim:
        return spread_like(mask, x)
    return BroadcastInDim(x.type.shape, tuple(range(mask.type.ndim)))(mask)


def has_loop(jaxpr: Jaxpr) -> bool:
    """Whether a loop is found in a program, at any depth (memoise on the program)."""
    return any(
        [
            e.op.name in ("while", "scan")
            or any([p.memo(has_loop) for p in nested_programs(e.op)])
            for e in jaxpr.equations
        ]
    )


def communicates(jaxpr: Jaxpr, axis: Any) -> bool:
    """Whether members along a named axis see of each other (memoise on the program)."""
    for e in jaxpr.equations:
        nested = nested_programs(e.op)
        if any([p.memo(communicates, axis) for p in nested]):
            return True
        if not nested and name_of(axis) in e.op.axis_names:
            return True
    return False
