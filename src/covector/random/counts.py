"""Random counts: poisson, binomial and multinomial.

Small means by adding waiting times until they pass the limit: −log u, of which Poisson
events are Σ(−log u) ≤ λ (Knuth); or geometric numbers of trials up to the next success.
Large means by transformed rejection (W. Hörmann, "The transformed rejection method for
generating Poisson random variables" and "The generation of binomial random variates",
both 1993): a candidate ⌊(2a/(½ − |u|) + b) u + centre⌋, accepted at once where the
distribution is well covered, and by comparing logarithms of probabilities elsewhere.

All elements take each step together, until the last one has been accepted; an element
that is accepted again meanwhile takes the later number, which is as good.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.errors import TypeMismatch
from covector.lax.control_flow import scan
from covector.numpy.axes import with_out_sharding
from covector.numpy.promote import inexact, promote_dtypes_inexact, standard_promotion
from covector.operations.casting import convert, in_dtype
from covector.operations.special import lgamma
from covector.random import generators
from covector.random.arguments import (
    float_dtype,
    int_dtype,
    keyed,
    parameters,
    repeat,
    sampler,
    single_key,
    subkeys,
)
from covector.random.bits import draw_unit

__all__ = [
    "binomial",
    "multinomial",
    "poisson",
]

#: the mean from which rejection is used
_LARGE = 10


@keyed
def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The number of events where ``lam`` are expected: P(k) = λᵏ e^−λ / k!.

    Args:
      lam: means, worked with in f32. For a negative one or NaN the result is −1.
      shape: the shape of the result, by default that of ``lam``.
      dtype: an integer dtype, by default the default one.

    >>> from covector import random
    >>> random.poisson(random.key(0), 3.0, (4,)).shape
    (4,)

    See also: ``binomial``, ``exponential``.
    """
    key, dtype = single_key("poisson", key), int_dtype("poisson", dtype)
    shape, (lam,) = parameters("poisson", shape, dtypes.float32, lam)
    return with_out_sharding(
        draw_poisson(key, lam, shape=shape).astype(dtype), out_sharding
    )


@sampler
def draw_poisson(key: Value, lam: Value, *, shape: Shape) -> Array:
    """Poisson numbers, as floats."""
    lam = cnp.broadcast_to(lam, shape)
    small = cnp.isnan(lam) | (lam < _LARGE)
    few = _waiting_times(key, cnp.where(small, lam, 0))
    # Elements that are not large take part with a mean that is accepted soon.
    many = _rejected(key, _poisson_hat(cnp.where(small, 1e5, lam)), small)
    return cnp.where(lam == 0, 0, cnp.where(small, few, many))


def _waiting_times(key: Value, lam: Value) -> Array:
    """Events before the waiting times add up to λ."""

    def going(carry: Sequence[Value]) -> Array:
        return (carry[2] > -lam).any()

    def step(carry: Sequence[Value]) -> tuple[Array, ...]:
        key, count, log_product = carry
        key, now = subkeys(key, 2)
        count = cnp.where(log_product > -lam, count + 1, count)
        u = draw_unit(now, shape=lam.type.shape, dtype=lam.type.dtype)
        return key, count, log_product + cnp.log(u)

    start = key, cnp.full_like(lam, -1), cnp.zeros_like(lam)
    return repeat(going, step, start)[1]


# -- transformed rejection -------------------------------------------------------------


class Hat(NamedTuple):
    """The hat function and squeeze of a distribution, for rejection sampling."""

    a: Any
    b: Any
    centre: Any
    #: v up to which a candidate near the centre is accepted at once
    squeeze: Any
    #: what turns v into a height above the distribution
    height: Any
    #: whether a candidate k, with u and v, cannot be
    impossible: Callable[..., Any]
    #: log P(k), up to the constant that ``height`` is in terms of
    log_probability: Callable[..., Any]


