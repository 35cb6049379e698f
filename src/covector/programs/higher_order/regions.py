"""Regions: how the jaxprs that an operation carries are connected to it.

An operation that carries jaxprs lists its regions: one for each jaxpr, with the
operands that its inputs take, and the results that its outputs become. Any question
about jaxprs at any depth is then a fold over regions that need not know the operations:
over which named axes they communicate, whether they loop, which operands are unused
(``dead_code``), what a checkpoint saves (``partition``), and which equation made a
value or the first NaN.
"""

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.annotations import AxisName
from covector.core.jaxpr import Atom, Equation, Jaxpr, Var
from covector.core.masks import Mask
from covector.core.primitive import Primitive
from covector.programs.higher_order.jaxpr_passes import forward_slice
from covector.transforms.batch import name_of


class Kind(enum.Enum):
    """The number of times that an operation runs a program, in words."""

    CALL = "once"
    BRANCH = "once, or not at all"
    LOOP = "any number of times"
    #: derivatives of solvers, or the combination of two elements
    RULE = "not on operands: a rule of the operation runs it in its own way"


class Region(NamedTuple):
    """A program that an operation carries, and how it is tied to the operation.

    operands  for each input, the number of the operand that it takes (in a loop at the
              first step; of an operand that is stacked, one element); None for none
    results   for each output, the number of the result that it becomes (in a loop after
              the last step, or stacked); None for none
    feeds     for each output, the number of the operand in whose place it stands at the
              next step of a loop; None for none

    An output of a loop that neither becomes a result nor feeds an operand decides
    whether there is a next step.
    """

    kind: Kind
    jaxpr: Jaxpr
    operands: tuple[int | None, ...]
    results: tuple[int | None, ...]
    feeds: tuple[int | None, ...]

    def taken(self, values: Sequence[Any]) -> list[Any]:
        """The values for the inputs, of one value for each operand."""
        return [None if i is None else values[i] for i in self.operands]

    @property
    def decides(self) -> list[bool]:
        """The mask of the outputs that decide whether there is a next step."""
        pairs = zip(self.results, self.feeds, strict=True)
        return [result is None and operand is None for result, operand in pairs]

    def stacks(self, output: int) -> bool:
        """Whether a result has this output of every step of a loop."""
        return self.kind is Kind.LOOP and self.feeds[output] is None


def call_region(jaxpr: Jaxpr, first: int = 0, kind: Kind = Kind.CALL) -> Region:
    """A program that takes all operands, from number ``first`` on, and gives all
    results.
    """
    count, outs = len(jaxpr.inputs), len(jaxpr.outputs)
    operands = tuple(range(first, first + count))
    return Region(kind, jaxpr, operands, tuple(range(outs)), (None,) * outs)


def rule_region(jaxpr: Jaxpr) -> Region:
    """A program that only a rule of the operation runs, in its own way."""
    outs = (None,) * len(jaxpr.outputs)
    return Region(Kind.RULE, jaxpr, (None,) * len(jaxpr.inputs), outs, outs)


def loop_region(
    jaxpr: Jaxpr,
    operands: Sequence[int],
    carry: Sequence[int | None],
    results: Sequence[int | None],
) -> Region:
    """A program that is run step after step, and whose first outputs feed ``carry``."""
    feeds = (*carry, *[None] * (len(results) - len(carry)))
    return Region(Kind.LOOP, jaxpr, tuple(operands), tuple(results), feeds)


# -- what programs do, at any depth (memoise on the program) ---------------------------


def named_axes(jaxpr: Jaxpr) -> tuple[Any, ...]:
    """The named axes over which the operations of a program communicate."""
    return tuple(dict.fromkeys([n for e in jaxpr.equations for n in e.op.axis_names]))


def has_loop(jaxpr: Jaxpr) -> bool:
    """Whether a loop is found in a program."""
    return any(
        [
            region.kind is Kind.LOOP or region.jaxpr.memo(has_loop)
            for e in jaxpr.equations
            for region in e.op.regions
        ]
    )


def carries_functions(jaxpr: Jaxpr) -> bool:
    """Whether rules of users are called, which may name axes that no operation does."""
    return any(
        [
            e.op.carries_functions
            or any([region.jaxpr.memo(carries_functions) for region in e.op.regions])
            for e in jaxpr.equations
        ]
    )


def communicates(jaxpr: Jaxpr, axis: AxisName) -> bool:
    """Whether lanes along the axis of a batch see of each other."""
    return name_of(axis) in jaxpr.memo(named_axes)


# -- along the ties --------------------------------------------------------------------


def maker(jaxpr: Jaxpr, atom: Atom) -> tuple[Equation, int] | None:
    """The equation that makes a value of a program, and which of its results it is;
    None for inputs and constants.
    """
    if type(atom) is not Var:
        return None
    for e in jaxpr.equations:
        if atom in e.outputs:
            return e, e.outputs.index(atom)
    return None


def outputs_behind(op: Primitive, result: int) -> list[tuple[Region, int]]:
    """The regions of an operation that may give a result, and which output it is."""
    return [
        (region, region.results.index(result))
        for region in op.regions
        if result in region.results
    ]


def operands_after_steps(
    regions: Sequence[Region],
    mask: Sequence[bool],
    dependent: Callable[[Region, set[int]], Sequence[bool]] | None = None,
) -> Mask:
    """The masked operands, and those in whose place something stands at a later step
    of a loop that depends on them; by ``dependent`` if not by ``dependent_outputs``.
    """
    depends_on = dependent or dependent_outputs
    found = {i for i, m in enumerate(mask) if m}
    while True:
        reached = {
            operand
            for region in regions
            for operand, depends in zip(
                region.feeds, depends_on(region, found), strict=True
            )
            if depends and operand is not None
        }
        if reached <= found:
            return tuple([i in found for i in range(len(mask))])
        found |= reached


def dependent_outputs(region: Region, operands: set[int]) -> list[bool]:
    """The mask of the outputs of a region that depend on any of these operands."""
    mask = tuple([i in operands for i in region.operands])
    found = region.jaxpr.memo(forward_slice, mask)
    return [type(o) is Var and o in found for o in region.jaxpr.outputs]
