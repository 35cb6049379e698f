"""Array creation: iota, full, and the like."""

from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike, DTypeLike, ShapeLike
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, scalar
from covector.core.sharding.as_sharding import ShardingLike
from covector.errors import TypeMismatch
from covector.numpy import filling
from covector.numpy.axes import (
    as_integer,
    canonical_axis,
    canonical_shape,
    with_out_sharding,
)
from covector.operations.creation import Iota

__all__ = [
    "broadcasted_iota",
    "empty",
    "full",
    "full_like",
    "iota",
    "shape_as_value",
    "stage",
]


def iota(dtype: DTypeLike, size: int) -> Array:
    """0, 1, … up to ``size`` − 1.

    Raises:
      DTypeError: ``dtype`` is not a number.
      IntegerOverflow: ``dtype`` does not count so far.

    >>> print(iota("float32", 3))
    [0. 1. 2.]
    """
    return broadcasted_iota(dtype, (as_integer("iota", size, "size"),), 0)


def broadcasted_iota(
    dtype: DTypeLike,
    shape: ShapeLike,
    dimension: int,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """0, 1, 2, … along one axis of ``shape``, the same along all others.

    Args:
      dtype: of numbers.
      shape: the shape of the result.
      dimension: the axis along which it counts.

    >>> broadcasted_iota(int, (2, 3), 1).tolist()
    [[0, 1, 2], [0, 1, 2]]

    See also: ``iota``, ``covector.numpy.indices``.
    """
    shape = canonical_shape("broadcasted_iota", shape)
    axis = canonical_axis("broadcasted_iota", dimension, len(shape), "dimension")
    dtype = asked_dtype(dtype)
    if shape[axis]:
        scalar(shape[axis] - 1, dtype)  # the last: raises where it does not fit
    x = Iota(dtype, shape, axis)()
    return with_out_sharding(x, out_sharding)


def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    sharding: ShardingLike | None = None,
) -> Array:
    """An array of one value.

    Args:
      fill_value: a scalar.
      dtype: by default that of the value, weak where it is a Python number.

    Raises:
      TypeMismatch: ``fill_value`` is not a scalar.

    >>> full((2,), 1.5).tolist()
    [1.5, 1.5]
    """
    _check_scalar("full", fill_value)
    return filling.full(shape, fill_value, dtype, out_sharding=sharding)


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    sharding: ShardingLike | None = None,
) -> Array:
    """An array of one value, in the shape and dtype of ``x``, and where that is, unless
    others are given.

    >>> full_like(iota(int, 3), 7).tolist()
    [7, 7, 7]
    """
    _check_scalar("full_like", fill_value)
    return filling.full_like(x, fill_value, dtype, shape, out_sharding=sharding)


def empty(
    shape: ShapeLike, dtype: DTypeLike, *, out_sharding: ShardingLike | None = None
) -> Array:
    """An array whose values do not matter; they are zeros.

    >>> empty((2,), "int8").tolist()
    [0, 0]
    """
    return filling.empty(shape, dtype, out_sharding=out_sharding)


def shape_as_value(shape: ShapeLike) -> Array:
    """The lengths of axes as a vector of integers.

    >>> shape_as_value((2, 3)).tolist()
    [2, 3]
    """
    sizes = canonical_shape("shape_as_value", shape)
    return as_array(np.array(sizes, np.int32), "shape_as_value")


def stage(x: ArrayLike, /) -> Array:
    """A number, or an array of NumPy's or others, as an array.

    What is known stays known, also while a program is traced.

    >>> stage(1.5).tolist()
    1.5
    """
    return as_array(x, "stage")


def _check_scalar(who: str, value: Any) -> None:
    if type(value) is not int and as_array(value, who).type.ndim:
        raise TypeMismatch(
            f"{who} needs a scalar as its value, but got {as_array(value).type}. "
            f"covector.numpy.{who} takes arrays that broadcast."
        )