def _poisson_hat(lam: Value) -> Hat:
    b = 0.931 + 2.53 * cnp.sqrt(lam)
    log_lam = cnp.log(lam)
    return Hat(
        a=-0.059 + 0.02483 * b,
        b=b,
        centre=lam + 0.43,
        squeeze=0.9277 - 3.6224 / (b - 2),
        height=1.1239 + 1.1328 / (b - 3.4),
        impossible=lambda k, rest, v: (k < 0) | ((rest < 0.013) & (v > rest)),
        log_probability=lambda k: -lam + k * log_lam - lgamma(k + 1),
    )


def _rejected(key: Value, hat: Hat, unused: Value) -> Array:
    """Numbers of the distribution, by rejection; 0 where all are unused."""
    shape, dtype = hat.a.type.shape, hat.a.type.dtype

    def going(carry: Sequence[Value]) -> Array:
        return (carry[1] < 0).any()

    def step(carry: Sequence[Value]) -> tuple[Array, ...]:
        key, found = carry
        key, for_u, for_v = subkeys(key, 3)
        u = draw_unit(for_u, shape=shape, dtype=dtype) - 0.5
        v = draw_unit(for_v, shape=shape, dtype=dtype)
        rest = 0.5 - cnp.abs(u)
        k = cnp.floor((2 * hat.a / rest + hat.b) * u + hat.centre)
        log_height = cnp.log(v * hat.height / (hat.a / (rest * rest) + hat.b))
        below = log_height <= hat.log_probability(k)
        at_once = (rest >= 0.07) & (v <= hat.squeeze)
        accepted = at_once | (~hat.impossible(k, rest, v) & below)
        return key, cnp.where(accepted, k, found)

    nothing = cnp.where(unused.all(), cnp.zeros_like(hat.a), -1)
    return repeat(going, step, (key, nothing))[1]


# -- binomial --------------------------------------------------------------------------


@keyed
def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """The number of ``n`` trials that succeed, each with probability ``p``.

    Args:
      n: counts. For a negative one, or a ``p`` outside of [0, 1], the result is NaN.
      p: probabilities.
      shape: the shape of the result, by default the one that ``n`` and ``p`` broadcast
        to.
      dtype: a floating-point dtype, by default the default one: the result is a float.
        It is worked with that of ``p``.

    >>> from covector import random
    >>> random.binomial(random.key(0), 10, 1.0, (2,)).tolist()
    [10.0, 10.0]
    """
    key, dtype = single_key("binomial", key), float_dtype("binomial", dtype)
    p = inexact("binomial", p)
    shape, (n, p) = parameters("binomial", shape, p.type.dtype, n, p)
    return convert(draw_binomial(key, n, p, shape=shape), dtype)


@sampler
def draw_binomial(key: Value, n: Value, p: Value, *, shape: Shape) -> Array:
    """Binomial numbers, as floats."""
    n, p = cnp.broadcast_to(n, shape), cnp.broadcast_to(p, shape)
    # Of successes and failures, the rarer ones are counted.
    rare = cnp.where(p < 0.5, p, 1 - p)
    possible = (n >= 0) & (p >= 0) & (p <= 1)
    finite = possible & cnp.isfinite(n)
    small = ~finite | (n * rare <= _LARGE)
    n = cnp.floor(n)
    few = _up_to_next_success(
        key, cnp.where(small & finite, n, 0), cnp.where(finite, rare, 0.5)
    )
    many = _rejected(
        key, _binomial_hat(cnp.where(small, 1e4, n), cnp.where(small, 0.5, rare)), small
    )
    count = cnp.where(small, few, many)
    count = cnp.where(p < 0.5, count, n - count)
    return cnp.where(finite, count, cnp.where(possible, n, cnp.nan))


def _up_to_next_success(key: Value, n: Value, p: Value) -> Array:
    """Successes among n trials, going from each to the next."""
    log_failure = cnp.log1p(-p)

    def going(carry: Sequence[Value]) -> Array:
        return (carry[2] <= n).any()

    def step(carry: Sequence[Value]) -> tuple[Array, ...]:
        key, count, trials = carry
        now, key = subkeys(key, 2)
        count = cnp.where(trials <= n, count + 1, count)
        u = draw_unit(now, shape=n.type.shape, dtype=n.type.dtype)
        return key, count, trials + cnp.ceil(cnp.log(u) / log_failure)

    start = key, cnp.full_like(n, -1), cnp.zeros_like(n)
    return repeat(going, step, start)[1]


