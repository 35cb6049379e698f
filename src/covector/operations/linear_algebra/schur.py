"""``Schur``: matrices that are similar to triangular ones, by unitary matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.primitive import Linearized, operation
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.lowering.spelling import HloValue
from covector.operations.casting import convert
from covector.operations.comparison import eq, lt, ne
from covector.operations.creation import Iota
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.eig import Eig
from covector.operations.linear_algebra.matrices import (
    adjoint,
    as_diagonal,
    columns_at,
    diagonal,
    inverse_gaps,
    mask,
    matmul,
    real_part,
    rows_at,
    transposed,
)
from covector.operations.linear_algebra.solve import inverse
from covector.operations.reductions import ReduceMax
from covector.operations.selection import where
from covector.operations.slicing import Pad, Slice
from covector.operations.sorting import Sort
from covector.operations.transposing import Reshape

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Schur(lapack.OnMatrices):
    """T and, if asked, Z of A = Z T Zᴴ, with unitary Z and upper triangular T.

    Of a real matrix all is real: pairs of complex eigenvalues are blocks of 2 × 2 on
    the diagonal of T, whose two diagonal elements are equal.

    The derivative of a complex Z does not turn its columns in their own plane. There is
    none where eigenvalues are equal; it is finite there, if A has a basis of
    eigenvectors.
    """

    vectors: bool = True

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("schur", a, square=True)
        return (a.strong(),) * (1 + self.vectors)

    def linearize(self, active: Sequence[bool], a: Value) -> Linearized:
        # With X = Zᴴ dA Z and dZ = Z Ω, X = Ω T + dT − T Ω. Eigenvectors of T are upper
        # triangular, T R = R W, and Z R are those of A: so d(Z R) = Z C R up to their
        # lengths, with C = R Y R⁻¹ and Yᵢⱼ = (R⁻¹ X R)ᵢⱼ / (wⱼ − wᵢ), and below the
        # diagonal, or the blocks on it, C is Ω.
        t, z = Schur()(a)
        w, r = _eigenvectors(t)
        gaps = convert(inverse_gaps(w, w), r.type.dtype)
        zh, back, n = adjoint(z), inverse(r), t.type.shape[-1]
        real, zero = not dtypes.is_complex(t.type.dtype), scalar(0, t.type.dtype)
        # Below the diagonal T is not zero where it has blocks.
        zeros_of_t = mask(t.type.shape, lt) & eq(t, zero)

        def push(da: Value) -> Sequence[Value]:
            x = matmul(matmul(zh, da), z)
            y = matmul(matmul(back, convert(x, r.type.dtype)), r) * gaps
            c = matmul(matmul(r, y), back)
            turn = where(zeros_of_t, real_part(c) if real else c, zero)
            turn = turn - adjoint(turn)
            if real and n > 1:
                turn = turn + _turned_blocks(t, _moved(t, x, turn))
            dt = _moved(t, x, turn)
            dt = where(zeros_of_t, zero, dt)
            return (dt, matmul(z, turn)) if self.vectors else (dt,)

        return ((t, z) if self.vectors else (t,)), push

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        n = types[0].shape[-1]
        return lapack.work_on(types[0], (25 if self.vectors else 10) * n**3)

    def kernel(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        (type,) = [t.strong() for t in ctx.in_types]
        info = lapack.info_of(type)
        parts = 1 if dtypes.is_complex(type.dtype) else 2
        values = [lapack.stack_of(type, type.shape[-1:])] * parts
        types = [type, type, *values, info, info]
        asked = {"mode": "V" if self.vectors else "N", "sort": "N"}
        gees = lapack.Routine("gees", asked, overwritten={0: 0})
        outs = lapack.call(ctx, gees, [a], [type], types)

        def done(t: Value, z: Value, *others: Value) -> Sequence[Value]:
            wanted = (t, z) if self.vectors else (t,)
            return [lapack.where_done(others[-1], x) for x in wanted]

        return lapack.finished(ctx, done, types, outs)


def _moved(t: Value, x: Value, turn: Value) -> Value:
    """X − Ω T + T Ω."""
    return x - matmul(turn, t) + matmul(t, turn)


def _eigenvectors(t: Value) -> tuple[Value, Value]:
    """The eigenvalues of T in the order of its blocks, and upper triangular vectors.

    LAPACK may find them in another order: the last element of a vector that is not zero
    says to which block it belongs.
    """
    w, r = Eig()(t)
    shape = r.type.shape
    if not r.type.size:
        return w, r
    rows = Iota(dtypes.int32, shape, len(shape) - 2)()
    known = where(ne(r, scalar(0, r.type.dtype)), rows, scalar(-1, dtypes.int32))
    last = ReduceMax((len(shape) - 2,))(known)
    numbers = Iota(dtypes.int32, last.type.shape, len(shape) - 2)()
    _, order = Sort(len(shape) - 2)(last, numbers)
    column = Reshape((*w.type.shape, 1))
    return Reshape(w.type.shape)(rows_at(column(w), order)), columns_at(r, order)


def _turned_blocks(t: Value, dt: Value) -> Value:
    """The turns of the planes of blocks that keep their diagonal elements equal.

    A turn by θ of a block with the other elements b and c changes the difference of its
    diagonal elements by 2 θ (b + c).
    """
    *stack, n, _ = t.type.shape
    none = (0,) * len(stack)
    upper = diagonal(Slice((*none, 0, 1), (*stack, n - 1, n))(t))
    lower = diagonal(Slice((*none, 1, 0), (*stack, n, n - 1))(t))
    moved = diagonal(dt)
    first, second = [Slice((*none, k), (*stack, n - 1 + k))(moved) for k in (0, 1)]
    sums, zero, one = upper + lower, *[scalar(k, t.type.dtype) for k in (0, 1)]
    turns = ne(lower, zero) & ne(sums, zero)
    angle = (second - first) / where(turns, sums + sums, one)
    below = Pad((*[(0, 0, 0)] * len(stack), (1, 0, 0), (0, 1, 0)))(
        as_diagonal(where(turns, angle, zero)), zero
    )
    return below - transposed(below)
