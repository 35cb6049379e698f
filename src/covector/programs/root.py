"""``Root``: x with f(x) = 0, found by a function of the user's.

How it is found does not matter to the derivative, which comes from f(x, θ) = 0 alone
(the implicit function theorem):

    ∂f/∂x ẋ = −∂f/∂θ θ̇

So ``f`` is a program whose consts are θ, and the system on the left is solved by
another function of the user's, for the linear function v ↦ ∂f/∂x v.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr, run
from covector.core.primitive import Primitive, operation
from covector.core.trace import Trace, current
from covector.core.types import ArrayType, show_types
from covector.core.varying import Axes, Varying, of_programs
from covector.errors import TypeMismatch
from covector.lowering.tokens import with_token
from covector.ops.arithmetic import neg
from covector.ops.broadcasting import batched, zeros
from covector.programs.call import Call, call, named_axes
from covector.programs.solver_programs import (
    Vector,
    batch_together,
    with_shared_consts,
    write_down,
)
from covector.transforms.linearize import SplitTrace, linearize_jaxpr
from covector.transforms.transpose import instantiate


@operation
class Root(Primitive):
    """A root of f, by ``solve``; operands are the consts of all programs, and a guess.

    f         (consts, x) → f(x)
    solve     (consts, guess) → x, and further results, which do not move
    tangent   (consts, x, y) → v with ∂f/∂x v = y, linear in y
    """

    interned = False
    multiple_results = True
    name = "custom_root"

    f: Jaxpr
    solve: Jaxpr
    tangent: Jaxpr
    who: str

    def __repr__(self) -> str:
        return f"Root({self.who})"

    @property
    def count(self) -> int:
        """Of how many leaves a vector is."""
        return len(self.f.outputs)

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Operands, or what is known of each, as consts and the guess."""
        at = len(self.f.inputs) - self.count
        return [*operands[:at]], [*operands[at:]]

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        given = [(t.shape, t.dtype) for t in types]
        wanted = self.solve.in_types
        if given != [(t.shape, t.dtype) for t in wanted]:
            raise TypeMismatch(
                f"{self.who} needs operands of types {show_types(wanted)}, but got "
                f"{show_types(types)}."
            )
        return self.solve.out_types

    def vary(self, types: Sequence[ArrayType], tracked: Axes) -> Varying:
        return of_programs(self.solve.in_types)

    def evaluate(self, *args: Any) -> Sequence[Any]:
        return run(self.solve, args)

    def with_token(self) -> tuple[Call, int]:
        return call(self.solve.memo(with_token)), 0

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return ctx.inline(self.solve, operands)

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        programs = (self.f, self.solve, self.tangent)
        return tuple(dict.fromkeys([n for p in programs for n in p.memo(named_axes)]))

    def differentiate(
        self, parent: Trace, tangent_trace: Any, primals: Any, tangents: Any
    ) -> Any:
        """The guess does not move the root."""
        current.trace = parent
        outs = self(*primals)
        consts, _ = self.split(primals)
        moved = [t for t in self.split(tangents)[0] if t is not None]
        if not moved:
            return outs, [None] * len(outs)
        x = outs[: self.count]
        marks = [t is not None for t in self.split(tangents)[0]]
        split = self.f.memo(linearize_jaxpr, (*marks, *[False] * self.count))
        operands = [*consts, *x]
        residuals = split.residuals(operands, run(split.primal, operands))
        # What touches a tangent is written down in its trace, the rest computed here.
        if tangent_trace is not parent:
            current.trace = SplitTrace(parent, tangent_trace)
        pushed = iter(run(split.linear, [*residuals, *moved]))
        y = [neg(next(pushed)) if m else None for m in split.moving]
        if all([v is None for v in y]):
            return outs, [None] * len(outs)
        y = [
            instantiate(v, t.strong()) for v, t in zip(y, self.f.out_types, strict=True)
        ]
        dx = run(self.tangent, [*consts, *x, *y])
        return outs, [*dx, *[None] * (len(outs) - self.count)]

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        programs, marks, further = batch_together(
            [self.solve, self.f, self.tangent], self.count, size, dims, axis
        )
        solve, f, tangent = programs
        consts, guess = self.split(args)
        guess = [
            batched(size, x, d) if m else x
            for x, d, m in zip(guess, self.split(dims)[1], marks, strict=True)
        ]
        outs = Root(f, solve, tangent, self.who)(*consts, *guess)
        return outs, [*[0 if m else None for m in marks], *further]


def root(
    space: Vector,
    guess: list[Any],
    f: Callable[[Any], Any],
    solve: Callable[[Any, Any], Any],
    tangent_solve: Callable[[Any, Any], Any],
    *,
    has_aux: bool,
) -> Any:
    """The x with ``f(x) = 0``; with its aux where ``has_aux``."""
    written = write_down(space.flat(f, "f"), space.types, "f")
    checked = space.checked(f, "f")
    solver = space.flat(lambda x: solve(checked, x), "solve", has_aux)
    on_f = (*[False] * len(written.captured), *[True] * len(space.types))

    def tangent(x: Any, y: Any) -> Any:
        split = written.jaxpr.memo(linearize_jaxpr, on_f)
        operands = [*written.captured, *space.leaves(x, "the root")]
        residuals = split.residuals(operands, run(split.primal, operands))

        def g(v: Any) -> Any:
            tangents = space.leaves(v, "the argument of g, which tangent_solve")
            moved = iter(run(split.linear, [*residuals, *tangents]))
            pairs = zip(split.moving, space.types, strict=True)
            return space.tree.unflatten(
                [next(moved) if m else zeros(t) for m, t in pairs]
            )

        return tangent_solve(g, y)

    flat_tangent = space.flat(tangent, "tangent_solve")
    programs = [
        written,
        write_down(solver, space.types, "solve"),
        write_down(flat_tangent, space.types * 2, "tangent_solve"),
    ]
    jaxprs, captured = with_shared_consts(programs)
    op = Root(*jaxprs, space.who)
    outs = op(*captured, *guess)
    x = space.tree.unflatten(outs[: op.count])
    return (x, solver.aux_tree.unflatten(outs[op.count :])) if has_aux else x
