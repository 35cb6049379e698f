"""The gamma distribution, by rejection, and distributions derived from it.

    gamma, loggamma   density x^(a−1) e⁻ˣ / Γ(a), and the logarithm, for small a
    chisquare         2 · gamma(df / 2)
    t                 normal / √(gamma(df / 2) / (df / 2))
    f                 a ratio of two chi-squares, each divided by its degrees of freedom
    beta              x / (x + y)                  of gamma numbers x, y
    dirichlet         gamma numbers divided by their sum

Marsaglia and Tsang ("A simple method for generating gamma variables", 2000) accept
d (1 + c·x)³ for normal x with a probability above 0.95, where d = a − 1/3 ≥ 2/3 and
c = 1/√(9d). For a < 1, a number for a + 1 is multiplied by u^(1/a), u uniform.

Each element draws with a key of its own, so it does not depend on how long others take.
The derivative with respect to a is that of the sample at which the distribution
function has the same value: dx/da = −(∂F/∂a) / (∂F/∂x).
"""

from collections.abc import Sequence
from typing import Any

from covector import numpy as cnp
from covector.core.annotations import ArrayLike, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.number_info import finfo
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.errors import TypeMismatch
from covector.numpy.axes import with_out_sharding
from covector.operations.gamma import random_gamma_grad
from covector.operations.selection import where
from covector.operations.special import digamma
from covector.programs.custom_rules.custom_derivative import custom_jvp
from covector.random import generators
from covector.random.arguments import (
    drawn,
    float_dtype,
    keyed,
    parameters,
    repeat,
    sample_shape,
    sampler,
    single_key,
    subkeys,
)
from covector.random.bits import draw_sign, draw_unit
from covector.random.inversion import draw_exponential
from covector.random.normal import draw_normal

__all__ = [
    "ball",
    "beta",
    "chisquare",
    "dirichlet",
    "f",
    "gamma",
    "generalized_normal",
    "loggamma",
    "t",
]


@keyed
def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Gamma numbers: density x^(a−1) e⁻ˣ / Γ(a) for x > 0; differentiable in ``a``.

    For small ``a`` many are too small to be told from 0: ``loggamma`` can.

    Args:
      a: positive shape parameters.
      shape: the shape of the result, by default that of ``a``.
      dtype: a floating-point dtype, by default the default one.

    >>> from covector import random
    >>> random.gamma(random.key(0), 2.0, (3,)).shape
    (3,)

    See also: ``loggamma``, ``beta``, ``dirichlet``.
    """
    return drawn(draw_gamma, key, shape, dtype, a, out_sharding=out_sharding)


@keyed
def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Logarithms of gamma numbers, accurate for ``a`` however small.

    >>> from covector import random
    >>> bool(random.loggamma(random.key(0), 1e-6) < -100)
    True
    """
    return drawn(draw_loggamma, key, shape, dtype, a, out_sharding=out_sharding)


@sampler
def draw_gamma(key: Value, a: Value, *, shape: Shape) -> Array:
    """Gamma numbers."""
    return _gamma(generators.split(key, shape), cnp.broadcast_to(a, shape))


@sampler
def draw_loggamma(key: Value, a: Value, *, shape: Shape) -> Array:
    """Logarithms of gamma numbers."""
    return _loggamma(generators.split(key, shape), cnp.broadcast_to(a, shape))


@custom_jvp
def _gamma(keys: Value, a: Value) -> Array:
    """One gamma number for each key."""
    spare, scale, cube = _accepted(keys, a)
    u = 1 - draw_unit(spare, shape=(), dtype=a.type.dtype)
    return scale * cube * cnp.where(a >= 1, 1, cnp.power(u, 1 / a))


@_gamma.defjvp
def _gamma_jvp(primals: Any, tangents: Any) -> Any:
    out = _gamma(*primals)
    return out, tangents[1] * random_gamma_grad(primals[1], out)


@custom_jvp
def _loggamma(keys: Value, a: Value) -> Array:
    """The logarithm of one gamma number for each key."""
    spare, scale, cube = _accepted(keys, a)
    power = -draw_exponential(spare, shape=(), dtype=a.type.dtype)
    power = cnp.where((a >= 1) | (power == 0), 0, power / a)
    return cnp.log(scale) + cnp.log(cube) + power


@_loggamma.defjvp
def _loggamma_jvp(primals: Any, tangents: Any) -> Any:
    out, a = _loggamma(*primals), primals[1]
    tiny = finfo(out.type.dtype).tiny
    x = cnp.maximum(cnp.exp(out), tiny)
    # Where x is too small for its dtype, F(x) is xᵃ / Γ(a + 1).
    smallest = (digamma(a + 1) - out) / a
    return out, tangents[1] * cnp.where(x > tiny, random_gamma_grad(a, x) / x, smallest)


