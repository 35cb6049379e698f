"""``TriangularSolve``: systems of equations with triangular matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.annotations import Batched, Value, Values
from covector.core.primitive import Linear, Linearized, Operand, Primitive, operation
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import align, move_axis
from covector.operations.linear_algebra import lapack, unrolled
from covector.operations.linear_algebra.matrices import (
    conjugate,
    lower_triangle,
    matmul,
    transposed,
    upper_triangle,
)
from covector.operations.transposing import Reshape

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class TriangularSolve(Primitive):
    """The x with op(A) x = b, or x op(A) = b where the matrix is not on the left side.

    op(A) is A, transposed and conjugated as asked. Of A only the one triangle is read,
    and if ``unit_diagonal`` ones in place of its diagonal. A zero on the diagonal gives
    infinities or NaN.
    """

    left_side: bool
    lower_triangular: bool
    transpose_a: bool = False
    conjugate_a: bool = False
    unit_diagonal: bool = False

    linear_operands = ((1,),)

    def type_rule(self, a: ArrayType, b: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("triangular_solve", a, b, square=True)
        rows = b.shape[-2 if self.left_side else -1]
        if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != rows:
            raise TypeMismatch(
                f"triangular_solve with the matrix on the "
                f"{'left' if self.left_side else 'right'} needs as many "
                f"{'rows' if self.left_side else 'columns'} as the matrix has, and the "
                f"same axes before the last two, but got {a} and {b}."
            )
        return (b.strong(),)

    # -- derivatives -------------------------------------------------------------------

    def linearize(self, active: Sequence[bool], a: Value, b: Value) -> Linearized:
        x = self(a, b)

        def push(da: Value | None, db: Value | None) -> Sequence[Value]:
            # op(A) x = b, so op(A) dx = db − op(dA) x
            if da is None:
                return (self(a, db),)
            moved = self._product(da, x)
            return (self(a, -moved if db is None else db - moved),)

        return (x,), push

    def _product(self, a: Value, x: Value) -> Value:
        """op(A) x, or x op(A), with the triangle of A alone."""
        k = int(self.unit_diagonal)
        a = lower_triangle(a, -k) if self.lower_triangular else upper_triangle(a, k)
        a = transposed(a) if self.transpose_a else a
        a = conjugate(a) if self.conjugate_a else a
        return matmul(a, x) if self.left_side else matmul(x, a)

    def transpose(
        self, cotangents: Values, a: Operand, b: Operand
    ) -> Sequence[Value | None]:
        assert type(a) is not Linear, "the solution is linear in the right-hand side"
        back = self.replace(transpose_a=not self.transpose_a)
        return [None, back(a, cotangents[0])]

    # -- batches -----------------------------------------------------------------------

    def batch(self, size: int, args: Values, dims: Sequence[int | None]) -> Batched:
        if dims[0] is None:
            return solve_together(self, args, dims, from_the_left=self.left_side)
        return (self(*align(size, args, dims)),), (0,)

    # -- compilation -------------------------------------------------------------------

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(flops=types[0].shape[-1] * types[1].size)

    def lower(self, ctx: "Lowering", a: HloValue, b: HloValue) -> HloResults:
        types = [t.strong() for t in ctx.in_types]
        if not types[1].size:
            return b
        if unrolled.are_many_and_small_systems(*types):
            return unrolled.side_by_side(ctx, self._steps(*types), [a, b])
        if self.conjugate_a and not self.transpose_a:
            (a,) = lapack.finished(ctx, lambda x: [conjugate(x)], types[:1], [a])
        complex_transpose = self.conjugate_a and dtypes.is_complex(types[0].dtype)
        # With M = Aᵀ, op(A) x = b is xᵀ op(M) = bᵀ.
        attributes = {
            "side": "R" if self.left_side else "L",
            "uplo": "U" if self.lower_triangular else "L",
            "trans_x": ("C" if complex_transpose else "T") if self.transpose_a else "N",
            "diag": "U" if self.unit_diagonal else "N",
        }
        trsm = lapack.Routine("trsm", attributes, {1: 0}, transposed=True)
        return lapack.call(ctx, trsm, [a, b], types, types[1:])

    def _steps(self, a: ArrayType, b: ArrayType) -> Sequence[unrolled.Step]:
        """The number of small real systems, which are solved by substitution."""
        n, width = a.shape[-1], b.shape[-1]
        # x op(A) = b is op(A)ᵀ xᵀ = bᵀ
        turned = self.transpose_a == self.left_side
        forwards = self.lower_triangular != turned

        def substitute(*numbers: Value) -> Sequence[Value]:
            x = unrolled.by_rows(numbers[: n * n], n)
            x = unrolled.columns_of(x) if turned else x
            rows = unrolled.by_rows(numbers[n * n :], width)
            rows = rows if self.left_side else unrolled.columns_of(rows)
            done: list[int] = []
            for k in range(n) if forwards else reversed(range(n)):
                for i in done:
                    pairs = zip(rows[k], rows[i], strict=True)
                    rows[k] = [y - x[k][i] * z for y, z in pairs]
                if not self.unit_diagonal:
                    rows[k] = [y / x[k][k] for y in rows[k]]
                done.append(k)
            rows = rows if self.left_side else unrolled.columns_of(rows)
            return [y for row in rows for y in row]

        return [substitute]


def solve_together(
    solve: Primitive, args: Values, dims: Sequence[Any], *, from_the_left: bool
) -> Batched:
    """One matrix and a batch of right-hand sides: as more sides of one system."""
    (a, b), (_, dim) = args, dims
    axis = b.type.ndim - (1 if from_the_left else 3)
    b = move_axis(b, dim, axis)
    shape = b.type.shape
    side = axis - 1 if from_the_left else axis
    together = shape[side] * shape[side + 1]
    x = solve(a, Reshape((*shape[:side], together, *shape[side + 2 :]))(b))
    return (Reshape(shape)(x),), (axis,)
