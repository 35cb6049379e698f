"""``Fingerprint``: what a function reads, as a value that is compared and hashed."""

import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from covector.core.types import ArrayType


class Fingerprint(NamedTuple):
    """One thing that a function reads: a value, and what it consists of, by name."""

    kind: Any
    value: Any = None
    parts: tuple[tuple[str, "Fingerprint"], ...] = ()

    def __str__(self) -> str:
        kind = self.kind
        if kind is None:
            type_, value, *_ = self.value
            shown = type_ in (float, complex) or issubclass(type_, np.generic)
            return str(value) if shown else repr(value)
        if isinstance(kind, types.CodeType):
            return f"the function {kind.co_qualname}"
        if isinstance(kind, ArrayType):
            return f"an array {kind}"
        name = getattr(kind, "__name__", kind)
        return f"a {name} of {len(self.parts)}" if self.is_collection else f"a {name}"

    def objects(self) -> Iterator[Any]:
        """Everything that counts by identity, and can be gone."""
        values = self.value if type(self.value) in (tuple, frozenset) else (self.value,)
        for value in values:
            if type(value) is SameObject:
                yield from value.weakly()
            elif type(value) is Fingerprint:
                yield from value.objects()
        for _, part in self.parts:
            yield from part.objects()

    @property
    def is_collection(self) -> bool:
        kind = self.kind
        return isinstance(kind, type) and issubclass(kind, list | dict | set | tuple)


class SameObject:
    """Stands for one object, as long as it lives."""

    __slots__ = ("number", "ref")

    def __init__(self, x: object) -> None:
        self.number: int = id(x)
        try:
            self.ref: Callable[[], Any] = weakref.ref(x)
        except TypeError:
            self.ref = lambda: x  # a builtin, or the like: small, and never gone

    def weakly(self) -> list[Any]:
        """The object, if it is still there and can be gone."""
        x = self.ref() if type(self.ref) is weakref.ref else None
        return [] if x is None or type(x) in _LASTING else [x]

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SameObject) or self.number != other.number:
            return False
        mine = self.ref()
        return mine is not None and mine is other.ref()


#: what lasts as long as the program
_LASTING = (type, types.ModuleType, types.BuiltinFunctionType)
