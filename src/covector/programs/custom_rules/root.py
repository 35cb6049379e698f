"""``Root``: x with f(x) = 0, found by a function of the user's.

How it is found does not matter to the derivative, which comes from f(x, θ) = 0 alone
(the implicit function theorem):

    ∂f/∂x ẋ = −∂f/∂θ θ̇

So ``f`` is a program whose consts are θ, and the system on the left is solved by
another function of the user's, for the linear function v ↦ ∂f/∂x v.
"""

from collections.abc import Callable
from typing import Any

from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.jaxpr import Jaxpr, run
from covector.core.primitive import operation
from covector.core.trace import Trace, current
from covector.ops.arithmetic import neg
from covector.ops.broadcasting import batched, zeros
from covector.programs.custom_rules.implicit_diff import (
    Solver,
    Vector,
    batch_together,
    trace,
    with_shared_consts,
)
from covector.transforms.batch import front_dims
from covector.transforms.linearize import SplitTrace, linearize_jaxpr
from covector.transforms.transpose import instantiate


@operation
class Root(Solver):
    """A root of f, by ``solve``; operands are the consts of all programs, and a guess.

    f         (consts, x) → f(x)
    solve     (consts, guess) → x, and further results, which have no tangents
    tangent   (consts, x, y) → v with ∂f/∂x v = y, linear in y
    """

    name = "custom_root"

    f: Jaxpr
    solve: Jaxpr
    tangent: Jaxpr
    who: str

    @property
    def equation(self) -> Jaxpr:
        return self.f

    def differentiate(
        self, parent: Trace, tangent_trace: Any, primals: Any, tangents: Any
    ) -> Any:
        """The root does not depend on the guess."""
        current.trace = parent
        outs = self(*primals)
        consts, _ = self.split(primals)
        active_tangents = [t for t in self.split(tangents)[0] if t is not None]
        if not active_tangents:
            return outs, [None] * len(outs)
        x = outs[: self.count]
        mask = [t is not None for t in self.split(tangents)[0]]
        split = self.f.memo(linearize_jaxpr, (*mask, *[False] * self.count))
        operands = [*consts, *x]
        residuals = split.residuals(operands, run(split.primal, operands))
        # What touches a tangent is staged down in its trace, the rest computed here.
        if tangent_trace is not parent:
            current.trace = SplitTrace(parent, tangent_trace)
        pushed = iter(run(split.linear, [*residuals, *active_tangents]))
        y = [neg(next(pushed)) if m else None for m in split.nonzero]
        if all([v is None for v in y]):
            return outs, [None] * len(outs)
        y = [
            instantiate(v, t.strong()) for v, t in zip(y, self.f.out_types, strict=True)
        ]
        dx = run(self.tangent, [*consts, *x, *y])
        return outs, [*dx, *[None] * (len(outs) - self.count)]

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        programs, mask, further = batch_together(
            [self.solve, self.f, self.tangent], self.count, size, dims, axis
        )
        solve, f, tangent = programs
        consts, guess = self.split(args)
        guess = [
            batched(size, x, d) if m else x
            for x, d, m in zip(guess, self.split(dims)[1], mask, strict=True)
        ]
        outs = Root(f, solve, tangent, self.who)(*consts, *guess)
        return outs, [*front_dims(mask), *further]


def root(
    space: Vector,
    guess: list[Value],
    f: Callable[[Any], Any],
    solve: Callable[[Any, Any], Any],
    tangent_solve: Callable[[Any, Any], Any],
    *,
    has_aux: bool,
) -> Any:
    """The x with ``f(x) = 0``; with its aux where ``has_aux``."""
    staged = trace(space.flat(f, "f"), space.types, "f")
    checked = space.checked(f, "f")
    solver = space.flat(lambda x: solve(checked, x), "solve", has_aux)
    on_f = (*[False] * len(staged.captured), *[True] * len(space.types))

    def tangent(x: Any, y: Any) -> Any:
        split = staged.jaxpr.memo(linearize_jaxpr, on_f)
        operands = [*staged.captured, *space.leaves(x, "the root")]
        residuals = split.residuals(operands, run(split.primal, operands))

        def g(v: Any) -> Any:
            tangents = space.leaves(v, "the argument of g, which tangent_solve")
            out_tangents = iter(run(split.linear, [*residuals, *tangents]))
            pairs = zip(split.nonzero, space.types, strict=True)
            return space.tree.unflatten(
                [next(out_tangents) if m else zeros(t) for m, t in pairs]
            )

        return tangent_solve(g, y)

    flat_tangent = space.flat(tangent, "tangent_solve")
    programs = [
        staged,
        trace(solver, space.types, "solve"),
        trace(flat_tangent, space.types * 2, "tangent_solve"),
    ]
    jaxprs, captured = with_shared_consts(programs)
    op = Root(*jaxprs, who=space.who)
    outs = op(*captured, *guess)
    x = space.tree.unflatten(outs[: op.count])
    return (x, solver.aux_tree.unflatten(outs[op.count :])) if has_aux else x
