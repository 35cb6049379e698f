"""Broadcasts, and what is cheaply computed of them, of which each reader has its own.

XLA:CPU leaves sums to a library, YNNPACK, with the operations on elements around them.
A broadcast is part of such a kernel, unless two read it: then it is an array in memory,
which is written once and read twice. So is the scale of each row in the gradients of a
layer norm, and what is scaled by it, which the sums for all three parameters read.

    y = broadcast(r);  (x * y).sum();  z * y
    y = broadcast(r);  (x * y).sum();  y' = broadcast(barrier(r));  z * y'

Without the barrier XLA would find that they are the same. (Decision 41 has the times.)
"""

from collections import Counter

from covector.core.jaxpr import Atom, Equation, Jaxpr, Var, makers, readers, variables
from covector.core.types import ArrayType
from covector.lowering.long_rows import is_kernel

#: elements of an array from which it takes time in memory, and of its last axis from
#: which XLA computes along it with vectors
_LARGE, _LONG = 1 << 16, 32
#: operations that take less time than to read their result from memory
_CHEAP = frozenset({"add", "sub", "mul", "neg"})


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
        #: whether variables are cheap, as far as it was asked
        self.cheap: dict[Var, bool] = {}
        #: how often each broadcast was written again
        self.counts: Counter[Var] = Counter()
        self.equations: list[Equation] = []
        #: what a kernel has read, so that others compute it again
        self.read: set[Var] = set()
        for e in jaxpr.equations:
            self.equations.append(self.with_own(e) if _is_in_kernel(e) else e)
        self.result = Jaxpr(jaxpr.inputs, self.equations, jaxpr.outputs, jaxpr.name)

    def with_own(self, e: Equation) -> Equation:
        """The equation, reading no broadcast that others have read."""
        inputs = list(e.inputs)
        for k, a in enumerate(inputs):
            if type(a) is Var and self.is_shared(a):
                if a in self.read:
                    inputs[k] = self.again(a)
                self.read.add(a)
        return Equation(e.op, inputs, e.outputs, e.line)

    def is_shared(self, v: Var) -> bool:
        """Whether several kernels may read it, and each can cheaply compute it."""
        if not _is_large(v.type) or v in self.outputs:
            return False
        read_by = self.readers.get(v, ())
        several = len(read_by) > 1 and all(map(_is_in_kernel, read_by))
        return several and self.is_cheap(v)

    def is_cheap(self, v: Var) -> bool:
        """Whether it is a broadcast, or cheaply computed of broadcasts and at most one
        array that is in memory.
        """
        found = self.cheap.get(v)
        if found is None:
            found = self.cheap[v] = self._is_cheap(v)
        return found

    def _is_cheap(self, v: Var) -> bool:
        e = self.makers.get(v)
        if e is None or not (e.op.repeats or e.op.name in _CHEAP):
            return False
        arrays = [a for a in variables(e.inputs) if a.type.size != 1]
        if e.op.repeats:
            return bool(arrays)
        others = [a for a in arrays if not self.is_cheap(a)]
        return len(others) < len(arrays) and all(
            [a is others[0] and self._is_in_memory(a) for a in others]
        )

    def _is_in_memory(self, v: Var) -> bool:
        """Whether it is an input, or a kernel by itself has computed it."""
        maker = self.makers.get(v)
        return maker is None or is_kernel(maker)

    def again(self, a: Atom) -> Atom:
        """What is cheap, by equations of its own; what is not, as it is."""
        if type(a) is not Var or not self.is_cheap(a):
            return a
        e = self.makers[a]
        op, inputs = e.op, e.inputs
        if op.repeats:
            self.counts[a] += 1
            op = op.again(self.counts[a])
        else:
            inputs = [self.again(x) for x in inputs]
        own = Var(a.type)
        self.equations.append(Equation(op, inputs, [own], e.line))
        return own


def _is_large(t: ArrayType) -> bool:
    return type(t.size) is int and t.size >= _LARGE and t.shape[-1] >= _LONG


def _is_in_kernel(e: Equation) -> bool:
    """Whether XLA makes a kernel of an equation with others that read its operands."""
    return bool(e.op.element_wise) or _is_sum(e)


def _is_sum(e: Equation) -> bool:
    return e.op.name.startswith("reduce_")
