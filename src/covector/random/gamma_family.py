"""Distributions that are derived from the gamma distribution.

chisquare         2 · gamma(df / 2)
t                 normal / √(gamma(df / 2) / (df / 2))
f                 a ratio of two chi-squares, each divided by its degrees of freedom
beta              x / (x + y)                  of gamma numbers x, y
dirichlet         gamma numbers divided by their sum
"""

from covector import numpy as cnp
from covector.core.annotations import ArrayLike, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.errors import TypeMismatch
from covector.numpy.axes import as_count, with_out_sharding
from covector.random.arguments import (
    check_method,
    drawn,
    float_dtype,
    keyed,
    parameters,
    sample_shape,
    sampler,
    single_key,
    subkeys,
)
from covector.random.bits import draw_sign
from covector.random.gamma_numbers import draw_gamma, draw_loggamma
from covector.random.inversion import draw_exponential
from covector.random.normal import draw_normal

__all__ = [
    "ball",
    "beta",
    "chisquare",
    "dirichlet",
    "f",
    "generalized_normal",
    "t",
]


@keyed
def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "published",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Sums of ``df`` squared normal numbers: twice a gamma number for ``df / 2``.

    ``method`` is as for ``gamma``.

    >>> from covector import random
    >>> random.chisquare(random.key(0), 3.0, (3,)).shape
    (3,)
    """
    return drawn(
        draw_chisquare, key, shape, dtype, df, out_sharding=out_sharding, method=method
    )


@sampler
def draw_chisquare(key: Value, df: Value, *, shape: Shape, method: str) -> Array:
    """Chi-square numbers."""
    return 2 * cnp.exp(draw_loggamma(key, df / 2, shape=shape, method=method))


@keyed
def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "published",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Student's t with ``df`` degrees of freedom; ``method`` as for ``gamma``.

    >>> from covector import random
    >>> random.t(random.key(0), 3.0, (3,)).shape
    (3,)
    """
    return drawn(
        draw_t, key, shape, dtype, df, out_sharding=out_sharding, method=method
    )


@sampler
def draw_t(key: Value, df: Value, *, shape: Shape, method: str) -> Array:
    """Student numbers."""
    for_normal, for_gamma = subkeys(key, 2)
    half = df / 2
    x = draw_normal(for_normal, shape=shape, dtype=df.type.dtype)
    return x * cnp.sqrt(half / draw_gamma(for_gamma, half, shape=shape, method=method))


@keyed
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "published",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Ratios of two chi-squares, each divided by its degrees of freedom.

    ``method`` is as for ``gamma``.

    >>> from covector import random
    >>> random.f(random.key(0), 3.0, 5.0, (3,)).shape
    (3,)
    """
    how = {"out_sharding": out_sharding, "method": method}
    return drawn(draw_f, key, shape, dtype, dfnum, dfden, **how)


@sampler
def draw_f(
    key: Value, dfnum: Value, dfden: Value, *, shape: Shape, method: str
) -> Array:
    """F numbers."""
    below, above = subkeys(key, 2)
    numerator = draw_chisquare(above, dfnum, shape=shape, method=method) / dfnum
    return numerator / (
        draw_chisquare(below, dfden, shape=shape, method=method) / dfden
    )


@keyed
def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "published",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Beta numbers: density proportional to x^(a−1) (1−x)^(b−1) for 0 < x < 1.

    ``shape`` defaults to the one that ``a`` and ``b`` broadcast to; ``method`` is as
    for ``gamma``.

    >>> from covector import random
    >>> random.beta(random.key(0), 2.0, 3.0, (3,)).shape
    (3,)
    """
    return drawn(
        draw_beta, key, shape, dtype, a, b, out_sharding=out_sharding, method=method
    )


@sampler
def draw_beta(key: Value, a: Value, b: Value, *, shape: Shape, method: str) -> Array:
    """Beta numbers."""
    for_a, for_b = subkeys(key, 2)
    x = draw_loggamma(for_a, a, shape=shape, method=method)
    y = draw_loggamma(for_b, b, shape=shape, method=method)
    # Divided by the larger of them, neither of both is lost where both are tiny.
    largest = cnp.maximum(x, y)
    x, y = cnp.exp(x - largest), cnp.exp(y - largest)
    return x / (x + y)


