"""Arrays of what holds numbers: Python numbers, sequences, NumPy arrays, buffers.

Of nested sequences (``from_sequence``):

    only Python numbers         NumPy reads them
    NumPy scalars and arrays    NumPy reads them, the dtype is promoted as ours are
    arrays and tracers          they are stacked, level by level

Types of elements are collected first, by C loops over each innermost list, so that long
lists of numbers cost little more than NumPy takes for them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike, HostArray, Value
from covector.core.array import ConcreteArray, from_host
from covector.core.array_like import Array
from covector.core.convert import (
    as_array,
    asked_dtype,
    check_narrowed,
    from_numpy,
    scalar,
    to_be_cast,
)
from covector.core.number_info import iinfo
from covector.core.promotion import operand_type, promote
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import show_types
from covector.errors import ArgumentError, DTypeError, IntegerOverflow, TypeMismatch
from covector.numpy.axes import with_out_sharding
from covector.operations.casting import convert
from covector.operations.identities import copy as duplicate
from covector.operations.joining import Stack
from covector.operations.transposing import Reshape

__all__ = ["array", "asarray", "copy"]


def array(
    object: ArrayLike | Sequence[Any],
    dtype: DTypeLike | None = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array of what ``object`` holds, in memory of its own.

    Args:
      object: a number, nested sequences of numbers or arrays, a NumPy array, anything
        with ``__jax_array__``, ``__dlpack__``, ``__array__`` or a buffer.
      dtype: by default what NumPy would choose, in 32 bits unless ``enable_x64`` is on:
        a float64 array of NumPy becomes float32. That of a single Python number is
        weak.
      copy: False returns an array unchanged, as ``asarray`` does.
      ndmin: axes of length 1 are added in front until there are so many.
      device: where the array is to be.
      order: ``"K"``, ``"A"`` or ``"C"``; it makes no difference.
      out_sharding: a sharding for the result.

    Returns:
      An array with the shape of ``object``, and ``ndmin`` axes or more.

    Raises:
      DTypeError: something is not a number.
      TypeMismatch: sequences have different lengths.
      IntegerOverflow: a Python integer does not fit the dtype.

    >>> array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)

    See also: ``asarray``, ``full``, ``stack`` (of arrays), ``copy``.
    """
    if order != "K":
        _check_order("array", order)
    x = array_of("array", object, dtype)
    if copy and x is object:
        x = _copied(x)
    if ndmin > x.type.ndim:
        x = Reshape((1,) * (ndmin - x.type.ndim) + x.type.shape)(x)
    return placed(x, device, out_sharding)


