"""Index construction: flat and multi-axis indices, open meshes, and index objects."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, scalar
from covector.core.trace import Tracer
from covector.errors import (
    ArgumentError,
    ConcretizationTypeError,
    DTypeError,
    TypeMismatch,
)
from covector.numpy.arithmetic import remainder
from covector.numpy.axes import canonical_shape
from covector.numpy.concatenation import concatenate
from covector.numpy.creation import array
from covector.numpy.indexing import counted, modulo
from covector.numpy.nonzeros import nonzero
from covector.numpy.promote import broadcast
from covector.numpy.ranges import arange, linspace
from covector.numpy.reshaping import reshape
from covector.numpy.searching import index_dtype
from covector.operations.arithmetic import add, mul
from covector.operations.casting import convert
from covector.operations.extrema import clamp
from covector.operations.windows import wide

__all__ = ["c_", "index_exp", "ix_", "r_", "ravel_multi_index", "s_", "unravel_index"]


def unravel_index(indices: ArrayLike, shape: ShapeLike) -> tuple[Array, ...]:
    """The index along each axis of an array of ``shape`` for indices in it raveled.

    Negative indices count from the end, and those outside give the nearest one inside.

    >>> import covector.numpy as cnp
    >>> [int(i) for i in cnp.unravel_index(5, (2, 3))]
    [1, 2]
    """
    flat = as_array(indices, "unravel_index")
    if not dtypes.is_integer(flat.type.dtype):
        raise DTypeError(f"unravel_index needs integers, but got {flat.type}.")
    lengths = canonical_shape("unravel_index", shape)
    total = prod(lengths)
    if not lengths:
        return ()
    rest = clamp(*_bounds(counted(flat, total), total))
    positions = []
    for n in lengths[:0:-1]:
        positions.append(remainder(rest, max(n, 1)))
        rest = rest // max(n, 1)
    return (rest, *positions[::-1])


def _bounds(x: Value, n: int) -> tuple[Array, Array, Array]:
    """The first and last index of an axis around ``x``."""
    return scalar(0, x.type.dtype), x, scalar(max(n - 1, 0), x.type.dtype)


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Any,
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """The indices in an array of lengths ``dims`` raveled, for indices along each axis.

    Args:
      mode: ``"raise"``: all indices must be inside, and known; ``"clip"``: others
        become the nearest; ``"wrap"``: they repeat.
      order: ``"C"``: the last axis runs fastest; ``"F"``: the first.
      dtype: of the result; by default the default integer.

    >>> import covector.numpy as cnp
    >>> int(cnp.ravel_multi_index((1, 2), (2, 3)))
    5
    """
    lengths = canonical_shape("ravel_multi_index", dims, "dims")
    if len(multi_index) != len(lengths) or order not in ("C", "F"):
        raise ArgumentError(
            "ravel_multi_index needs as many indices as dims, and an order 'C' or "
            f"'F', but got {len(multi_index)} for {lengths}, and {order!r}."
        )
    positions = [as_array(i, "ravel_multi_index") for i in multi_index]
    if not all(dtypes.is_integer(i.type.dtype) for i in positions):
        raise DTypeError(
            "ravel_multi_index needs integers, but got "
            f"{', '.join(str(i.type) for i in positions)}."
        )
    positions = [_inside(i, n, mode) for i, n in zip(positions, lengths, strict=True)]
    if order == "F":
        positions, lengths = positions[::-1], lengths[::-1]
    result = index_dtype() if dtype is None else asked_dtype(dtype)
    flat = scalar(0, result)
    for i, n in zip(positions, lengths, strict=True):
        row = mul(flat, scalar(n, result))
        flat = add(*broadcast("ravel_multi_index", row, convert(i, result)))
    return flat


def _inside(position: Any, n: int, mode: str) -> Array:
    """Indices along an axis of length ``n``, brought inside or checked to be."""
    if mode == "clip":
        return clamp(*_bounds(wide(position), n))
    if mode == "wrap":
        return modulo(position, n)
    if mode != "raise":
        raise ArgumentError(
            "ravel_multi_index: mode must be 'raise', 'clip' or 'wrap', but got "
            f"{mode!r}."
        )
    if isinstance(position, Tracer):
        raise ConcretizationTypeError(
            "ravel_multi_index with mode='raise' must know the indices, but got a "
            f"traced value ({position.type}). {position.origin()} Use mode='clip' or "
            "mode='wrap'."
        )
    known = np.asarray(position)
    if known.size and not 0 <= known.min() <= known.max() < n:
        raise ArgumentError(
            f"ravel_multi_index: indices from {known.min()} to {known.max()} are not "
            f"all inside an axis of length {n}."
        )
    return position


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Index arrays, each along an axis of its own, that select all their combinations.

    A mask stands for the indices where it is true, and must be known.

    >>> import covector.numpy as cnp
    >>> x = cnp.arange(6).reshape((2, 3))
    >>> x[cnp.ix_(cnp.array([1, 0]), cnp.array([2]))].tolist()
    [[5], [2]]
    """
    out = []
    for k, given in enumerate(args):
        positions = as_array(given, "ix_")
        if positions.type.ndim != 1:
            raise TypeMismatch(
                f"ix_ needs arrays with one axis, but got {positions.type} at position "
                f"{k}."
            )
        if dtypes.is_bool(positions.type.dtype):
            (positions,) = nonzero(positions)
        elif not positions.type.size:
            positions = convert(positions, index_dtype())
        shape = [1] * len(args)
        shape[k] = -1
        out.append(reshape(positions, tuple(shape)))
    return tuple(out)


