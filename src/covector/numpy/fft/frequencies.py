"""The frequencies of transforms, and the order in which they stand."""

from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, DTypeLike, HostArray
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.sharding.as_sharding import ShardingLike
from covector.errors import ArgumentError
from covector.numpy.axes import canonical_axes, canonical_shape, with_out_sharding
from covector.numpy.axis_order import roll
from covector.numpy.ranges import arange
from covector.numpy.selection import where
from covector.operations.casting import convert

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def fftfreq(
    n: int,
    d: ArrayLike = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: ShardingLike | None = None,
) -> Array:
    """The frequencies of ``fft``: 0, 1, …, then the negative ones up to −1, each
    divided by n·d.

    Args:
      n: the number of elements of the signal.
      d: the distance of samples; frequencies are in cycles per unit of it.
      dtype: of the result, floating point.

    Raises:
      ArgumentError: n is less than 1.

    >>> print(fftfreq(4, 0.5))
    [ 0.   0.5 -1.  -0.5]
    """
    count = _count("fftfreq", n)
    if type(count) is int:
        k = np.concatenate([np.arange((count + 1) // 2), np.arange(-(count // 2), 0)])
    else:  # symbolic
        k = arange(count)
        k = where(k < (count + 1) // 2, k, k - count)
    return _frequencies("fftfreq", k, count, d, dtype, device)


def rfftfreq(
    n: int,
    d: ArrayLike = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: ShardingLike | None = None,
) -> Array:
    """The frequencies of ``rfft``: 0, 1, …, n // 2, each divided by n·d.

    Arguments and errors are those of ``fftfreq``.

    >>> print(rfftfreq(4, 0.5))
    [0.  0.5 1. ]
    """
    count = _count("rfftfreq", n)
    most = count // 2 + 1
    k = np.arange(most) if type(count) is int else arange(most)
    return _frequencies("rfftfreq", k, count, d, dtype, device)


def fftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """``x`` with frequency 0 in the middle, along ``axes`` (None: along all).

    >>> print(fftshift(fftfreq(4, 0.25)))
    [-2. -1.  0.  1.]
    """
    return _shifted("fftshift", x, axes, lambda n: n // 2)


def ifftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """``x`` with frequency 0 in front, along ``axes``: the inverse of ``fftshift``.

    >>> print(ifftshift(fftshift(fftfreq(5, 0.2))).round(3))
    [ 0.  1.  2. -2. -1.]
    """
    return _shifted("ifftshift", x, axes, lambda n: -(n // 2))


def _count(who: str, n: Any) -> int:
    (count,) = canonical_shape(who, (n,), "n")
    if count < 1:
        raise ArgumentError(f"{who} needs n of at least 1, but got {count}.")
    return count


def _frequencies(
    who: str,
    k: HostArray | Array,
    n: int,
    d: ArrayLike,
    dtype: DTypeLike | None,
    device: ShardingLike | None,
) -> Array:
    default = dtypes.default_float(options.current().enable_x64)
    wanted = default if dtype is None else asked_dtype(dtype)
    if not dtypes.is_floating(wanted):
        raise ArgumentError(
            f"{who} gives floating-point numbers: dtype cannot be "
            f"{dtypes.short_name(wanted)}."
        )
    distance = convert(as_array(d, who), wanted)
    counts = convert(as_array(k.astype(np.int32)), wanted)
    return with_out_sharding(counts / (n * distance), device)


def _shifted(who: str, x: ArrayLike, axes: Axes, by: Any) -> Array:
    x = as_array(x, who)
    along = canonical_axes(who, axes, x.type.ndim, "axes")
    return roll(x, [by(x.type.shape[k]) for k in along], along)