@keyed
def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "published",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Probabilities that add up to 1: density proportional to Π xₖ^(αₖ−1).

    Args:
      alpha: ``[..., k]``, positive.
      shape: the shape of the result without the last axis, to which that of ``alpha``
        without its last axis broadcasts; by default that.
      dtype: a floating-point dtype, by default the default one.
      method: as for ``gamma``.

    Raises:
      TypeMismatch: ``alpha`` is a scalar, or does not broadcast.

    >>> from covector import random
    >>> random.dirichlet(random.key(0), cnp.ones(3), (2,)).shape
    (2, 3)
    """
    check_method("dirichlet", method)
    key, dtype = single_key("dirichlet", key), float_dtype("dirichlet", dtype)
    alpha = as_array(alpha, "dirichlet")
    if not alpha.type.ndim:
        raise TypeMismatch(
            f"dirichlet needs parameters along a last axis, but got {alpha.type}."
        )
    categories = alpha.type.shape[-1:]
    shape = alpha.type.shape[:-1] if shape is None else sample_shape("dirichlet", shape)
    shape, (alpha,) = parameters("dirichlet", (*shape, *categories), dtype, alpha)
    return with_out_sharding(
        draw_dirichlet(key, alpha, shape=shape, method=method), out_sharding
    )


@sampler
def draw_dirichlet(key: Value, alpha: Value, *, shape: Shape, method: str) -> Array:
    """Dirichlet vectors along the last axis."""
    x = draw_loggamma(key, alpha, shape=shape, method=method)
    x = cnp.exp(x - cnp.max(x, axis=-1, keepdims=True))
    return x / cnp.sum(x, axis=-1, keepdims=True)


# -- balls of the p-norm ---------------------------------------------------------------


@keyed
def generalized_normal(
    key: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Density proportional to exp(−|x|ᵖ): for p = 2 normal, of variance ½.

    >>> from covector import random
    >>> random.generalized_normal(random.key(0), 1.5, (3,)).shape
    (3,)
    """
    who = "generalized_normal"
    key, dtype = single_key(who, key), float_dtype(who, dtype)
    shape, (p,) = parameters(who, sample_shape(who, shape), dtype, p)
    return with_out_sharding(draw_generalized_normal(key, p, shape=shape), out_sharding)


@sampler
def draw_generalized_normal(key: Value, p: Value, *, shape: Shape) -> Array:
    """Generalized normal numbers."""
    for_size, for_sign = subkeys(key, 2)
    size = cnp.power(draw_gamma(for_size, 1 / p, shape=shape), 1 / p)
    return draw_sign(for_sign, shape=shape, dtype=p.type.dtype) * size


@keyed
def ball(
    key: ArrayLike,
    d: int,
    p: ArrayLike = 2,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Points of the ``d``-dimensional unit ball of the p-norm, all equally likely.

    A vector of generalized normal numbers x has a random direction; divided by
    (Σ|x|ᵖ + e)^(1/p), e exponential, it fills the ball (Barthe, Guédon, Mendelson and
    Naor, 2005). The result has the shape ``(*shape, d)``.

    >>> from covector import random
    >>> bool((random.ball(random.key(0), 2, shape=(9,)) ** 2).sum(-1).max() <= 1)
    True
    """
    key, dtype = single_key("ball", key), float_dtype("ball", dtype)
    shape = (*sample_shape("ball", shape), as_count("ball", d, "d"))
    _, (p,) = parameters("ball", (), dtype, p)
    return with_out_sharding(draw_ball(key, p, shape=shape), out_sharding)


@sampler
def draw_ball(key: Value, p: Value, *, shape: Shape) -> Array:
    """Points of the unit ball along the last axis."""
    for_point, for_rest = subkeys(key, 2)
    x = draw_generalized_normal(for_point, p, shape=shape)
    rest = draw_exponential(for_rest, shape=shape[:-1], dtype=p.type.dtype)
    size = cnp.sum(cnp.power(cnp.abs(x), p), axis=-1) + rest
    return x / cnp.power(size, 1 / p)[..., None]
