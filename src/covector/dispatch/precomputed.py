"""What a program computes of the arrays that its function closes over, computed once.

Large arrays that a function closes over are inputs of its program (decision 6), the
same ones in each call. So what is computed of them alone is the same each time: it is
computed before the program is compiled, and becomes an input as they are.

    X = …
    f(q) = |q|² + |X|² − 2 q·Xᵀ       once          n = |X|²
                                      each time     |q|² + n − 2 q·Xᵀ

It takes memory. So this is for what is not much larger than what it is computed of,
and takes longer to compute than to read. (Decision 39.)
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from covector.core.array import ConcreteArray
from covector.core.jaxpr import (
    Equation,
    Jaxpr,
    Var,
    inlined,
    needed_equations,
    variables,
)
from covector.core.staging import is_known
from covector.lowering.long_rows import FUNCTION, is_kernel, operations_of
from covector.lowering.placement import placement_of
from covector.lowering.small_steps import MOVERS
from covector.programs.higher_order.call import called

#: how many bytes there may be, in all, and how many times as many as in the arrays that
#: a result is computed of
_MOST_BYTES, _GROWTH = 1 << 26, 4
#: operations of the processor that are done while an element is read; and how many
#: times as many bytes may be read instead
_WHILE_READ, _MORE_BYTES = 8, 4
#: of the operations that move elements, those whose operand a kernel reads instead
_VIEWS = frozenset({"reshape", "transpose"})


class Parts(NamedTuple):
    """A program in two.

    once   computes results of the captured arrays
    rest   takes those of the captured arrays that are in ``kept``, these results, and
           the arguments
    """

    once: Jaxpr
    rest: Jaxpr
    kept: Sequence[int]


def can_compute(captured: Sequence[Any]) -> bool:
    """Whether all of these are arrays, on one device."""
    if not {ConcreteArray}.issuperset(map(type, captured)):
        return False
    there = set(map(placement_of, captured))
    return len(there) == 1 and all([p is None or p.single is not None for p in there])


def in_parts(jaxpr: Jaxpr, count: int) -> Parts | None:
    """A program in two, whose first ``count`` inputs are captured; None where that does
    not pay (memoise on the program).
    """
    calls: Counter[Jaxpr | None] = Counter(_programs(jaxpr))
    jaxpr = inlined(jaxpr, lambda e: called(e) if calls[called(e)] == 1 else None)
    known = _Known(jaxpr, count)
    chosen = known.chosen()
    if not chosen:
        return None
    captured, arguments = jaxpr.inputs[:count], jaxpr.inputs[count:]
    made = needed_equations(list(dict.fromkeys(known.makers.values())), chosen)
    once = Jaxpr(captured, made, chosen, jaxpr.name)
    left = needed_equations(jaxpr.equations, jaxpr.outputs, chosen)
    read = {a for e in left for a in variables(e.inputs)}.union(
        variables(jaxpr.outputs)
    )
    kept = [i for i, v in enumerate(captured) if v in read]
    inputs = [*[captured[i] for i in kept], *chosen, *arguments]
    return Parts(once, Jaxpr(inputs, left, jaxpr.outputs, jaxpr.name), kept)


def _programs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The programs that are called, each as often as it is."""
    for program in map(called, jaxpr.equations):
        if program is not None:
            yield program
            yield from _programs(program)


class _Known:
    """What a program computes of captured arrays alone."""

    def __init__(self, jaxpr: Jaxpr, count: int) -> None:
        self.jaxpr = jaxpr
        #: the captured arrays that each known variable is computed of: of constants
        #: alone, none
        self.sources: dict[Var, frozenset[Var]] = {
            v: frozenset([v]) for v in jaxpr.inputs[:count]
        }
        #: the equations of those that are no inputs, and about how many operations of
        #: the processor it takes to make them
        self.makers: dict[Var, Equation] = {}
        self.cost: dict[Var, int] = {}
        for e in jaxpr.equations:
            if self._is_known(e):
                self._add(e)

    def _is_known(self, e: Equation) -> bool:
        if e.op.regions or e.op.name == "optimization_barrier":
            return False
        if not all([a in self.sources for a in variables(e.inputs)]):
            return False
        types, outs = [a.type for a in e.inputs], [v.type for v in e.outputs]
        return is_known(e.op, (), types, outs, _MOST_BYTES)

    def _add(self, e: Equation) -> None:
        read = variables(e.inputs)
        none: frozenset[Var] = frozenset()
        sources = none.union(*[self.sources[a] for a in read])
        cost = _cost(e) + max([self.cost.get(a, 0) for a in read], default=0)
        for v in e.outputs:
            self.sources[v], self.makers[v], self.cost[v] = sources, e, cost

    def chosen(self) -> list[Var]:
        """What to compute once."""
        found: dict[Var, None] = {}
        for v, by_kernel in self._read_by_others().items():
            found.update(dict.fromkeys(self._paying(v, by_kernel)))
        taken, left = [], _MOST_BYTES
        for v in found:
            if v.type.nbytes <= left:
                taken.append(v)
                left -= v.type.nbytes
        return taken

    def _read_by_others(self) -> dict[Var, bool]:
        """The known variables that other equations, or the outputs, read; and whether
        a kernel does, which takes its operands from memory.
        """
        found = dict.fromkeys(variables(self.jaxpr.outputs), False)
        for e in reversed(self.jaxpr.equations):
            if e.outputs and e.outputs[0] in self.makers:
                continue
            by_kernel = self._is_read_by_kernel(e, found)
            for a in variables(e.inputs):
                found[a] = found.get(a, False) or by_kernel
        return {v: by_kernel for v, by_kernel in found.items() if v in self.makers}

    def _is_read_by_kernel(self, e: Equation, by_kernel: dict[Var, bool]) -> bool:
        """Whether a kernel reads the operands of an equation, itself or another."""
        through = e.op.name in _VIEWS and by_kernel.get(e.outputs[0], False)
        return through or is_kernel(e)

    def _paying(self, v: Var, by_kernel: bool) -> Iterator[Var]:
        """A known variable, if it pays to compute it once; otherwise those for which it
        does, of those that it is computed of.
        """
        e = self.makers.get(v)
        if e is None or not self.sources[v]:
            return
        size, read = v.type.nbytes, sum([a.type.nbytes for a in self.sources[v]])
        copies = _VIEWS if by_kernel else MOVERS
        if e.op.name in copies or size > _GROWTH * read:
            through = self._is_read_by_kernel(e, {v: by_kernel})
            for a in variables(e.inputs):
                yield from self._paying(a, through)
        elif by_kernel or self._takes_long(v, read):
            yield v

    def _takes_long(self, v: Var, read: int) -> bool:
        """Whether it takes longer to compute a variable than to read it."""
        much_work = self.cost[v] > _WHILE_READ * v.type.size
        return much_work or read > _MORE_BYTES * v.type.nbytes


def _cost(e: Equation) -> int:
    """About how many operations of the processor an equation takes."""
    work = e.work
    if work is None:
        return FUNCTION * sum([v.type.size for v in e.outputs])
    return operations_of(work)
