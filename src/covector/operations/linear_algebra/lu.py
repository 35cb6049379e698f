"""``LU``: P A = L U with partial pivoting, of matrices of any shape.

Also ``LUPivotsToPermutation``, the order of rows that the pivots lead to, and the order
that leads back.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, HostArray, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Linearized, Primitive, operation
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.core.work import Work, moves
from covector.errors import ArgumentError, DTypeError, TypeMismatch, how_many
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import BroadcastInDim, move_axis
from covector.operations.casting import convert
from covector.operations.comparison import eq, ge
from covector.operations.creation import Iota
from covector.operations.cumulative_loops import INDEX, counted_loop
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.matrices import (
    as_diagonal,
    leading,
    lower_triangle,
    matmul,
    padded,
    rows_at,
    upper_triangle,
)
from covector.operations.linear_algebra.triangular_solve import TriangularSolve
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class LU(lapack.OnMatrices):
    """L and U of P A = L U in one matrix like A, and the pivots of the rows.

    U is the upper triangle; L is the lower one, with ones on its diagonal, which are
    not stored. Of k = min(m, n) pivots, number i says with which row, from 0, row i was
    exchanged in turn i. A singular matrix has a zero on the diagonal of U.
    """

    name = "lu"

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("lu", a)
        pivots = lapack.stack_of(a, (min(a.shape[-2:]),), dtypes.int32)
        return a.strong(), pivots

    def linearize(self, active: Sequence[bool], a: Value) -> Linearized:
        # With square L and U, made so by ones on the diagonal, P dA = dL U + L dU, and
        # L⁻¹ P dA U⁻¹ = L⁻¹ dL + dU U⁻¹: below the diagonal is the first, which has
        # zeros elsewhere, and on it and above the second.
        factors, pivots = self(a)
        *_, m, n = a.type.shape
        k = min(m, n)
        permutation = LUPivotsToPermutation(m)(pivots)
        left = lower_triangle(leading(factors, m, k), -1)
        left = _with_ones(padded(left, m, m), 0)
        right = _with_ones(padded(upper_triangle(leading(factors, k, n)), n, n), k)

        def push(da: Value) -> Sequence[Value | None]:
            moved = rows_at(da, permutation)
            f = TriangularSolve(True, True, unit_diagonal=True)(left, moved)
            f = TriangularSolve(False, False)(right, f)
            change = matmul(left, lower_triangle(f, -1))
            return change + matmul(upper_triangle(f), right), None

        return (factors, pivots), push

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        m, n = types[0].shape[-2:]
        k = min(m, n)
        return lapack.work_on(types[0], k**2 * (max(m, n) - k / 3))

    def kernel(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        types = [*ctx.out_types, lapack.info_of(ctx.out_types[0])]
        getrf = lapack.Routine("getrf", overwritten={0: 0})
        outs = lapack.call(ctx, getrf, [a], types[:1], types)

        def from_zero(x: Value, pivots: Value, info: Value) -> Sequence[Value]:
            return x, pivots - scalar(1, dtypes.int32)

        return lapack.finished(ctx, from_zero, types, outs)


def _with_ones(x: Value, start: int) -> Value:
    """Square matrices with ones added to their diagonals, from an index on."""
    *_, n = x.type.shape
    index = Iota(dtypes.int32, (n,), 0)()
    late = convert(ge(index, scalar(start, dtypes.int32)), x.type.dtype)
    return x + as_diagonal(late)


@operation
class LUPivotsToPermutation(Primitive):
    """The order ``[..., size]`` of rows that exchanges ``[..., k]``, in turn, lead to.

    Row i of P A is row ``permutation[i]`` of A.
    """

    size: int

    name = "lu_pivots_to_permutation"
    inverted = False
    work = moves

    def type_rule(self, pivots: ArrayType) -> Sequence[ArrayType]:
        if not (pivots.dtype == dtypes.int32 and pivots.ndim):
            raise DTypeError(
                f"lu_pivots_to_permutation needs pivots, i32[..., k], but got {pivots}."
            )
        if pivots.shape[-1] > self.size:
            raise TypeMismatch(
                f"lu_pivots_to_permutation of {pivots}: a permutation of "
                f"{how_many(self.size, 'row')} cannot come from "
                f"{pivots.shape[-1]} exchanges."
            )
        return (pivots.with_shape((*pivots.shape[:-1], self.size)),)

    def on_host(self, pivots: HostArray) -> HostArray:
        if not ((pivots >= 0) & (pivots < self.size)).all():
            raise ArgumentError(
                f"lu_pivots_to_permutation needs pivots from 0 to {self.size - 1}, for "
                f"{how_many(self.size, 'row')}, but got {pivots}."
            )
        stack = pivots.shape[:-1]
        order = np.empty((*stack, self.size), np.int32)
        order[...] = np.arange(self.size)
        turns = range(pivots.shape[-1])
        for i in reversed(turns) if self.inverted else turns:
            j = pivots[..., i : i + 1].astype(np.int64)
            there = np.take_along_axis(order, j, -1)
            np.put_along_axis(order, j, order[..., i : i + 1], -1)
            order[..., i : i + 1] = there
        return order

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self(move_axis(args[0], dims[0], 0)),), (0,)

    def lower(self, ctx: "Lowering", pivots: HloValue) -> HloResults:
        (type,), (out,) = ctx.in_types, ctx.out_types
        last = out.ndim - 1
        one = type.with_shape((*type.shape[:-1], 1))
        start = ctx.op("stablehlo.iota", [], [out], iota_dimension=f"{last} : i64")
        if not (type.shape[-1] and out.size):
            return start
        turns = type.shape[-1]
        turn = stage(_before_turn, [out, one, INDEX]).jaxpr

        def body(inner: "Lowering", i: HloValue, place: HloValue) -> Sequence[HloValue]:
            if not self.inverted:
                last_turn = inner.constant(turns - 1, INDEX)
                i = inner.op("stablehlo.subtract", [last_turn, i], [INDEX])
            j = inner.op(
                "stablehlo.dynamic_slice",
                [pivots, *[inner.constant(0, INDEX)] * last, i],
                [one],
                slice_sizes=one.shape,
            )
            return inner.inline(turn, [place, j, i])

        return counted_loop(ctx, turns, [start], [out], body)[0]


class LUPivotsToInverse(LUPivotsToPermutation):
    """The order that leads back: row i of A is row ``permutation[i]`` of P A."""

    name = "lu_pivots_to_inverse"
    inverted = True


def _before_turn(place: Value, j: Value, i: Value) -> Sequence[Value]:
    """Where the rows at ``place`` were before those at i and at j ``[..., 1]`` were
    exchanged.

    From the last turn to the first, this is the permutation, and from the first to the
    last its inverse. Each element is found by itself; to exchange elements of the order
    instead, each turn would have to look into it.
    """
    shape = place.type.shape
    j = BroadcastInDim(shape, tuple(range(len(shape))))(j)
    return [where(eq(place, i), j, where(eq(place, j), i, place))]


lu = LU()