def asarray(
    a: ArrayLike | Sequence[Any],
    dtype: DTypeLike | None = None,
    order: str | None = None,
    copy: bool | None = None,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """``a`` as an array: like ``array``, but arrays are returned unchanged.

    Args:
      a: what ``array`` takes.
      copy: True for an array in memory of its own; False to refuse a copy.
      dtype, order, device, out_sharding: as for ``array``.

    Returns:
      An array: ``a`` itself, if it is one of that dtype and place already.

    Raises:
      ArgumentError: ``copy`` is False, and a copy is needed.

    >>> x = asarray(2.5)
    >>> asarray(x) is x
    True

    See also: ``array``, ``from_dlpack``, ``astype``.
    """
    if order is not None:
        _check_order("asarray", order)
    x = array_of("asarray", a, dtype)
    if copy is not None and (x is a) == copy:
        if not copy:
            raise ArgumentError(
                f"asarray of a {type(a).__name__} as {x.type} needs a copy, and "
                "copy=False forbids it. Leave copy out: a copy is made only where it "
                "is needed."
            )
        x = _copied(x)
    return placed(x, device, out_sharding)


def array_of(who: str, x: Any, dtype: DTypeLike | None) -> Array:
    """``x`` as an array, which it may be already."""
    if type(x) is np.ndarray and dtype is None:
        return from_numpy(x)
    if isinstance(x, (list, tuple)):
        return from_sequence(who, x, None if dtype is None else asked_dtype(dtype))
    if dtype is None:
        return as_array(_buffer_values(x), who)
    to = asked_dtype(dtype, x)
    if type(x) is int and not dtypes.is_key(to):
        return scalar(x, to)  # also where it does not fit the default dtype
    return convert(to_be_cast(_buffer_values(x), who), to)


def _buffer_values(x: Any) -> Any:
    """A range, or an object that only exposes a buffer, as a NumPy array."""
    if isinstance(x, range):
        return np.asarray(x)
    if isinstance(x, _NO_BUFFERS) or hasattr(x, "__array__"):
        return x
    try:
        return np.asarray(memoryview(x))
    except TypeError:
        return x


#: what is not an array by its buffer: numbers and arrays, and the bytes of a text
_NO_BUFFERS = (Array, np.ndarray, np.generic, int, float, complex, bytes, str)


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """The same values in memory of their own.

    >>> copy(asarray([1, 2])).tolist()
    [1, 2]
    """
    return array(a, copy=True, order=order)


def _copied(x: Value) -> Array:
    return x.copy() if type(x) is ConcreteArray else duplicate(x)


def _check_order(who: str, order: str | None) -> None:
    if order not in (None, "K", "A", "C"):
        raise ArgumentError(
            f"{who}: order must be 'K', 'A' or 'C', but got {order!r}. Arrays have no "
            "memory layout of their own; transpose changes the order of the axes."
        )


def placed(
    x: Value,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """``x`` where the caller wants it."""
    if device is out_sharding is None:
        return x
    return with_out_sharding(with_out_sharding(x, device), out_sharding)


# -- of nested sequences ---------------------------------------------------------------

_PYTHON = frozenset({bool, int, float, complex})


def from_sequence(who: str, x: Sequence[Any], dtype: Any = None) -> Array:
    """A nested sequence as an array, of the given dtype or that of its elements."""
    kinds = _kinds(x)
    if kinds <= _PYTHON:
        return _from_numbers(who, x, kinds, dtype)
    if all(k in _PYTHON or k is np.ndarray or issubclass(k, np.generic) for k in kinds):
        # What is cast at once keeps 64 bits until then: 2**32 is a float32.
        found = _common(who, _distinct(x, kinds), wide=dtype is not None)
        read = _read(who, x, None)
        values = read.astype(found)
        if dtype is None and read.dtype.kind in "iu" and dtypes.is_integer(found):
            check_narrowed(read, values)
        out = from_host(values)
        return out if dtype is None else convert(out, dtype)
    parts = [as_array(leaf, who) for leaf in _leaves(x)]
    found = _common(who, parts) if dtype is None else dtype
    return _stack(who, x, iter([convert(part, found) for part in parts]))


def _kinds(x: Sequence[Any]) -> set[type]:
    """The types of all that is not a list or tuple."""
    kinds = set(map(type, x))
    if kinds <= _PYTHON:
        return kinds
    nested = {k for k in kinds if issubclass(k, list | tuple)}
    if nested:
        kinds -= nested
        for part in x:
            if type(part) in nested:
                kinds |= _kinds(part)
    return kinds


def _leaves(x: Sequence[Any]) -> Iterator[Any]:
    for part in x:
        if isinstance(part, list | tuple):
            yield from _leaves(part)
        else:
            yield part


def _from_numbers(who: str, x: Any, kinds: set[type], dtype: Any) -> Array:
    x64 = options.current().enable_x64
    if complex in kinds:
        natural = dtypes.default_complex(x64)
    elif float in kinds or not kinds:
        natural = dtypes.default_float(x64)
    else:
        natural = dtypes.default_int(x64) if int in kinds else dtypes.bool_
    # Integers are read as the dtype they are for, which may be wider than the default.
    whole = kinds <= {int, bool}
    values = _read(who, x, dtype if whole and dtype is not None else natural)
    out = from_host(values)
    return out if dtype is None else convert(out, dtype)


def _read(who: str, x: Any, dtype: Any) -> np.ndarray:
    try:
        values = np.array(x, dtype)
    except OverflowError:
        limits = f", which holds {iinfo(dtype).min} to {iinfo(dtype).max}"
        raise IntegerOverflow(
            f"{who}: a Python integer in the sequence does not fit "
            f"{dtypes.short_name(dtype)}{limits if dtypes.is_integer(dtype) else ''}. "
            "Name a wider dtype."
        ) from None
    except ValueError:
        raise TypeMismatch(
            f"{who} needs sequences of one length at each depth, but got "
            f"{_shown(x)}, which is ragged. Fill up the shorter ones."
        ) from None
    return values


def _distinct(x: Sequence[HostArray], kinds: set[type]) -> list[DType]:
    """The operands of promotion among the elements, once each."""
    found: list[Any] = [k for k in kinds if k is int or k is float or k is complex]
    found += [k for k in kinds if k is bool or issubclass(k, np.generic)]
    if any(issubclass(k, np.ndarray) for k in kinds):
        arrays = (leaf for leaf in _leaves(x) if isinstance(leaf, np.ndarray))
        found += {dtypes.element_type(leaf.dtype) for leaf in arrays}
    return found


def _common(who: str, leaves: Sequence[Any], wide: bool = False) -> Any:
    now = options.current()
    x64 = wide or now.enable_x64
    try:
        operands = dict.fromkeys(operand_type(leaf, x64) for leaf in leaves)
    except DTypeError as error:
        error.add_note(f"while reading a sequence for {who}")
        raise
    return promote(*operands, x64=x64, mode=now.numpy_dtype_promotion)[0]


def _stack(who: str, x: Any, leaves: Iterator[Any]) -> Array:
    """The leaves, which have one dtype, put together as they stand in ``x``."""
    if not isinstance(x, list | tuple):
        return next(leaves)
    parts = [_stack(who, part, leaves) for part in x]
    if len({part.type.shape for part in parts}) > 1:
        raise TypeMismatch(
            f"{who} needs elements of one shape at each depth, but got arrays of types "
            f"{show_types(dict.fromkeys(part.type for part in parts))} side by side."
        )
    return Stack(0)(*parts)


def _shown(x: Value) -> str:
    text = repr(x)
    return text if len(text) < 60 else f"{text[:56]} …"
