"""Random bits, and numbers made directly from them: ``uniform``, ``randint``.

bits        all integers of a width, equally likely
uniform     multiples of 2⁻²³ (of f32) from 0 up to 1, brought between bounds
bernoulli   uniform < p
rademacher  −1 or 1
randint     integers between bounds, by the remainder of twice the bits
"""

from typing import Any

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, scalar
from covector.core.number_info import finfo, iinfo
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.errors import ArgumentError, DTypeKindError, IntegerOverflow
from covector.numpy.axes import with_out_sharding
from covector.operations.arithmetic import add, mul, neg, rem, sub
from covector.operations.bitwise import and_, shift_right_logical
from covector.operations.casting import convert
from covector.operations.comparison import gt, le, lt
from covector.operations.extrema import max_, min_
from covector.operations.joining import Unstack
from covector.operations.multiply_add import multiply_add
from covector.operations.selection import where
from covector.random import generators
from covector.random.arguments import (
    check_probabilities,
    float_dtype,
    int_dtype,
    keyed,
    parameters,
    sample_shape,
    sampler,
    single_key,
    subkeys,
)

__all__ = [
    "bernoulli",
    "bits",
    "rademacher",
    "randint",
    "uniform",
]

_UNSIGNED = {d.itemsize: d for d in dtypes.UNSIGNED if d not in dtypes.SUB_BYTE}


