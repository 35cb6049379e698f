"""``Eig``: eigenvalues and eigenvectors of square matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.primitive import Linearized, operation
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.lowering.spelling import HloValue
from covector.operations.argmax import Argmax
from covector.operations.broadcasting import BroadcastInDim, ReduceSum
from covector.operations.casting import convert
from covector.operations.comparison import eq
from covector.operations.complex import complex_, imag, real
from covector.operations.creation import Iota
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.matrices import (
    adjoint,
    conjugate,
    diagonal,
    in_columns,
    inverse_gaps,
    matmul,
)
from covector.operations.linear_algebra.solve import solve
from covector.operations.magnitude import abs_
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Eig(lapack.OnMatrices):
    """The complex w of A V = V diag(w), and as asked the left U and the right V.

    Aᴴ U = U diag(w̄). Each vector has length 1, and is turned such that its largest
    component is real. The derivative of vectors is that of vectors so chosen, and
    finite where eigenvalues are equal; a matrix without a basis of eigenvectors has
    none.
    """

    left: bool = False
    right: bool = True

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("eig", a, square=True)
        dtype = _complex(a)
        w = lapack.stack_of(a, a.shape[-1:], dtype)
        return w, *[ArrayType(a.shape, dtype)] * (self.left + self.right)

    def linearize(self, active: Sequence[bool], a: Value) -> Linearized:
        # A V = V W: with X = V⁻¹ dA V and dV = V Ω, X + W Ω = Ω W + dW.
        w, *vectors = self.replace(right=True)(a)
        v = vectors[-1]
        dtype, outs = v.type.dtype, [w, *vectors[: self.left + self.right]]

        def push(da: Value) -> Sequence[Value]:
            da = convert(da, dtype)
            x = solve(v, matmul(da, v))
            moved = [diagonal(x)]
            if self.left:
                u = vectors[0]
                y = solve(u, matmul(adjoint(da), u))
                moved.append(_moved(u, conjugate(w), y))
            return moved + [_moved(v, w, x)] * self.right

        return outs, push

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        n = types[0].shape[-1]
        vectors = self.left or self.right
        return lapack.work_on(types[0], (25 if vectors else 10) * n**3)

    def kernel(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        (type,) = [t.strong() for t in ctx.in_types]
        (w, *_), info = ctx.out_types, lapack.info_of(type)
        parts = 1 if dtypes.is_complex(type.dtype) else 2
        values = [w.with_dtype(type.dtype)] * parts
        types = [*values, *[ArrayType(type.shape, w.dtype)] * 2, info]
        sides = {"compute_left": self.left, "compute_right": self.right}
        asked = {side: "V" if wanted else "N" for side, wanted in sides.items()}
        outs = lapack.call(ctx, lapack.Routine("geev", asked), [a], [type], types)

        def done(*found: Value) -> Sequence[Value]:
            *values, u, v, info = found
            w = values[0] if parts == 1 else complex_(*values)
            wanted = [w, *[u] * self.left, *[v] * self.right]
            return [lapack.where_done(info, x) for x in wanted]

        return lapack.finished(ctx, done, types, outs)


def _complex(a: ArrayType) -> np.dtype:
    """The complex dtype of the eigenvalues of matrices of a type."""
    return a.dtype if dtypes.is_complex(a.dtype) else dtypes.complex_of(a.dtype)


def _moved(v: Value, w: Value, x: Value) -> Value:
    """DV from X = V⁻¹ dA V: lengths stay, and what is real stays real."""
    if not v.type.size:
        return v
    turned = matmul(v, x * convert(inverse_gaps(w, w), x.type.dtype))
    rank, axis = v.type.ndim, v.type.ndim - 2
    over = tuple([k for k in range(rank) if k != axis])

    def summed(x: Value) -> Value:
        return ReduceSum((axis,))(x)

    def repeated(x: Value) -> Value:
        return BroadcastInDim(v.type.shape, over)(x)

    rows = Iota(dtypes.int32, v.type.shape, axis)()
    first = Argmax(axis, dtypes.int32)(abs_(v))
    zero = scalar(0, v.type.dtype)
    at_largest = eq(rows, repeated(first))
    ratio = summed(where(at_largest, turned, zero) / where(at_largest, v, zero + 1))
    along = real(summed(conjugate(v) * turned))
    return turned - v * in_columns(complex_(along, imag(ratio)), v.type)
