"""The origin of bad values: in the results of a program, or of an operation."""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.jaxpr import Equation, Jaxpr
from covector.programs.nonfinite.kinds import Kinds
from covector.programs.nonfinite.origin import Origin, describe
from covector.programs.nonfinite.reasons import reason_in
from covector.programs.nonfinite.replay import inside, search


def origin_in(
    kinds: Kinds, jaxpr: Jaxpr, args: Sequence[Any], name: Callable[[int], str]
) -> Origin | None:
    """Where bad values in the results of a program began; None if it gives none.

    ``name`` says in words which input of the program is meant.
    """
    found = search(kinds, jaxpr, args)
    return None if found is None else describe(kinds, found, name, reason_in(jaxpr))


def origin_at(kinds: Kinds, equation: Equation, outs: Sequence[Any]) -> Origin:
    """Where bad values in the results of an operation on values began."""
    found = inside(kinds, equation, outs)
    return describe(kinds, found, str, reason_in(found.level.jaxpr))
