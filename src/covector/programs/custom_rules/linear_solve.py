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

from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import scatter
from covector.core.primitive import Linear, Linearized, Operand, operation
from covector.errors import NotDifferentiable
from covector.ops.arithmetic import neg, sub
from covector.ops.broadcasting import batched
from covector.programs.custom_rules.implicit_diff import (
    Solver,
    Vector,
    batch_together,
    trace,
    with_shared_consts,
)
from covector.programs.higher_order.dead_code import dce
from covector.programs.higher_order.jaxpr_passes import instantiate_zeros
from covector.transforms.batch import front_dims
from covector.transforms.linearize import linearize_jaxpr
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
        x, further = outs[: self.count], len(outs) - self.count
        consts, _ = self.split(primals)
        push_matrix = self._push_matrix(active, consts, x)

        def push(*tangents: Any) -> Any:
            const_tangents, right = self.split(tangents)
            products = push_matrix([t for t in const_tangents if t is not None])
            right = [_minus(b, ax) for b, ax in zip(right, products, strict=True)]
            if all([r is None for r in right]):
                return [None] * len(outs)
            right = [instantiate(r, v.type) for r, v in zip(right, x, strict=True)]
            return [*self._alone()(*consts, *right), *[None] * further]

        return outs, push

    def _push_matrix(self, active: Any, consts: Any, x: Any) -> Callable[..., Any]:
        """The linear map from tangents of the consts to those of A x; None for zero."""
        mask = (*self.split(active)[0], *[False] * self.count)
        if not any(mask):
            return lambda _: [None] * self.count
        split = self.matvec.memo(linearize_jaxpr, mask)
        outs = run(split.primal, [*consts, *x])
        residuals = split.residuals([*consts, *x], outs)

        def push(tangents: list[Value | None]) -> list[Array]:
            return scatter(run(split.linear, [*residuals, *tangents]), split.nonzero)

        return push

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
        if all([ct is None for ct in cotangents[: self.count]]):
            return [None] * len(args)
        cts_out = [
            instantiate(ct, b.type.strong())
            for ct, b in zip(cotangents, right, strict=False)
        ]
        cts_in = self._transposed()(*consts, *cts_out)
        linear = [type(b) is Linear for b in right]
        found = [ct if m else None for ct, m in zip(cts_in, linear, strict=True)]
        return [*[None] * len(consts), *found]

    def linear_in(self, args: Any) -> bool:
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

    # -- batches -----------------------------------------------------------------------

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        """Over a batch of b alone, A is not batched."""
        given = [self.solve, self.matvec, self.transpose_solve]
        programs, mask, further = batch_together(
            [p for p in given if p is not None], self.count, size, dims, axis
        )
        solve, matvec, *rest = programs
        op = LinearSolve(
            matvec, solve, rest[0] if rest else None, self.symmetric, self.who
        )
        consts, right = self.split(args)
        _, right_dims = self.split(dims)
        right = [
            batched(size, b, d) if m else b
            for b, d, m in zip(right, right_dims, mask, strict=True)
        ]
        out_dims = [*front_dims(mask), *further]
        return op(*consts, *right), out_dims


def transposed_matvec(matvec: Jaxpr) -> Jaxpr:
    """(consts, x) → Aᵀ x, of (consts, x) → A x (memoise on the program)."""
    count = len(matvec.outputs)
    consts = len(matvec.inputs) - count
    linear = (*[False] * consts, *[True] * count)
    program, nonzero = matvec.memo(transpose_jaxpr, linear, (True,) * count)
    types = [t.strong() for t in matvec.in_types[consts:]]
    return instantiate_zeros(program, nonzero[consts:], types)


def _minus(b: Any, ax: Any) -> Any:
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
    product = trace(space.flat(matvec, "matvec"), space.types, "matvec")
    checked = space.checked(matvec, "matvec")
    solver = space.flat(lambda b: solve(checked, b), "solve", has_aux)
    programs = [product, trace(solver, space.types, "solve")]
    if transpose_solve is not None and not symmetric:

        def vecmat(x: Any) -> Any:
            leaves = space.leaves(x, "the argument of vecmat, which transpose_solve")
            transposed = product.jaxpr.memo(transposed_matvec)
            return space.tree.unflatten(run(transposed, [*product.captured, *leaves]))

        backward = space.flat(
            lambda b: transpose_solve(vecmat, b), "transpose_solve", has_aux
        )
        programs.append(trace(backward, space.types, "transpose_solve"))
    jaxprs, captured = with_shared_consts(programs)
    op = LinearSolve(
        jaxprs[0],
        jaxprs[1],
        jaxprs[2] if len(jaxprs) > 2 else None,
        symmetric,
        space.who,
    )
    outs = op(*captured, *b)
    x = space.tree.unflatten(outs[: op.count])
    return (x, solver.aux_tree.unflatten(outs[op.count :])) if has_aux else x
