"""Arrays filled with one value: ``zeros``, ``ones``, ``full`` and their ``_like``."""

import math
from typing import Any

import numpy as np

from covector import options
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
    scalar,
    type_of,
)
from covector.core.sharding.as_sharding import ShardingLike, as_sharding
from covector.core.sharding.shardings import NamedSharding
from covector.core.types import ArrayType, Shape
from covector.lowering.evaluate import at_hand
from covector.lowering.placement import REPLICATED
from covector.numpy.axes import canonical_shape
from covector.numpy.creation import array_of, placed
from covector.numpy.promote import broadcast_shapes
from covector.numpy.reshaping import broadcast_to
from covector.operations.casting import in_dtype
from covector.runtime import memory

__all__ = [
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Zeros; float32 by default. The shape must be known under ``jit``.

    To fill it part by part, write ``x = x.at[i].set(v)``: arrays do not change.

    Args:
      shape: lengths, or one of them; known under ``jit``.
      dtype: by default the default float.
      device, out_sharding: where the array is to be.

    Returns:
      An array of that shape.

    Raises:
      TracerIntegerConversionError: a length is traced.
      TypeMismatch: a length is negative.

    >>> zeros(3)
    Array([0., 0., 0.], dtype=float32)

    See also: ``zeros_like``, ``ones``, ``full``.
    """
    x = _filled("zeros", 0, shape, dtype)
    return x if device is out_sharding is None else placed(x, device, out_sharding)


@with_parameters_of(zeros)
def ones(*args: Any, **options: Any) -> Array:
    """Ones; float32 by default.

    Args:
      shape, dtype, device, out_sharding: as for ``zeros``.

    Returns:
      An array of that shape.

    Raises:
      TracerIntegerConversionError: a length is traced.
      TypeMismatch: a length is negative.

    >>> ones((2, 1), int)
    Array([[1],
           [1]], dtype=int32)

    See also: ``ones_like``, ``zeros``, ``full``.
    """
    return _filled("ones", 1, *args, **options)


@with_parameters_of(zeros)
def empty(*args: Any, **options: Any) -> Array:
    """Zeros: memory is never handed out uninitialized.

    It is there for programs written for NumPy, and costs as much as ``zeros``.

    Args:
      shape, dtype, device, out_sharding: as for ``zeros``.

    Returns:
      An array of that shape.

    Raises:
      TracerIntegerConversionError: a length is traced.
      TypeMismatch: a length is negative.

    >>> empty(2).tolist()
    [0.0, 0.0]

    See also: ``zeros``, ``empty_like``.
    """
    return _filled("empty", 0, *args, **options)


def _filled(
    who: str, value: int, shape: ShapeLike, dtype: Any = None, **place: Any
) -> Array:
    x64 = options.current().enable_x64
    to = dtypes.default_float(x64) if dtype is None else asked_dtype(dtype)
    x = _constant(value, ArrayType(canonical_shape(who, shape), to))
    return placed(x, **place) if place else x


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
      fill_value: a number, or an array that broadcasts to ``shape``.
      device, out_sharding: where the array is to be.

    Returns:
      An array of that shape.

    Raises:
      TypeMismatch: the value does not broadcast to ``shape``.
      IntegerOverflow: the dtype does not have an integer given as the value.

    >>> full(2, 7)
    Array([7, 7], dtype=int32, weak_type=True)

    See also: ``full_like``, ``zeros``, ``ones``, ``broadcast_to``.
    """
    x = _full("full", canonical_shape("full", shape), fill_value, dtype)
    return placed(x, device, out_sharding)


def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Zeros of the shape, dtype and sharding of ``a``, unless others are given.

    Args:
      a: an array, or anything with a shape and a dtype.
      dtype, shape, device, out_sharding: in place of those of ``a``.

    Returns:
      An array. The values of ``a`` are not read.

    Raises:
      DTypeError: ``a`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> cnp.zeros_like(cnp.asarray([1, 2])).tolist()
    [0, 0]

    See also: ``zeros``, ``ones_like``, ``full_like``.
    """
    x = _constant(0, _type_like("zeros_like", a, dtype, shape))
    return _placed_like(x, a, device, out_sharding)


@with_parameters_of(zeros_like)
def ones_like(
    a: ArrayLike, dtype: Any = None, shape: Any = None, **options: Any
) -> Array:
    """Ones of the shape and dtype of ``a``, and where that is, unless others are given.

    Args:
      a, dtype, shape, device, out_sharding: as for ``zeros_like``.

    Returns:
      An array of ones.

    Raises:
      DTypeError: ``a`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> cnp.ones_like(cnp.asarray([5, 7])).tolist()
    [1, 1]

    See also: ``ones``, ``zeros_like``, ``full_like``.
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

    >>> import covector.numpy as cnp
    >>> cnp.empty_like(cnp.asarray([5, 7])).tolist()
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

    Args:
      a, dtype, shape, device, out_sharding: as for ``zeros_like``.
      fill_value: a number, or an array that broadcasts to the shape.

    Returns:
      An array filled with it.

    Raises:
      IntegerOverflow: the dtype does not have an integer given as the value.

    >>> import covector.numpy as cnp
    >>> cnp.full_like(cnp.asarray([1, 2]), 7.9).tolist()
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
    return placed(x, device, out_sharding)


def _type_like(
    who: str, a: ArrayLike, dtype: DTypeLike | None, shape: Any
) -> ArrayType:
    if isinstance(a, list | tuple):
        as_array(a, who)  # which says why not
    like = type_of(a, who)
    if shape is not None:
        like = like.with_shape(canonical_shape(who, shape))
    return like if dtype is None else like.with_dtype(asked_dtype(dtype))


def _full(
    who: str, shape: Shape, fill_value: ArrayLike, dtype: DTypeLike | None
) -> Array:
    value: Any = (
        as_array(fill_value, who) if dtype is None else array_of(who, fill_value, dtype)
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