def _binomial_hat(n: Value, p: Value) -> Hat:
    odds = p / (1 - p)
    deviation = cnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    mode = cnp.floor((n + 1) * p)

    def log_probability(k: Value) -> Array:
        """Relative to the mode; factorials by Stirling's formula and its rest."""
        return (
            (mode + 0.5) * cnp.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * cnp.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * cnp.log(odds * (n - k + 1) / (k + 1))
            + _stirling_rest(mode)
            + _stirling_rest(n - mode)
            - _stirling_rest(k)
            - _stirling_rest(n - k)
        )

    return Hat(
        a=-0.0873 + 0.0248 * b + 0.01 * p,
        b=b,
        centre=n * p + 0.5,
        squeeze=0.92 - 4.2 / b,
        height=(2.83 + 5.1 / b) * deviation,
        impossible=lambda k, rest, v: (k < 0) | (k > n),
        log_probability=log_probability,
    )


#: log k! − ((k + ½) log(k + 1) − (k + 1) + ½ log 2π) for k = 0 … 9
_RESTS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.0207906721037650,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_rest(k: Value) -> Array:
    """The error of Stirling's formula for log k!."""
    table = cnp.asarray(_RESTS, k.type.dtype)
    position = cnp.clip(k, 0, len(_RESTS) - 1).astype(dtypes.int32)
    square = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    return cnp.where(k < len(_RESTS), cnp.take(table, position), series)


# -- multinomial -----------------------------------------------------------------------


@keyed
def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """The numbers of ``n`` trials in each category, of probabilities ``p``.

    One category after the other takes a binomial part of what is left.

    Args:
      n: counts; broadcasts to ``shape[:-1]``.
      p: ``[..., k]``, probabilities that add up to 1; broadcasts to ``shape``.
      shape: the shape of the result, by default the one that ``n[..., None]`` and ``p``
        broadcast to.
      dtype: a floating-point or integer dtype, by default the default float. It is
        worked with the one that ``n`` and ``p`` promote to.
      unroll: how many categories a step of the loop takes, as for ``lax.scan``.

    >>> from covector import random
    >>> p = cnp.array([0.2, 0.3, 0.5])
    >>> float(random.multinomial(random.key(0), 20, p).sum())
    20.0
    """
    key = single_key("multinomial", key)
    if dtype is not None and dtypes.is_integer(dtypes.as_dtype(dtype)):
        dtype = int_dtype("multinomial", dtype)
        n = in_dtype(n, dtype, "multinomial")
    else:
        dtype = float_dtype("multinomial", dtype)
    n, p = standard_promotion(promote_dtypes_inexact)("multinomial", n, p)
    if not p.type.ndim:
        raise TypeMismatch(
            f"multinomial needs probabilities along a last axis, but got {p.type}."
        )
    shape, (p, n) = parameters("multinomial", shape, p.type.dtype, p, n[..., None])
    return convert(draw_multinomial(key, n, p, shape=shape, unroll=unroll), dtype)


@sampler
def draw_multinomial(
    key: Value, n: Value, p: Value, *, shape: Shape, unroll: int | bool
) -> Array:
    """Multinomial vectors along the last axis."""
    p = cnp.moveaxis(p, -1, 0)
    left = cnp.flip(cnp.cumsum(cnp.flip(p, 0), 0), 0)
    part = cnp.clip(cnp.where(left > 0, p / left, 0), 0, 1)

    def take(rest: Value, now: Sequence[Value]) -> tuple[Array, Array]:
        key, part = now
        count = draw_binomial(key, rest, part, shape=shape[:-1])
        return rest - count, count

    keys = generators.split(key, (p.type.shape[0],))
    everything = cnp.broadcast_to(n[..., 0], shape[:-1])
    _, counts = scan(take, everything, (keys, part), unroll=unroll)
    return cnp.moveaxis(counts, 0, -1)
