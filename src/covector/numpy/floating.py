"""Floating-point numbers: their special values, signs, mantissas and neighbours."""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.number_info import finfo
from covector.errors import DTypeError
from covector.numpy.axes import check_no_out
from covector.numpy.filling import ones_like, zeros_like
from covector.numpy.fuse import fuse
from covector.numpy.promote import broadcast, inexact, promote_inexact
from covector.operations import arithmetic, bitwise, rounding
from covector.operations.casting import BitcastConvertType, convert
from covector.operations.comparison import eq, gt, is_finite, lt, ne
from covector.operations.complex import complex_, imag, real
from covector.operations.extrema import clamp, max_
from covector.operations.identities import stop_gradient
from covector.operations.magnitude import abs_, sign_bit
from covector.operations.selection import where
from covector.operations.transcendental import exp2

__all__ = [
    "copysign",
    "frexp",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "ldexp",
    "nan_to_num",
    "nextafter",
    "signbit",
    "spacing",
]


# -- special values --------------------------------------------------------------------


def isnan(x: ArrayLike, /) -> Array:
    """Whether a number is NaN; of a complex one, whether a part is.

    The test ``x == nan`` is always false. To find the line that makes a NaN, see the
    option ``debug_nans``.

    Args:
      x: an array or a number.

    Returns:
      bools, of the shape of ``x``; False for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> isnan(cnp.array([1.0, cnp.nan])).tolist()
    [False, True]

    See also: ``isfinite``, ``isinf``, ``nan_to_num``, ``nansum``.
    """
    x = as_array(x, "isnan")
    return ne(x, x) if dtypes.is_inexact(x.type.dtype) else _everywhere(False, x)


def isinf(x: ArrayLike, /) -> Array:
    """Whether a number is ∞ or −∞; of a complex one, whether a part is.

    Args:
      x: an array or a number.

    Returns:
      bools, of the shape of ``x``; False for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> isinf(cnp.array([1.0, -cnp.inf])).tolist()
    [False, True]

    See also: ``isposinf``, ``isneginf``, ``isfinite``, ``isnan``.
    """
    x = as_array(x, "isinf")
    if dtypes.is_complex(x.type.dtype):
        return bitwise.or_(isinf(real(x)), isinf(imag(x)))
    if not dtypes.is_floating(x.type.dtype):
        return _everywhere(False, x)
    return eq(abs_(x), scalar(np.inf, x.type.dtype, True))


def isfinite(x: ArrayLike, /) -> Array:
    """Whether a number is finite, neither ∞, −∞ nor NaN; of a complex one, both parts.

    Args:
      x: an array or a number.

    Returns:
      bools, of the shape of ``x``; True for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> isfinite(cnp.array([1.0, cnp.inf, cnp.nan])).tolist()
    [True, False, False]

    See also: ``isnan``, ``isinf``, ``nan_to_num``.
    """
    x = as_array(x, "isfinite")
    if dtypes.is_complex(x.type.dtype):
        return bitwise.and_(is_finite(real(x)), is_finite(imag(x)))
    return is_finite(x) if dtypes.is_floating(x.type.dtype) else _everywhere(True, x)


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether a real number is ∞.

    Raises:
      DTypeError: x is complex.

    >>> import covector.numpy as cnp
    >>> isposinf(cnp.array([cnp.inf, -cnp.inf])).tolist()
    [True, False]
    """
    return _is("isposinf", np.inf, x, out)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether a real number is −∞.

    Raises:
      DTypeError: x is complex.

    >>> import covector.numpy as cnp
    >>> isneginf(cnp.array([cnp.inf, -cnp.inf])).tolist()
    [False, True]
    """
    return _is("isneginf", -np.inf, x, out)


def _is(who: str, value: float, x: ArrayLike, out: Any) -> Array:
    check_no_out(who, out)
    x = _check_real(who, as_array(x, who))
    if not dtypes.is_floating(x.type.dtype):
        return _everywhere(False, x)
    return eq(x, scalar(value, x.type.dtype, True))


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """``x`` with numbers in place of NaN, ∞ and −∞; of complex numbers in each part.

    It does not mend gradients: a NaN that arose before stays NaN in the derivative.
    Keep it from arising with ``where``.

    Args:
      copy: without meaning here: arrays do not change.
      nan: the number in place of NaN.
      posinf, neginf: the numbers in place of ∞ and −∞; by default the largest and the
        smallest that the dtype holds.

    >>> import covector.numpy as cnp
    >>> nan_to_num(cnp.array([1.0, cnp.nan, cnp.inf]), posinf=9.0).tolist()
    [1.0, 0.0, 9.0]

    See also: ``isnan``, ``where``, ``nansum``, ``nanmean``.
    """
    x = as_array(x, "nan_to_num")
    if dtypes.is_complex(x.type.dtype):
        parts = [nan_to_num(p, copy, nan, posinf, neginf) for p in (real(x), imag(x))]
        return complex_(*parts)
    if not dtypes.is_floating(x.type.dtype):
        return x
    limits = finfo(x.type.dtype)
    posinf = float(limits.max) if posinf is None else posinf
    neginf = float(limits.min) if neginf is None else neginf
    return _replace(x, *[_as(v, x.type.dtype) for v in (nan, posinf, neginf)])


