"""``Cholesky``: A = L Lᴴ of Hermitian, positive definite matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core.annotations import Batched, LinearMaps, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Primitive
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import move_axis
from covector.operations.linear_algebra import lapack, unrolled
from covector.operations.linear_algebra.matrices import (
    as_diagonal,
    diagonal,
    hermitian_of_lower,
    lower_triangle,
    matmul,
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
        # dA = dL Lᴴ + L dLᴴ, so L⁻¹ dA L⁻ᴴ = (L⁻¹ dL) + (L⁻¹ dL)ᴴ, where L⁻¹ dL is
        # lower triangular with a real diagonal: it is the lower triangle of the left
        # side, with half of the diagonal.
        solve = TriangularSolve(left_side=True, lower_triangular=True)
        solve_adjoint = TriangularSolve(
            left_side=False, lower_triangular=True, transpose_a=True, conjugate_a=True
        )
        half = scalar(0.5, a.type.dtype)

        def push(da: Value) -> Value:
            s = solve_adjoint(out, solve(out, hermitian_of_lower(da)))
            s = lower_triangle(s, -1) + half * as_diagonal(diagonal(s))
            return matmul(out, s)

        return [push]

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
        type = type.strong()
        types = [type, lapack.info_of(type)]
        potrf = lapack.Routine("potrf", {"uplo": "L"}, overwritten={0: 0})
        outs = lapack.call(ctx, potrf, [a], [type], types)

        def triangle(x: Value, info: Value) -> Sequence[Value]:
            return [lapack.where_done(info, lower_triangle(x))]

        return lapack.finished(ctx, triangle, types, outs)


cholesky = Cholesky()
