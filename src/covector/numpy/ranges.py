"""Evenly spaced numbers: counted, linear, logarithmic, geometric."""

import math
from typing import Any, Literal, overload

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike, HostArray, Value
from covector.core.array import ConcreteArray, from_host
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, scalar
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.trace import Tracer
from covector.errors import ArgumentError, DTypeError, how_many
from covector.lowering.evaluate import at_hand, quiet
from covector.numpy.axes import as_integer, beside, canonical_axis
from covector.numpy.creation import asarray
from covector.numpy.promote import (
    broadcast,
    broadcast_to,
    common_dtype,
    promote_dtypes_inexact,
)
from covector.operations.arithmetic import add, div, mul, sub
from covector.operations.broadcasting import move_axis
from covector.operations.casting import convert
from covector.operations.comparison import eq
from covector.operations.creation import Iota
from covector.operations.extrema import max_
from covector.operations.powers import power as pow_
from covector.operations.rounding import floor
from covector.operations.selection import where

__all__ = ["arange", "geomspace", "linspace", "logspace"]


def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: Any = None,
    dtype: DTypeLike | None = None,
    *,
    device: ShardingLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """start, start + step, … up to but without stop; ``arange(n)`` counts from 0.

    With a floating step the number of elements depends on rounding, and the last may
    pass stop, as in the second example: use ``linspace`` then.

    Args:
      start, stop, step: numbers. The length follows from them, so under ``jit`` they
        must be known: a shape, or an argument in ``static_argnums``.
      dtype: by default that in which the bounds meet.
      device, out_sharding: where the array is to be.

    Returns:
      A vector.

    Raises:
      ArgumentError: step is 0.
      DTypeError: a bound or the dtype is complex or bool.
      IntegerOverflow: an integer dtype does not have the first or last number.
      ConcretizationTypeError: a bound is traced.

    >>> print(arange(4), arange(1, 2, 0.25))
    [0 1 2 3] [1.   1.25 1.5  1.75]
    >>> print(arange(1, 1.3, 0.1))
    [1.  1.1 1.2 1.3]

    See also: ``linspace``, ``meshgrid``, ``indices``.
    """
    bounds = [_known(x) for x in (start, stop, step) if x is not None]
    if dtype is None:
        to = common_dtype("arange", *[x for x in (start, stop, step) if x is not None])[
            0
        ]
    else:
        to = asked_dtype(dtype)
    if any(isinstance(x, bool | complex) for x in bounds) or to is dtypes.bool_:
        raise DTypeError(
            f"arange counts in real numbers, but got bounds {bounds} and the dtype "
            f"{dtypes.short_name(to)}."
        )
    first, last = (0, bounds[0]) if stop is None else bounds[:2]
    by = 1 if step is None else bounds[-1]
    if not by:
        raise ArgumentError(f"arange from {first} to {last} needs a step other than 0.")
    whole = all(isinstance(x, int) for x in bounds)
    # In whole numbers exactly, also of any size.
    steps = -((first - last) // by) if whole else math.ceil((last - first) / by)
    count = max(steps, 0)
    if dtypes.is_integer(to) and count != 0:
        for n in (first, first + (count - 1) * by):
            scalar(int(n), to)  # raises where it does not fit
    iota = dtypes.is_integer(to) or type(count) is not int  # but symbolic
    if whole and iota and not at_hand(count):
        counted = mul(Iota(to, (count,), 0)(), scalar(by, to))
        out = add(counted, scalar(first, to))
    else:
        out = from_host(np.arange(first, last, by).astype(to))
    return asarray(out, device=device, out_sharding=out_sharding)


def _known(x: Any) -> Any:
    """A bound as a Python number."""
    if isinstance(x, Tracer):
        x.__index__()  # which says why not
    if isinstance(x, ConcreteArray | np.ndarray | np.generic):
        if x.ndim:
            raise ArgumentError(
                f"arange needs numbers as bounds, but got {as_array(x).type}."
            )
        return x.item()
    if not isinstance(x, bool | int | float | complex):
        as_array(x, "arange")  # which says why not
    return x


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: ShardingLike | None = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: ShardingLike | None = None,
) -> tuple[Array, Array]: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int,
    endpoint: bool,
    retstep: bool,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: ShardingLike | None = None,
) -> Any: ...
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: ShardingLike | None = None,
) -> Any:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, which is included.

    Args:
      start, stop: numbers, or arrays that broadcast to some shape. They may be traced.
      num: how many; known under ``jit``, since it is a length.
      endpoint: whether ``stop`` is the last number; False leaves it out, and the
        distance is (stop − start) / num, as for one period of a periodic function.
      retstep: return the distance between neighbours as well.
      dtype: integers are rounded down. By default floating point.
      axis: where in the result the new axis is.
      device: where the array is to be.

    Returns:
      An array with one axis more than ``start`` and ``stop``; with ``retstep`` a pair
      of it and the distance.

    Raises:
      ArgumentError: ``num`` is negative.

    >>> print(linspace(0, 1, 5), linspace(0, 1, 4, endpoint=False))
    [0.   0.25 0.5  0.75 1.  ] [0.   0.25 0.5  0.75]

    See also: ``arange``, ``logspace``, ``geomspace``.
    """
    x, y = promote_dtypes_inexact("linspace", start, stop)
    num = _count("linspace", num)
    if _are_known(num, x, y):
        out, step = map(from_host, quiet.run(_evenly_on_host, x, y, num, endpoint))
    else:
        out = _evenly(x, y, num, endpoint)
        step = _step(x, y, num, endpoint) if retstep else None
    out = _finish("linspace", out, x.type.dtype, dtype, axis, device)
    if not retstep or step is None:
        return out
    return out, beside("linspace", convert(step, x.type.dtype), x, y)


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """``num`` numbers from baseᵃ to baseᵇ, evenly spaced on a logarithmic scale.

    Args:
      start, stop: the exponents a and b; numbers, or arrays that broadcast.
      endpoint: whether the power of ``stop`` is the last number.
      dtype: integers are rounded towards 0. By default floating point.
      axis: where in the result the new axis is.

    >>> print(logspace(0, 2, 3))
    [  1.  10. 100.]
    """
    x, y, base = promote_dtypes_inexact("logspace", start, stop, base)
    num = _count("logspace", num)
    if _are_known(num, x, y, base):
        exponents, _ = quiet.run(_evenly_on_host, x, y, num, endpoint)
        out = from_host(quiet.run(np.power, _wide(base), exponents))
    else:
        exponents = _evenly(x, y, num, endpoint)
        (base,) = _widened(base)
        out = pow_(*broadcast("logspace", base, exponents))
    return _finish("logspace", out, x.type.dtype, dtype, axis, None)


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """``num`` numbers from ``start`` to ``stop``, each the same multiple of the one
    before.

    Args:
      start, stop: numbers other than 0 of one sign, or complex ones; or arrays of such.
      endpoint: whether ``stop`` is the last number.
      dtype: integers are rounded towards 0. By default floating point.
      axis: where in the result the new axis is.

    >>> print(geomspace(1, 8, 4))
    [1. 2. 4. 8.]
    """
    x, y = promote_dtypes_inexact("geomspace", start, stop)
    num = _count("geomspace", num)
    if _are_known(num, x, y):
        out = from_host(quiet.run(_by_one_factor_on_host, x, y, num, endpoint))
    else:
        out = _by_one_factor(x, y, num, endpoint)
    return _finish("geomspace", out, x.type.dtype, dtype, axis, None)


def _count(who: str, num: Any) -> int:
    count = as_integer(who, num, "num")
    if count < 0:
        raise ArgumentError(
            f"{who} cannot make {how_many(count, 'number')}: num must not be negative."
        )
    return count


def _are_known(num: int, *operands: Value) -> bool:
    """Whether all values are known, and none is committed to a device; and how many
    there are to be, which may be a symbolic size.
    """
    return type(num) is int and all(
        type(x) is ConcreteArray and x.placement is None and x.on_host()
        for x in operands
    )


def _wide(x: Any) -> HostArray:
    """The values in double precision, so that each is rounded only once."""
    wide = np.complex128 if dtypes.is_complex(x.type.dtype) else np.float64
    return np.asarray(x.host()).astype(wide)


# Whether 3 lies in the bin that begins at 3 hangs on the last bit. So numbers are
# computed in double precision and rounded once, here and by compiled programs. Number k
# of n steps is (first · (n − k) + last · k) / n: of bounds in 32 bits the numerator is
# exact, and so is 0 between bounds that cancel. In 64 bits it is NumPy's formula.


def _evenly_on_host(
    x: Value, y: Value, num: int, endpoint: bool
) -> tuple[HostArray, HostArray]:
    """``num`` numbers, the next always one step further; and the step."""
    first, last = np.broadcast_arrays(_wide(x), _wide(y))
    steps = num - 1 if endpoint else num
    if steps < 1:
        shape = (num, *first.shape)
        return np.broadcast_to(first, shape), np.asarray(math.nan)
    if _is_double(x):
        values, step = np.linspace(first, last, num, endpoint, retstep=True)
        return values, np.asarray(step)
    k = np.arange(num).reshape((num, *[1] * first.ndim))
    values = (first * (steps - k) + last * k) / steps
    if endpoint:
        values[-1] = last
    return values, np.asarray((last - first) / steps)


def _is_double(x: Value) -> bool:
    return dtypes.real_part(x.type.dtype).itemsize == 8


# -- of bounds that are not at hand ----------------------------------------------------


def _widened(*operands: Any) -> list[Any]:
    """Operands in double precision, broadcast against each other."""
    is_complex = dtypes.is_complex(operands[0].type.dtype)
    wide = dtypes.complex128 if is_complex else dtypes.float64
    return broadcast("linspace", *[convert(x, wide) for x in operands])


def _counted(num: int, first: Any, last: Any) -> list[Any]:
    """The index in front, 0 to num − 1, and the bounds, in one shape."""
    shape = (num, *(first.type.shape or last.type.shape))
    real = dtypes.real_part(first.type.dtype)
    along = convert(Iota(real, shape, 0)(), first.type.dtype)
    return [along, *[broadcast_to(x, shape) for x in (first, last)]]


def _evenly(x: Value, y: Value, num: int, endpoint: bool) -> Any:
    """``num`` numbers, the next always one step further."""
    first, last = _widened(x, y)
    steps = num - 1 if endpoint else num
    k, start, stop = _counted(num, first, last)
    count = _at_least_one(steps, first.type.dtype)
    if _is_double(x):
        step = div(sub(last, first), count)
        out = add(mul(k, broadcast_to(step, k.type.shape)), start)
    else:
        out = div(add(mul(start, sub(count, k)), mul(stop, k)), count)
    return where(eq(k, count), stop, out)


def _at_least_one(steps: int, dtype: DType) -> Any:
    """A number of steps, perhaps symbolic, to divide by: 1 where there are none."""
    if type(steps) is int:
        return scalar(float(max(steps, 1)), dtype)
    return max_(convert(as_array(steps), dtype), scalar(1.0, dtype))


def _step(x: Value, y: Value, num: int, endpoint: bool) -> Any:
    """The distance between neighbours of these; NaN where there are none."""
    first, last = _widened(x, y)
    steps = num - 1 if endpoint else num
    if steps < 1:
        return scalar(math.nan, first.type.dtype)
    return div(sub(last, first), scalar(float(steps), first.type.dtype))


def _by_one_factor(x: Value, y: Value, num: int, endpoint: bool) -> Any:
    """``num`` numbers, the next always the same multiple of the one before."""
    first, last = _widened(x, y)
    k, start, stop = _counted(num, first, last)
    t = div(k, _at_least_one(num - 1 if endpoint else num, k.type.dtype))
    out = mul(start, pow_(div(stop, start), t))
    at_end = eq(t, scalar(1, t.type.dtype))
    return where(at_end, stop, out) if endpoint else out


def _by_one_factor_on_host(x: Value, y: Value, num: int, endpoint: bool) -> HostArray:
    """``num`` numbers, the next always the same multiple of the one before."""
    first, last = np.broadcast_arrays(_wide(x), _wide(y))
    t = np.linspace(0, 1, num, endpoint).reshape((num, *[1] * first.ndim))
    values = first * (last / first) ** t
    if endpoint and num > 1:
        values[-1] = last
    return values


def _finish(
    who: str,
    out: Value,
    computed: DType,
    dtype: DTypeLike | None,
    axis: int,
    device: ShardingLike | None,
) -> Array:
    to = computed if dtype is None else asked_dtype(dtype)
    if dtypes.is_integer(to) and who == "linspace":
        out = floor(out)
    out = convert(out, to)
    out = move_axis(out, 0, canonical_axis(who, axis, out.type.ndim))
    return asarray(out, device=device)