def _as(value: Any, dtype: DType) -> Array:
    if type(value) is float or type(value) is int:
        return scalar(value, dtype, True)
    return convert(as_array(value, "nan_to_num"), dtype)


def _replace_on_host(
    x: HostArray, nan: HostArray, posinf: HostArray, neginf: HostArray
) -> HostArray:
    x = np.where(np.isnan(x), nan, x)
    x = np.where(np.equal(x, np.inf), posinf, x)
    return np.where(np.equal(x, -np.inf), neginf, x)


@fuse(host=_replace_on_host)
def _replace(x: Value, nan: Value, posinf: Value, neginf: Value) -> Array:
    x, nan, posinf, neginf = broadcast("nan_to_num", x, nan, posinf, neginf)
    infinity = scalar(np.inf, x.type.dtype, True)
    x = where(ne(x, x), nan, x)
    x = where(eq(x, infinity), posinf, x)
    return where(eq(x, arithmetic.neg(infinity)), neginf, x)


# -- signs -----------------------------------------------------------------------------


def signbit(x: ArrayLike, /) -> Array:
    """Whether a real number is negative; −0 is, and NaN may be.

    Raises:
      DTypeError: x is complex.

    >>> import covector.numpy as cnp
    >>> signbit(cnp.array([-1.0, -0.0, 0.0])).tolist()
    [True, True, False]
    """
    x = _check_real("signbit", as_array(x, "signbit"))
    if not dtypes.is_floating(x.type.dtype):
        negative = dtypes.is_signed(x.type.dtype)
        return (
            lt(x, scalar(0, x.type.dtype, True)) if negative else _everywhere(False, x)
        )
    return _signbit(x)


@fuse(host=np.signbit)
def _signbit(x: Value) -> Array:
    return sign_bit(x)


def _bits(x: Value) -> Array:
    return BitcastConvertType(np.dtype(f"i{x.type.dtype.itemsize}"))(x)


def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The size of x with the sign of y, element by element.

    Raises:
      DTypeError: an operand is complex.

    >>> import covector.numpy as cnp
    >>> copysign(cnp.array([1.0, -2.0]), -0.0).tolist()
    [-1.0, -2.0]
    """
    x, y = promote_inexact("copysign", x1, x2)
    x = convert(_check_real("copysign", x), x.type.dtype, x.type.weak and y.type.weak)
    return _copysign(x, y)


@fuse(host=np.copysign)
def _copysign(x: Value, y: Value) -> Array:
    size = abs_(x)
    return where(_signbit(y), arithmetic.neg(size), size)


# -- mantissa and exponent -------------------------------------------------------------


def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x · 2ⁿ, element by element, also where 2ⁿ does not fit the dtype.

    Raises:
      DTypeError: the exponents are not integers, or x is complex.

    >>> import covector.numpy as cnp
    >>> ldexp(cnp.array([1.0, 3.0]), 2).tolist()
    [4.0, 12.0]
    """
    x, n = _check_real("ldexp", inexact("ldexp", x1)), as_array(x2, "ldexp")
    if not dtypes.is_integer(n.type.dtype):
        raise DTypeError(f"ldexp needs integers as exponents, but got {n.type}.")
    return _ldexp(*broadcast("ldexp", x, convert(n, dtypes.int32)))


def _ldexp_on_host(x: HostArray, n: HostArray) -> HostArray:
    return np.ldexp(x, n).astype(x.dtype, copy=False)


@fuse(host=_ldexp_on_host)
def _ldexp(x: Value, n: Value) -> Array:
    from covector.operations.barrier import optimization_barrier  # noqa: PLC0415  rare

    # Three powers that fit the dtype make up any that takes it from end to end. If they
    # are known, XLA would form their product first, which may not fit.
    x, n = optimization_barrier(x, n)
    dtype, limits = x.type.dtype, finfo(x.type.dtype)
    bounds = (int(limits.minexp), int(limits.maxexp) - 1)
    low, high = (scalar(k, n.type.dtype, True) for k in bounds)
    for parts in (3, 2, 1):
        share = arithmetic.div(n, scalar(parts, n.type.dtype, True))
        x = arithmetic.mul(x, _power_of_two(clamp(low, share, high), dtype))
        n = arithmetic.sub(n, share)
    return x


