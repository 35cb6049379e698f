"""Distributions drawn by inverting their distribution function F: x = F⁻¹(u).

With u uniform on [0, 1), but for laplace, where it is uniform on (−1, 1):

    exponential   −log(1 − u)
    laplace       sign(u) · −log(1 − |u|)
    gumbel        −log(−log u)
    logistic      log(u / (1 − u))
    cauchy        tan(π(u − ½))
    rayleigh      σ · √(−2 log u)
    weibull_min   λ · (−log(1 − u))^(1/k)
    pareto        (1 − u)^(−1/b)
    geometric     ⌊log u / log(1 − p)⌋ + 1
    triangular    a root on each side of the mode

Each is a differentiable function of its parameters, geometric apart.
"""

from typing import Any

import numpy as np

from covector import numpy as cnp
from covector.core.annotations import ArrayLike, DType, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.number_info import finfo
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.numpy.axes import with_out_sharding
from covector.numpy.promote import inexact
from covector.operations.joining import Unstack
from covector.operations.multiply_add import multiply_add
from covector.random.arguments import (
    drawn,
    in_long_rows,
    int_dtype,
    keyed,
    parameters,
    sampler,
    single_key,
)
from covector.random.bits import check_mode, draw_between, draw_positive, draw_unit

__all__ = [
    "cauchy",
    "exponential",
    "geometric",
    "gumbel",
    "laplace",
    "logistic",
    "pareto",
    "rayleigh",
    "triangular",
    "weibull_min",
]


