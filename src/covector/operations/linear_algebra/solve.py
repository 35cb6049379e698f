"""Square systems of equations, inverses and determinants, by LU factors.

Each is one operation, whose derivative is a formula of its result and not that of the
factors.
"""

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, LinearMaps, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Linear, Linearized, Operand, Primitive
from covector.core.types import ArrayType
from covector.errors import TypeMismatch
from covector.lowering.hlo import HloResults, HloValue
from covector.operations.broadcasting import (
    BroadcastInDim,
    ReduceSum,
    align,
    move_axis,
    zeros,
)
from covector.operations.casting import convert
from covector.operations.comparison import eq, ne
from covector.operations.creation import Iota
from covector.operations.linear_algebra import lapack, unrolled
from covector.operations.linear_algebra.lu import LUPivotsToPermutation, lu, solved
from covector.operations.linear_algebra.matrices import (
    as_diagonal,
    diagonal,
    identity,
    imaginary,
    matmul,
    real_part,
    trace_of_product,
    transposed,
)
from covector.operations.linear_algebra.triangular_solve import solve_together
from covector.operations.magnitude import abs_, sign
from covector.operations.reductions import ReduceMax, ReduceProd
from covector.operations.selection import where
from covector.operations.transcendental import log

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Solve(Primitive):
    """The x with A x = b for square matrices A and matrices b of right-hand sides.

    Of a singular matrix, infinities or NaN.
    """

    linear_operands = ((1,),)
    op_count = 8

    def type_rule(self, a: ArrayType, b: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("solve", a, b, square=True)
        if a.shape[:-1] != b.shape[:-1]:
            raise TypeMismatch(
                "solve needs right-hand sides with as many rows as the matrix has, and "
                f"the same axes before the last two, but got {a} and {b}."
            )
        return (b.strong(),)

    def linearize(self, active: Sequence[bool], a: Value, b: Value) -> Linearized:
        # A x = b, so A dx = db − dA x
        factors = factored(a)
        x = solved(*factors, b)

        def push(da: Value | None, db: Value | None) -> Sequence[Value]:
            change = zeros(b.type) if db is None else db
            if da is not None:
                change = change - matmul(da, x)
            return (solved(*factors, change),)

        return (x,), push

    def transpose(
        self, cotangents: Values, a: Any, b: Operand
    ) -> Sequence[Value | None]:
        assert type(a) is not Linear, "the solution is linear in the right-hand side"
        return [None, self(transposed(a), cotangents[0])]

    def batch(self, size: int, args: Values, dims: Sequence[int | None]) -> Batched:
        if dims[0] is None:
            return solve_together(self, args, dims, from_the_left=True)
        return (self(*align(size, args, dims)),), (0,)

    def lower(self, ctx: "Lowering", a: HloValue, b: HloValue) -> HloResults:
        types = ctx.in_types
        if all([unrolled.are_many_and_small(t) for t in types]):
            return ctx.through(lambda a, b: [unrolled.solve(a, b)], a, b)
        return ctx.through(lambda a, b: [solved(*factored(a), b)], a, b)


class _OfSquare(Primitive):
    """A function of square matrices by their LU factors."""

    op_count = 8

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices(self.name, a, square=True)
        return (self.out_type(a.strong()),)

    def out_type(self, a: ArrayType) -> ArrayType:
        """The type of the result for matrices of a type."""
        raise self._missing("out_type", "staging", [a])

    def formula(self, a: Value) -> Value:
        """The result, by other operations."""
        raise self._missing("formula", "evaluation", [a.type])

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self(move_axis(args[0], dims[0], 0)),), (0,)

    def unrolled(self, a: Value) -> Value:
        """The result for many small matrices."""
        raise self._missing("unrolled", "evaluation", [a.type])

    def lower(self, ctx: "Lowering", a: HloValue) -> HloResults:
        many = unrolled.are_many_and_small(ctx.in_types[0])
        found = self.unrolled if many else self.formula
        return ctx.through(lambda a: [found(a)], a)


class Inverse(_OfSquare):
    """The inverses of square matrices; infinities or NaN where there is none."""

    name = "inv"

    def out_type(self, a: ArrayType) -> ArrayType:
        return a

    def formula(self, a: Value) -> Value:
        return solved(*factored(a), identity(a.type.shape, a.type.dtype))

    def unrolled(self, a: Value) -> Value:
        return unrolled.inverse(a)

    def differential(self, out: Value, a: Value) -> LinearMaps:
        # A X = 1, so dA X + A dX = 0
        return [lambda da: -matmul(matmul(out, da), out)]


