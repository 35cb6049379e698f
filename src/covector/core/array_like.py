"""``Array``: what concrete arrays and tracers have in common, operators and methods.

Every operator and method is the function of the same name in the NumPy namespace, which
lies several layers above. The one link upwards is ``link.numpy``, set when the package is
imported, and it is the object that ``__array_namespace__`` answers with.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np


class _Link:
    """The way up to the NumPy namespace."""

    numpy: Any = None


link = _Link()

#: what the operators take on their other side; everything else may define its own operator
_OPERANDS = frozenset({bool, int, float, complex, np.ndarray})


def _is_operand(x: Any) -> bool:
    return type(x) in _OPERANDS or isinstance(
        x, Array | np.generic | int | float | complex | np.ndarray
    )


def _binary(name: str) -> Any:
    def operator(self: Any, other: Any) -> Any:
        if not isinstance(other, Array) and not _is_operand(other):
            return NotImplemented
        return getattr(link.numpy, name)(self, other)

    operator.__doc__ = f"covector.numpy.{name}(self, other)"
    return operator


def _reflected(name: str) -> Any:
    def operator(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        return getattr(link.numpy, name)(other, self)

    operator.__doc__ = f"covector.numpy.{name}(other, self)"
    return operator


class Array:
    """An array, concrete or traced. ``isinstance(x, covector.Array)`` is true of both."""

    __slots__ = ("__weakref__",)
    # NumPy leaves mixed expressions to us.
    __array_priority__ = 1000
    # An array is mutable nowhere, but two equal arrays are two objects.
    __hash__ = None  # type: ignore[assignment]

    type: Any

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _binary("true_divide"), _reflected("true_divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _binary("remainder"), _reflected("remainder")
    __divmod__, __rdivmod__ = _binary("divmod"), _reflected("divmod")
    __pow__, __rpow__ = _binary("power"), _reflected("power")
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
    __and__, __rand__ = _binary("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor"), _reflected("bitwise_xor")
    __lshift__, __rlshift__ = _binary("left_shift"), _reflected("left_shift")
    __rshift__, __rrshift__ = _binary("right_shift"), _reflected("right_shift")
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__, __ne__ = _binary("equal"), _binary("not_equal")

    def __neg__(self) -> Any:
        return link.numpy.negative(self)

    def __pos__(self) -> Any:
        return link.numpy.positive(self)

    def __abs__(self) -> Any:
        return link.numpy.abs(self)

    def __invert__(self) -> Any:
        return link.numpy.invert(self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return link.numpy.round(self, ndigits or 0)

    def __getitem__(self, index: Any) -> Any:
        return link.numpy.index(self, index)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError(f"a scalar array ({self.type}) cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))

    def __reversed__(self) -> Iterator[Any]:
        return iter(self[::-1])

    def __len__(self) -> int:
        return len(self.type)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return link.numpy

    # -- facts of the type -------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> Any:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return self.type.ndim

    @property
    def size(self) -> int:
        return self.type.size

    @property
    def weak_type(self) -> bool:
        return self.type.weak

    @property
    def aval(self) -> Any:
        return self.type

    @property
    def itemsize(self) -> int:
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.type.size * self.type.dtype.itemsize
