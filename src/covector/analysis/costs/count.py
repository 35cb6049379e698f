"""``cost``: what a program computes and moves, by operation and by source line.

Each operation tells its own (the rule ``work``); here they are added up, an operation
in a loop as often as the loop has steps. Bytes are those that each operation reads and
writes by itself: what a program that fuses nothing moves. How operations count is
written in ``docs/decisions/0028-how-operations-are-counted.md``.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from covector.analysis.passes.programs import as_program
from covector.analysis.walk import Visit, step_count, visits
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.primitive import Primitive
from covector.core.source import Line
from covector.core.types import ArrayType, show_types
from covector.core.work import Work
from covector.errors import ArgumentError, how_many
from covector.programs.higher_order.regions import Kind
from covector.programs.spmd.shard_map import ShardMap

__all__ = ["Amount", "Cost", "EquationCost", "LineCost", "cost"]


class Amount(NamedTuple):
    """Operations on single elements, and bytes of memory.

    flops            additions, products, comparisons, …, whatever the element type
    transcendentals  exponentials, sines, powers, roots, …
    read, written    bytes
    """

    flops: int = 0
    transcendentals: int = 0
    read: int = 0
    written: int = 0

    @property
    def bytes(self) -> int:
        """The bytes that are read or written."""
        return self.read + self.written

    @property
    def intensity(self) -> float | None:
        """FLOPs for each byte; None where no memory is touched."""
        return self.flops / self.bytes if self.bytes else None

    def times(self, n: int) -> "Amount":
        """This amount, n times."""
        return Amount(*[n * count for count in self])

    def plus(self, other: "Amount") -> "Amount":
        """Both together."""
        return Amount(*[a + b for a, b in zip(self, other, strict=True)])


class EquationCost(NamedTuple):
    """The cost of one equation; nothing, where it only carries programs.

    visit  the equation, what is around it, and how often it runs
    once   the cost of one run of it, on all devices
    known  whether its operation tells what it costs
    """

    visit: Visit
    once: Amount
    known: bool

    @property
    def amount(self) -> Amount:
        """The cost of all of its runs."""
        return self.once.times(self.visit.times)


class LineCost(NamedTuple):
    """The cost of a line of the user's program, in all of its runs.

    line       one of its operations' lines; None for what no line asked for
    equations  the numbers of its equations
    known      whether it is sure how often they run, and what they cost
    """

    line: Line | None
    equations: tuple[int, ...]
    amount: Amount
    known: bool


class Cost(NamedTuple):
    """The cost of a program.

    program    the program
    equations  each equation, at any depth, in the order of ``visits``
    total      the sum; of the branches of a ``cond``, the one with the most FLOPs
    known      whether it is sure: no branch, no loop whose length depends on values,
               and no operation that does not tell its cost
    uncounted  the names of those operations
    """

    program: Jaxpr
    equations: tuple[EquationCost, ...]
    total: Amount
    known: bool
    uncounted: tuple[str, ...]

    def __repr__(self) -> str:
        sure = "known" if self.known else "not known for sure"
        count = len(self.equations)
        return f"Cost({how_many(count, 'equation')}, {self.total}, {sure})"

    @property
    def lines(self) -> tuple[LineCost, ...]:
        """Each source line, the one that costs the most FLOPs first.

        A line in a branch is counted as if the branch is taken.
        """
        numbers: dict[tuple[str, int] | None, list[int]] = {}
        for i, e in enumerate(self.equations):
            line = e.visit.line
            key = None if line is None else (line.file, line.number)
            numbers.setdefault(key, []).append(i)
        made = [self._line(found) for found in numbers.values()]
        return tuple(
            sorted(made, key=lambda m: (m.amount.flops, m.amount.bytes), reverse=True)
        )

    def _line(self, numbers: Sequence[int]) -> LineCost:
        found = [self.equations[i] for i in numbers]
        return LineCost(
            found[0].visit.line,
            tuple(numbers),
            added([e.amount for e in found]),
            all([e.known and e.visit.known for e in found]),
        )


def cost(jaxpr: Jaxpr) -> Cost:
    """The work of a program: FLOPs, transcendental functions, and bytes that it moves.

    FLOPs are those of XLA's own cost analysis, but of the mathematical operations, not
    of the steps that a compiler makes of them; and what is in a loop counts as often as
    it runs. Of a loop whose length depends on values one step is counted, and
    ``known`` is False. What runs on each device of a mesh counts for all of them.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.

    Raises:
      ArgumentError: it is none, or has sizes that are not numbers.

    >>> import covector as cv, covector.numpy as cnp
    >>> f = lambda w, x: cnp.tanh(w @ x)
    >>> program = cv.make_jaxpr(f)(cnp.ones((3, 4)), cnp.ones(4))
    >>> cost(program).total
    Amount(flops=24, transcendentals=3, read=76, written=24)
    """
    jaxpr = _checked(jaxpr)
    counted = tuple([_of_visit(visit) for visit in visits(jaxpr)])
    uncounted = [e.visit.equation.op.name for e in counted if not e.known]
    total = jaxpr.memo(_total)
    known = total.known and all([e.visit.known for e in counted]) and not uncounted
    return Cost(jaxpr, counted, total.amount, known, tuple(dict.fromkeys(uncounted)))


def _checked(given: Any) -> Jaxpr:
    """The program that is meant, if all of its sizes are numbers."""
    jaxpr = as_program("cost", given)
    symbolic = [t for t in jaxpr.in_types if type(t.size) is not int]
    if symbolic:
        raise ArgumentError(
            f"cost counts programs of known sizes, but {jaxpr.name or 'the program'} "
            f"takes {show_types(symbolic)}. Trace it for arguments of sizes that are "
            "numbers."
        )
    return jaxpr


def added(amounts: Iterable[Amount]) -> Amount:
    """The sum of amounts."""
    return reduce(Amount.plus, amounts, Amount())


class _Counted(NamedTuple):
    """An amount, and whether it is sure."""

    amount: Amount
    known: bool


def _of_visit(visit: Visit) -> EquationCost:
    once, known = of_equation(visit.equation)
    devices = [_devices(e.op) for e in visit.around]
    return EquationCost(visit, reduce(Amount.times, devices, once), known)


def of_equation(e: Equation) -> _Counted:
    """The cost of an equation besides the programs that it carries."""
    types = tuple([a.type for a in e.inputs])
    outs = tuple([v.type for v in e.outputs])
    asked = _of_shared_operation if e.op.interned else _of_operation
    work, known = asked(e.op, types, outs)
    read, written = work.read, work.written
    if read is None:  # an operand that is named twice is read once
        read = sum([a.type.nbytes for a in {id(a): a for a in e.inputs}.values()])
    if written is None:
        written = sum([t.nbytes for t in outs])
    return _Counted(Amount(work.flops, work.transcendentals, read, written), known)


def _of_operation(
    op: Primitive, types: tuple[ArrayType, ...], outs: tuple[ArrayType, ...]
) -> tuple[Work, bool]:
    """The work of an operation with that of its program, and whether it is known."""
    if op.work is None:
        return Work(), False
    work = op.work(types, outs)
    if work.program is None:
        return work, True
    inside, known = work.program.memo(_total)
    flops = work.flops + inside.flops
    transcendentals = work.transcendentals + inside.transcendentals
    return Work(flops, transcendentals, work.read, work.written), known


#: of operations of which there is one object for equal ones
_of_shared_operation = lru_cache(4096)(_of_operation)


def _total(jaxpr: Jaxpr) -> _Counted:
    """The cost of a program with all that it carries; programs that are called often
    are counted once.
    """
    total, sure = Amount(), True
    for e in jaxpr.equations:
        amount, known = of_equation(e)
        total, sure = total.plus(amount), sure and known
        branches = [Amount()]
        for region in e.op.regions:
            if region.kind is Kind.RULE:
                continue
            amount, known = region.jaxpr.memo(_total)
            steps = step_count(e, region.kind)
            sure = sure and known and steps is not None
            amount = amount.times((1 if steps is None else steps) * _devices(e.op))
            if region.kind is Kind.BRANCH:
                branches.append(amount)
            else:
                total = total.plus(amount)
        total = total.plus(max(branches, key=lambda a: (a.flops, a.bytes)))
    return _Counted(total, sure)


def _devices(op: Primitive) -> int:
    """On how many devices an operation runs its programs, each on its part."""
    if not isinstance(op, ShardMap):
        return 1
    return math.prod([op.manual.mesh.shape[a] for a in op.manual.axes])
