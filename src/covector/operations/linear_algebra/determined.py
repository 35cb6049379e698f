"""Whether a derivative depends on which vectors were chosen, where values are equal.

Of equal eigenvalues, any basis of their space could be the eigenvectors. A function
does not depend on the choice just if its derivative is zero along all turns of the
basis: that is what reverse mode knows, and ``turns`` looks at, while the option
``check_vector_choice`` is on.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector import options
from covector.core.annotations import Batched, LinearMaps, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Linearized, Operand, Primitive, operation
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.core.work import Work, costs_nothing
from covector.errors import NotDifferentiable
from covector.lowering.evaluate import evaluate_compiled
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import BroadcastInDim, align, zeros
from covector.operations.comparison import gt
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.matrices import adjoint, rounding
from covector.operations.magnitude import abs_
from covector.operations.reductions import ReduceMax
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


def turns(who: str, turn: Value, free: Value) -> Value:
    """The turn of a basis, ``[..., n, n]``; where ``free``, it must not matter."""
    if not options.current().check_vector_choice:
        return turn
    return Turns(who)(turn, free)


def turns_of_two(
    who: str, same: Value, other: Value, equal: Value, none: Value
) -> Sequence[Value]:
    """The turns of two bases: the part that is the same for both, and the opposite one.

    The first must not matter where values are ``equal``, the second where there are
    ``none``.
    """
    if not options.current().check_vector_choice:
        return same + other, same - other
    return TurnsOfTwo(who)(same, other, equal, none)


@operation
class Turns(Primitive):
    """The turns themselves; their cotangents are looked at."""

    who: str

    name = "turns"
    linear_operands = ((0,),)
    work = costs_nothing

    def type_rule(self, turn: ArrayType, free: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices(self.name, turn, square=True)
        return (turn.strong(),)

    def differential(self, out: Value, turn: Value, free: Value) -> LinearMaps:
        return [lambda moved: self(moved, free), None]

    def transpose(
        self, cotangents: Values, turn: Operand, free: Value
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        return [Determined(self.who)(ct, abs_(ct), free), None]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self(*align(size, args, dims)),), (0,)

    def lower(self, ctx: "Lowering", turn: HloValue, free: HloValue) -> HloResults:
        return turn


@operation
class TurnsOfTwo(lapack.OnMatrices):
    """The sum and the difference of two turns, whose cotangents are looked at."""

    who: str

    name = "turns_of_two"
    linear_operands = ((0, 1),)

    def type_rule(
        self, same: ArrayType, other: ArrayType, *free: ArrayType
    ) -> Sequence[ArrayType]:
        lapack.check_matrices(self.name, same, other, square=True)
        return (same.strong(),) * 2

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        _, _, equal, none = primals

        def push(*moved: Value | None) -> Sequence[Value]:
            same, other = [
                zeros(x.type) if dx is None else dx
                for x, dx in zip(primals[:2], moved[:2], strict=True)
            ]
            return self(same, other, equal, none)

        return self(*primals), push

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Operand
    ) -> Sequence[Value | None]:
        equal, none = args[2:]
        known = [x for x in cotangents if x is not None]
        first, second = [zeros(known[0].type) if x is None else x for x in cotangents]
        size = abs_(first) + abs_(second)
        check = Determined(self.who)
        return [
            check(first + second, size, equal),
            check(first - second, size, none),
            None,
            None,
        ]

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(flops=2 * outs[0].size)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> Sequence[HloValue]:
        return ctx.through(lambda x, y, *_: [x + y, x - y], *operands)


@operation
class Determined(Primitive):
    """Cotangents of turns, and NaN where some of those that are free are not zero.

    Zero beside magnitudes of what they are sums of. Where values are known, others are
    an error.
    """

    who: str

    name = "determined"

    def type_rule(
        self, ct: ArrayType, size: ArrayType, free: ArrayType
    ) -> Sequence[ArrayType]:
        lapack.check_matrices(self.name, ct, square=True)
        return (ct.strong(),)

    def differential(self, out: Value, *primals: Value) -> LinearMaps:
        return [lambda moved: moved, None, None]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self(*align(size, args, dims)),), (0,)

    def evaluate(self, *args: Any) -> Sequence[Any]:
        plan = self.plan(tuple([x.type for x in args]))
        (out,) = evaluate_compiled(self, plan, args)
        if np.isnan(out.host()).any() and not np.isnan(args[0].host()).any():
            raise NotDifferentiable(
                f"the derivative of a function of {self.who}, of matrices of type "
                f"{out.type}, depends on which vectors were chosen where values are "
                "equal: it has none there. Functions of matrices that do not depend on "
                "the vectors are covector.scipy.linalg.funm and sqrtm. This check is "
                "the option check_vector_choice."
            )
        return (out,)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(program=stage(lambda *args: [_checked(*args)], types).jaxpr)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.through(lambda *args: [_checked(*args)], *operands)


def _checked(ct: Value, size: Value, free: Value) -> Value:
    """NaN for the matrices in which cotangents of free turns are not zero."""
    if not ct.type.size:
        return ct
    rank, n = ct.type.ndim, ct.type.shape[-1]
    # A turn Ω is anti-Hermitian: so is what counts of its cotangent.
    along = abs_(ct - adjoint(ct))
    largest = ReduceMax((rank - 2, rank - 1))
    found = largest(where(free, along, scalar(0, along.type.dtype)))
    least = largest(size) * (rounding(n, ct.type.dtype) * 1e3)
    shape, stack = ct.type.shape, tuple(range(rank - 2))
    depends = BroadcastInDim(shape, stack)(gt(found, least))
    return where(depends, scalar(np.nan, ct.type.dtype), ct)