def exponential(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Exponential numbers, waiting times of mean 1: density e⁻ˣ for x ≥ 0.

    Divide by a rate, or multiply by a mean, for others.

    Args:
      key: one random key.
      shape: the shape of the result.
      dtype: a floating-point dtype, by default the default one.

    >>> from covector import random
    >>> random.exponential(random.key(0), (3,)).shape
    (3,)

    See also: ``gamma``, ``poisson``.
    """
    return drawn(draw_exponential, key, shape, dtype, out_sharding=out_sharding)


@sampler
@in_long_rows
def draw_exponential(key: Value, *, shape: Shape, dtype: DType) -> Array:
    """Exponential numbers."""
    return -cnp.log1p(-draw_unit(key, shape=shape, dtype=dtype))


def gumbel(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Gumbel numbers, the limit of maxima: distribution function exp(−e⁻ˣ).

    Added to logits they make argmax a draw from softmax, as ``categorical`` does.

    Args:
      key: one random key.
      shape: the shape of the result.
      dtype: a floating-point dtype, by default the default one.
      mode: ``"high"`` resolves the upper tail with twice as many bits as ``"low"``,
        which is what None means: the largest values in f32 are then about 32 and not
        16.

    >>> from covector import random
    >>> random.gumbel(random.key(0), (3,)).shape
    (3,)

    See also: ``categorical``.
    """
    check_mode("gumbel", "low" if mode is None else mode)
    return drawn(
        draw_gumbel, key, shape, dtype, fine=mode == "high", out_sharding=out_sharding
    )


@sampler
@in_long_rows
def draw_gumbel(key: Value, *, shape: Shape, dtype: DType, fine: bool) -> Array:
    """Gumbel numbers, of one uniform number each or, if ``fine``, of two."""
    if fine:
        both = draw_positive(key, shape=(2, *shape), dtype=dtype)
        high, low = Unstack(0)(both)
        more = multiply_add(low, scalar(2.0 ** -finfo(dtype).nmant, dtype), high)
        # Above ½ the sum could round to 1.
        return -cnp.log(-cnp.log1p(-cnp.where(high < 0.5, more, high)))
    return -cnp.log(-cnp.log(draw_positive(key, shape=shape, dtype=dtype)))


def laplace(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Laplace numbers, double exponential: density e^−|x| / 2, of variance 2.

    Arguments are those of ``exponential``.

    >>> from covector import random
    >>> random.laplace(random.key(0), (3,)).shape
    (3,)
    """
    return drawn(draw_laplace, key, shape, dtype, out_sharding=out_sharding)


@sampler
@in_long_rows
def draw_laplace(key: Value, *, shape: Shape, dtype: DType) -> Array:
    """Laplace numbers."""
    low = scalar(-1 + finfo(dtype).epsneg, dtype)
    u = draw_between(key, low, scalar(1, dtype), shape=shape, dtype=dtype)
    return cnp.sign(u) * cnp.log1p(-cnp.abs(u))


def logistic(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Logistic numbers: distribution function 1 / (1 + e⁻ˣ), as logits of uniform ones.

    Arguments are those of ``exponential``.

    >>> from covector import random
    >>> random.logistic(random.key(0), (3,)).shape
    (3,)
    """
    return drawn(draw_logistic, key, shape, dtype, out_sharding=out_sharding)


@sampler
@in_long_rows
def draw_logistic(key: Value, *, shape: Shape, dtype: DType) -> Array:
    """Logistic numbers."""
    u = draw_positive(key, shape=shape, dtype=dtype)
    return cnp.log(u) - cnp.log1p(-u)


def cauchy(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Cauchy numbers: density 1 / (π(1 + x²)). They have no mean and no variance.

    Arguments are those of ``exponential``.

    >>> from covector import random
    >>> random.cauchy(random.key(0), (3,)).shape
    (3,)
    """
    return drawn(draw_cauchy, key, shape, dtype, out_sharding=out_sharding)


@sampler
@in_long_rows
def draw_cauchy(key: Value, *, shape: Shape, dtype: DType) -> Array:
    """Cauchy numbers."""
    eps = scalar(finfo(dtype).eps, dtype)
    u = draw_between(key, eps, scalar(1, dtype), shape=shape, dtype=dtype)
    return cnp.tan(np.pi * (u - 0.5))


# -- with parameters -------------------------------------------------------------------


@keyed
def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Lengths of normal vectors in the plane: density x/σ² · exp(−x²/2σ²), σ =
    ``scale``.

    ``shape`` defaults to that of ``scale``.

    >>> from covector import random
    >>> random.rayleigh(random.key(0), 2.0, (3,)).shape
    (3,)
    """
    return drawn(draw_rayleigh, key, shape, dtype, scale, out_sharding=out_sharding)


@sampler
def draw_rayleigh(key: Value, scale: Value, *, shape: Shape) -> Array:
    """Rayleigh numbers."""
    return scale * cnp.sqrt(
        -2 * cnp.log(draw_positive(key, shape=shape, dtype=scale.type.dtype))
    )


@keyed
def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Distribution function 1 − exp(−(x/λ)ᵏ), with λ = ``scale``, k =
    ``concentration``.

    >>> from covector import random
    >>> random.weibull_min(random.key(0), 2.0, 1.5, (3,)).shape
    (3,)
    """
    return drawn(draw_weibull_min, key, shape, dtype, scale, concentration)


@sampler
def draw_weibull_min(
    key: Value, scale: Value, concentration: Value, *, shape: Shape
) -> Array:
    """Weibull numbers."""
    waited = draw_exponential(key, shape=shape, dtype=scale.type.dtype)
    return cnp.power(waited, 1 / concentration) * scale


@keyed
def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Density b / x^(b + 1) for x ≥ 1. ``shape`` defaults to that of ``b``.

    >>> from covector import random
    >>> random.pareto(random.key(0), 3.0, (3,)).shape
    (3,)
    """
    return drawn(draw_pareto, key, shape, dtype, b, out_sharding=out_sharding)


@sampler
def draw_pareto(key: Value, b: Value, *, shape: Shape) -> Array:
    """Pareto numbers."""
    return cnp.exp(draw_exponential(key, shape=shape, dtype=b.type.dtype) / b)


@keyed
def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: Any,
    right: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Density that rises linearly from ``left`` to ``mode`` and falls to ``right``.

    ``shape`` defaults to the one that the parameters broadcast to.

    >>> from covector import random
    >>> random.triangular(random.key(0), 0.0, 1.0, 3.0, (3,)).shape
    (3,)
    """
    return drawn(
        draw_triangular, key, shape, dtype, left, mode, right, out_sharding=out_sharding
    )


@sampler
def draw_triangular(
    key: Value, left: Value, mode: Value, right: Value, *, shape: Shape
) -> Array:
    """Triangular numbers."""
    u = draw_unit(key, shape=shape, dtype=left.type.dtype)
    width = right - left
    rising = left + cnp.sqrt(u * width * (mode - left))
    falling = right - cnp.sqrt((1 - u) * width * (right - mode))
    return cnp.where(u < (mode - left) / width, rising, falling)


@keyed
def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The number of trials up to the first success, each of probability ``p``.

    Args:
      p: probabilities from 0 (not included) to 1.
      shape: the shape of the result, by default that of ``p``.
      dtype: an integer dtype, by default the default one.

    >>> from covector import random
    >>> random.geometric(random.key(0), 1.0, (3,)).tolist()
    [1, 1, 1]
    """
    key, dtype = single_key("geometric", key), int_dtype("geometric", dtype)
    p = inexact("geometric", p)
    real = p.type.dtype
    shape, (p,) = parameters("geometric", shape, real, p)
    return with_out_sharding(
        draw_geometric(key, p, shape=shape, dtype=real).astype(dtype), out_sharding
    )


@sampler
def draw_geometric(key: Value, p: Value, *, shape: Shape, dtype: DType) -> Array:
    """Geometric numbers, as floats."""
    u = draw_positive(key, shape=shape, dtype=dtype)
    return cnp.floor(cnp.log(u) / cnp.log1p(-p)) + 1
