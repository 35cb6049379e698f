"""``Root``: x with f(x) = 0, found by a function of the user's.

How it is found does not matter to the derivative, which comes from f(x, θ) = 0 alone
(the implicit function theorem):

    ∂f/∂x ẋ = −∂f/∂θ θ̇

So ``f`` is a program whose consts are θ, and the system on the left is solved by
another function of the user's, for the linear function v ↦ ∂f/∂x v.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Tangents, Value, Values
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import present, present_mask
from covector.core.primitive import operation
from covector.core.trace import Trace, current
from covector.operations.arithmetic import neg
from covector.programs.custom_rules.implicit_diff import (
    FlatSolver,
    Solver,
    Vector,
    trace,
)
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
        self, parent: Trace, tangent_trace: Any, primals: Values, tangents: Tangents
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """The root does not depend on the guess."""
        current.trace = parent
        outs = self(*primals)
        operands = [*self.split(primals)[0], *outs[: self.count]]
        const_tangents, _ = self.split(tangents)
        push = self.push_consts(present_mask(const_tangents), operands)
        # What touches a tangent is staged down in its trace, the rest computed here.
        if tangent_trace is not parent:
            current.trace = SplitTrace(parent, tangent_trace)
        y = push(*const_tangents)
        if not present(y):
            return outs, [None] * len(outs)
        y = [
            instantiate(None if v is None else neg(v), t.strong())
            for v, t in zip(y, self.f.out_types, strict=True)
        ]
        dx = run(self.tangent, [*operands, *y])
        return outs, [*dx, *[None] * (len(outs) - self.count)]


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
    staged = trace(FlatSolver(space, f, "f"), space.types, "f")
    checked = space.checked(f, "f")
    solver = FlatSolver(space, lambda x: solve(checked, x), "solve", has_aux)
    on_f = (*[False] * len(staged.captured), *[True] * len(space.types))

    def tangent(x: Any, y: Any) -> Any:
        split = staged.jaxpr.memo(linearize_jaxpr, on_f)
        _, push = split.at([*staged.captured, *space.leaves(x, "the root")])

        def g(v: Any) -> Any:
            tangents = space.leaves(v, "the argument of g, which tangent_solve")
            return space.tree.unflatten(map(instantiate, push(*tangents), space.types))

        return tangent_solve(g, y)

    flat_tangent = FlatSolver(space, tangent, "tangent_solve")
    programs = [
        staged,
        trace(solver, space.types, "solve"),
        trace(flat_tangent, space.types * 2, "tangent_solve"),
    ]
    return solver.solution(lambda *ps: Root(*ps, who=space.who), programs, guess)
