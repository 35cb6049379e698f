"""Functions of float32 and narrower numbers, worked out in 64 bits on the CPU.

XLA calls a routine for each element where a polynomial over vectors takes a tenth of
the time. In 64 bits short Taylor series are enough, nothing has to be rounded with
care, and only the last conversion is seen in the result: it is within 0.53 units in the
last place. Scalars and small arrays are left to XLA, whose routines are short programs.
"""

import functools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, Value
from covector.core.convert import scalar
from covector.core.number_info import finfo
from covector.operations.arithmetic import neg, sub
from covector.operations.bitwise import (
    and_,
    not_,
    or_,
    shift_left,
    shift_right_arithmetic,
)
from covector.operations.casting import BitcastConvertType, convert
from covector.operations.chebyshev import interpolated, polynomial
from covector.operations.comparison import eq, ge, gt, is_finite, lt, ne
from covector.operations.extrema import min_
from covector.operations.magnitude import abs_, sign_bit
from covector.operations.rounding import Round, RoundingMethod, floor
from covector.operations.selection import where

if TYPE_CHECKING:
    pass

_nearest = Round(RoundingMethod.TO_NEAREST_EVEN)


def _widened(x: Value) -> Value:
    """In 64 bits; numbers of 16 by way of 32, between which there are instructions."""
    return convert(convert(x, dtypes.float32), dtypes.float64)


def _narrowed(value: Value, x: Value) -> Value:
    """The value in the dtype of ``x``."""
    return convert(convert(value, dtypes.float32), x.type.dtype)


# -- sine, cosine and tangent ----------------------------------------------------------

_PI = Fraction(  # to 190 bits: the largest float32 is below 2¹²⁸, of 24 bits
    3141592653589793238462643383279502884197169399375105820974944592307816406286209,
    10**78,
)
#: bits that a float64 times a float32 has left for the other factor
_FACTOR = 29


def _quarter_turns(step: int) -> list[float]:
    """2/π in four parts; for |x| from 2^(32 step + 23) on less what gives whole turns.

    The product of each part but the last one with a float32 is exact.
    """
    unit = Fraction(2) ** (32 * step)
    rest = 2 / _PI * unit
    if step:
        rest -= 4 * math.floor(rest / 4)
    parts = []
    for k in range(1, 4):
        digits = Fraction(2) ** (_FACTOR * k - 2)
        part = math.floor(rest * digits) / digits
        parts.append(float(part / unit))
        rest -= part
    return [*parts, float(rest / unit)]


_PARTS = [_quarter_turns(step) for step in range(4)]


def _reduced(size: Value) -> tuple[Value, Value]:
    """The angle that is left of one that is not negative, within π/4, and how many
    quarter turns were taken away, up to whole turns.

    All are computed for every element (M. H. Payne and R. N. Hanek, Radian reduction
    for trigonometric functions, 1983, with parts of 2/π in place of its bits).
    """
    products = []
    for parts in zip(*_PARTS, strict=True):
        factor: Value = scalar(parts[0], dtypes.float64)
        for step, part in enumerate(parts[1:], 1):
            from_here = scalar(2.0 ** (32 * step + 23), dtypes.float64)
            here = scalar(part, dtypes.float64)
            factor = where(ge(size, from_here), here, factor)
        products.append(size * factor)
    first, second, third, fourth = products
    first = first - 4 * _nearest(first * 0.25)
    second = second - 4 * _nearest(second * 0.25)
    turns = _nearest(first + second + third)
    left = (((first - turns) + second) + third) + fourth
    return left * (math.pi / 2), convert(turns, dtypes.int32)


_SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(6)]
_COSINE = [(-1) ** k / math.factorial(2 * k) for k in range(6)]


def _circular(size: Value) -> tuple[Value, Value, Value]:
    """Sine and cosine of the reduced angle, and the quarter turns."""
    angle, turns = _reduced(size)
    square = angle * angle
    return angle * polynomial(_SINE, square), polynomial(_COSINE, square), turns


def _bit(integer: Value, value: int) -> Value:
    zero, mask = (scalar(n, dtypes.int32) for n in (0, value))
    return ne(and_(integer, mask), zero)


def _turned(sine: Value, cosine: Value, turns: Value) -> Value:
    """The sine after so many quarter turns."""
    value = where(_bit(turns, 1), cosine, sine)
    return where(_bit(turns, 2), neg(value), value)


def _with_sign(value: Value, wide: Value) -> Value:
    return where(sign_bit(wide), neg(value), value)


def sine(x: Value) -> list[Value]:
    """Sine of an angle of any size."""
    wide = _widened(x)
    value = _turned(*_circular(abs_(wide)))
    return [_narrowed(_with_sign(value, wide), x)]


def cosine(x: Value) -> list[Value]:
    """Cosine of an angle of any size: the sine a quarter turn on."""
    s, c, turns = _circular(abs_(_widened(x)))
    return [_narrowed(_turned(s, c, turns + 1), x)]


