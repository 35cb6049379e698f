"""Broadcasts, and what is cheaply computed of them, of which each reader has its own.

XLA:CPU leaves sums to a library, YNNPACK, with the operations on elements around them.
A broadcast is part of such a kernel, unless two read it: then it is an array in memory,
which is written once and read twice. So is the scale of each row in the gradients of a
layer norm, and what is scaled by it, which the sums for all three parameters read.

    y = broadcast(r);  (x * y).sum();  z * y
    y = broadcast(r);  (x * y).sum();  y' = broadcast(barrier(r));  z * y'

Without the barrier XLA would find that they are the same; a third broadcast is behind a
second one. (Decision 41 has the times.)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core.jaxpr import (
    Atom,
    Equation,
    Jaxpr,
    Var,
    makers,
    readers,
    replaced,
    type_of,
    variables,
)
from covector.core.primitive import ManyResults, operation
from covector.core.types import ArrayType, Shape
from covector.lowering.long_rows import is_kernel
from covector.lowering.spelling import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: elements of an array from which it takes time in memory, and of its last axis from
#: which XLA computes along it with vectors
_LARGE, _LONG = 1 << 16, 32
#: Operations of which so many take less time than to read their result from memory.
_CHEAP, _FEW = frozenset({"add", "sub", "mul", "neg"}), 6


@operation
class BroadcastAgain(ManyResults):
    """The operand behind a barrier, and its broadcast.

    It is made just before a program is lowered: no transformation meets it.
    """

    shape: Shape
    axes: tuple[int, ...]

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        return x, x.with_shape(self.shape)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        held, out = ctx.out_types
        x = ctx.op("stablehlo.optimization_barrier", [x], [held])
        return x, ctx.broadcast(x, out, self.axes)


def with_own_broadcasts(jaxpr: Jaxpr) -> Jaxpr:
    """The program in which kernels do not share large broadcasts, if it has sums
    (memoise on the program).
    """
    if not any(
        [e.op.repeats and _is_large(e.outputs[0].type) for e in jaxpr.equations]
    ):
        return jaxpr
    return _Rewriting(jaxpr).result if any(map(_is_sum, jaxpr.equations)) else jaxpr


class _Rewriting:
    """A program, equation by equation, with what its readers compute again."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.makers, self.readers = jaxpr.memo(makers), jaxpr.memo(readers)
        self.outputs = {*variables(jaxpr.outputs)}
        #: how many operations what is cheap takes
        self.costs: dict[Var, int] = {}
        #: what the next copy of a broadcast is one of
        self.held: dict[Var, Var] = {}
        self.equations: list[Equation] = []
        #: what a kernel has read, so that others compute it again
        self.read: set[Var] = set()
        for e in jaxpr.equations:
            self.equations.append(self.with_own(e) if _is_in_kernel(e) else e)
            cost = self.cost(e)
            if 0 < cost <= _FEW:
                self.costs[e.outputs[0]] = cost
        self.result = Jaxpr(jaxpr.inputs, self.equations, jaxpr.outputs, jaxpr.name)

    def with_own(self, e: Equation) -> Equation:
        """The equation, which reads no broadcast that others have read."""
        own: dict[Var, Atom] = {}
        for v in filter(self.is_shared, dict.fromkeys(variables(e.inputs))):
            if v in self.read:
                own[v] = self.again(v)
            self.read.add(v)
        if not own:
            return e
        return Equation(e.op, replaced(own, e.inputs), e.outputs, e.line)

    def is_shared(self, v: Var) -> bool:
        """Whether several kernels may read it, and each can cheaply compute it."""
        if v not in self.costs or v in self.outputs or not _is_large(v.type):
            return False
        read_by = self.readers[v]
        return len(read_by) > 1 and all(map(_is_in_kernel, read_by))

    def cost(self, e: Equation) -> int:
        """The operations that a broadcast takes, or what is computed of broadcasts and
        of at most one array that is in memory; 0 for all else.
        """
        arrays = {a for a in variables(e.inputs) if a.type.size != 1}
        if e.op.repeats:
            return len(arrays)
        others = arrays - self.costs.keys()
        if e.op.name not in _CHEAP or len(others) > 1 or others == arrays:
            return 0
        if not all(map(self._is_in_memory, others)):
            return 0
        return 1 + sum([self.costs[a] for a in arrays - others])

    def _is_in_memory(self, v: Var) -> bool:
        """Whether it is an input, or a kernel by itself has computed it."""
        maker = self.makers.get(v)
        return maker is None or is_kernel(maker)

    def again(self, a: Atom) -> Atom:
        """What is cheap, by equations of its own; what is not, as it is."""
        if type(a) is not Var or a not in self.costs:
            return a
        e, own = self.makers[a], Var(a.type)
        if e.op.repeats:
            operand = self.held.get(a, e.inputs[0])
            held = self.held[a] = Var(type_of(operand))
            again = BroadcastAgain(a.type.shape, e.op.axes)
            made = Equation(again, [operand], [held, own], e.line)
        else:
            made = Equation(e.op, [self.again(x) for x in e.inputs], [own], e.line)
        self.equations.append(made)
        return own


def _is_large(t: ArrayType) -> bool:
    return type(t.size) is int and t.size >= _LARGE and t.shape[-1] >= _LONG


def _is_in_kernel(e: Equation) -> bool:
    """Whether XLA makes a kernel of an equation with others that read its operands."""
    return bool(e.op.element_wise) or _is_sum(e)


def _is_sum(e: Equation) -> bool:
    return e.op.name.startswith("reduce_")
