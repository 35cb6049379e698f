"""Array creation: from Python numbers, sequences and NumPy arrays, or by filling.

array, asarray      of anything that holds numbers; ``sequences`` reads nested lists
zeros, ones, full   and their ``_like``
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import (
    ArrayLike,
    DTypeLike,
    ShapeLike,
    Value,
    with_parameters_of,
)
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import (
    ShapeDtypeStruct,
    as_array,
    asked_dtype,
    from_numpy,
    scalar,
    to_be_cast,
    type_of,
)
from covector.core.primitive import Primitive
from covector.core.sharding.as_sharding import ShardingLike, as_sharding
from covector.core.sharding.shardings import NamedSharding
from covector.core.staging import KNOWN_LIMIT
from covector.core.trace import current
from covector.core.types import ArrayType, Shape
from covector.errors import ArgumentError
from covector.lowering.evaluate import base
from covector.lowering.placement import REPLICATED
from covector.numpy.axes import canonical_shape, with_out_sharding
from covector.numpy.promote import broadcast_shapes
from covector.numpy.reshaping import broadcast_to
from covector.numpy.sequences import from_sequence
from covector.operations.casting import convert, in_dtype
from covector.operations.identities import copy as duplicate
from covector.operations.transposing import Reshape
from covector.runtime import client, memory

__all__ = [
    "array",
    "asarray",
    "copy",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


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

    Raises:
      DTypeError: something is no number.
      TypeMismatch: sequences have different lengths.
      IntegerOverflow: a Python integer does not fit the dtype.

    >>> array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)

    See also: ``asarray``, ``full``, ``stack`` (of arrays), ``copy``.
    """
    if order != "K":
        _check_order("array", order)
    x = _array("array", object, dtype)
    if copy and x is object:
        x = _copied(x)
    if ndmin > x.type.ndim:
        x = Reshape((1,) * (ndmin - x.type.ndim) + x.type.shape)(x)
    return _placed(x, device, out_sharding)


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
      copy: True for an array in memory of its own; False to refuse a copy.

    Raises:
      ArgumentError: ``copy`` is False, and a copy is needed.

    >>> x = asarray(2.5)
    >>> asarray(x) is x
    True
    """
    if order is not None:
        _check_order("asarray", order)
    x = _array("asarray", a, dtype)
    if copy is not None and (x is a) == copy:
        if not copy:
            raise ArgumentError(
                f"asarray of a {type(a).__name__} as {x.type} needs a copy, and "
                "copy=False forbids it. Leave copy out: a copy is made only where it "
                "is needed."
            )
        x = _copied(x)
    return _placed(x, device, out_sharding)


def _array(who: str, x: Any, dtype: DTypeLike | None) -> Array:
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


#: what is no array by its buffer: numbers and arrays, and the bytes of a text
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


def _placed(
    x: Value,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """``x`` where the caller wants it."""
    if device is out_sharding is None:
        return x
    return with_out_sharding(with_out_sharding(x, device), out_sharding)


# -- one value -------------------------------------------------------------------------


def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Zeros; float32 by default. The shape must be known under ``jit``.

    >>> zeros(3)
    Array([0., 0., 0.], dtype=float32)

    See also: ``zeros_like``, ``ones``, ``full``.
    """
    x = _filled("zeros", 0, shape, dtype)
    return x if device is out_sharding is None else _placed(x, device, out_sharding)


@with_parameters_of(zeros)
def ones(*args: Any, **options: Any) -> Array:
    """Ones; float32 by default.

    >>> ones((2, 1), int)
    Array([[1],
           [1]], dtype=int32)
    """
    return _filled("ones", 1, *args, **options)


@with_parameters_of(zeros)
def empty(*args: Any, **options: Any) -> Array:
    """Zeros: memory is never handed out uninitialized.

    >>> empty(2).tolist()
    [0.0, 0.0]
    """
    return _filled("empty", 0, *args, **options)


def _filled(
    who: str, value: int, shape: ShapeLike, dtype: Any = None, **options: Any
) -> Array:
    to = asked_dtype(float if dtype is None else dtype)
    x = _constant(value, ArrayType(canonical_shape(who, shape), to))
    return _placed(x, **options) if options else x


