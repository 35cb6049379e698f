"""Effects: what an operation does besides returning results.

    CALLS     runs Python on the host: not while a program is being traced
    LASTS     … for the sake of what that does: it is kept, and runs each time, once
    ORDERED   … in the order of the program

Each one implies those above it. An operation that carries programs has the effects of
all of them. What is without LASTS is *pure*: it may be dropped where nobody reads its
results, or run again.
"""

import enum
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard


class Effect(enum.Enum):
    """A side effect that an operation may have."""

    CALLS = "calls"
    LASTS = "lasts"
    ORDERED = "ordered"

    __hash__ = object.__hash__  # that of Enum is a call of Python

    def __repr__(self) -> str:
        return f"Effect.{self.name}"


Effects = frozenset[Effect]

NONE: Effects = frozenset()
CALLS: Effects = frozenset({Effect.CALLS})
LASTS: Effects = CALLS | {Effect.LASTS}
ORDERED: Effects = LASTS | {Effect.ORDERED}


class Program(Protocol):
    """A parameter that has equations, and the effects of all of them."""

    @property
    def equations(self) -> Sequence[Any]: ...
    @property
    def effects(self) -> Effects: ...


#: a parameter of an operation: a constant, a program, or a tuple of parameters
Parameter: TypeAlias = "Hashable | tuple[Parameter, ...]"


def effects_among(values: Iterable[Parameter]) -> Effects:
    """The effects of the programs among the parameters of an operation."""
    found = NONE
    for value in values:
        if type(value) is tuple:
            found |= effects_among(value)
        elif is_program(value):
            found |= value.effects
    return found


def is_program(value: object) -> TypeGuard[Program]:
    """Whether a parameter is a program, which has equations."""
    return hasattr(value, "equations")
