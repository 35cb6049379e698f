"""Weight gradients: sums over the steps of a loop, as one matrix product after it.

The cotangent of a loop-invariant operand, a weight, is a sum over the steps, and often
each term is a product of two small arrays, W̄ = Σₜ hₜᵀ δₜ. To accumulate it in the loop
would read and write all of W̄ at every step. The factors are stacked instead, and the
loop is followed by one product that contracts the axis of the steps as well.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.core.jaxpr import (
    Equation,
    Jaxpr,
    Var,
    makers,
    needed_equations,
    use_counts,
)
from covector.core.masks import at_sources
from covector.core.primitive import Primitive
from covector.operations.arithmetic import Add, add
from covector.operations.contraction import DotGeneral
from covector.operations.transposing import Transpose

#: elements from which a product is worth it. On a CPU the gradient of a recurrence of
#: width 256 takes half the time, of width 1024 three quarters; below 128 the sum is no
#: burden, and a loop that stacks less is more often compiled as one kernel
LARGE = 65_536


class Product(NamedTuple):
    """A product over all steps, and the transpositions after it.

    A factor is found among the stacked operands of the loop (i ≥ 0), or is result
    ``~i`` of those that were added.
    """

    op: DotGeneral
    factors: tuple[int, int]
    after: tuple[Primitive, ...]


class Factored(NamedTuple):
    """``program`` without the sums that ``products`` compute; None for those it keeps.

    Its last outputs are the factors to be stacked.
    """

    program: Jaxpr
    products: tuple[tuple[Product, ...] | None, ...]


def factor_sums(
    program: Jaxpr, num_sums: int, loop_invariant: Sequence[Var], stacked: Sequence[Var]
) -> Factored:
    """A body whose first outputs are summed over the steps, without those sums that are
    products.

    ``loop_invariant`` are the inputs that are the same at every step, ``stacked`` those
    that there is one of for each step.
    """
    search = _Search(program, loop_invariant, stacked)
    found = tuple([search.products(out) for out in program.outputs[:num_sums]])
    pairs = zip(program.outputs, found, strict=False)
    kept = [out for out, products in pairs if products is None]
    outputs = [*kept, *program.outputs[num_sums:], *search.added]
    equations = needed_equations(program.equations, outputs)
    return Factored(Jaxpr(program.inputs, equations, outputs, program.name), found)


def sum_products(
    products: Sequence[Product], stacked: Sequence[Any], added: Any
) -> Any:
    """The sum over all steps, computed after the loop."""
    total = None
    for product in products:
        value = product.op(*at_sources(product.factors, stacked, added))
        for op in product.after:
            value = op(value)
        total = value if total is None else add(total, value)
    return total


class _Search:
    """A search for products in a program, and for the indices of their factors."""

    def __init__(
        self, program: Jaxpr, loop_invariant: Sequence[Var], stacked: Sequence[Var]
    ) -> None:
        self.made = program.memo(makers)
        self.uses = use_counts(program)
        self.loop_invariant = set(loop_invariant)
        self.indices = {v: i for i, v in enumerate(stacked)}
        self.added: dict[Var, int] = {}

    def products(self, out: Any) -> tuple[Product, ...] | None:
        """The products whose sum an output is; None where it is something else.

        A value that is used elsewhere as well has to be computed in any case.
        """
        found: list[Any] = []
        pending: list[tuple[Any, tuple[Primitive, ...]]] = [(out, ())]
        while pending:
            atom, after = pending.pop()
            equation = self.made.get(atom) if type(atom) is Var else None
            if equation is None or self.uses[atom] > 1:
                return None
            op, operands = equation.op, equation.inputs
            if isinstance(op, Add) and operands[0].type.shape == operands[1].type.shape:
                pending += [(x, after) for x in operands]
            elif isinstance(op, Transpose):
                pending.append((operands[0], (op, *after)))
            elif self._is_product(equation):
                found.append((equation, after))
            else:
                return None
        return tuple(
            [
                Product(
                    _over_steps(e.op), (self._index(e, 0), self._index(e, 1)), after
                )
                for e, after in found
            ]
        )

    def _is_product(self, equation: Equation) -> bool:
        """Whether it is large, and of factors that change and take less memory."""
        factors = equation.inputs
        return (
            isinstance(equation.op, DotGeneral)
            and equation.outputs[0].type.size >= LARGE
            and all([type(x) is Var and x not in self.loop_invariant for x in factors])
            and sum([x.type.size for x in factors]) <= equation.outputs[0].type.size
        )

    def _index(self, equation: Equation, k: int) -> int:
        factor = equation.inputs[k]
        if factor in self.indices:
            return self.indices[factor]
        return ~self.added.setdefault(factor, len(self.added))


def _over_steps(op: DotGeneral) -> DotGeneral:
    """The product that also contracts the leading axis, the steps, of both factors."""
    contracting, batch = op.dimension_numbers
    left, right = [(0, *[a + 1 for a in axes]) for axes in contracting]
    along = tuple([tuple([a + 1 for a in axes]) for axes in batch])
    return op.replace(dimension_numbers=((left, right), along))
