"""Numbers in two parts, high + low, with about twice the digits of the element type.

They are for the few intermediate results whose absolute error decides: an exponent of
−700 with an error of half a unit in the last place spoils ten bits of the power.

Compiled programs may round a product and a sum that follow each other once or twice.
So factors are first cut in halves whose products are exact either way. (T. J. Dekker, A
floating-point technique for extending the available precision, 1971.)
"""

from fractions import Fraction
from typing import TypeAlias

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.operations.arithmetic import neg
from covector.operations.bitwise import and_, shift_left, shift_right_arithmetic
from covector.operations.casting import BitcastConvertType, convert
from covector.operations.composite import number
from covector.operations.selection import where

#: high and low part
TwoParts: TypeAlias = tuple[Value, Value]

#: integers of as many bits, the bits of a mantissa, and of its lower half
_LAYOUTS = {dtypes.float32: (np.int32, 23, 12), dtypes.float64: (np.int64, 52, 27)}


def exact_sum(x: Value, y: Value) -> TwoParts:
    """The sum x + y, and what rounding it loses."""
    total = x + y
    added = total - x
    return total, (x - (total - added)) + (y - added)


def less_than_one(x: Value) -> TwoParts:
    """1 − x."""
    # Not a constant: of (1 − x) − 1, XLA makes −x.
    one = 0 * x + 1
    return exact_sum(one, neg(x))


def exact_product(x: Value, y: Value) -> TwoParts:
    """The product x · y, to twice the digits."""
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    middle = exact_sum(x_high * y_high, x_high * y_low + x_low * y_high)
    return exact_sum(middle[0], middle[1] + x_low * y_low)


def _halves(x: Value) -> TwoParts:
    """The upper half of the digits of x, and the others."""
    integer, _, lower = _LAYOUTS[x.type.dtype]
    kept = scalar(-1 << lower, np.dtype(integer))
    bits = and_(BitcastConvertType(np.dtype(integer))(x), kept)
    high = BitcastConvertType(x.type.dtype)(bits)
    return high, x - high


def plus(x: TwoParts, y: TwoParts) -> TwoParts:
    """The sum of x and y."""
    total, rest = exact_sum(x[0], y[0])
    return exact_sum(total, rest + (x[1] + y[1]))


def negative(x: TwoParts) -> TwoParts:
    """−x."""
    return neg(x[0]), neg(x[1])


def times(x: TwoParts, y: TwoParts) -> TwoParts:
    """The product of x and y."""
    product, rest = exact_product(x[0], y[0])
    return exact_sum(product, rest + (x[0] * y[1] + x[1] * y[0]))


def over(x: TwoParts, y: TwoParts) -> TwoParts:
    """The quotient x / y."""
    quotient = x[0] / y[0]
    left = plus(x, negative(times((quotient, number(0, quotient)), y)))
    return exact_sum(quotient, left[0] / y[0])


def chosen(condition: Value, x: TwoParts, y: TwoParts) -> TwoParts:
    """The one where the condition holds, the other elsewhere."""
    return where(condition, x[0], y[0]), where(condition, x[1], y[1])


def constant(exact: Fraction, like: Value) -> TwoParts:
    """A number in two parts of the element type of ``like``."""
    high = float(np.asarray(float(exact), like.type.dtype))
    return number(high, like), number(float(exact - Fraction(high)), like)


def exponent(x: Value) -> tuple[Value, Value]:
    """The k for which x = m · 2ᵏ with √½ ≤ m < √2, and 2⁻ᵏ; for normal x > 0."""
    integer, mantissa, _ = _LAYOUTS[x.type.dtype]
    integers = np.dtype(integer)
    one, least = (
        int(np.asarray(v, x.type.dtype).view(integers)) for v in (1.0, 0.5**0.5)
    )
    places = scalar(mantissa, integers)
    bits = BitcastConvertType(integers)(x) - scalar(least, integers)
    k = shift_right_arithmetic(bits, places)
    inverse = scalar(one, integers) - shift_left(k, places)
    return convert(k, x.type.dtype), BitcastConvertType(x.type.dtype)(inverse)
