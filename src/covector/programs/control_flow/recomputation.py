"""Residuals of a step of a loop that are computed again, not kept for each step.

The linear part of a step reads what the step has computed. To keep an array for each
step costs two passes through memory, and as much memory as there are steps. To compute
it again from the carry, element by element, costs next to nothing where that is a sum
or a product. So what a step starts with is kept instead, where that is much less.

    kept      x                     x' = x + h·(k₁ + 2 k₂ + 2 k₃ + k₄) / 6
    again     k₁, k₂, k₃, and what is between
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, makers, replaced, type_of
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.transposing import Reshape

#: how many times as many bytes would be kept otherwise
_MUCH_LESS = 3


class Recomputed(NamedTuple):
    """What is kept, and the equations that compute the rest from that."""

    saved: list[Var]
    equations: list[Equation]

    def renamed(self, names: dict[Var, Var]) -> list[Equation]:
        """The equations in a program that knows some variables by other names; those
        that have none get one.
        """
        for e in self.equations:
            for v in [*e.inputs, *e.outputs]:
                if type(v) is Var and v not in names:
                    names[v] = Var(v.type)
        return [
            Equation(
                e.op, replaced(names, e.inputs), replaced(names, e.outputs), e.line
            )
            for e in self.equations
        ]


def computed_again(
    body: Jaxpr, residuals: Sequence[Var], given: AbstractSet[Var]
) -> Recomputed:
    """How the residuals of a body are had again, of which the ``given`` variables are
    known in any case: all that only adds and multiplies elements is computed again, if
    that leaves much less to keep. Copies of elements are made again in any case.
    """
    made_by = body.memo(makers)
    less, least = [
        _traced_back(made_by, residuals, given, is_again)
        for is_again in (_is_copy, _is_cheap)
    ]
    return least if _is_much_less(least.saved, less.saved) else less


def _traced_back(
    made_by: Mapping[Var, Equation],
    residuals: Sequence[Var],
    given: AbstractSet[Var],
    is_again: Callable[[Equation], bool],
) -> Recomputed:
    """What the residuals begin at, and the equations from there, to be done again."""
    saved: list[Var] = []
    needed: set[Equation] = set()
    rest, seen = list(dict.fromkeys(residuals)), set(residuals)
    while rest:
        v = rest.pop()
        e = made_by.get(v)
        if e is None or not is_again(e):
            saved.append(v)
            continue
        needed.add(e)
        new = [a for a in e.inputs if type(a) is Var and a not in given]
        rest += [a for a in new if a not in seen]
        seen.update(new)
    in_order = dict.fromkeys(made_by.values())
    return Recomputed(saved, [e for e in in_order if e in needed])


def _is_cheap(e: Equation) -> bool:
    """Whether an equation computes elements by a few instructions each, or copies."""
    if _is_copy(e):
        return True
    if e.op.of_elements(*map(type_of, e.inputs)) is None:
        return False
    work = e.work
    return work is not None and not work.transcendentals


def _is_copy(e: Equation) -> bool:
    """Whether an equation repeats the elements of an array that is as large at most."""
    return type(e.op) in (BroadcastInDim, Reshape)


def _is_much_less(some: Iterable[Var], others: Iterable[Var]) -> bool:
    few, many = [
        sum([v.type.size * v.type.storage.itemsize for v in variables])
        for variables in (some, others)
    ]
    # A symbolic size stands for many, of which no one knows.
    return type(few) is type(many) is int and _MUCH_LESS * few <= many