def _power_of_two(n: Value, dtype: DType) -> Array:
    """2ⁿ, of an exponent that normal numbers of the dtype have."""
    limits = finfo(dtype)
    bits = np.dtype(f"i{dtype.itemsize}")
    if limits.bits != 8 * bits.itemsize:
        return exp2(stop_gradient(convert(n, dtype)))
    field = arithmetic.sub(n, scalar(int(limits.minexp) - 1, n.type.dtype, True))
    places = scalar(int(limits.nmant), bits)
    made = bitwise.shift_left(convert(field, bits), places)
    return BitcastConvertType(dtype)(made)


def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """m and n such that x = m · 2ⁿ and ½ ≤ |m| < 1; n = 0 where x is 0, ∞ or NaN.

    Raises:
      DTypeError: x is complex.

    >>> import covector.numpy as cnp
    >>> m, n = frexp(cnp.array([3.0, 0.0]))
    >>> m.tolist(), n.tolist()
    ([0.75, 0.0], [2, 0])
    """
    return _frexp(_check_real("frexp", inexact("frexp", x)))


def _frexp_on_host(x: HostArray) -> tuple[HostArray, ...]:
    mantissa, exponent = np.frexp(x)
    return mantissa, np.where(np.isfinite(x), exponent, 0).astype(np.int32)


@fuse(host=_frexp_on_host)
def _frexp(x: Value) -> tuple[Array, Array]:
    dtype = x.type.dtype
    wide = stop_gradient(x if dtype.itemsize >= 4 else convert(x, dtypes.float32))
    limits, bits = finfo(wide.type.dtype), np.dtype(f"i{wide.type.dtype.itemsize}")
    places = scalar(int(limits.nmant), bits)
    size = BitcastConvertType(bits)(abs_(wide))
    field = convert(bitwise.shift_right_arithmetic(size, places), dtypes.int32)
    exponent = arithmetic.add(field, scalar(int(limits.minexp), dtypes.int32))
    usual = bitwise.and_(is_finite(x), ne(x, scalar(0, dtype, True)))
    exponent = where(usual, exponent, scalar(0, dtypes.int32))
    # Two powers, which fit the dtype, where one might not.
    n = arithmetic.neg(exponent)
    half = bitwise.shift_right_arithmetic(n, scalar(1, dtypes.int32))
    mantissa = arithmetic.mul(x, _power_of_two(half, dtype))
    rest = _power_of_two(arithmetic.sub(n, half), dtype)
    return arithmetic.mul(mantissa, rest), exponent


# -- neighbours ------------------------------------------------------------------------


def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The next number of the dtype after x on the way to y; y where they are equal.

    Raises:
      DTypeError: an operand is complex.

    >>> float(nextafter(1, 2)) - 1
    1.1920928955078125e-07
    """
    x, y = promote_inexact("nextafter", x, y)
    return rounding.nextafter(_check_real("nextafter", x), y)


def spacing(x: ArrayLike, /) -> Array:
    """The distance from x to the next number further from 0, with the sign of x.

    It counts as constant in derivatives; it is NaN where x is not finite.

    Raises:
      DTypeError: x is complex.

    >>> float(spacing(1.0))
    1.1920928955078125e-07
    """
    return _spacing(_check_real("spacing", inexact("spacing", x)))


@fuse()
def _spacing(x: Value) -> Array:
    # Of a number with biased exponent e the spacing is 2 to the e − n, where n bits are
    # in the mantissa. It is made of bits, for it may be too small to compute with.
    dtype, size = x.type.dtype, _bits(abs_(x))
    zero, one, n = (
        scalar(k, size.type.dtype, True) for k in (0, 1, finfo(dtype).nmant)
    )
    e = bitwise.shift_right_logical(size, n)
    normal = bitwise.shift_left(arithmetic.sub(e, n), n)
    below = bitwise.shift_left(one, max_(arithmetic.sub(e, one), zero))
    bits = where(gt(e, n), normal, below)
    out = _copysign(BitcastConvertType(dtype)(bits), x)
    return where(is_finite(x), out, scalar(np.nan, dtype, True))


def _check_real(who: str, x: Value) -> Array:
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(f"{who} needs real numbers, but got {x.type}.")
    return x


def _everywhere(value: bool, x: Value) -> Any:
    return (ones_like if value else zeros_like)(x, dtypes.bool_)
