"""``Eigh``: eigenvalues and eigenvectors of Hermitian matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core.annotations import Value
from covector.core.primitive import Linearized, operation
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.lowering.spelling import HloValue
from covector.operations.casting import convert
from covector.operations.linear_algebra import determined, jacobi, lapack, unrolled
from covector.operations.linear_algebra.matrices import (
    adjoint,
    diagonal,
    equal_pairs,
    hermitian_of_lower,
    inverse_gaps,
    largest,
    matmul,
    real_part,
    rounding,
)

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Eigh(lapack.OnMatrices):
    """The unitary V and the ascending, real w of A V = V diag(w); or w alone.

    Only the lower triangle of A is read, and of its diagonal the real parts.

    Where eigenvalues are equal up to rounding, any basis of their space could be V. The
    derivative leaves the chosen one as it is: functions that do not depend on the
    choice, such as symmetric functions of the eigenvalues or the projection on the
    space, have their first derivatives, and all others finite ones. V diag(f(w)) Vᴴ is
    no such function: its derivative there has f′, which w and V do not tell.
    """

    vectors: bool = True

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("eigh", a, square=True)
        values = lapack.real_stack_of(a, a.shape[-1:])
        return (a.strong(), values) if self.vectors else (values,)

    def linearize(self, active: Sequence[bool], a: Value) -> Linearized:
        # dA V + A dV = dV W + V dW: with X = Vᴴ dA V and dV = V Ω, X + W Ω = Ω W + dW,
        # so dW is the diagonal of X, and Ωᵢⱼ = Xᵢⱼ / (wⱼ − wᵢ).
        v, w = Eigh()(a)
        least = largest(w) * rounding(a.type.shape[-1], a.type.dtype)
        gaps = inverse_gaps(w, w, least)
        gaps, back = convert(gaps, a.type.dtype), adjoint(v)
        equal = equal_pairs(w, w, least)

        def push(da: Value) -> Sequence[Value]:
            x = matmul(matmul(back, hermitian_of_lower(da)), v)
            dw = real_part(diagonal(x))
            if not self.vectors:
                return (dw,)
            return matmul(v, determined.turns("eigh", x * gaps, equal)), dw

        return ((v, w) if self.vectors else (w,)), push

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        n = types[0].shape[-1]
        return lapack.work_on(types[0], (9 if self.vectors else 4 / 3) * n**3)

    def kernel(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        (type,) = [t.strong() for t in ctx.in_types]
        if unrolled.are_many_and_small(type, unrolled.LARGEST_TURNED):
            steps = jacobi.eigh(type.shape[-1], type.dtype, self.vectors)
            return unrolled.side_by_side(ctx, steps, [a])
        values = lapack.real_stack_of(type, type.shape[-1:])
        types = [type, values, lapack.info_of(type)]
        mode = {"mode": "V" if self.vectors else "N", "uplo": "L"}
        syevd = lapack.Routine("syevd/heevd", mode, overwritten={0: 0})
        outs = lapack.call(ctx, syevd, [a], [type], types)

        def done(v: Value, w: Value, info: Value) -> Sequence[Value]:
            if self.vectors and unrolled.is_small(type, unrolled.LARGEST_TURNED):
                v = jacobi.signed_columns(v)
            wanted = (v, w) if self.vectors else (w,)
            return [lapack.where_done(info, x) for x in wanted]

        return lapack.finished(ctx, done, types, outs)