# -- objects to index ------------------------------------------------------------------


class _IndexExpression:
    """Returns its index; as a tuple, if asked to."""

    def __init__(self, name: str, always_tuple: bool) -> None:
        self.name = name
        self.always_tuple = always_tuple

    def __getitem__(self, item: Any) -> Any:
        return (item,) if self.always_tuple and not isinstance(item, tuple) else item

    def __repr__(self) -> str:
        return self.name


class _Concatenator:
    """Concatenates the entries of its index: arrays, numbers, and slices for ranges.

    ``start:stop:step`` is ``arange``, and with an imaginary step, ``linspace`` with so
    many numbers. A leading text ``"axis,ndim,first"`` says along which axis to join,
    how many axes parts are brought to, and where among them their own begin.
    """

    def __init__(self, name: str, axis: int, ndim: int, first: int) -> None:
        self.name = name
        self.how: tuple[int, int, int] = (axis, ndim, first)

    def __repr__(self) -> str:
        return self.name

    def __getitem__(self, item: Any) -> Array:
        items = item if isinstance(item, tuple) else (item,)
        text = ""
        if items and isinstance(items[0], str):
            text, *items = items
        axis, ndim, first = self._directive(text)
        parts = [_expanded(_part(i, self.name), ndim, first) for i in items]
        out = concatenate(parts, axis)
        if text in ("r", "c") and out.ndim == 1:
            return reshape(out, (1, -1) if text == "r" else (-1, 1))
        return out

    def _directive(self, text: str) -> tuple[int, int, int]:
        if text in ("", "r", "c"):
            return self.how
        try:
            given = [int(n) for n in text.split(",")]
            axis, ndim, first = [*given, *self.how[len(given) :]]
        except ValueError:
            raise ArgumentError(
                f"{self.name} takes up to three integers in a leading text, 'axis,ndim,"
                f"first', but got {text!r}."
            ) from None
        return axis, ndim, first


def _part(item: Any, who: str) -> Any:
    """A part as an array: of a range, or as it is."""
    if not isinstance(item, slice):
        return array(item) if isinstance(item, list | tuple) else as_array(item, who)
    start, step = item.start or 0, 1 if item.step is None else item.step
    if isinstance(step, complex):
        return linspace(start, item.stop, int(abs(step)))
    return arange(start, item.stop, step)


def _expanded(x: Value, ndim: int, first: int) -> Any:
    """``x`` with axes of length 1 in front and behind, ``ndim`` of them in all."""
    missing = ndim - x.type.ndim
    if missing <= 0:
        return x
    front = first if first >= 0 else first + missing + 1
    front = min(max(front, 0), missing)
    return reshape(x, (1,) * front + x.type.shape + (1,) * (missing - front))


#: ``s_[2::2, None]`` is the index that it is written with
s_: _IndexExpression = _IndexExpression("s_", always_tuple=False)
#: ``index_exp[2::2]`` is the same, always as a tuple
index_exp: _IndexExpression = _IndexExpression("index_exp", always_tuple=True)
#: ``r_[1:4, 0, x]`` joins ranges, numbers and arrays along the first axis
r_: _Concatenator = _Concatenator("r_", 0, 1, -1)
#: ``c_[x, y]`` joins them as columns
c_: _Concatenator = _Concatenator("c_", -1, 2, 0)
