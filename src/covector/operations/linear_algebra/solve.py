"""Square systems of equations, inverses and determinants, by LU factors.

Each is one operation, whose derivative is a formula of its result and not that of the
factors. These are those of Aᵀ, which LAPACK finds where A is in memory: its columns are
the rows of A (``lapack.Routine.transposed``).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, LinearMaps, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Linear, Linearized, Operand, Primitive
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
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
from covector.operations.linear_algebra.lu import LUPivotsToInverse, lu
from covector.operations.linear_algebra.matrices import (
    as_diagonal,
    diagonal,
    identity,
    imaginary,
    matmul,
    real_part,
    rows_at,
    trace_of_product,
    transposed,
)
from covector.operations.linear_algebra.triangular_solve import (
    TriangularSolve,
    solve_together,
)
from covector.operations.logarithms import log
from covector.operations.magnitude import abs_, sign
from covector.operations.reductions import ReduceMax, ReduceProd
from covector.operations.selection import where

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
        factors = _factored(a)
        x = _solved(*factors, b)

        def push(da: Value | None, db: Value | None) -> Sequence[Value]:
            change = zeros(b.type) if db is None else db
            if da is not None:
                change = change - matmul(da, x)
            return (_solved(*factors, change),)

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

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(program=stage(self._formula, types).jaxpr)

    def lower(self, ctx: "Lowering", a: HloValue, b: HloValue) -> HloResults:
        types = ctx.in_types
        if unrolled.are_many_and_small_systems(*types):
            steps = unrolled.solve(*types[1].shape[-2:])
            return unrolled.side_by_side(ctx, steps, [a, b])
        return ctx.through(self._formula, a, b)

    def _formula(self, a: Value, b: Value) -> Sequence[Value]:
        return [_solved(*_factored(a), b)]


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

    def steps(self, n: int) -> Sequence[unrolled.Step]:
        """The number of small matrices that are computed, of n rows and columns."""
        raise self._missing("steps", "evaluation", [])

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(program=stage(lambda a: [self.formula(a)], types).jaxpr)

    def lower(self, ctx: "Lowering", a: HloValue) -> HloResults:
        (type,) = ctx.in_types
        if unrolled.are_many_and_small(type):
            return unrolled.side_by_side(ctx, self.steps(type.shape[-1]), [a])
        return ctx.through(lambda a: [self.formula(a)], a)


class Inverse(_OfSquare):
    """The inverses of square matrices; infinities or NaN where there is none."""

    name = "inv"

    def out_type(self, a: ArrayType) -> ArrayType:
        return a

    def formula(self, a: Value) -> Value:
        return _solved(*_factored(a), identity(a.type.shape, a.type.dtype))

    def steps(self, n: int) -> Sequence[unrolled.Step]:
        return unrolled.inverse(n)

    def differential(self, out: Value, a: Value) -> LinearMaps:
        # A X = 1, so dA X + A dX = 0
        return [lambda da: -matmul(matmul(out, da), out)]


class Determinant(_OfSquare):
    """The determinants of square matrices.

    Of up to 3 × 3 they are sums of products, and exact but for a few roundings of the
    sum of the magnitudes of these; of larger ones, the product of the pivots.
    """

    name = "det"

    def out_type(self, a: ArrayType) -> ArrayType:
        return lapack.stack_of(a)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(
            program=stage(
                lambda a: [
                    _sum_of_products(a) if _has_formula(a.type) else self.formula(a)
                ],
                types,
            ).jaxpr
        )

    def lower(self, ctx: "Lowering", a: HloValue) -> HloResults:
        (type,) = ctx.in_types
        if _has_formula(type):
            return ctx.through(lambda a: [_sum_of_products(a)], a)
        return super().lower(ctx, a)

    def formula(self, a: Value) -> Value:
        factors, pivots = lu(transposed(a))
        return _product(diagonal(factors)) * _sign(pivots, a.type.dtype)

    def steps(self, n: int) -> Sequence[unrolled.Step]:
        return unrolled.determinant(n)

    def differential(self, out: Value, a: Value) -> LinearMaps:
        # d det A = tr(adj(A) dA), with adj(A) = det(A) A⁻¹, a polynomial in A
        adjugate = (_adjugate if _has_formula(a.type) else _adjugate_by_factors)(a)
        return [lambda da: trace_of_product(adjugate, da)]


def _has_formula(a: ArrayType) -> bool:
    """Whether the determinants of these are few products."""
    return 1 <= int(a.shape[-1]) <= 3  # a symbolic size is large


def _sum_of_products(a: Value) -> Value:
    """Determinants, expanded along the first row."""
    n = a.type.shape[-1]
    x = unrolled.elements(a)
    if n == 1:
        return x[0]
    if n == 2:
        return x[0] * x[3] - x[1] * x[2]
    first, second, third = [_cofactor(x, 0, j) for j in range(3)]
    return x[0] * first + x[1] * second + x[2] * third


def _adjugate(a: Value) -> Value:
    """The transposed cofactors of matrices of up to 3 × 3."""
    n = a.type.shape[-1]
    x = unrolled.elements(a)
    if n == 1:
        return identity(a.type.shape, a.type.dtype)
    if n == 2:
        found = [x[3], -x[1], -x[2], x[0]]
    else:
        found = [_cofactor(x, i, j) for j in range(3) for i in range(3)]
    return unrolled.matrices(found, a.type.shape)


def _cofactor(x: Sequence[Value], row: int, column: int) -> Value:
    """That of an element of 3 × 3; rows and columns in cyclic order need no sign."""
    (p, q), (r, s) = [((k + 1) % 3, (k + 2) % 3) for k in (row, column)]
    return x[3 * p + r] * x[3 * q + s] - x[3 * p + s] * x[3 * q + r]


def _adjugate_by_factors(a: Value) -> Value:
    """Where A is singular, that of a matrix which differs from it by rounding."""
    factors, pivots = lu(transposed(a))
    factors = transposed(factors)
    regular = factors + as_diagonal(_in_place_of_zeros(a, diagonal(factors)))
    det = _product(diagonal(regular)) * _sign(pivots, a.type.dtype)
    inverse = _solved(regular, _order(pivots), identity(a.type.shape, a.type.dtype))
    stack = tuple(range(det.type.ndim))
    return inverse * BroadcastInDim(a.type.shape, stack)(det)


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

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(program=stage(self._formula, types).jaxpr)

    def lower(self, ctx: "Lowering", a: HloValue) -> HloResults:
        (type,) = ctx.in_types
        if unrolled.are_many_and_small(type):
            steps = unrolled.sign_and_log_determinant(type.shape[-1])
            return unrolled.side_by_side(ctx, steps, [a])
        return ctx.through(self._formula, a)

    def _formula(self, a: Value) -> Sequence[Value]:
        factors, pivots = lu(transposed(a))
        pivot = diagonal(factors)
        directions = _product(sign(pivot)) * _sign(pivots, a.type.dtype)
        return directions, ReduceSum((pivot.type.ndim - 1,))(log(abs_(pivot)))


def _factored(a: Value) -> tuple[Value, Value]:
    """Uᵀ and Lᵀ of P Aᵀ = L U in one matrix, and the order of the rows of P⁻¹.

    So A = Uᵀ Lᵀ P, where Lᵀ is the one with ones on its diagonal.
    """
    factors, pivots = lu(transposed(a))
    return transposed(factors), _order(pivots)


def _order(pivots: Value) -> Value:
    return LUPivotsToInverse(pivots.type.shape[-1])(pivots)


def _solved(factors: Value, order: Value, b: Value) -> Value:
    """The x with A x = b."""
    y = TriangularSolve(True, True)(factors, b)
    return rows_at(TriangularSolve(True, False, unit_diagonal=True)(factors, y), order)


def _product(x: Value) -> Value:
    """The product of the elements of vectors."""
    return ReduceProd((x.type.ndim - 1,))(x)


def _sign(pivots: Value, dtype: Any) -> Value:
    """The sign of a permutation, from its exchanges: −1 for each of two rows."""
    rows = Iota(dtypes.int32, pivots.type.shape, pivots.type.ndim - 1)()
    one, minus = scalar(1, dtype), scalar(-1, dtype)
    return _product(where(ne(pivots, rows), minus, one))


def _in_place_of_zeros(a: Value, pivots: Value) -> Value:
    """The number that is added to pivots of zero: a rounding of the largest element."""
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
