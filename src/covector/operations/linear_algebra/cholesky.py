"""``Cholesky``: A = L Lᴴ of Hermitian, positive definite matrices, and
``UpperCholesky``: A = Uᴴ U.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from covector.core.annotations import Batched, LinearMaps, Value, Values
from covector.core.primitive import Primitive
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import move_axis
from covector.operations.linear_algebra import lapack, unrolled
from covector.operations.linear_algebra.matrices import (
    adjoint,
    half_of_hermitian,
    hermitian_of_lower,
    lower_triangle,
    matmul,
    upper_triangle,
)
from covector.operations.linear_algebra.triangular_solve import TriangularSolve

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Cholesky(Primitive):
    """The lower triangular L, with a positive diagonal, of A = L Lᴴ.

    Only the lower triangle of A is read, and of its diagonal the real parts. Where A is
    not positive definite, L is NaN.
    """

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("cholesky", a, square=True)
        return (a.strong(),)

    def differential(self, out: Value, a: Value) -> LinearMaps:
        return [_differential(out)]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self(move_axis(args[0], dims[0], 0)),), (0,)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        n = types[0].shape[-1]
        return lapack.work_on(types[0], n**3 / 3)

    def lower(self, ctx: "Lowering", a: HloValue) -> HloResults:
        (type,) = ctx.in_types
        if not type.size:
            return a
        if unrolled.are_many_and_small(type):
            return unrolled.side_by_side(ctx, [unrolled.cholesky], [a])
        # Aᵀ = Uᴴ U with U = Lᵀ
        return _factor(ctx, a, "U", lower_triangle)


class UpperCholesky(Cholesky):
    """The upper triangular U = Lᴴ of A = Uᴴ U, of which the upper triangle is read."""

    def differential(self, out: Value, a: Value) -> LinearMaps:
        push = _differential(adjoint(out))
        return [lambda da: adjoint(push(adjoint(da)))]

    def lower(self, ctx: "Lowering", a: HloValue) -> HloResults:
        (type,) = ctx.in_types
        if not type.size or unrolled.are_many_and_small(type):
            return ctx.through(lambda a: [adjoint(cholesky(adjoint(a)))], a)
        return _factor(ctx, a, "L", upper_triangle)


def _factor(
    ctx: "Lowering", a: HloValue, uplo: str, triangle: Callable[[Value], Value]
) -> HloResults:
    """The triangle of a factor, of which LAPACK finds the transposed matrix."""
    (type,) = [t.strong() for t in ctx.in_types]
    types = [type, lapack.info_of(type)]
    potrf = lapack.Routine("potrf", {"uplo": uplo}, {0: 0}, transposed=True)
    outs = lapack.call(ctx, potrf, [a], [type], types)

    def done(x: Value, info: Value) -> Sequence[Value]:
        return [lapack.where_done(info, triangle(x))]

    return lapack.finished(ctx, done, types, outs)


def _differential(factor: Value) -> Callable[[Value], Value]:
    """How L changes with the lower triangle of A.

    dA = dL Lᴴ + L dLᴴ, so L⁻¹ dA L⁻ᴴ = (L⁻¹ dL) + (L⁻¹ dL)ᴴ, where L⁻¹ dL is lower
    triangular with a real diagonal: it is the lower triangle of the left side, with
    half of the diagonal.
    """
    solve = TriangularSolve(left_side=True, lower_triangular=True)
    solve_adjoint = TriangularSolve(
        left_side=False, lower_triangular=True, transpose_a=True, conjugate_a=True
    )

    def push(da: Value) -> Value:
        s = solve_adjoint(factor, solve(factor, hermitian_of_lower(da)))
        return matmul(factor, half_of_hermitian(s))

    return push


cholesky, upper_cholesky = Cholesky(), UpperCholesky()
