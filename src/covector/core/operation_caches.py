"""Caches of operations: interned instances, and the plans that an instance keeps.

Equal constructions of an operation are one object. So it can be compared by identity,
and keep what is derived from it: an ``OpPlan`` for each list of types of operands.
"""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from covector.core.host_budget import HostBudget
from covector.core.types import ArrayType

if TYPE_CHECKING:
    from covector.core.primitive import Primitive

_Made = TypeVar("_Made", bound="Primitive")

#: parameters of one class that are remembered; equal operations made before and after
#: they are forgotten work the same, but do not share their caches
MOST_INSTANCES = 2048


def drop_older_half(cache: dict[Any, Any], most: int) -> None:
    """Make room in a cache that has grown to ``most`` entries."""
    if len(cache) >= most:
        for key in list(cache)[: most // 2]:
            cache.pop(key, None)  # another thread may have dropped it meanwhile


class Interned(type):
    """Makes equal constructions of an operation one object, unless it opts out."""

    interned: bool
    instances: dict[tuple[Any, ...], Any]

    def __call__(
        cls: type[_Made],  # pyright: ignore[reportGeneralTypeIssues]
        *args: Any,
        **kwargs: Any,
    ) -> _Made:
        if not cls.interned:
            return super().__call__(*args, **kwargs)
        if not kwargs:
            known = cls.instances.get(args)
            if known is not None:
                return known
        drop_older_half(cls.instances, MOST_INSTANCES)
        made = super().__call__(*args, **kwargs)
        made = cls.instances.setdefault(tuple(made.parameters.values()), made)
        return made if kwargs else cls.instances.setdefault(args, made)


#: kinds of data that are compared by value
_DATA = (bool, int, float, complex, str, bytes, np.dtype)


def same_data(x: Any, y: Any) -> bool:
    """Whether two values that a user gave as part of a program are the same: data by
    value, where 1 is another one than 1.0, and 0.0 than -0.0; all else as one object.
    """
    if x is y:
        return True
    if x.__class__ is not y.__class__:
        return False
    if x.__class__ is tuple:
        return len(x) == len(y) and all(map(same_data, x, y))
    if isinstance(x, float | complex):
        return repr(x) == repr(y)
    return isinstance(x, _DATA) and x == y


class OpPlan:
    """An operation on operands of given types: result types and how to evaluate it."""

    __slots__ = (
        "budget",
        "executable",
        "meshes",
        "multiple_results",
        "on_host",
        "one_on_host",
        "outs",
    )

    def __init__(
        self, outs: tuple[ArrayType, ...], multiple_results: bool, on_host: Any
    ) -> None:
        self.outs: tuple[ArrayType, ...] = outs
        self.multiple_results: bool = multiple_results
        #: evaluation by NumPy, where that is quicker than a compiled call
        self.on_host: Any = on_host
        #: the same, where there is one result
        self.one_on_host: Any | None = None if multiple_results else on_host
        #: what it may spend in NumPy before it is compiled, where that is not quicker
        self.budget: HostBudget | None = None
        #: compiled programs by placement
        self.executable: Any = None
        #: the meshes that the operation names
        self.meshes: Any = ()

    @property
    def prefers_host(self) -> bool:
        """Whether NumPy is quicker than a compiled call."""
        return self.on_host is not None