class Determinant(_OfSquare):
    """The determinants of square matrices."""

    name = "det"

    def out_type(self, a: ArrayType) -> ArrayType:
        return lapack.stack_of(a)

    def formula(self, a: Value) -> Value:
        factors, pivots = lu(a)
        return _product(diagonal(factors)) * _sign(pivots, a.type.dtype)

    def unrolled(self, a: Value) -> Value:
        pivots, sign = unrolled.pivots(a)
        return functools.reduce(operator.mul, pivots, sign)

    def differential(self, out: Value, a: Value) -> LinearMaps:
        # d det A = tr(adj(A) dA), with adj(A) = det(A) A⁻¹, a polynomial in A: where A
        # is singular, it is that of a matrix which differs from A by rounding.
        factors, pivots = lu(a)
        permutation = LUPivotsToPermutation(a.type.shape[-1])(pivots)
        regular = factors + as_diagonal(_in_place_of_zeros(a, diagonal(factors)))
        det = _product(diagonal(regular)) * _sign(pivots, a.type.dtype)
        inverse = solved(regular, permutation, identity(a.type.shape, a.type.dtype))
        stack = tuple(range(det.type.ndim))
        adjugate = inverse * BroadcastInDim(a.type.shape, stack)(det)
        return [lambda da: trace_of_product(adjugate, da)]


class SignAndLogDeterminant(lapack.OnMatrices):
    """The sign of the determinant (of complex ones det / |det|), and log |det|.

    Of a singular matrix, 0 and −∞.
    """

    name = "slogdet"
    op_count = 8

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices(self.name, a, square=True)
        return lapack.stack_of(a), lapack.real_stack_of(a, ())

    def linearize(self, active: Sequence[bool], a: Value) -> Linearized:
        # d log det A = tr(A⁻¹ dA), of which the real part moves log |det|, and the
        # imaginary part turns the sign.
        found, inverse = self(a), Inverse()(a)

        def push(da: Value) -> Sequence[Value | None]:
            change = trace_of_product(inverse, da)
            if not dtypes.is_complex(a.type.dtype):
                return None, change
            return found[0] * imaginary(change), real_part(change)

        return found, push

    def lower(self, ctx: "Lowering", a: HloValue) -> HloResults:
        return ctx.through(self._formula, a)

    def _formula(self, a: Value) -> Sequence[Value]:
        if unrolled.are_many_and_small(a.type):
            pivots, direction = unrolled.pivots(a)
            pivot = unrolled.vectors(pivots)
            directions = _product(sign(pivot)) * direction
            return directions, ReduceSum((pivot.type.ndim - 1,))(log(abs_(pivot)))
        factors, pivots = lu(a)
        pivot = diagonal(factors)
        directions = _product(sign(pivot)) * _sign(pivots, a.type.dtype)
        return directions, ReduceSum((pivot.type.ndim - 1,))(log(abs_(pivot)))


def factored(a: Value) -> tuple[Value, Value]:
    """L and U in one matrix, and the permutation of the rows."""
    factors, pivots = lu(a)
    return factors, LUPivotsToPermutation(a.type.shape[-2])(pivots)


def _product(x: Value) -> Value:
    """The product of the elements of vectors."""
    return ReduceProd((x.type.ndim - 1,))(x)


def _sign(pivots: Value, dtype: Any) -> Value:
    """The sign of a permutation, from its exchanges: −1 for each of two rows."""
    rows = Iota(dtypes.int32, pivots.type.shape, pivots.type.ndim - 1)()
    one, minus = scalar(1, dtype), scalar(-1, dtype)
    return _product(where(ne(pivots, rows), minus, one))


def _in_place_of_zeros(a: Value, pivots: Value) -> Value:
    """What to add to pivots that are zero: a rounding of the largest element."""
    dtype = dtypes.real_part(a.type.dtype)
    rank = a.type.ndim
    size = abs_(a)
    largest = ReduceMax((rank - 2, rank - 1))(size) * float(np.finfo(dtype).eps)
    one = scalar(float(np.finfo(dtype).eps), dtype)
    least = where(eq(largest, scalar(0, dtype)), one, largest)
    stack = tuple(range(rank - 2))
    least = convert(BroadcastInDim(pivots.type.shape, stack)(least), a.type.dtype)
    zero = scalar(0, a.type.dtype)
    return where(eq(pivots, zero), least, zero)


solve, inverse = Solve(), Inverse()
determinant, slogdet = Determinant(), SignAndLogDeterminant()
