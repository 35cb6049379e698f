"""``QR``: A = Q R with unitary Q and upper triangular R; also with pivoting.

``HouseholderQR`` gives Q as the reflections that it is a product of.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.primitive import Linearized, operation
from covector.core.staging import stage
from covector.core.types import ArrayType, min_size
from covector.core.work import Work
from covector.lowering.spelling import HloValue
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.creation import Iota
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.householder import (
    Reflections,
    householder_product,
)
from covector.operations.linear_algebra.matrices import (
    adjoint,
    as_diagonal,
    columns_at,
    diagonal,
    imaginary,
    leading,
    lower_triangle,
    matmul,
    padded,
    upper_triangle,
)
from covector.operations.linear_algebra.triangular_solve import TriangularSolve

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class HouseholderQR(lapack.OnMatrices):
    """R and the reflections of Q, in one matrix like A and in their numbers τ.

    R is the upper triangle, and below it are the vectors of the reflections. With
    ``pivoting``, A P = Q R, and the third result is the order P of the columns, in
    which the diagonal of R descends.

    The derivative is that of Q and R, and none where ``QR`` has none. A reflection that
    has nothing to reflect, with τ = 0, keeps being none.
    """

    pivoting: bool = False

    name = "geqrf"

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("qr", a)
        taus = lapack.stack_of(a, (min_size(*a.shape[-2:]),))
        if not self.pivoting:
            return a.strong(), taus
        return a.strong(), taus, lapack.stack_of(a, a.shape[-1:], dtypes.int32)

    def linearize(self, active: Sequence[bool], a: Value) -> Linearized:
        found, taus, *order = self(a)
        *_, m, n = a.type.shape
        k = min_size(m, n)
        reflections = leading(found, m, k)
        q = householder_product(reflections, taus)[0]
        moved = _moved(q, upper_triangle(leading(found, k, n)), order)
        traced_back = Reflections(reflections, taus).traced_back

        def push(da: Value) -> Sequence[Value | None]:
            dq, dr = moved(da)
            dv, dt = traced_back(dq)
            dx = padded(dr, m, n) + padded(dv, m, n)
            return dx, dt, *[None for _ in order]

        return (found, taus, *order), push

    def without_elements(self, *types: ArrayType) -> Sequence[Value]:
        outs = super().without_elements(*types)
        return [*outs[:2], *[_in_order(t) for t in types[2:]]]

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        m, n = types[0].shape[-2:]
        k = min_size(m, n)
        return lapack.work_on(types[0], 2 * k**2 * (max(m, n) - k / 3))

    def kernel(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        types = ctx.out_types
        if not self.pivoting:
            geqrf = lapack.Routine("geqrf", overwritten={0: 0})
            return lapack.call(ctx, geqrf, [a], types[:1], types)
        x, taus, order = types
        free = ctx.constant(0, order)  # LAPACK would keep other columns in front
        geqp3 = lapack.Routine("geqp3", overwritten={0: 0, 1: 1})
        outs = lapack.call(ctx, geqp3, [a, free], [x, order], [x, order, taus])

        def from_zero(x: Value, order: Value, taus: Value) -> Sequence[Value]:
            return x, taus, order - scalar(1, dtypes.int32)

        return lapack.finished(ctx, from_zero, [x, order, taus], outs)


def _in_order(type: ArrayType) -> Value:
    """For each matrix, the numbers of its columns as they are."""
    columns = Iota(dtypes.int32, type.shape[-1:], 0)()
    return BroadcastInDim(type.shape, (type.ndim - 1,))(columns)


@operation
class QR(lapack.OnMatrices):
    """Q and R of A = Q R; with ``pivoting`` of A P = Q R, and the order P of columns.

    Q has the columns of a basis of the columns of A, k = min(m, n) of them, or if
    ``full_matrices`` those of a basis of the whole space. The diagonal of R is real.

    The derivative of a full Q does not turn the columns that A leaves free among
    themselves. There is none where the first k columns of A P depend on each other.
    """

    full_matrices: bool = True
    pivoting: bool = False

    name = "qr"
    op_count = 8

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        found, _, *order = HouseholderQR(self.pivoting).type_rule(a)
        m, n = a.shape[-2:]
        k = m if self.full_matrices else min_size(m, n)
        return lapack.stack_of(found, (m, k)), lapack.stack_of(found, (k, n)), *order

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(program=stage(self._formula, types).jaxpr)

    def lower(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        return ctx.through(self._formula, a)

    def _formula(self, a: Value) -> Sequence[Value]:
        *_, m, n = a.type.shape
        k = min_size(m, n)
        columns = m if self.full_matrices else k
        found, taus, *order = HouseholderQR(self.pivoting)(a)
        (q,) = householder_product(padded(leading(found, m, k), m, columns), taus)
        return q, upper_triangle(leading(found, columns, n)), *order

    def linearize(self, active: Sequence[bool], a: Value) -> Linearized:
        q, r, *order = self(a)
        moved = _moved(q, r, order)
        return (q, r, *order), lambda da: (*moved(da), *[None for _ in order])


def _moved(
    q: Value, r: Value, order: Sequence[Value]
) -> Callable[[Value], tuple[Value, Value]]:
    """The changes of Q and R by that of A, whose columns are in the order, if any.

    With C = Qᴴ dA R⁻¹ of the first k columns, C = Ω + dR R⁻¹, where Ω = Qᴴ dQ is
    anti-Hermitian and dR R⁻¹ upper triangular with a real diagonal: what is below the
    diagonal is that of Ω, and so is the imaginary part of the diagonal.
    """
    *_, m, columns = q.type.shape
    k = min_size(m, r.type.shape[-1])
    square, qh = leading(r, k, k), adjoint(q)
    divide = TriangularSolve(False, False)

    def push(da: Value) -> tuple[Value, Value]:
        da = columns_at(da, order[0]) if order else da
        ratio = divide(square, leading(da, m, k))
        c = matmul(qh, ratio)
        below = padded(lower_triangle(c, -1), columns, columns)
        turn = below - adjoint(below)
        if dtypes.is_complex(q.type.dtype):
            along = as_diagonal(imaginary(diagonal(c)))
            turn = turn + padded(along, columns, columns)
        dr = upper_triangle(matmul(qh, da) - matmul(turn, r))
        dq = matmul(q, turn)
        if columns < m:  # what of dA is outside of the columns of Q
            dq = dq + (ratio - matmul(q, c))
        return dq, dr

    return push
