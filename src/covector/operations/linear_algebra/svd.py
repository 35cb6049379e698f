"""``SVD``: singular values and singular vectors of matrices of any shape."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.primitive import Linearized, operation
from covector.core.types import ArrayType, max_size, min_size
from covector.core.work import Work
from covector.lowering.spelling import HloValue
from covector.operations.broadcasting import zeros
from covector.operations.casting import convert
from covector.operations.joining import Concatenate
from covector.operations.linear_algebra import determined, jacobi, lapack, unrolled
from covector.operations.linear_algebra.matrices import (
    adjoint,
    diagonal,
    equal_pairs,
    identity,
    in_columns,
    inverse_gaps,
    largest,
    leading,
    matmul,
    real_part,
    rounding,
)
from covector.operations.slicing import Slice

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class SVD(lapack.OnMatrices):
    """U, the descending s ≥ 0 and Vᴴ of A = U diag(s) Vᴴ; or s alone.

    U and V have orthonormal columns, k = min(m, n) of them, or if ``full_matrices`` as
    many as rows.

    Where singular values are equal up to rounding, or zero, U and V could be others.
    The derivative leaves the chosen ones as they are: functions that do not depend on
    the choice, such as sums over the singular values or U Vᴴ, have their derivatives,
    and all others finite ones. (``Eigh`` says more.)
    """

    full_matrices: bool = True
    vectors: bool = True

    name = "svd"

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("svd", a)
        m, n = a.shape[-2:]
        k = min_size(m, n)
        values = lapack.real_stack_of(a, (k,))
        if not self.vectors:
            return (values,)
        p, q = (m, n) if self.full_matrices else (k, k)
        return lapack.stack_of(a, (m, p)), values, lapack.stack_of(a, (q, n))

    # -- derivatives -------------------------------------------------------------------

    def linearize(self, active: Sequence[bool], a: Value) -> Linearized:
        # With P = Uᴴ dA V, dU = U Ω and dV = V Ψ: P = Ω S + dS − S Ψ. Of the Hermitian
        # part H and the anti-Hermitian part K of P, Ω and Ψ have Hᵢⱼ / (sⱼ − sᵢ) in
        # common, and differ in the sign of Kᵢⱼ / (sⱼ + sᵢ). Of dA V S⁻¹, dU also has
        # what is outside of the columns of U, and dV likewise.
        factors = SVD(self.full_matrices and self.vectors)(a)
        u, s, vh = factors
        *_, m, n = a.type.shape
        k = min_size(m, n)
        u1, v1 = leading(u, m, k), adjoint(leading(vh, k, n))
        least = largest(s) * rounding(max_size(m, n), a.type.dtype)
        gaps = convert(inverse_gaps(s, s, least), a.type.dtype)
        sums = convert(inverse_gaps(-s, s, least), a.type.dtype)
        inverse = diagonal(sums) * scalar(2, a.type.dtype)
        half = scalar(0.5, a.type.dtype)
        equal, none = equal_pairs(s, s, least), equal_pairs(-s, s, least)

        def push(da: Value) -> Sequence[Value]:
            left, right = matmul(da, v1), matmul(adjoint(da), u1)
            p = matmul(adjoint(u1), left)
            ds = real_part(diagonal(p))
            if not self.vectors:
                return (ds,)
            same = (p + adjoint(p)) * half * gaps
            other = (p - adjoint(p)) * half * sums
            omega, psi = determined.turns_of_two("svd", same, other, equal, none)
            du = _turned(u, u1, omega, left, inverse)
            dv = _turned(adjoint(vh), v1, psi, right, inverse)
            return du, ds, adjoint(dv)

        return (factors if self.vectors else (s,)), push

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        n, m = sorted(types[0].shape[-2:])
        if not self.vectors:
            flops = 4 * m * n**2 - 4 * n**3 / 3
        elif self.full_matrices:
            flops = 4 * m**2 * n + 8 * m * n**2 + 9 * n**3
        else:
            flops = 14 * m * n**2 + 8 * n**3
        return lapack.work_on(types[0], flops)

    # -- compilation -------------------------------------------------------------------

    def without_elements(self, *types: ArrayType) -> Sequence[Value]:
        if not self.vectors:
            return super().without_elements(*types)
        u, s, vh = types
        return identity(u.shape, u.dtype), zeros(s), identity(vh.shape, vh.dtype)

    def _is_determined(self, type: ArrayType) -> bool:
        """Whether all vectors of a matrix of full rank are, but for their signs."""
        m, n = type.shape[-2:]
        return not (self.full_matrices and self.vectors) or abs(m - n) < 2

    def kernel(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        (type,) = [t.strong() for t in ctx.in_types]
        largest = unrolled.LARGEST_TURNED
        many = unrolled.are_many_and_small(type, largest)
        if many and self._is_determined(type):
            m, n = type.shape[-2:]
            flags = self.full_matrices, self.vectors
            steps = jacobi.svd(m, n, type.dtype, *flags)
            return unrolled.side_by_side(ctx, steps, [a])
        u, s, vh = SVD(self.full_matrices and self.vectors).type_rule(type)
        types = [type, s, u, vh, lapack.info_of(type)]
        mode = ("A" if self.full_matrices else "S") if self.vectors else "N"
        gesdd = lapack.Routine("gesdd", {"mode": mode}, overwritten={0: 0})
        outs = lapack.call(ctx, gesdd, [a], [type], types)

        def done(
            _: Value, s: Value, u: Value, vh: Value, info: Value
        ) -> Sequence[Value]:
            wanted = [u, s, vh] if self.vectors else [s]
            if self.vectors and unrolled.is_small(type, largest):
                wanted = jacobi.signed_triplets(*wanted)
            return [lapack.where_done(info, x) for x in wanted]

        return lapack.finished(ctx, done, types, outs)


def _turned(
    whole: Value, first: Value, turn: Value, image: Value, inverse: Value
) -> Value:
    """The tangent of orthonormal columns, of which the ``first`` turn by ``turn``.

    ``image`` is the tangent of the matrix on the vectors of the other side: what of it
    is outside of the first columns, divided by s, these gain; and if there are more
    columns, so that they span the whole space, they lose the same in turn.
    """
    moved = matmul(first, turn)
    m, k = first.type.shape[-2:]
    if m == k:
        return moved
    image = image * in_columns(inverse, image.type)
    moved = moved + (image - matmul(first, matmul(adjoint(first), image)))
    columns = whole.type.shape[-1]
    if columns == k:
        return moved
    rank = whole.type.ndim
    rest = Slice((0,) * (rank - 1) + (k,), whole.type.shape)(whole)
    back = -matmul(first, matmul(adjoint(image), rest))
    return Concatenate(rank - 1)(moved, back)