def tangent(x: Value) -> list[Value]:
    """Tangent of an angle of any size."""
    wide = _widened(x)
    s, c, turns = _circular(abs_(wide))
    odd = _bit(turns, 1)
    # A quotient that is used twice would be a kernel of its own.
    top = _with_sign(where(odd, neg(c), s), wide)
    return [_narrowed(top / where(odd, s, c), x)]


# -- arctangents -----------------------------------------------------------------------

#: of the polynomial for arctangents of at most 1
_DEGREE = 13


@functools.cache
def _arctangent() -> list[float]:
    """The polynomial in t² that is atan(t) / t at Chebyshev's points of 0 ≤ t² ≤ 1."""

    def ratio(square: Any) -> Any:
        t = np.sqrt(square)
        return np.arctan(t) / t

    return interpolated(ratio, _DEGREE + 1, 0, 1)


def _angle(opposite: Value, adjacent: Value) -> Value:
    """The angle in [0, π/2] with this tangent, of two sides that are not negative."""
    steep = gt(opposite, adjacent)
    t = where(steep, adjacent, opposite) / where(steep, opposite, adjacent)
    angle = t * polynomial(_arctangent(), t * t)
    return where(steep, math.pi / 2 - angle, angle)


def arctangent(x: Value) -> list[Value]:
    """The angle with tangent x, between −π/2 and π/2."""
    wide = _widened(x)
    angle = _angle(abs_(wide), scalar(1, dtypes.float64))
    return [_narrowed(_with_sign(angle, wide), x)]


def arctangent_of_point(y: Value, x: Value) -> list[Value]:
    """The angle of the point (x, y), between −π and π."""
    wide_y, wide_x = (_widened(part) for part in (y, x))
    opposite, adjacent = abs_(wide_y), abs_(wide_x)
    zero, one = (scalar(n, dtypes.float64) for n in (0, 1))
    # Sides that are both zero, or both infinite, have no quotient.
    equal = eq(opposite, adjacent)
    side = where(eq(opposite, zero), zero, one)
    angle = _angle(where(equal, side, opposite), where(equal, one, adjacent))
    angle = where(sign_bit(wide_x), math.pi - angle, angle)
    return [_narrowed(_with_sign(angle, wide_y), y)]


def _other_side(size: Value) -> Value:
    """The other short side of a triangle with one of this size and the longest 1."""
    return (1 - size * size) ** 0.5


def arcsine(x: Value) -> list[Value]:
    """The angle with sine x, between −π/2 and π/2; NaN of |x| > 1."""
    wide = _widened(x)
    size = abs_(wide)
    return [_narrowed(_with_sign(_angle(size, _other_side(size)), wide), x)]


def arccosine(x: Value) -> list[Value]:
    """The angle with cosine x, between 0 and π; NaN of |x| > 1."""
    wide = _widened(x)
    size = abs_(wide)
    angle = _angle(_other_side(size), size)
    return [_narrowed(where(sign_bit(wide), math.pi - angle, angle), x)]


# -- powers and roots ------------------------------------------------------------------

#: of 2 artanh(z) / (z log 2) = log₂((1 + z) / (1 − z)) / z, in z²
_LOGARITHM = [2 / ((2 * k + 1) * math.log(2)) for k in range(9)]
#: of 2ᶠ in f
_EXPONENTIAL = [math.log(2) ** k / math.factorial(k) for k in range(11)]
#: from here on 2ᵉ is beyond every float32, and its inverse below
_FURTHEST = 400.0


@functools.cache
def _first_inverse() -> list[float]:
    """The cubic through 1/x at Chebyshev's points of 1 + √½ ≤ x ≤ 1 + √2."""
    return interpolated(lambda x: 1 / x, 4, 1 + math.sqrt(0.5), 1 + math.sqrt(2))


def _inverse(x: Value) -> Value:
    """1 / x between 1 + √½ and 1 + √2, from a cubic with four digits.

    Each of Newton's steps doubles them. A quotient that is used more than once would be
    a kernel of its own.
    """
    inverse = polynomial(_first_inverse(), x)
    for _ in range(2):
        inverse = inverse * (2 - x * inverse)
    return inverse


def split(size: Value, least: float) -> tuple[Value, Value]:
    """What is m · 2ᵏ as m, from ``least`` up to twice that, and the integer k."""
    dtype = size.type.dtype
    integer, places = _layout(dtype)
    bits = BitcastConvertType(integer)(size)
    first = int(np.asarray(least, dtype).view(integer))
    whole = shift_right_arithmetic(sub(bits, scalar(first, integer)), places)
    rest = sub(bits, shift_left(whole, places))
    return BitcastConvertType(dtype)(rest), whole


def two_to(whole: Value, dtype: DType = dtypes.float64) -> Value:
    """2ᵏ of a whole number k in the range of exponents."""
    integer, places = _layout(dtype)
    bias = int(finfo(dtype).maxexp) - 1
    power = convert(whole, integer) + scalar(bias, integer)
    return BitcastConvertType(dtype)(shift_left(power, places))


