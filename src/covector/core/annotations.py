"""Annotations: the names that signatures use for operands, results, dtypes and trees.

    x: ArrayLike            public functions take what can be made an array
    x: Value                operations and their rules take arrays and tracers only
    dtype: DTypeLike        every accepted spelling of an element type
    axis: Axes              one axis, several, or None
    tree: PyTree            arrays in nested containers, which no type can describe

They say what is meant, for readers and editors. Nothing is checked when a program runs,
unless it checks its annotations itself, which those of ``covector.typing`` allow. What
``help`` and notebooks show of a signature are the names, and not what they stand for.
A function that takes just what another takes says so instead:

    @with_parameters_of(sum)
    def nansum(a: ArrayLike, *args: Any, **options: Any) -> Array:
        return sum(without_nan(a), *args, **options)

Editors, type checkers and ``help`` then show the parameters of ``sum`` as its own. One
that also makes decorators, as ``jit(static_argnums=0)`` does, is ``decorating``.
"""

import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from types import EllipsisType
from typing import (
    TYPE_CHECKING,
    Any,
    ParamSpec,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

import numpy as np

from covector.core.array_like import Array
from covector.core.dtypes import DType
from covector.core.types import Shape

__all__ = [
    "ArrayLike",
    "Axes",
    "AxisName",
    "BatchDims",
    "Batched",
    "DType",
    "DTypeLike",
    "HostArray",
    "Index",
    "LinearMaps",
    "MemorySize",
    "PyTree",
    "Shape",
    "ShapeLike",
    "Tangents",
    "Untyped",
    "Value",
    "Values",
    "decorating",
    "with_parameters_of",
]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


@runtime_checkable
class _HasArray(Protocol):
    def __array__(self) -> Any: ...


@runtime_checkable
class _HasJaxArray(Protocol):
    def __jax_array__(self) -> Any: ...


@runtime_checkable
class _HasDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = None) -> Any: ...


@runtime_checkable
class _HasDType(Protocol):
    @property
    def dtype(self) -> Any: ...


# -- arrays ----------------------------------------------------------------------------

#: an array of NumPy
HostArray: TypeAlias = np.ndarray[Any, Any]
#: what public functions accept as an array: arrays, those of NumPy, Python numbers, and
#: objects with ``__jax_array__``, ``__array__`` or ``__dlpack__``; of a list, make an
#: array first, by ``covector.numpy.array``
ArrayLike: TypeAlias = (
    Array
    | np.ndarray
    | np.generic
    | bool
    | int
    | float
    | complex
    | _HasArray
    | _HasJaxArray
    | _HasDLPack
)
#: what operations take and give: a concrete array or a tracer
Value: TypeAlias = Array
Values: TypeAlias = Sequence[Value]
#: containers of arrays, nested: whatever ``covector.tree`` takes apart
PyTree: TypeAlias = Any

# -- facts of arrays -------------------------------------------------------------------

#: what public functions accept as an element type: a dtype, its name such as "float32",
#: a class such as ``float`` or ``covector.numpy.float32``, or what has a ``dtype``
DTypeLike: TypeAlias = DType | type[Any] | str | _HasDType
#: what public functions accept as a shape
ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
#: one axis, several, or None, which stands for all of them or for the flat array
Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
#: what stands between the brackets of ``x[...]``
Index: TypeAlias = (
    SupportsIndex | slice | EllipsisType | ArrayLike | Sequence[Any] | None
)
#: the name of an axis of a mesh or of a vmap
AxisName: TypeAlias = Hashable
#: an amount of memory: bytes, or a number with a unit, as "1.5GB" (``core/sizes.py``)
MemorySize: TypeAlias = int | str


class Named:
    """A type that a signature shows by its name, alone and in a union with others."""

    def __init__(self, shown: str, value: Any) -> None:
        self.shown: str = shown
        #: the type itself
        self.value: Any = value

    def __repr__(self) -> str:
        return self.shown

    def __or__(self, other: Any) -> "Named":
        return self._joined(self, other)

    def __ror__(self, other: Any) -> "Named":
        return self._joined(other, self)

    @staticmethod
    def _joined(*members: Any) -> "Named":
        shown = [inspect.formatannotation(m) for m in members]
        values = [m.value if isinstance(m, Named) else m for m in members]
        return Named(
            " | ".join(shown).replace("NoneType", "None"), values[0] | values[1]
        )


if not TYPE_CHECKING:
    ArrayLike = Named("ArrayLike", ArrayLike)
    DTypeLike = Named("DTypeLike", DTypeLike)
    ShapeLike = Named("ShapeLike", ShapeLike)
    Axes = Named("Axes", Axes)
    Index = Named("Index", Index)

# -- rules of operations ---------------------------------------------------------------

#: one map per operand, linear in its tangent; None where the result has no tangent
LinearMaps: TypeAlias = Sequence[Callable[[Any], Any] | None]
#: one tangent per value; None where it is zero
Tangents: TypeAlias = Sequence[Value | None]
#: the axis of each operand along which a batch lies; None where it has none
BatchDims: TypeAlias = Sequence[int | None]
#: the results over a batch, and along which axis of each it lies
Batched: TypeAlias = tuple[Sequence[Value], BatchDims]

# -- signatures ------------------------------------------------------------------------


class Untyped:
    """The type that only untyped parameters take: in overloads, it tells these."""


def with_parameters_of(
    model: Callable[_Parameters, _Result],
) -> Callable[[Callable[..., _Result]], Callable[_Parameters, _Result]]:
    """Decorator for a function that takes exactly what ``model`` takes.

    The function itself is what is called: the decorator adds nothing to a call.

    >>> def larger(x, y=0, *, strict=True): ...
    >>> @with_parameters_of(larger)
    ... def smaller(*args, **options): ...
    >>> inspect.signature(smaller)
    <Signature (x, y=0, *, strict=True)>
    """
    signature = inspect.signature(model)

    def decorate(function: Any) -> Any:
        function.__signature__ = signature
        return function

    return decorate


def decorating(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function of a function and options.

    Without the function, it then gives a decorator with these options.

    >>> @decorating
    ... def named(fun, *, name="f"):
    ...     return name, fun
    >>> named(name="square")(abs)
    ('square', <built-in function abs>)
    """

    @functools.wraps(function)
    def called(fun: Any = None, **options: Any) -> Any:
        if fun is None:
            return functools.partial(called, **options)
        return function(fun, **options)

    signature = inspect.signature(function)
    fun, *options = signature.parameters.values()
    called.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[fun.replace(default=None), *options]
    )
    return called
