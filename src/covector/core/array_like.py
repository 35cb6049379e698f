"""``Array``: the common base of concrete arrays and tracers.

Its operators and methods are functions of the NumPy namespace (``operators``,
``methods``); here are the facts that the type alone tells, and what Python asks of a
container.
"""

from collections.abc import Iterator
from typing import Any

from covector.core.methods import Methods
from covector.core.operators import Operators, link
from covector.core.types import HasType
from covector.errors import ImmutableArrayError

__all__ = ["Array", "link"]


class Array(Operators, Methods, HasType):
    """An array, concrete or traced. ``isinstance(x, covector.Array)`` is true of
    both.
    """

    __slots__ = ("__weakref__",)

    # -- facts of the type -------------------------------------------------------------

    @property
    def aval(self) -> Any:
        """The type, by the name that the ecosystem knows."""
        return self.type

    @property
    def itemsize(self) -> int:
        """The bytes per element."""
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.type.size * self.type.dtype.itemsize

    # -- as a container ----------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.type)

    def __getitem__(self, index: Any) -> Any:
        return link.numpy.indexing.index(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise ImmutableArrayError(
            f"an array ({self.type}) cannot be changed: x[i] = v is not possible. Make "
            "a changed copy with x = x.at[i].set(v), or with x.at[i].add(v)."
        )

    def __iter__(self) -> Iterator[Any]:
        if not self.type.ndim:
            raise TypeError(f"a scalar array ({self.type}) cannot be iterated over")
        return iter(link.numpy.unstack(self))

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return link.numpy
