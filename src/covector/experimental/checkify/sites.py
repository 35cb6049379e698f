"""Sites: where in a program a check may fail, and what is said then.

A failure is a number, that of its site, and the values in its message, in *slots*. Only
one failure is kept, the first; so sites share slots: of each type there are as many as
the message with most values of that type has.
"""

import enum
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.core.source import Line, at_line
from covector.core.types import ArrayType


class ErrorCategory(enum.Enum):
    """The kinds of checks."""

    USER = "check"
    NAN = "NaN"
    INDEX = "index out of bounds"
    DIVISION = "division by zero"


#: what ``check`` says of values
user_checks: frozenset[ErrorCategory] = frozenset({ErrorCategory.USER})
#: operations that give NaN though no operand is NaN
nan_checks: frozenset[ErrorCategory] = frozenset({ErrorCategory.NAN})
#: reading and writing at indices that an array does not have
index_checks: frozenset[ErrorCategory] = frozenset({ErrorCategory.INDEX})
#: divisions, of integers and floats, by zero
div_checks: frozenset[ErrorCategory] = frozenset({ErrorCategory.DIVISION})
#: NaN, and divisions by zero
float_checks: frozenset[ErrorCategory] = nan_checks | div_checks
#: all that is looked for in operations: NaN, divisions by zero, indices out of bounds
automatic_checks: frozenset[ErrorCategory] = float_checks | index_checks
#: all that is looked for in operations, and what ``check`` says
all_checks: frozenset[ErrorCategory] = automatic_checks | user_checks

Categories = frozenset[ErrorCategory]


class Site(NamedTuple):
    """A check in a program: what is said where it fails, and where it is."""

    category: ErrorCategory
    #: with fields, as ``str.format`` fills them from a tree ``(args, kwargs)``
    message: str
    tree: Any
    #: the types of the leaves of that tree
    types: tuple[ArrayType, ...]
    line: Line | None

    def text(self, values: Sequence[Any]) -> str:
        """The message, with these values for the leaves."""
        args, kwargs = self.tree.unflatten(values)
        said = self.message.format(*args, **kwargs)
        where = at_line(self.line)
        if self.category is ErrorCategory.USER:
            return f"{said} (`check` failed{where})"
        return f"{said}{where}"


Sites = tuple[Site, ...]


def slot_types(sites: Sequence[Site]) -> list[ArrayType]:
    """The types of the slots that these sites need together."""
    most: Counter[ArrayType] = Counter()
    for site in sites:
        most |= Counter(site.types)
    return [*most.elements()]


def slots_of(site: Site, slots: Sequence[ArrayType]) -> list[int]:
    """The slot of each value of a site, by number."""
    free: dict[ArrayType, list[int]] = {}
    for i, type_ in enumerate(slots):
        free.setdefault(type_, []).append(i)
    return [free[type_].pop(0) for type_ in site.types]
