"""Powers and roots."""

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.dtypes import bool_
from covector.errors import DTypeError
from covector.numpy.fuse import fuse
from covector.numpy.promote import inexact, number, promote, promote_inexact
from covector.operations import arithmetic, powers, roots
from covector.operations.bitwise import or_
from covector.operations.comparison import eq
from covector.operations.extrema import max_, min_
from covector.operations.magnitude import abs_
from covector.operations.selection import where

__all__ = ["cbrt", "float_power", "hypot", "pow", "power", "sqrt", "square"]


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x to the power y, element by element: ``x1 ** x2``.

    A Python integer as exponent is part of the program, which then only multiplies: the
    result has the dtype of x, and its derivative is defined everywhere. A negative
    number to a power that is not whole is NaN: see ``cbrt``, or make x complex.

    Args:
      x1: the base x; an array or a number.
      x2: the exponent y, which broadcasts with x1.

    Returns:
      An array of the dtype to which both promote, a Python integer aside.

    Raises:
      DTypeError: x holds integers and y is a negative Python integer.

    >>> import covector.numpy as cnp
    >>> print(power(cnp.array([2.0, 3.0]), 2), power(2, cnp.array([0.5, 3.0])))
    [4. 9.] [1.4142135 8.       ]

    See also: ``square``, ``sqrt``, ``cbrt``, ``float_power``.
    """
    return _power("power", x1, x2)


pow = power


def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x to the power y, in floating point also for integers.

    >>> float(float_power(2, -1))
    0.5
    """
    return powers.power(*promote_inexact("float_power", x, y))


def square(x: ArrayLike, /) -> Array:
    """x², element by element; bools count as integers.

    Of complex numbers it is z · z, not |z|².

    Args:
      x: an array or a number.

    Returns:
      An array of the shape and dtype of ``x``; integers wrap around without an error.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> print(square(cnp.array([1, -2])))
    [1 4]

    See also: ``power``, ``sqrt``, ``absolute``.
    """
    return powers.square(number("square", x))


def sqrt(x: ArrayLike, /) -> Array:
    """The square root, element by element; NaN of negative real numbers.

    The derivative at 0 is infinite, so the gradient of a length ``sqrt((x**2).sum())``
    is NaN where x is 0. ``linalg.norm`` and ``hypot`` give 0 there.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``, of its dtype where that is floating or complex; of
      the default float for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> print(sqrt(4), sqrt(-1), sqrt(-1 + 0j))
    2.0 nan 1j

    See also: ``cbrt``, ``linalg.norm``, ``hypot``, ``lax.rsqrt``.
    """
    return roots.sqrt(inexact("sqrt", x))


def cbrt(x: ArrayLike, /) -> Array:
    """∛x of real numbers, with the sign of x.

    Raises:
      DTypeError: x is complex.

    >>> round(float(cbrt(-27)), 5)
    -3.0
    """
    return roots.cbrt(inexact("cbrt", x))


def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """√(x² + y²) of real numbers, where it fits their dtype also if the squares do not.

    Infinite if x or y is, whatever the other. The derivative at (0, 0) is 0; by an
    infinite operand it is ±1, by the other 0.

    Raises:
      DTypeError: an operand is complex; √(|x|² + |y|²) is ``hypot(abs(x), abs(y))``.

    >>> float(hypot(3, 4))
    5.0
    """
    x, y = promote_inexact("hypot", x1, x2)
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(
            f"hypot needs real numbers, but got {x.type} and {y.type}. Of complex "
            "numbers use their lengths: hypot(abs(x), abs(y))."
        )
    return _hypot(x, y)


@fuse(host=np.hypot)
def _hypot(x: Value, y: Value) -> Array:
    x, y = abs_(x), abs_(y)
    zero, one, inf = (scalar(n, x.type.dtype, True) for n in (0, 1, np.inf))
    large, small = max_(x, y), min_(x, y)
    # √(a² + b²) = a·√(1 + (b/a)²), where a is neither 0 nor infinite
    plain = or_(eq(large, zero), eq(large, inf))
    ratio = arithmetic.div(where(plain, zero, small), where(plain, one, large))
    length = arithmetic.mul(
        large, roots.sqrt(arithmetic.add(one, arithmetic.mul(ratio, ratio)))
    )
    length = where(or_(eq(x, inf), eq(y, inf)), inf, length)  # also beside NaN
    return where(eq(large, inf), large, length)


def _power(who: str, x1: ArrayLike, x2: ArrayLike) -> Array:
    if type(x2) is int:
        return powers.IntegerPow(x2)(number(who, x1))
    x, y = promote(who, x1, x2)
    if x.type.dtype is bool_:
        x, y = number(who, x), number(who, y)
    return powers.power(x, y)
