"""``topological_levels`` and ``critical_path``: how much could run at once."""

from collections.abc import Callable
from typing import NamedTuple

from covector.analysis.passes.programs import as_program
from covector.analysis.walk import step_count
from covector.core.effects import Effect
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.programs.higher_order.regions import Kind

__all__ = ["CriticalPath", "Levels", "critical_path", "topological_levels"]

#: what an equation costs, in any unit
Weight = Callable[[Equation], float]


class Levels(NamedTuple):
    """The levels of a program.

    of      for each equation its level: 0 where it needs inputs and constants only,
            else one more than the highest level of what it needs
    groups  for each level the numbers of its equations, which could all run at once
    """

    of: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def depth(self) -> int:
        """The number of levels."""
        return len(self.groups)

    @property
    def width(self) -> int:
        """The most equations in one level."""
        return max(map(len, self.groups), default=0)


class CriticalPath(NamedTuple):
    """The longest chain of equations that need each other.

    equations  their numbers, in order
    length     what they cost together: no order of execution takes less
    total      what all equations of the program cost together
    """

    equations: tuple[int, ...]
    length: float
    total: float

    @property
    def parallelism(self) -> float:
        """The number of equations that could run at once on average: total / length."""
        return self.total / self.length if self.length else 1.0


def needs(jaxpr: Jaxpr) -> list[list[int]]:
    """For each equation the numbers of those before it that it needs: for operands, and
    where both have ordered effects (memoise on the program).
    """
    made: dict[Var, int] = {}
    found: list[list[int]] = []
    last: int | None = None
    for i, e in enumerate(jaxpr.equations):
        before = {made[a]: None for a in e.inputs if type(a) is Var and a in made}
        if Effect.ORDERED in e.op.effects:
            if last is not None:
                before[last] = None
            last = i
        found.append(list(before))
        made.update(dict.fromkeys(e.outputs, i))
    return found


def topological_levels(jaxpr: Jaxpr) -> Levels:
    """The equations of a program by level: those of one level need none of each other.

    Loops, branches and calls are one equation each (``inline_calls`` opens calls).

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.

    Raises:
      ArgumentError: a function was given.

    >>> import covector as cv, covector.numpy as cnp
    >>> levels = topological_levels(
    ...     cv.make_jaxpr(lambda x: cnp.sin(x) + cnp.cos(x))(1.0))
    >>> levels.of, levels.groups, levels.width
    ((0, 0, 1), ((0, 1), (2,)), 2)
    """
    before = as_program("topological_levels", jaxpr).memo(needs)
    of: list[int] = []
    for numbers in before:
        of.append(1 + max([of[j] for j in numbers], default=-1))
    groups: list[list[int]] = [[] for _ in range(max(of, default=-1) + 1)]
    for i, level in enumerate(of):
        groups[level].append(i)
    return Levels(tuple(of), tuple(map(tuple, groups)))


def critical_path(jaxpr: Jaxpr, weight: Weight | None = None) -> CriticalPath:
    """The longest chain of equations of a program that need each other.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.
      weight: a function that gives what an equation costs. By default each costs 1.
        It is asked for operations that carry no programs; a call costs what the longest
        chain inside costs, a loop that for each step (one step, where values decide how
        many there are), a choice what its longest branch costs.

    Raises:
      ArgumentError: a function was given in place of a program.

    >>> import covector as cv, covector.numpy as cnp
    >>> def f(x):
    ...     return cnp.sin(cnp.sin(x)) + cnp.cos(x)
    >>> critical_path(cv.make_jaxpr(f)(1.0))
    CriticalPath(equations=(0, 1, 3), length=3.0, total=4.0)
    """
    program = as_program("critical_path", jaxpr)
    return program.memo(_longest, _one if weight is None else weight)


def _one(e: Equation) -> float:
    return 1.0


def _longest(jaxpr: Jaxpr, weight: Weight) -> CriticalPath:
    costs = [_cost(e, weight) for e in jaxpr.equations]
    ends: list[float] = []
    through: list[int | None] = []
    for i, before in enumerate(jaxpr.memo(needs)):
        latest = max(before, key=ends.__getitem__, default=None)
        ends.append(costs[i][0] + (0.0 if latest is None else ends[latest]))
        through.append(latest)
    path: list[int] = []
    at = max(range(len(ends)), key=ends.__getitem__, default=None)
    length = 0.0 if at is None else ends[at]
    while at is not None:
        path.append(at)
        at = through[at]
    return CriticalPath(tuple(path[::-1]), length, sum([total for _, total in costs]))


def _cost(e: Equation, weight: Weight) -> tuple[float, float]:
    """The cost of an equation, along its longest chain and in all."""
    inside: list[tuple[float, float]] = []
    branches: list[tuple[float, float]] = []
    for region in e.op.regions:
        if region.kind is Kind.RULE:
            continue
        found = region.jaxpr.memo(_longest, weight)
        steps = step_count(e, region.kind)
        times = 1 if steps is None else steps
        of_kind = branches if region.kind is Kind.BRANCH else inside
        of_kind.append((times * found.length, times * found.total))
    if not inside and not branches:
        cost = float(weight(e))
        return cost, cost
    if branches:
        inside.append(max(branches))
    lengths, totals = zip(*inside, strict=True)
    return sum(lengths), sum(totals)
