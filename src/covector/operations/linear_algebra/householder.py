"""Products of Householder reflections: ``HouseholderProduct``, ``HouseholderMultiply``.

LAPACK keeps a unitary Q = H₁ H₂ … Hₖ as the vectors v of Hᵢ = 1 − τᵢ vᵢ vᵢᴴ, below the
diagonal of a matrix and with a one on it, and the numbers τ. Their product is

    Q = 1 − V T Vᴴ,    T = (1 + D S)⁻¹ D,    D = diag(τ), S = the part of Vᴴ V above
                                                              its diagonal,

of which the derivatives here are made: ``Reflections`` has that of Q by V and τ, and
its inverse, for the factorizations that give Q in this form.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core.annotations import Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Linear, Linearized, Operand, operation
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import TypeMismatch
from covector.lowering.spelling import HloValue
from covector.operations.broadcasting import zeros
from covector.operations.casting import convert
from covector.operations.comparison import ne
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.matrices import (
    adjoint,
    as_diagonal,
    conjugate,
    diagonal,
    identity,
    in_columns,
    in_rows,
    leading,
    lower_triangle,
    matmul,
    upper_triangle,
)
from covector.operations.linear_algebra.triangular_solve import TriangularSolve

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class HouseholderProduct(lapack.OnMatrices):
    """The first n columns of Q, from ``[..., m, n]`` with m ≥ n and τ ``[..., k]``."""

    def type_rule(self, a: ArrayType, taus: ArrayType) -> Sequence[ArrayType]:
        check_reflections("householder_product", a, taus)
        m, n = a.shape[-2:]
        if not taus.shape[-1] <= n <= m:
            raise TypeMismatch(
                "householder_product needs matrices with at least as many rows as "
                f"columns, and no more reflections than columns, but got {a} and "
                f"{taus}."
            )
        return (a.strong(),)

    def linearize(self, active: Sequence[bool], a: Value, taus: Value) -> Linearized:
        start = identity(a.type.shape, a.type.dtype)
        product = Reflections(a, taus)
        return self(a, taus), lambda da, dt: (product.moved(da, dt, start),)

    def without_elements(self, *types: ArrayType) -> Sequence[Value]:
        return [identity(t.shape, t.dtype) for t in types]

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        (m, n), k = types[0].shape[-2:], types[1].shape[-1]
        flops = 4 * m * n * k - 2 * (m + n) * k**2 + 4 * k**3 / 3
        return lapack.work_on(types[0], flops)

    def kernel(self, ctx: "Lowering", *operands: HloValue) -> Sequence[HloValue]:
        routine = lapack.Routine("orgqr/ungqr", overwritten={0: 0})
        types = [t.strong() for t in ctx.in_types]
        return lapack.call(ctx, routine, operands, types, types[:1])


@operation
class HouseholderMultiply(lapack.OnMatrices):
    """Q c, or c Q where Q is not on the left, or with Qᴴ in its place; linear in c.

    Q is m × m, from ``a [..., m, k]`` and τ ``[..., k]``.
    """

    left: bool = True
    inverted: bool = False

    name = "ormqr"
    linear_operands = ((2,),)

    def type_rule(
        self, a: ArrayType, taus: ArrayType, c: ArrayType
    ) -> Sequence[ArrayType]:
        check_reflections("ormqr", a, taus)
        lapack.check_matrices("ormqr", a, c)
        m = c.shape[-2 if self.left else -1]
        if a.shape[:-1] != (*c.shape[:-2], m) or taus.shape[-1] > m:
            raise TypeMismatch(
                f"ormqr needs a matrix with as many "
                f"{'rows' if self.left else 'columns'} as the reflections have "
                f"elements, and the same axes before the last two, but got {a}, {taus} "
                f"and {c}."
            )
        return (c.strong(),)

    def linearize(
        self, active: Sequence[bool], a: Value, taus: Value, c: Value
    ) -> Linearized:
        # c Q = (Qᴴ cᴴ)ᴴ
        if active[0] or active[1]:
            product = Reflections(a, taus)
            forward = self.left != self.inverted
            moved = product.moved if forward else product.moved_adjoint
        x = c if self.left else adjoint(c)

        def push(
            da: Value | None, dt: Value | None, dc: Value | None
        ) -> Sequence[Value]:
            changes = [] if dc is None else [*self(a, taus, dc)]
            if da is not None or dt is not None:
                change = moved(da, dt, x)
                changes.append(change if self.left else adjoint(change))
            return (sum(changes[1:], changes[0]),)

        return self(a, taus, c), push

    def transpose(
        self, cotangents: Values, a: Operand, taus: Operand, c: Operand
    ) -> Sequence[Value | None]:
        assert type(c) is Linear, "the product is linear in the matrix"
        back = self.replace(inverted=not self.inverted)
        (ct,) = back(a, taus, conjugate(cotangents[0]))
        return [None, None, conjugate(ct)]

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        _, taus, c = types
        m, k = c.shape[-2 if self.left else -1], taus.shape[-1]
        other = c.shape[-1 if self.left else -2]
        return lapack.work_on(c, 4 * m * other * k - 2 * other * k**2)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> Sequence[HloValue]:
        if ctx.in_types[1].size and ctx.in_types[2].size:
            return self.kernel(ctx, *operands)
        return operands[2:]  # no reflections, or nothing to reflect

    def kernel(self, ctx: "Lowering", *operands: HloValue) -> Sequence[HloValue]:
        attributes = {"left": self.left, "transpose": self.inverted}
        routine = lapack.Routine("ormqr/unmqr", attributes, overwritten={2: 0})
        types = [t.strong() for t in ctx.in_types]
        return lapack.call(ctx, routine, operands, types, types[2:])


class Reflections:
    """Q of reflections, and how its products move with the reflections.

    dS = the part of dVᴴ V + Vᴴ dV above the diagonal, and as (1 + D S) T = D,
    dT = (1 + D S)⁻¹ (dD − dD S T − D dS T).
    """

    def __init__(self, a: Value, taus: Value) -> None:
        *_, m, _ = a.type.shape
        k = taus.type.shape[-1]
        below = lower_triangle(leading(a, m, k), -1)
        self.taus, self.v = taus, below + identity(below.type.shape, below.type.dtype)
        self.s = upper_triangle(matmul(adjoint(self.v), self.v), 1)
        one = identity(self.s.type.shape, self.s.type.dtype)
        self.unit = one + in_rows(taus, self.s.type) * self.s
        self.t = self._solved(as_diagonal(taus))
        self.rest = one - matmul(self.s, self.t)

    def _solved(self, x: Value) -> Value:
        """The y with (1 + D S) y = x."""
        solve = TriangularSolve(True, False, unit_diagonal=True)
        return solve(self.unit, x)

    def _changes(self, da: Value | None, dt: Value | None) -> tuple[Value, Value]:
        """The changes of V and T."""
        square, k = self.t.type, self.taus.type.shape[-1]
        dv = zeros(self.v.type)
        x = zeros(square)
        if dt is not None:
            x = x + in_rows(dt, square) * self.rest
        if da is not None:
            dv = lower_triangle(leading(da, da.type.shape[-2], k), -1)
            vdv = matmul(adjoint(self.v), dv)
            ds = upper_triangle(adjoint(vdv) + vdv, 1)
            x = x - in_rows(self.taus, square) * matmul(ds, self.t)
        return dv, self._solved(x)

    def traced_back(self, dq: Value) -> tuple[Value, Value]:
        """The changes of V and τ that change the first columns of Q by ``dq``.

        The columns are those of 1 − V W, where W = T V₁ᴴ of the square top V₁ of V is
        upper triangular, with τ on its diagonal. So −dQ W⁻¹ = dV + V U of an upper
        triangular U = dW W⁻¹: in V₁⁻¹ times its top, U is on the diagonal and above.

        A reflection with τ = 0 is none, and keeps being none: LAPACK has it where there
        is nothing to reflect, and there the reflections jump.
        """
        k, one = self.taus.type.shape[-1], scalar(1, dq.type.dtype)
        top = leading(self.v, k, k)
        moving = convert(ne(self.taus, scalar(0, dq.type.dtype)), dq.type.dtype)
        w = matmul(self.t, adjoint(top)) + as_diagonal(one - moving)
        ratio = TriangularSolve(False, False)(w, -dq)
        solve = TriangularSolve(True, True, unit_diagonal=True)
        u = upper_triangle(solve(top, leading(ratio, k, k)))
        dv = lower_triangle(ratio - matmul(self.v, u), -1)
        dt = diagonal(u) * diagonal(w)  # the diagonal of their product
        return in_columns(moving, dv.type) * dv, moving * dt

    def moved(self, da: Value | None, dt: Value | None, x: Value) -> Value:
        """The change of Q x."""
        dv, dt = self._changes(da, dt)
        vx, dvx = matmul(adjoint(self.v), x), matmul(adjoint(dv), x)
        inner = matmul(dt, vx) + matmul(self.t, dvx)
        return -(matmul(dv, matmul(self.t, vx)) + matmul(self.v, inner))

    def moved_adjoint(self, da: Value | None, dt: Value | None, x: Value) -> Value:
        """The change of Qᴴ x."""
        dv, dt = self._changes(da, dt)
        t = adjoint(self.t)
        vx, dvx = matmul(adjoint(self.v), x), matmul(adjoint(dv), x)
        inner = matmul(adjoint(dt), vx) + matmul(t, dvx)
        return -(matmul(dv, matmul(t, vx)) + matmul(self.v, inner))


def check_reflections(who: str, a: ArrayType, taus: ArrayType) -> None:
    """Raise unless these are vectors of reflections, and a number for each."""
    lapack.check_matrices(who, a)
    lapack.check_dtypes(who, a, taus)
    if taus.shape[:-1] != a.shape[:-2] or taus.shape[-1] > a.shape[-1]:
        raise TypeMismatch(
            f"{who} needs a number τ for each reflection, that is for each column of a "
            f"matrix or fewer, but got {a} and {taus}."
        )


householder_product = HouseholderProduct()
