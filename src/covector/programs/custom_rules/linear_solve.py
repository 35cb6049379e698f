"""``LinearSolve``: x with A x = b, for a linear A that is known as a function.

What solves is the user's, and it is never differentiated. From A ẋ = ḃ − Ȧ x:

    forward     ẋ = A⁻¹ (ḃ − Ȧ x), a solve with the same A
    backward    b̄ = A⁻ᵀ x̄, a solve with the transpose of A

So what the derivatives need is A as a program, ``matvec``, whose derivative with
respect to its consts gives Ȧ x, and whose transpose is Aᵀ. The transpose is meant also
for complex numbers: nothing is conjugated.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import present
from covector.core.primitive import Linear, Linearized, Operand, linear_mask, operation
from covector.errors import NotDifferentiable
from covector.operations.arithmetic import neg, sub
from covector.programs.custom_rules.implicit_diff import (
    FlatSolver,
    Solver,
    Vector,
    trace,
)
from covector.programs.higher_order.dead_code import dce
from covector.programs.higher_order.jaxpr_passes import instantiate_zeros
from covector.transforms.transpose import instantiate, transpose_jaxpr


@operation
class LinearSolve(Solver):
    """Solve A x = b by ``solve``; operands are the consts of all programs, and b.

        matvec            (consts, x) → A x
        solve             (consts, b) → x, and further results, which have no tangents
        transpose_solve   (consts, b) → x with Aᵀ x = b, and further results

    A ``symmetric`` A is its own transpose, and ``solve`` serves both.
    """

    name = "custom_linear_solve"
    solves_again = True

    matvec: Jaxpr
    solve: Jaxpr
    transpose_solve: Jaxpr | None = None
    symmetric: bool = False
    who: str = "linear_solve"

    @property
    def equation(self) -> Jaxpr:
        return self.matvec

    # -- derivatives -------------------------------------------------------------------

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        outs = self(*primals)
        x, none = outs[: self.count], [None] * (len(outs) - self.count)
        consts, _ = self.split(primals)
        push_matrix = self.push_consts(self.split(active)[0], [*consts, *x])

        def push(*tangents: Value | None) -> Any:
            const_tangents, right = self.split(tangents)
            products = push_matrix(*const_tangents)
            right = [_minus(b, ax) for b, ax in zip(right, products, strict=True)]
            if not present(right):
                return [None] * len(outs)
            right = [instantiate(r, v.type) for r, v in zip(right, x, strict=True)]
            return [*self._alone()(*consts, *right), *none]

        return outs, push

    def _alone(self) -> "LinearSolve":
        """This solve without its further results."""
        return self.replace(solve=self._first(self.solve))

    def _first(self, solve: Jaxpr) -> Jaxpr:
        """A program that solves, without its further results."""
        mask = tuple([i < self.count for i in range(len(solve.outputs))])
        return solve.memo(dce, mask)

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Operand
    ) -> Sequence[Value | None]:
        consts, right = self.split(args)
        if not present(cotangents[: self.count]):
            return [None] * len(args)
        cts_out = [
            instantiate(ct, b.type.strong())
            for ct, b in zip(cotangents, right, strict=False)
        ]
        cts_in = self._transposed()(*consts, *cts_out)
        linear = linear_mask(right)
        found = [ct if m else None for ct, m in zip(cts_in, linear, strict=True)]
        return [*[None] * len(consts), *found]

    def linear_in(self, args: Sequence[Operand]) -> bool:
        return Linear not in map(type, self.split(args)[0])

    def _transposed(self) -> "LinearSolve":
        if self.symmetric:
            return self._alone()
        if self.transpose_solve is None:
            raise NotDifferentiable(
                f"reverse-mode differentiation (grad, vjp, jacrev) of {self.who} needs "
                "to solve with the transpose of the matrix, but no transpose_solve was "
                "given. Pass transpose_solve=f, where f(vecmat, b) gives x with "
                "vecmat(x) = b; or symmetric=True if the matrix is its own transpose; "
                "or use forward mode (jvp, jacfwd)."
            )
        return LinearSolve(
            self.matvec.memo(transposed_matvec),
            self._first(self.transpose_solve),
            self._first(self.solve),
            who=self.who,
        )


def transposed_matvec(matvec: Jaxpr) -> Jaxpr:
    """(consts, x) → Aᵀ x, of (consts, x) → A x (memoise on the program)."""
    count = len(matvec.outputs)
    consts = len(matvec.inputs) - count
    linear = (*[False] * consts, *[True] * count)
    program, nonzero = matvec.memo(transpose_jaxpr, linear, (True,) * count)
    types = [t.strong() for t in matvec.in_types[consts:]]
    return instantiate_zeros(program, nonzero[consts:], types)


def _minus(b: Value, ax: Value) -> Value:
    if ax is None:
        return b
    return neg(ax) if b is None else sub(b, ax)


def linear_solve(
    space: Vector,
    b: list[Value],
    matvec: Callable[[Any], Any],
    solve: Callable[[Any, Any], Any],
    transpose_solve: Callable[[Any, Any], Any] | None,
    *,
    symmetric: bool,
    has_aux: bool,
) -> Any:
    """The x with ``matvec(x) = b``; with its aux where ``has_aux``."""
    product = trace(FlatSolver(space, matvec, "matvec"), space.types, "matvec")
    checked = space.checked(matvec, "matvec")
    solver = FlatSolver(space, lambda b: solve(checked, b), "solve", has_aux)
    programs = [product, trace(solver, space.types, "solve")]
    if transpose_solve is not None and not symmetric:

        def vecmat(x: Any) -> Any:
            leaves = space.leaves(x, "the argument of vecmat, which transpose_solve")
            transposed = product.jaxpr.memo(transposed_matvec)
            return space.tree.unflatten(run(transposed, [*product.captured, *leaves]))

        backward = FlatSolver(
            space, lambda b: transpose_solve(vecmat, b), "transpose_solve", has_aux
        )
        programs.append(trace(backward, space.types, "transpose_solve"))

    def operation(
        matvec: Jaxpr, solve: Jaxpr, back: Jaxpr | None = None
    ) -> LinearSolve:
        return LinearSolve(matvec, solve, back, symmetric, space.who)

    return solver.solution(operation, programs, b)
