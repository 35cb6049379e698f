"""Walks over a program: its equations at any depth, and how often each is run.

An operation that carries programs is visited first, and then the equations inside. Of a
branch it is assumed that it is taken, and of a loop of unknown length that it takes one
step; ``Visit.known`` tells.
"""

from collections.abc import Iterator
from typing import NamedTuple

from covector.core.jaxpr import Equation, Jaxpr
from covector.core.source import Line
from covector.programs.control_flow.scan import Scan
from covector.programs.higher_order.regions import Kind


class Visit(NamedTuple):
    """An equation, and what is around it.

    around  the equations that carry it, the outermost first
    times   how often one run of the program runs it
    known   whether ``times`` is sure: no branch is around it, and no loop of which the
            number of steps depends on values
    """

    equation: Equation
    around: tuple[Equation, ...]
    times: int
    known: bool

    @property
    def line(self) -> Line | None:
        """The line of the user's program that asked for it, or for what carries it."""
        lines = [e.line for e in (self.equation, *reversed(self.around))]
        return next((line for line in lines if line is not None), None)


def visits(jaxpr: Jaxpr) -> Iterator[Visit]:
    """All equations of a program, those of the programs that it carries included.

    Rules that an operation runs in its own way (derivatives of solvers) are left out:
    no run of this program comes to them.
    """
    return _visits(jaxpr, (), 1, True)


def _visits(
    jaxpr: Jaxpr, around: tuple[Equation, ...], times: int, known: bool
) -> Iterator[Visit]:
    for e in jaxpr.equations:
        yield Visit(e, around, times, known)
        for region in e.op.regions:
            if region.kind is not Kind.RULE:
                steps = step_count(e, region.kind)
                sure = known and steps is not None
                inner = times * (1 if steps is None else steps)
                yield from _visits(region.jaxpr, (*around, e), inner, sure)


def step_count(e: Equation, kind: Kind) -> int | None:
    """The number of runs of a program by an equation; None if values decide."""
    if kind is Kind.CALL:
        return 1
    return e.op.length if isinstance(e.op, Scan) else None
