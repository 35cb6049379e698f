"""``PseudoInverse`` of matrices of any shape and rank; ``LeastSquares``, its products.

Both give the singular values too, which they are made of.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.primitive import Linearized
from covector.core.staging import stage
from covector.core.types import ArrayType, min_size
from covector.core.work import Work
from covector.errors import TypeMismatch
from covector.lowering.spelling import HloValue
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.comparison import gt
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.matrices import (
    adjoint,
    diagonal,
    in_columns,
    in_rows,
    largest,
    matmul,
    real_part,
)
from covector.operations.linear_algebra.svd import SVD
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class PseudoInverse(lapack.OnMatrices):
    """The Moore–Penrose inverse of A, ``[..., n, m]``, and the singular values of A.

    Singular values that are not larger than a fraction ``rcond [...]`` of the largest
    count as zero. The derivative is that of matrices of this rank: where it is less
    than it could be, others nearby have pseudo-inverses that are far away.
    """

    op_count = 8

    def type_rule(self, a: ArrayType, rcond: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("pinv", a)
        if rcond.dtype != dtypes.real_part(a.dtype) or rcond.shape != a.shape[:-2]:
            raise TypeMismatch(
                "pinv needs a real number for each matrix, below which singular values "
                f"count as zero, but got {a} and {rcond}."
            )
        m, n = a.shape[-2:]
        return lapack.stack_of(a, (n, m)), lapack.real_stack_of(a, (min_size(m, n),))

    def linearize(self, active: Sequence[bool], a: Value, rcond: Value) -> Linearized:
        # As long as the rank stays, with P = A⁺ (Golub and Pereyra, 1973):
        # dP = −P dA P + P Pᴴ dAᴴ (1 − A P) + (1 − P A) dAᴴ Pᴴ P
        p, s = self(a, rcond)
        u, _, vh = SVD(full_matrices=False)(a)
        uh, v, ph = adjoint(u), adjoint(vh), adjoint(p)
        left, right = matmul(p, ph), matmul(ph, p)
        on_rows, on_columns = matmul(p, a), matmul(a, p)

        def push(da: Value, _: None) -> Sequence[Value]:
            dah = adjoint(da)
            outside = dah - matmul(dah, on_columns)
            across = dah - matmul(on_rows, dah)
            dp = matmul(left, outside) + matmul(across, right)
            ds = real_part(diagonal(matmul(matmul(uh, da), v)))
            return dp - matmul(matmul(p, da), p), ds

        return (p, s), push

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(program=stage(self._formula, types).jaxpr)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> Sequence[HloValue]:
        return ctx.through(self._formula, *operands)

    def _formula(self, a: Value, rcond: Value) -> Sequence[Value]:
        u, s, vh = SVD(full_matrices=False)(a)
        v = adjoint(vh)
        return matmul(v * in_columns(_inverse(s, rcond), v.type), adjoint(u)), s


class LeastSquares(lapack.OnMatrices):
    """The least x among those that bring A x nearest to b, and the singular values.

    That is x = A⁺ b, but nearer to b than the product is: A⁺ is not formed. Singular
    values count as zero, and the rank stays, as for ``PseudoInverse``.
    """

    name = "lstsq"
    op_count = 8

    def type_rule(
        self, a: ArrayType, b: ArrayType, rcond: ArrayType
    ) -> Sequence[ArrayType]:
        inverse, s = pseudo_inverse.type_rule(a, rcond)
        lapack.check_matrices(self.name, a, b)
        if b.shape[:-1] != a.shape[:-1]:
            raise TypeMismatch(
                "lstsq needs right-hand sides with as many rows as the matrix has, and "
                f"the same axes before the last two, but got {a} and {b}."
            )
        return inverse.with_shape((*inverse.shape[:-1], b.shape[-1])), s

    def linearize(
        self, active: Sequence[bool], a: Value, b: Value, rcond: Value
    ) -> Linearized:
        # With P = A⁺, x = P b and dP as for the pseudo-inverse,
        # dx = P (db − dA x) + P Pᴴ dAᴴ (b − A x) + (1 − P A) dAᴴ Pᴴ x
        x, s = self(a, b, rcond)
        p, _ = pseudo_inverse(a, rcond)
        u, _, vh = SVD(full_matrices=False)(a)
        uh, v, ph = adjoint(u), adjoint(vh), adjoint(p)
        rest, back = b - matmul(a, x), matmul(ph, x)

        def push(da: Value | None, db: Value | None, _: None) -> Sequence[Value | None]:
            along = None if db is None else matmul(p, db)
            if da is None:
                return along, None
            dah = adjoint(da)
            outside = matmul(dah, back)
            dx = outside - matmul(p, matmul(a, outside) + matmul(da, x))
            dx = dx + matmul(p, matmul(ph, matmul(dah, rest)))
            ds = real_part(diagonal(matmul(matmul(uh, da), v)))
            return dx if along is None else dx + along, ds

        return (x, s), push

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(program=stage(self._formula, types).jaxpr)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> Sequence[HloValue]:
        return ctx.through(self._formula, *operands)

    def _formula(self, a: Value, b: Value, rcond: Value) -> Sequence[Value]:
        u, s, vh = SVD(full_matrices=False)(a)
        sides = matmul(adjoint(u), b)
        return matmul(adjoint(vh), sides * in_rows(_inverse(s, rcond), sides.type)), s


def _inverse(s: Value, rcond: Value) -> Value:
    """1 / s, and 0 for singular values that count as zero."""
    cutoff = rcond * largest(s)
    cutoff = BroadcastInDim(s.type.shape, tuple(range(cutoff.type.ndim)))(cutoff)
    one, zero = scalar(1, s.type.dtype), scalar(0, s.type.dtype)
    kept = gt(s, cutoff)
    return where(kept, one / where(kept, s, one), zero)


pseudo_inverse, least_squares = PseudoInverse(), LeastSquares()
