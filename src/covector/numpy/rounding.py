"""Rounding to integers or to decimals, and fractional parts."""

from collections.abc import Callable

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.dtypes import bool_
from covector.core.number_info import finfo
from covector.errors import DTypeError
from covector.numpy.arithmetic import divmod
from covector.numpy.axes import as_integer, check_no_out
from covector.numpy.floating import copysign
from covector.numpy.fuse import fuse
from covector.numpy.promote import inexact
from covector.operations import arithmetic, rounding
from covector.operations.bitwise import and_, or_
from covector.operations.casting import convert
from covector.operations.comparison import eq, gt, is_finite, lt, ne
from covector.operations.complex import complex_, imag, real
from covector.operations.magnitude import abs_
from covector.operations.selection import where

__all__ = ["around", "ceil", "fix", "floor", "modf", "rint", "round", "trunc"]

#: more decimals than a number of any dtype has, before or after the point
DECIMALS = 400

_to_even = rounding.Round(rounding.RoundingMethod.TO_NEAREST_EVEN)


def floor(x: ArrayLike, /) -> Array:
    """The largest whole number not above x; integers and bools stay as they are.

    The dtype stays floating: for integers add ``.astype(int)``. The derivative is 0.

    Args:
      x: real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      DTypeError: x is complex.

    >>> import covector.numpy as cnp
    >>> print(floor(cnp.array([1.7, -1.2])))
    [ 1. -2.]

    See also: ``ceil``, ``trunc`` (towards 0), ``round``, ``floor_divide``.
    """
    return _rounded("floor", x, rounding.floor)


def ceil(x: ArrayLike, /) -> Array:
    """The smallest whole number not below x; otherwise as ``floor``.

    Args:
      x: real numbers; integers and bools stay as they are.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      DTypeError: x is complex.

    >>> import covector.numpy as cnp
    >>> print(ceil(cnp.array([1.2, -1.7])))
    [ 2. -1.]

    See also: ``floor``, ``trunc``, ``round``.
    """
    return _rounded("ceil", x, rounding.ceil)


def trunc(x: ArrayLike) -> Array:
    """x without its fraction: rounded towards 0; otherwise as ``floor``.

    >>> import covector.numpy as cnp
    >>> print(trunc(cnp.array([1.7, -1.7])))
    [ 1. -1.]
    """
    return _rounded("trunc", x, _trunc)


fix = trunc


def _rounded(who: str, x: ArrayLike, op: Callable[[Array], Array]) -> Array:
    x = as_array(x, who)
    whole = x.type.dtype is bool_ or dtypes.is_integer(x.type.dtype)
    return x if whole else op(x)


@fuse(host=np.trunc)
def _trunc(x: Value) -> Array:
    negative = lt(x, scalar(0, x.type.dtype, True))
    return where(negative, rounding.ceil(x), rounding.floor(x))


def rint(x: ArrayLike, /) -> Array:
    """The whole number nearest to x, the even one of two, in floating point.

    >>> import covector.numpy as cnp
    >>> print(rint(cnp.array([0.5, 1.5, 2.6])))
    [0. 2. 3.]
    """
    return _round_parts(inexact("rint", x), 0)


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """``a`` rounded to so many decimals; halfway between two, to the even one.

    So ``round(0.5)`` is 0 and ``round(1.5)`` is 2, as in NumPy and Python. The dtype
    stays, and the derivative is 0.

    Args:
      decimals: negative to round to tens, hundreds and so on, integers as well.
      out: must be None.

    Returns:
      An array of the shape and dtype of ``a``.

    Raises:
      DTypeError: ``a`` is bool.

    >>> import covector.numpy as cnp
    >>> round(cnp.array([0.5, 1.5, 2.345]), 2).tolist(), int(round(1250, -2))
    ([0.5, 1.5, 2.3399...], 1200)

    See also: ``floor``, ``ceil``, ``trunc``.
    """
    check_no_out("round", out)
    # Beyond the decimals of all dtypes one is as good as another.
    x, decimals = as_array(a, "round"), as_integer("round", decimals, "decimals")
    decimals = min(max(decimals, -DECIMALS), DECIMALS)
    if x.type.dtype is bool_:
        raise DTypeError(f"round needs numbers, but got {x.type}.")
    if dtypes.is_integer(x.type.dtype):
        return x if decimals >= 0 else _round_integers(x, 10**-decimals)
    return _round_parts(x, decimals)


around = round


def _round_integers(x: Value, unit: int) -> Array:
    if unit.bit_length() > 8 * x.type.dtype.itemsize - 2:
        return arithmetic.mul(x, scalar(0, x.type.dtype, True))
    whole, rest = divmod(x, unit)
    zero, one, step = (scalar(n, x.type.dtype, True) for n in (0, 1, unit))
    twice = arithmetic.add(rest, rest)
    odd = ne(and_(whole, one), zero)
    up = or_(gt(twice, step), and_(eq(twice, step), odd))
    return arithmetic.mul(arithmetic.add(whole, convert(up, x.type.dtype, True)), step)


def _round_parts(x: Value, decimals: int) -> Array:
    if dtypes.is_complex(x.type.dtype):
        parts = [_round_parts(part, decimals) for part in (real(x), imag(x))]
        return complex_(*parts)
    if not decimals:
        return _to_even(x)
    wide = dtypes.float32 if x.type.dtype.itemsize < 4 else x.type.dtype
    if 10 ** max(decimals, -decimals) > finfo(wide).max:
        nothing = arithmetic.mul(x, scalar(0, x.type.dtype, True))
        return x if decimals > 0 else where(is_finite(x), nothing, x)
    out = _round_decimals(convert(x, wide, x.type.weak), decimals=decimals)
    return convert(out, x.type.dtype, x.type.weak)


def _round_decimals_on_host(x: HostArray, *, decimals: int) -> HostArray:
    factor = np.asarray(10 ** max(decimals, -decimals), x.dtype)
    scaled = x * factor if decimals > 0 else x / factor
    whole = np.rint(scaled)
    return np.where(
        np.isinf(scaled), x, whole / factor if decimals > 0 else whole * factor
    )


@fuse(host=_round_decimals_on_host)
def _round_decimals(x: Value, *, decimals: int) -> Array:
    factor = scalar(10 ** max(decimals, -decimals), x.type.dtype, True)
    scale, back = arithmetic.mul, arithmetic.div
    if decimals < 0:
        scale, back = back, scale
    out = back(_to_even(scale(x, factor)), factor)
    # Where the scaled number is too large to have a fraction, x has too few digits.
    large = eq(abs_(scale(x, factor)), scalar(np.inf, x.type.dtype, True))
    return where(large, x, out)


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """The fraction of x and its whole part, both with the sign of x.

    Raises:
      DTypeError: x is complex.

    >>> import covector.numpy as cnp
    >>> fraction, whole = modf(cnp.array([2.5, -1.25]))
    >>> fraction.tolist(), whole.tolist()
    ([0.5, -0.25], [2.0, -1.0])
    """
    check_no_out("modf", out)
    x = inexact("modf", x)
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(f"modf needs real numbers, but got {x.type}.")
    return _modf(x)


@fuse(host=np.modf)
def _modf(x: Value) -> tuple[Array, Array]:
    whole, zero = _trunc(x), scalar(0, x.type.dtype, True)
    infinite = eq(abs_(x), scalar(np.inf, x.type.dtype, True))
    return copysign(where(infinite, zero, arithmetic.sub(x, whole)), x), whole
