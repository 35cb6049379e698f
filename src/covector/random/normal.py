"""The normal distribution, and distributions derived from it.

normal                  √2 erf⁻¹(u), u uniform between −1 and 1
truncated_normal        the same, u between the values at the bounds
lognormal               its exponential
maxwell                 the length of a normal vector in space
double_sided_maxwell    that, with a random sign
multivariate_normal     a linear map of a normal vector
wald                    a function of one normal number and a choice
"""

from typing import Any

import numpy as np

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import asked_dtype, scalar
from covector.core.number_info import finfo
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.numpy.axes import with_out_sharding
from covector.operations.arithmetic import mul
from covector.operations.complex import complex_
from covector.operations.identities import stop_gradient
from covector.operations.rounding import nextafter
from covector.operations.special import erf, erf_inv
from covector.random.arguments import (
    drawn,
    float_dtype,
    in_long_rows,
    keyed,
    sample_shape,
    sampler,
    single_key,
    subkeys,
)
from covector.random.bits import draw_between, draw_sign, draw_unit

__all__ = [
    "double_sided_maxwell",
    "lognormal",
    "maxwell",
    "normal",
    "truncated_normal",
    "wald",
]


def normal(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Normal numbers of mean 0 and variance 1.

    For mean m and standard deviation s, use ``m + s * normal(...)``, which has
    derivatives by m and s. The same key gives the same numbers; ``split`` gives new
    keys.

    Args:
      key: one random key.
      shape: the shape of the result.
      dtype: a floating-point or complex dtype, by default the default floating-point
        one. The two parts of complex numbers have variance ½ each.
      out_sharding: where the result is to be.

    Returns:
      An array of that shape.

    Raises:
      DTypeKindError: ``dtype`` is of another kind.

    >>> from covector import random
    >>> random.normal(random.key(0), (3,)).shape
    (3,)

    See also: ``truncated_normal``, ``multivariate_normal``, ``split``.
    """
    key = single_key("normal", key)
    shape = sample_shape("normal", shape)
    if dtype is None:
        return with_out_sharding(
            draw_normal(key, shape=shape, dtype=float_dtype("normal", None)),
            out_sharding,
        )
    dtype = asked_dtype(dtype)
    if dtypes.is_complex(dtype):
        return with_out_sharding(
            draw_complex_normal(key, shape=shape, dtype=dtypes.real_part(dtype)),
            out_sharding,
        )
    return with_out_sharding(
        draw_normal(key, shape=shape, dtype=float_dtype("normal", dtype)), out_sharding
    )


@sampler
@in_long_rows
def draw_normal(key: Value, *, shape: Shape, dtype: DType) -> Array:
    """Normal numbers."""
    low = scalar(-1 + finfo(dtype).epsneg, dtype)
    u = draw_between(key, low, scalar(1, dtype), shape=shape, dtype=dtype)
    return mul(scalar(np.sqrt(2), dtype), erf_inv(u))


@sampler
def draw_complex_normal(key: Value, *, shape: Shape, dtype: DType) -> Any:
    """Complex normal numbers, with parts of ``dtype``."""
    parts = [draw_normal(k, shape=shape, dtype=dtype) for k in subkeys(key, 2)]
    return complex_(*parts) / scalar(np.sqrt(2), dtype)


@keyed
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Normal numbers given that they lie strictly between ``lower`` and ``upper``.

    The bounds are those of numbers of mean 0 and variance 1, before any scaling.

    Args:
      key: one random key.
      lower, upper: bounds that broadcast to ``shape``; ``lower`` is the smaller
        one; where it is not, the result is NaN.
      shape: the shape of the result; by default the one that the bounds broadcast to.
      dtype: a floating-point dtype, by default the default one.

    >>> from covector import random
    >>> float(random.truncated_normal(random.key(0), 1.0, 1.5)) < 1.5
    True
    """
    return drawn(
        draw_truncated_normal,
        key,
        shape,
        dtype,
        lower,
        upper,
        out_sharding=out_sharding,
    )


@sampler
def draw_truncated_normal(
    key: Value, lower: Value, upper: Value, *, shape: Shape
) -> Array:
    """Normal numbers between bounds."""
    dtype = lower.type.dtype
    root = scalar(np.sqrt(2), dtype)
    low, high = erf(lower / root), erf(upper / root)
    x = root * erf_inv(draw_between(key, low, high, shape=shape, dtype=dtype))
    # Rounding may have reached the bounds themselves.
    least = nextafter(stop_gradient(lower), scalar(np.inf, dtype))
    most = nextafter(stop_gradient(upper), scalar(-np.inf, dtype))
    crossed = lower > upper
    return cnp.where(crossed, cnp.nan, cnp.clip(x, least, most))


def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = 1.0,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Numbers whose logarithm is normal, with the standard deviation ``sigma``.

    ``shape`` defaults to that of ``sigma``.

    >>> from covector import random
    >>> random.lognormal(random.key(0), 0.5, (3,)).shape
    (3,)
    """
    return drawn(draw_lognormal, key, shape, dtype, sigma, out_sharding=out_sharding)


@sampler
def draw_lognormal(key: Value, sigma: Value, *, shape: Shape) -> Array:
    """Exponentials of normal numbers."""
    return cnp.exp(draw_normal(key, shape=shape, dtype=sigma.type.dtype) * sigma)


# -- lengths ---------------------------------------------------------------------------


def maxwell(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Lengths of normal vectors in space: density √(2/π) x² exp(−x²/2).

    >>> from covector import random
    >>> random.maxwell(random.key(0), (3,)).shape
    (3,)
    """
    return drawn(draw_maxwell, key, shape, dtype, out_sharding=out_sharding)


@sampler
def draw_maxwell(key: Value, *, shape: Shape, dtype: DType) -> Array:
    """Maxwell numbers."""
    vector = draw_normal(key, shape=(*shape, 3), dtype=dtype)
    return cnp.sqrt(cnp.sum(vector * vector, axis=-1))


@keyed
def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """``loc`` plus or minus ``scale`` times a Maxwell number.

    >>> from covector import random
    >>> random.double_sided_maxwell(random.key(0), 0.0, 1.0, (3,)).shape
    (3,)
    """
    return drawn(draw_double_sided_maxwell, key, shape, dtype, loc, scale)


@sampler
def draw_double_sided_maxwell(
    key: Value, loc: Value, scale: Value, *, shape: Shape
) -> Array:
    """Maxwell numbers with a sign."""
    dtype = scale.type.dtype
    for_length, for_sign = subkeys(key, 2)
    length = draw_maxwell(for_length, shape=shape, dtype=dtype)
    sign = draw_sign(for_sign, shape=shape, dtype=dtype)
    return length * sign * scale + loc


@keyed
def wald(
    key: ArrayLike,
    mean: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The time when Brownian motion with drift reaches a level: mean ``mean``, shape 1.

    Density (2πx³)^(−½) exp(−(x − μ)² / (2μ²x)), drawn as Michael, Schucany and Haas do
    (1976). ``shape`` defaults to that of ``mean``.

    >>> from covector import random
    >>> random.wald(random.key(0), 2.0, (3,)).shape
    (3,)
    """
    return drawn(draw_wald, key, shape, dtype, mean, out_sharding=out_sharding)


@sampler
def draw_wald(key: Value, mean: Value, *, shape: Shape) -> Array:
    """Wald numbers."""
    dtype = mean.type.dtype
    for_root, for_choice = subkeys(key, 2)
    y = draw_normal(for_root, shape=shape, dtype=dtype) ** 2
    u = draw_unit(for_choice, shape=shape, dtype=dtype)
    # The smaller root of a quadratic equation, of which the larger is mean² / x.
    square = mean * mean
    root = cnp.sqrt(4 * mean * y + square * (y * y))
    x = mean + square * y / 2 - mean / 2 * root
    return cnp.where(u <= mean / (mean + x), x, square / x)
