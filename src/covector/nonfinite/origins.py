"""The origin of bad values: in the results of a program, or of an operation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from covector.core.jaxpr import Equation, Jaxpr
from covector.nonfinite.kinds import Kinds
from covector.nonfinite.origin import Origin, describe
from covector.nonfinite.reasons import reason_in
from covector.nonfinite.replay import inside, search


class Computed(NamedTuple):
    """An operation that ran while a program was traced, on known values."""

    equation: Equation
    outs: Sequence[Any]


def origin_in(
    kinds: Kinds,
    jaxpr: Jaxpr,
    args: Sequence[Any],
    name: Callable[[int], str],
    maker: Callable[[Any], Computed | None] = lambda constant: None,
) -> Origin | None:
    """Where bad values in the results of a program began; None if it gives none.

    ``name`` says in words which input of the program is meant, and ``maker`` what
    computed a constant.
    """
    found = search(kinds, jaxpr, args)
    if found is None:
        return None
    while found.constant and (made := maker(found.operands[0])) is not None:
        operands = made.equation.inputs
        k = kinds.first(operands)
        if k is None:
            found = inside(kinds, *made)
        else:
            found = replace(found, operands=[operands[k]], outs=[operands[k]])
    return describe(kinds, found, name, reason_in(jaxpr, name))


def origin_at(kinds: Kinds, equation: Equation, outs: Sequence[Any]) -> Origin:
    """Where bad values in the results of an operation on values began."""
    found = inside(kinds, equation, outs)
    return describe(kinds, found, str, reason_in(found.level.jaxpr, str))
