"""The gamma distribution, by rejection.

    gamma, loggamma   density x^(a−1) e⁻ˣ / Γ(a), and the logarithm, for small a

The derivative with respect to a is that of the sample at which the distribution
function has the same value: dx/da = −(∂F/∂a) / (∂F/∂x).
"""

from typing import Any

from covector import numpy as cnp
from covector.core.annotations import ArrayLike, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.number_info import finfo
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.operations.gamma import random_gamma_grad
from covector.operations.special import digamma
from covector.programs.custom_rules.custom_derivative import custom_jvp
from covector.random import generators
from covector.random.arguments import drawn, keyed, sampler
from covector.random.bits import draw_unit
from covector.random.gamma_candidates import accepted
from covector.random.inversion import draw_exponential

__all__ = ["gamma", "loggamma"]


@keyed
def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "published",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Gamma numbers: density x^(a−1) e⁻ˣ / Γ(a) for x > 0; differentiable in ``a``.

    For small ``a`` many are too small to be told from 0: ``loggamma`` can.

    Args:
      a: positive shape parameters.
      shape: the shape of the result, by default that of ``a``.
      dtype: a floating-point dtype, by default the default one.
      method: ``"published"`` draws the numbers that JAX draws from this key, each of
        its own stream; ``"fast"`` others, from one stream, in a third of the time.

    >>> from covector import random
    >>> random.gamma(random.key(0), 2.0, (3,)).shape
    (3,)

    See also: ``loggamma``, ``beta``, ``dirichlet``.
    """
    return drawn(
        draw_gamma, key, shape, dtype, a, out_sharding=out_sharding, method=method
    )


@keyed
def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "published",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Logarithms of gamma numbers, accurate for ``a`` however small.

    ``method`` is as for ``gamma``.

    >>> from covector import random
    >>> bool(random.loggamma(random.key(0), 1e-6) < -100)
    True
    """
    return drawn(
        draw_loggamma, key, shape, dtype, a, out_sharding=out_sharding, method=method
    )


@sampler
def draw_gamma(
    key: Value, a: Value, *, shape: Shape, method: str = "published"
) -> Array:
    """Gamma numbers."""
    return _gamma(_streams(key, shape, method), cnp.broadcast_to(a, shape))


@sampler
def draw_loggamma(
    key: Value, a: Value, *, shape: Shape, method: str = "published"
) -> Array:
    """Logarithms of gamma numbers."""
    return _loggamma(_streams(key, shape, method), cnp.broadcast_to(a, shape))


def _streams(key: Value, shape: Shape, method: str) -> Array:
    """The keys to draw from: one for all numbers where that is fast, else one each."""
    return key if method == "fast" else generators.split(key, shape)


@custom_jvp
def _gamma(keys: Value, a: Value) -> Array:
    """Gamma numbers, of a key for each, or of one for all."""
    spare, scale, cube = accepted(keys, a)
    shape = a.type.shape[keys.type.ndim :]
    u = 1 - draw_unit(spare, shape=shape, dtype=a.type.dtype)
    return scale * cube * cnp.where(a >= 1, 1, cnp.power(u, 1 / a))


@_gamma.defjvp
def _gamma_jvp(primals: Any, tangents: Any) -> Any:
    out = _gamma(*primals)
    return out, tangents[1] * random_gamma_grad(primals[1], out)


@custom_jvp
def _loggamma(keys: Value, a: Value) -> Array:
    """Their logarithms."""
    spare, scale, cube = accepted(keys, a)
    shape = a.type.shape[keys.type.ndim :]
    power = -draw_exponential(spare, shape=shape, dtype=a.type.dtype)
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