def bits(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Uniformly random bits, as unsigned integers.

    Args:
      dtype: u8, u16, u32 or u64; by default u32, under ``enable_x64`` u64.

    Raises:
      DTypeKindError: ``dtype`` is not an unsigned integer of 8 bits or more.

    >>> from covector import random
    >>> random.bits(random.key(0), (2,)).tolist()
    [4070199207, 4202968722]
    """
    key = single_key("bits", key)
    if dtype is None:
        dtype = dtypes.default_uint(options.current().enable_x64)
    dtype = asked_dtype(dtype)
    if dtype not in _UNSIGNED.values():
        raise DTypeKindError(
            "bits draws unsigned integers of 8 to 64 bits, and "
            f"{dtypes.short_name(dtype)} is none."
        )
    return with_out_sharding(
        generators.bits(key, 8 * dtype.itemsize, sample_shape("bits", shape)),
        out_sharding,
    )


# -- uniform ---------------------------------------------------------------------------


def uniform(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Numbers from ``minval`` up to, and without, ``maxval``, all equally likely.

    Args:
      key: one random key.
      shape: the shape of the result.
      dtype: a floating-point dtype, by default the default one.
      minval, maxval: bounds that broadcast to ``shape``.
      out_sharding: where the result is to be.

    Returns:
      ``shape``, of multiples of 2⁻²³ (of f32; 2⁻⁷ of bf16, 2⁻¹⁰ of f16, 2⁻⁵² of f64)
      times ``maxval - minval``, plus ``minval``, which occurs: log(0) is −inf.

    Raises:
      DTypeKindError: ``dtype`` is no floating-point dtype.

    >>> from covector import random
    >>> random.uniform(random.key(0), (2,)).tolist()
    [0.9476670026779175, 0.9785798788070679]

    See also: ``randint`` for integers, ``exponential`` and ``gumbel`` for logarithms.
    """
    key = single_key("uniform", key)
    dtype = float_dtype("uniform", dtype)
    shape = sample_shape("uniform", shape)
    if type(minval) is float and type(maxval) is float and (minval, maxval) == (0, 1):
        return with_out_sharding(draw_unit(key, shape=shape, dtype=dtype), out_sharding)
    shape, (low, high) = parameters("uniform", shape, dtype, minval, maxval)
    return with_out_sharding(
        draw_between(key, low, high, shape=shape, dtype=dtype), out_sharding
    )


@sampler
def draw_unit(key: Value, *, shape: Shape, dtype: DType) -> Array:
    """Uniform numbers from 0 up to 1: as many bits as the dtype has, divided by 2ⁿ."""
    digits = finfo(dtype).nmant
    width = 8 if digits < 8 else 8 * dtype.itemsize
    drawn = generators.bits(key, width, shape)
    drawn = shift_right_logical(drawn, scalar(width - digits, drawn.type.dtype))
    return mul(convert(drawn, dtype), scalar(2.0**-digits, dtype))


@sampler
def draw_between(
    key: Value, low: Value, high: Value, *, shape: Shape, dtype: DType
) -> Array:
    """Uniform numbers between bounds of their own dtype."""
    unit = draw_unit(key, shape=shape, dtype=dtype)
    return max_(multiply_add(unit, sub(high, low), low), low)


@sampler
def draw_positive(key: Value, *, shape: Shape, dtype: DType) -> Array:
    """Uniform numbers below 1, with the smallest normal number in place of 0."""
    tiny = scalar(finfo(dtype).tiny, dtype)
    return draw_between(key, tiny, scalar(1, dtype), shape=shape, dtype=dtype)


# -- two outcomes ----------------------------------------------------------------------


def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: ShapeLike | None = None,
    mode: str = "low",
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """True with probability ``p``, False otherwise.

    Args:
      key: one random key.
      p: probabilities, floating-point numbers.
      shape: the shape of the result, to which ``p`` broadcasts; by default that of
        ``p``.
      mode: ``"low"`` tells probabilities apart that differ by 2⁻²³ (of f32),
        ``"high"``, which needs twice the bits, by 2⁻⁴⁶.
      out_sharding: where the result is to be.

    Returns:
      bools of that shape.

    Raises:
      DTypeKindError: ``p`` is not a floating-point number.
      ArgumentError: ``mode`` is neither, or ``p`` is known and not in [0, 1]. Where it
        is traced, a larger one counts as 1, a smaller one and NaN as 0.

    >>> from covector import random
    >>> random.bernoulli(random.key(0), 0.5, (3,)).tolist()
    [False, False, True]

    See also: ``binomial`` counts them; ``categorical`` is for more than two outcomes.
    """
    key = single_key("bernoulli", key)
    p = as_array(p, "bernoulli")
    dtype = p.type.dtype
    if not dtypes.is_floating(dtype):
        raise DTypeKindError(
            f"bernoulli needs floating-point probabilities, but got {p.type}."
        )
    check_mode("bernoulli", mode)
    check_probabilities("bernoulli", p)
    shape, (p,) = parameters("bernoulli", shape, dtype, p)
    return with_out_sharding(
        draw_below(key, p, shape=shape, dtype=dtype, fine=mode == "high"), out_sharding
    )


def check_mode(who: str, mode: str) -> None:
    """Raise unless ``mode`` is one of the two precisions of a draw."""
    if mode not in ("low", "high"):
        raise ArgumentError(f"{who}: mode must be 'low' or 'high', but got {mode!r}.")


@sampler
def draw_below(
    key: Value, p: Value, *, shape: Shape, dtype: DType, fine: bool
) -> Array:
    """Whether uniform numbers, of once or twice the digits, are below ``p``."""
    if not fine:
        return lt(draw_unit(key, shape=shape, dtype=dtype), p)
    both = draw_unit(key, shape=(2, *shape), dtype=dtype)
    coarse, rest = Unstack(0)(both)
    digits = finfo(dtype).nmant
    return lt(mul(rest, scalar(2.0**-digits, dtype)), sub(p, coarse))


def rademacher(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Random signs: −1 or 1, equally likely.

    Args:
      key: one random key.
      shape: the shape of the result.
      dtype: any dtype of numbers, by default the default integer one.

    >>> from covector import random
    >>> random.rademacher(random.key(0), (3,)).tolist()
    [-1, -1, 1]
    """
    key = single_key("rademacher", key)
    dtype = asked_dtype(int if dtype is None else dtype)
    shape = sample_shape("rademacher", shape)
    return with_out_sharding(draw_sign(key, shape=shape, dtype=dtype), out_sharding)


@sampler
def draw_sign(key: Value, *, shape: Shape, dtype: DType) -> Array:
    """−1 or 1; in dtypes without a sign, what −1 becomes there."""
    default = dtypes.default_float(options.current().enable_x64)
    up = draw_below(key, scalar(0.5, default), shape=shape, dtype=default, fine=False)
    one = scalar(1, dtypes.int32)
    return convert(where(up, one, neg(one)), dtype)


# -- integers between bounds -----------------------------------------------------------


@keyed
def randint(
    key: ArrayLike,
    shape: ShapeLike,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Integers from ``minval`` up to, and without, ``maxval``.

    Two words of 32 bits (of 64, for a wider dtype) are drawn, and the remainder of both
    taken: all integers of a range r below 2¹⁶ (2³²) are equally likely up to 2⁻⁴⁸
    (2⁻⁹⁶), and those of a larger one up to r · 2⁻³² (2⁻⁶⁴).

    Args:
      key: one random key.
      shape: the shape of the result.
      minval, maxval: bounds that broadcast to ``shape``. Where ``maxval`` is not
        larger, the result is ``minval``. Bounds beyond a short dtype mean all that it
        holds.
      dtype: an integer dtype, by default the default one.
      out_sharding: where the result is to be.

    Returns:
      An array of that shape and of ``dtype``.

    Raises:
      IntegerOverflow: a bound fits neither the dtype nor the default one: there are no
        such integers to draw.

    >>> from covector import random
    >>> random.randint(random.key(0), (4,), 0, 10).tolist()
    [9, 0, 2, 3]

    See also: ``choice``, ``permutation``, ``categorical``.
    """
    key = single_key("randint", key)
    dtype = int_dtype("randint", dtype)
    shape = sample_shape("randint", shape)
    work = dtype if dtype.itemsize >= 4 else dtypes.int32
    low, _ = _bound(minval, dtype, work, "minval")
    high, beyond = _bound(maxval, dtype, work, "maxval")
    _, (low, high) = parameters("randint", shape, work, low, high)
    _, (beyond,) = parameters("randint", shape, dtypes.bool_, beyond)
    drawn = draw_integers(key, low, high, beyond, shape=shape)
    return with_out_sharding(convert(drawn, dtype), out_sharding)


def _bound(value: Any, dtype: DType, work: DType, name: str) -> tuple[Array, Array]:
    """A bound brought into the dtype, held as ``work``; and whether it was above it."""
    limits = iinfo(dtype)
    if type(value) is int:
        _check_bound(value, dtype, name)
        beyond = scalar(value > limits.max, dtypes.bool_)
        return scalar(min(max(value, limits.min), limits.max), work), beyond
    value = as_array(value, "randint")
    given = value.type.dtype
    beyond = scalar(False, dtypes.bool_)
    if not dtypes.is_integer(given):
        value = convert(value, dtypes.default_int(options.current().enable_x64))
        given = value.type.dtype
    held = iinfo(given)
    if held.max > limits.max:
        top = scalar(limits.max, given)
        value, beyond = min_(value, top), gt(value, top)
    if held.min < limits.min:
        value = max_(value, scalar(limits.min, given))
    return convert(value, work), beyond


def _check_bound(value: int, dtype: DType, name: str) -> None:
    """Raise for a bound of integers that are not there to be drawn."""
    default = dtypes.default_int(options.current().enable_x64)
    lows, tops = zip(
        *[(i.min, i.max) for i in map(iinfo, (dtype, default))], strict=True
    )
    if not min(lows) <= value <= max(tops) + (name == "maxval"):
        raise IntegerOverflow(
            f"randint draws {dtypes.short_name(dtype)}, which holds {iinfo(dtype).min} "
            f"to {iinfo(dtype).max}, but got {name}={value}. Name a dtype that holds "
            "the range, with enable_x64(True) one of 64 bits."
        )


@sampler
def draw_integers(
    key: Value, low: Value, high: Value, beyond: Value, *, shape: Shape
) -> Array:
    """The integers low + (2ʷ · h + l) mod (high − low), of words h and l of w bits.

    The power is taken modulo the range in two steps, for it has w + 1 bits; that a
    range above its root makes it 0 is part of the stream.
    """
    dtype = low.type.dtype
    word = _UNSIGNED[dtype.itemsize]
    width = 8 * dtype.itemsize
    one = scalar(1, word)
    span = sub(convert(high, word), convert(low, word))
    span = where(le(high, low), one, span)
    # A range of all the dtype holds has the length 0, and the remainder is the number.
    span = where(and_(beyond, gt(high, low)), add(span, one), span)
    root = rem(scalar(2 ** (width // 2), word), span)
    power = rem(mul(root, root), span)
    first, second = [generators.bits(k, width, shape) for k in subkeys(key, 2)]
    number = add(mul(rem(first, span), power), rem(second, span))
    return add(low, convert(rem(number, span), dtype))
