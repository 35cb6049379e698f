"""``RuledProgram``: base class of operations that run a program and carry rules for it.

Results of a function with a custom rule may be unused, and a checkpoint saves values
from inside it as further results. The rule itself is unchanged: it is called for the
results it knows; unused ones are dropped, and further ones are computed beside it, by
the function's jaxpr. Further results have no derivative: only the recomputation reads
them.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr
from covector.core.masks import Mask, select
from covector.core.primitive import Primitive
from covector.core.types import ArrayType
from covector.programs.higher_order.call import Inlined
from covector.programs.higher_order.partition import Partition, Policy, with_all_inputs

#: A rule takes the operands, and something for each of them: its tangent, or whether
#: it is batched. It gives two such lists for the results.
Rule = Callable[..., tuple[Sequence[Any], Sequence[Any]]]


class RuledProgram(Inlined):
    """Run a program; rules of the user, which read all operands, say the rest."""

    rules_read_operands = True

    who: str
    #: ``adapted(fun, adapt)``: the operation around another program, with each rule
    #: adapted to that
    adapted: Any
    #: ``with_further(fun, further)``: the operation around ``fun``, which also has the
    #: results of ``further``
    with_further: Any

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.who})"

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        return self._select(programs[0], results)

    def _select(self, fun: Jaxpr, mask: Mask) -> Any:
        """With the masked results, by a program that may take more operands."""
        count = len(self.program.inputs)

        def adapt(rule: Rule) -> Rule:
            def selected(values: Any, entries: Any, *size: int) -> Any:
                outs, out_entries = rule(values[:count], entries[:count], *size)
                return select(outs, mask), select(out_entries, mask)

            return selected

        return self.adapted(fun, adapt)

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition | None:
        """The rules stay what they are: kept values are a matter of the function."""
        keepable = (True,) * len(later)
        made = self.program.memo(with_all_inputs, later, policy, keepable)
        if not made.saved:
            return super().partition(types, later, policy)
        fun = made.forward
        further = Jaxpr(fun.inputs, fun.equations, fun.outputs[len(later) :], fun.name)
        return made._replace(
            forward=self.with_further(fun, further),
            recompute=self._select(made.recompute, made.gives),
        )


def halves(values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """The two lists that a rule gave, of one after the other."""
    count = len(values) // 2
    return values[:count], values[count:]
