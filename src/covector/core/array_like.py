"""``Array``: the common base of concrete arrays and tracers.

Its operators and methods are functions of the NumPy namespace (``operators``,
``methods``); here are the facts that the type alone tells, and what Python asks of a
container.
"""

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core.methods import Methods
from covector.core.operators import Operators, link
from covector.core.types import HasType
from covector.errors import ArgumentError, ImmutableArrayError

if TYPE_CHECKING:
    from covector.core.annotations import ArrayLike, Index
    from covector.core.array import Shard
    from covector.core.sharding.shardings import Sharding
    from covector.runtime.client import Device

__all__ = ["API_VERSIONS", "Array", "link"]

#: of the array API standard, all those that functions and arrays follow
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


#: what arrays and tracers have for covector itself, which editors do not complete
_INTERNAL = frozenset(
    {
        "buffer",
        "buffer_over",
        "check_usable",
        "forget",
        "host",
        "is_sharded",
        "line",
        "literal",
        "on_host",
        "origin",
        "owner",
        "placement",
        "type",
        "variable",
    }
)


class Array(Operators, Methods, HasType):
    """An array: elements of one dtype along any number of axes.

    It is the type to write in annotations, and ``isinstance(x, covector.Array)`` is
    true inside transformed functions as well, where arrays are traced and have no
    values. Arrays never change: ``x.at[i].set(v)`` gives a changed copy. Functions such
    as ``covector.numpy.array`` make arrays; this class does not.

    >>> import covector as cv, covector.numpy as cnp
    >>> x = cnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> isinstance(x, cv.Array), x.shape, x.T[0].tolist()
    (True, (2, 2), [1.0, 3.0])

    See also: ``covector.numpy.array``, ``covector.typing.ArrayLike``.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise ArgumentError(
            "Array is the class of arrays, and cannot be called. Make an array with "
            "covector.numpy.array(x), or of a shape with zeros, ones or full."
        )

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
        return self.type.nbytes

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _INTERNAL]

    # -- as a container ----------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.type)

    def __getitem__(self, index: "Index") -> "Array":
        return link.numpy.indexing.index(self, index)

    def __setitem__(self, index: "Index", value: "ArrayLike") -> None:
        raise ImmutableArrayError(
            f"an array ({self.type}) cannot be changed: x[i] = v is not possible. Make "
            "a changed copy with x = x.at[i].set(v), or with x.at[i].add(v)."
        )

    def __iter__(self) -> "Iterator[Array]":
        if not self.type.ndim:
            raise TypeError(f"a scalar array ({self.type}) cannot be iterated over")
        return iter(link.numpy.unstack(self))

    def __reversed__(self) -> "Iterator[Array]":
        return reversed(list(self))

    def __contains__(self, value: "ArrayLike") -> bool:
        return bool((self == value).any())

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        if api_version not in (None, *API_VERSIONS):
            raise ArgumentError(
                f"covector has the versions {', '.join(API_VERSIONS)} of the array API "
                f"standard, but not {api_version!r}."
            )
        return import_module(link.namespace)

    # -- what arrays with values give, and tracers explain that they cannot ------------

    if TYPE_CHECKING:
        # Said for readers of types; ``Exported``, ``ConcreteArray`` and ``Tracer`` are
        # where they are.
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __complex__(self) -> complex: ...
        def __index__(self) -> int: ...
        def __array__(
            self, dtype: Any = None, copy: bool | None = None
        ) -> np.ndarray[Any, Any]: ...
        def item(self, *index: int) -> Any: ...
        def tolist(self) -> Any: ...
        def block_until_ready(self) -> "Array": ...
        def devices(self) -> "set[Device]": ...
        def delete(self) -> None: ...
        def is_deleted(self) -> bool: ...
        @property
        def sharding(self) -> "Sharding": ...
        @property
        def committed(self) -> bool: ...
        @property
        def addressable_shards(self) -> "list[Shard]": ...
