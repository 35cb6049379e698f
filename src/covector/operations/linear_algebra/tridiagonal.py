"""``Hessenberg``, ``Tridiagonal``: matrices that are similar and nearly triangular.

Also ``TridiagonalSolve``, of systems of equations with tridiagonal matrices.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.annotations import Batched, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Linear, Linearized, Primitive, operation
from covector.core.types import ArrayType, show_types
from covector.core.work import Work
from covector.errors import TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import align, zeros
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.matrices import diagonal, in_rows, real_part
from covector.operations.slicing import Pad
from covector.runtime.lapack import PERTURBED

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Hessenberg(lapack.OnMatrices):
    """H of A = Q H Qᴴ, zero below its first subdiagonal, and reflections of Q.

    Their vectors are where H is zero, and their numbers τ ``[..., n − 1]`` beside. The
    derivative is a loop: ``lax.linalg.hessenberg`` has it.
    """

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("hessenberg", a, square=True)
        return a.strong(), lapack.stack_of(a, (max(a.shape[-1] - 1, 0),))

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        n = types[0].shape[-1]
        return lapack.work_on(types[0], 10 * n**3 / 3)

    def lower(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        taus = ctx.out_types[1]
        if taus.size:
            return self.kernel(ctx, a)
        return a, ctx.constant(0, taus)  # of 1 × 1 matrices, they themselves

    def kernel(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        x, taus = ctx.out_types
        types = [x, taus, lapack.info_of(x)]
        rows = {"low": 1, "high": x.shape[-1]}
        gehrd = lapack.Routine("gehrd", rows, overwritten={0: 0})
        outs = lapack.call(ctx, gehrd, [a], [x], types)

        def done(x: Value, taus: Value, info: Value) -> Sequence[Value]:
            return [lapack.where_done(info, out) for out in (x, taus)]

        return lapack.finished(ctx, done, types, outs)


@operation
class Tridiagonal(lapack.OnMatrices):
    """T of A = Q T Qᴴ for Hermitian A: its matrix, diagonal, subdiagonal, and τ.

    The matrix has T in the triangle that is read and beyond it the vectors of the
    reflections of Q; the other triangle is as it was. The diagonals are real. The
    derivative is a loop: ``lax.linalg.tridiagonal`` has it.
    """

    lower_triangular: bool = True

    def type_rule(self, a: ArrayType) -> Sequence[ArrayType]:
        lapack.check_matrices("tridiagonal", a, square=True)
        n = a.shape[-1]
        beside = (max(n - 1, 0),)
        return (
            a.strong(),
            lapack.real_stack_of(a, (n,)),
            lapack.real_stack_of(a, beside),
            lapack.stack_of(a, beside),
        )

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        n = types[0].shape[-1]
        return lapack.work_on(types[0], 4 * n**3 / 3)

    def lower(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        x, _, e, taus = ctx.out_types
        if taus.size:
            return self.kernel(ctx, a)
        outs = lapack.finished(ctx, lambda x: [real_part(diagonal(x))], [x], [a])
        return [a, *outs, ctx.constant(0, e), ctx.constant(0, taus)]

    def kernel(self, ctx: "Lowering", a: HloValue) -> Sequence[HloValue]:
        x, d, e, taus = ctx.out_types
        types = [x, d, e, taus, lapack.info_of(x)]
        triangle = {"uplo": "L" if self.lower_triangular else "U"}
        sytrd = lapack.Routine("sytrd/hetrd", triangle, overwritten={0: 0})
        outs = lapack.call(ctx, sytrd, [a], [x], types)

        def done(*found: Value) -> Sequence[Value]:
            return [lapack.where_done(found[-1], x) for x in found[:-1]]

        return lapack.finished(ctx, done, types, outs)


@operation
class TridiagonalSolve(Primitive):
    """The x with T x = b, where T has the diagonals dl, d and du ``[..., n]``.

    Element i of each is in row i of T: the first of dl and the last of du are not in
    it. Of a singular T, NaN; or if ``perturbed``, of a T that differs from it by the
    smallest numbers there are.
    """

    perturbed: bool = False

    linear_operands = ((3,),)

    def type_rule(
        self, dl: ArrayType, d: ArrayType, du: ArrayType, b: ArrayType
    ) -> Sequence[ArrayType]:
        types = dl, d, du, b
        lapack.check_dtypes("tridiagonal_solve", *types)
        if any([t.shape != b.shape[:-1] for t in types[:3]]) or b.ndim < 2:
            raise TypeMismatch(
                "tridiagonal_solve needs three diagonals f[..., n], and right-hand "
                f"sides f[..., n, m], but got {show_types(types)}."
            )
        return (b.strong(),)

    # -- derivatives -------------------------------------------------------------------

    def linearize(
        self, active: Sequence[bool], dl: Value, d: Value, du: Value, b: Value
    ) -> Linearized:
        x = self(dl, d, du, b)
        # T x = b, so T dx = db − dT x; row i of T x has x of the rows beside i.
        beside = [_shifted(x, 1), x, _shifted(x, -1)]

        def push(*tangents: Value | None) -> Sequence[Value]:
            *diagonals, db = tangents
            change = zeros(b.type) if db is None else db
            for moved, y in zip(diagonals, beside, strict=True):
                if moved is not None:
                    change = change - in_rows(moved, y.type) * y
            return (self(dl, d, du, change),)

        return (x,), push

    def transpose(self, cotangents: Values, *args: Any) -> Sequence[Value | None]:
        dl, d, du, _ = args
        assert not any([type(x) is Linear for x in args[:3]]), "linear in b alone"
        back = _shifted(du, 1, 1), d, _shifted(dl, -1, 1)
        return [None, None, None, self(*back, cotangents[0])]

    # -- batches, compilation ----------------------------------------------------------

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self(*align(size, args, dims)),), (0,)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        n, sides = types[3].shape[-2:]
        return lapack.work_on(types[3], n * (3 + 5 * sides))

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        types = [t.strong() for t in ctx.in_types]
        *_, b = types
        if not b.size:
            return operands[-1]
        if self.perturbed:
            kernel = lapack.Routine(PERTURBED)
            return lapack.call(ctx, kernel, operands, types, types[3:])
        types.append(ArrayType(b.shape[:-2], dtypes.int32))
        gtsv = lapack.Routine("gtsv", overwritten={i: i for i in range(4)})
        outs = lapack.call(ctx, gtsv, operands, types[:4], types)

        def done(*found: Value) -> Sequence[Value]:
            return [lapack.where_done(found[-1], found[-2])]

        return lapack.finished(ctx, done, types, outs)


def _shifted(x: Value, by: int, axis: int = 2) -> Value:
    """Vectors with each element moved so far, zeros behind; or rows, axis −2."""
    config = [(0, 0, 0)] * x.type.ndim
    config[-axis] = (by, -by, 0)
    return Pad(tuple(config))(x, scalar(0, x.type.dtype))


hessenberg = Hessenberg()