def _accepted(keys: Value, a: Value) -> tuple[Array, Array, Array]:
    """For a number of each key: a key to spare, d, and (1 + c·x)³ of an accepted x.

    A candidate needs 1 + c·x > 0. Those that fail this draw another x, and those that
    are then rejected begin again; whichever happens, all elements take a step at once.
    A step judges the candidates of the step before: so each number that it needs comes
    from memory, and XLA has no reason to encrypt a counter for every use of the result.
    """
    dtype = a.type.dtype
    d = cnp.where(a >= 1, a, a + 1) - 1 / 3
    c = (1 / 3) / cnp.sqrt(d)
    keys, spare = subkeys(keys, 2)

    def going(carry: Sequence[Value]) -> Array:
        return (carry[0] == 0).any()

    def step(carry: Sequence[Value]) -> tuple[Array, ...]:
        cube, key, for_x, x, u = carry
        v = 1 + x * c
        # Where a is NaN, so is v, and is accepted as it is.
        inside, found = ~(v <= 0), v * v * v
        accepted = inside & ~_rejects(x * x, found, u, d)
        cube = cnp.where(accepted & (cube == 0), found, cube)
        again, fresh_x, fresh_u = subkeys(key, 3)
        for_x, now = subkeys(where(inside, fresh_x, for_x), 2)
        x = draw_normal(now, shape=(), dtype=dtype)
        u = cnp.where(inside, draw_unit(fresh_u, shape=(), dtype=dtype), u)
        return cube, where(inside, again, key), for_x, x, u

    # The first candidates are inside, and are rejected.
    nothing = cnp.zeros_like(a)
    carry = nothing, keys, keys, nothing, cnp.full_like(a, 2)
    return spare, d, repeat(going, step, carry)[0]


def _rejects(square: Value, cube: Value, u: Value, d: Value) -> Array:
    """Whether u rules the candidate out: by a bound that decides most, and exactly."""
    exact = cnp.log(u) >= square / 2 + d * (1 - cube + cnp.log(cube))
    return (u >= 1 - 0.0331 * (square * square)) & exact


# -- functions of gamma numbers --------------------------------------------------------


@keyed
def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Sums of ``df`` squared normal numbers: twice a gamma number for ``df / 2``.

    >>> from covector import random
    >>> random.chisquare(random.key(0), 3.0, (3,)).shape
    (3,)
    """
    return drawn(draw_chisquare, key, shape, dtype, df, out_sharding=out_sharding)


@sampler
def draw_chisquare(key: Value, df: Value, *, shape: Shape) -> Array:
    """Chi-square numbers."""
    return 2 * cnp.exp(draw_loggamma(key, df / 2, shape=shape))


@keyed
def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Student's t with ``df`` degrees of freedom.

    >>> from covector import random
    >>> random.t(random.key(0), 3.0, (3,)).shape
    (3,)
    """
    return drawn(draw_t, key, shape, dtype, df, out_sharding=out_sharding)


@sampler
def draw_t(key: Value, df: Value, *, shape: Shape) -> Array:
    """Student numbers."""
    for_normal, for_gamma = subkeys(key, 2)
    half = df / 2
    x = draw_normal(for_normal, shape=shape, dtype=df.type.dtype)
    return x * cnp.sqrt(half / draw_gamma(for_gamma, half, shape=shape))


@keyed
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Ratios of two chi-squares, each divided by its degrees of freedom.

    >>> from covector import random
    >>> random.f(random.key(0), 3.0, 5.0, (3,)).shape
    (3,)
    """
    return drawn(draw_f, key, shape, dtype, dfnum, dfden, out_sharding=out_sharding)


@sampler
def draw_f(key: Value, dfnum: Value, dfden: Value, *, shape: Shape) -> Array:
    """F numbers."""
    below, above = subkeys(key, 2)
    numerator = draw_chisquare(above, dfnum, shape=shape) / dfnum
    return numerator / (draw_chisquare(below, dfden, shape=shape) / dfden)


@keyed
def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Beta numbers: density proportional to x^(a−1) (1−x)^(b−1) for 0 < x < 1.

    ``shape`` defaults to the one that ``a`` and ``b`` broadcast to.

    >>> from covector import random
    >>> random.beta(random.key(0), 2.0, 3.0, (3,)).shape
    (3,)
    """
    return drawn(draw_beta, key, shape, dtype, a, b, out_sharding=out_sharding)


@sampler
def draw_beta(key: Value, a: Value, b: Value, *, shape: Shape) -> Array:
    """Beta numbers."""
    for_a, for_b = subkeys(key, 2)
    x = draw_loggamma(for_a, a, shape=shape)
    y = draw_loggamma(for_b, b, shape=shape)
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
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Probabilities that add up to 1: density proportional to Π xₖ^(αₖ−1).

    Args:
      alpha: ``[..., k]``, positive.
      shape: the shape of the result without the last axis, to which that of ``alpha``
        without its last axis broadcasts; by default that.
      dtype: a floating-point dtype, by default the default one.

    Raises:
      TypeMismatch: ``alpha`` is a scalar, or does not broadcast.

    >>> from covector import random
    >>> random.dirichlet(random.key(0), cnp.ones(3), (2,)).shape
    (2, 3)
    """
    key, dtype = single_key("dirichlet", key), float_dtype("dirichlet", dtype)
    alpha = as_array(alpha, "dirichlet")
    if not alpha.type.ndim:
        raise TypeMismatch(
            f"dirichlet needs parameters along a last axis, but got {alpha.type}."
        )
    categories = alpha.type.shape[-1:]
    shape = alpha.type.shape[:-1] if shape is None else sample_shape("dirichlet", shape)
    shape, (alpha,) = parameters("dirichlet", (*shape, *categories), dtype, alpha)
    return with_out_sharding(draw_dirichlet(key, alpha, shape=shape), out_sharding)


@sampler
def draw_dirichlet(key: Value, alpha: Value, *, shape: Shape) -> Array:
    """Dirichlet vectors along the last axis."""
    x = draw_loggamma(key, alpha, shape=shape)
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
    shape = (*sample_shape("ball", shape), *sample_shape("ball", d, "d"))
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