def _layout(dtype: DType) -> tuple[Any, Value]:
    """The integers of the bits of floats, and how many of these are the mantissa."""
    integer = np.dtype(f"i{dtype.itemsize}")
    return integer, scalar(int(finfo(dtype).nmant), integer)


def _log2(size: Value) -> Value:
    """Logarithm to base 2 of what is not negative, in 64 bits."""
    mantissa, whole = split(size, math.sqrt(0.5))
    z = (mantissa - 1) * _inverse(mantissa + 1)
    value = convert(whole, dtypes.float64) + z * polynomial(_LOGARITHM, z * z)
    zero, infinity = (scalar(n, dtypes.float64) for n in (0, math.inf))
    value = where(eq(size, zero), neg(infinity), value)
    return where(lt(size, infinity), value, size)  # infinity, and NaN


def _exp2(exponent: Value) -> Value:
    """2 to the power of what is neither infinite nor NaN, within the range of float32,
    and infinity or zero beyond.
    """
    limit = scalar(_FURTHEST, dtypes.float64)
    exponent = where(gt(exponent, limit), limit, exponent)
    exponent = where(lt(exponent, neg(limit)), neg(limit), exponent)
    whole = _nearest(exponent)
    return two_to(whole) * polynomial(_EXPONENTIAL, exponent - whole)


def power(x: Value, y: Value) -> list[Value]:
    """xʸ, with the special values of C99's pow."""
    base, exponent = (_widened(part) for part in (x, y))
    zero, one = (scalar(n, dtypes.float64) for n in (0, 1))
    size = abs_(base)
    value = _exp2(exponent * _log2(size))
    half = exponent * 0.5
    is_whole = eq(floor(exponent), exponent)
    is_odd = and_(is_whole, ne(floor(half), half))
    nan = scalar(math.nan, dtypes.float64)
    negative = and_(lt(base, zero), is_finite(base))
    value = where(and_(negative, not_(is_whole)), nan, value)
    value = where(and_(sign_bit(base), is_odd), neg(value), value)
    trivial = or_(eq(exponent, zero), eq(base, one))
    ends = eq(abs_(exponent), scalar(math.inf, dtypes.float64))
    trivial = or_(trivial, and_(eq(size, one), ends))
    return [_narrowed(where(trivial, one, value), x)]


def power_of_two(x: Value) -> list[Value]:
    """2ˣ, exact for whole x."""
    return [_narrowed(_exp2(_widened(x)), x)]


@functools.cache
def _first_inverse_root() -> list[float]:
    """The polynomial through x^(−1/3) at seven of Chebyshev's points of 1 ≤ x ≤ 2."""
    return interpolated(lambda x: x ** (-1 / 3), 7, 1, 2)


def cube_root(x: Value) -> list[Value]:
    """∛x, from the inverse root of the mantissa, of which Newton's step doubles the
    digits: six at first.
    """
    wide = _widened(x)
    size = abs_(wide)
    mantissa, exponent = split(size, 1.0)
    exponent = convert(exponent, dtypes.float64)
    third = floor(exponent * (1 / 3) + 1 / 6)
    left = exponent - 3 * third
    inverse = polynomial(_first_inverse_root(), mantissa)
    cube = inverse * inverse * inverse
    inverse = inverse * (4 - mantissa * cube) * (1 / 3)
    one, two, root, square = (
        scalar(n, dtypes.float64) for n in (1, 2, 2 ** (1 / 3), 4 ** (1 / 3))
    )
    factor = where(eq(left, two), square, where(eq(left, one), root, one))
    value = mantissa * inverse * inverse * factor * two_to(third)
    # Zero and infinity are out of the range of float32 in any case; and NaN.
    value = where(lt(size, scalar(math.inf, dtypes.float64)), value, size)
    return [_narrowed(_with_sign(value, wide), x)]


def remainder(x: Value, y: Value) -> list[Value]:
    """What is left of x / y to a whole number, x − y · trunc(x / y), exactly: multiples
    of 2ᵏ y are taken away, for smaller and smaller k.

    Each is a whole number times y, in so few bits that the product and the difference
    are exact. It is the nearest one, or next to it where two are as near, since it
    comes from the inverse of y.
    """
    dividend, divisor = _widened(x), abs_(_widened(y))
    limits = finfo(x.type.dtype)
    bits, largest = 52 - limits.nmant, limits.maxexp - limits.minexp + limits.nmant
    # To be infinite is to be too large.
    divisor = min_(divisor, scalar(2.0**200, dtypes.float64))
    inverse, left = 1 / divisor, abs_(dividend)
    for k in range(largest // bits * bits, -1, -bits):
        whole = _nearest(left * (inverse * 2.0**-k))
        left = left - whole * (divisor * 2.0**k)
    left = where(lt(left, scalar(0, dtypes.float64)), left + divisor, left)
    return [_narrowed(_with_sign(left, dividend), x)]