def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array filled with one value, or with values that broadcast to ``shape``.

    Args:
      dtype: by default that of ``fill_value``, so an integer for ``full(2, 7)``; weak
        where it is a Python number.

    >>> full(2, 7)
    Array([7, 7], dtype=int32, weak_type=True)
    """
    x = _full("full", canonical_shape("full", shape), fill_value, dtype)
    return _placed(x, device, out_sharding)


def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Zeros of the shape, dtype and sharding of ``a``, unless others are given.

    >>> zeros_like(asarray([1, 2])).tolist()
    [0, 0]
    """
    x = _constant(0, _type_like("zeros_like", a, dtype, shape))
    return _placed_like(x, a, device, out_sharding)


@with_parameters_of(zeros_like)
def ones_like(
    a: ArrayLike, dtype: Any = None, shape: Any = None, **options: Any
) -> Array:
    """Ones of the shape and dtype of ``a``, and where that is, unless others are given.

    >>> ones_like(asarray([5, 7])).tolist()
    [1, 1]
    """
    x = _constant(1, _type_like("ones_like", a, dtype, shape))
    return _placed_like(x, a, **options)


def empty_like(
    prototype: Any,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Zeros of the shape and dtype of ``prototype``, and where that is, unless others
    are given.

    >>> empty_like(asarray([5, 7])).tolist()
    [0, 0]
    """
    x = _constant(0, _type_like("empty_like", prototype, dtype, shape))
    return _placed_like(x, prototype, device, out_sharding)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """One value, in the shape, dtype and sharding of ``a``, unless others are given.

    Raises:
      IntegerOverflow: the dtype does not have an integer given as the value.

    >>> full_like(asarray([1, 2]), 7.9).tolist()
    [7, 7]

    See also: ``full``, ``zeros_like``, ``ones_like``.
    """
    like = _type_like("full_like", a, dtype, shape)
    value = in_dtype(fill_value, like.dtype, "full_like", like.weak)
    x = _full("full_like", like.shape, value, None)
    return _placed_like(x, a, device, out_sharding)


def _placed_like(
    x: Value,
    like: Any,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """``x`` where the caller wants it, or else where the user put ``like``: with
    another shape whole on each device, for it may not be divisible as that is.
    """
    if device is None and out_sharding is None:
        if type(like) is ConcreteArray:
            target = like.placement
        else:
            target = like.sharding if isinstance(like, ShapeDtypeStruct) else None
        if target is None:
            return x
        target = as_sharding(target, "the sharding of a ShapeDtypeStruct")
        if target.flat_devices and (target.single or x.shape == like.shape):
            return x.to_device(target)
        if target.flat_devices and isinstance(target, NamedSharding):
            return x.to_device(NamedSharding(target.mesh, REPLICATED))
        return x
    return _placed(x, device, out_sharding)


def _type_like(
    who: str, a: ArrayLike, dtype: DTypeLike | None, shape: Any
) -> ArrayType:
    if isinstance(a, list | tuple):
        as_array(a, who)  # which says why not
    like = type_of(a)
    if shape is not None:
        like = like.with_shape(canonical_shape(who, shape))
    return like if dtype is None else like.with_dtype(asked_dtype(dtype))


def _full(
    who: str, shape: Shape, fill_value: ArrayLike, dtype: DTypeLike | None
) -> Array:
    value: Any = (
        as_array(fill_value, who) if dtype is None else _array(who, fill_value, dtype)
    )
    known = type(value) is ConcreteArray and value.on_host()
    if not known or value.placement is not None or not at_hand(math.prod(shape)):
        return broadcast_to(value, shape)
    out = ArrayType(shape, value.type.dtype, value.type.weak)
    if value.type.ndim:
        broadcast_shapes(who, [value.type, out])
    try:
        values = np.full(shape, value.host(), out.storage)
    except (MemoryError, ValueError) as error:  # NumPy cannot count so many bytes
        raise memory.out_of_memory(error) from None
    return ConcreteArray(out, values)


def _constant(value: int, type: ArrayType) -> Array:
    """An array of zeros or ones."""
    if not at_hand(type.size):
        return broadcast_to(scalar(value, type.dtype, type.weak), type.shape)
    try:
        values = (np.ones if value else np.zeros)(type.shape, type.storage)
    except (MemoryError, ValueError) as error:  # NumPy cannot count so many bytes
        raise memory.out_of_memory(error) from None
    return ConcreteArray(type, values)


def at_hand(size: int) -> bool:
    """Whether an array that is made of nothing is made in host memory, with its values.

    Otherwise an operation makes it: where it is large and belongs on another device, or
    into a program.
    """
    if current.trace is not base:
        return type(size) is int and size <= KNOWN_LIMIT
    return size <= Primitive.host_limit or client.default_platform() == "cpu"
