"""Arithmetic: the four operations, quotients and remainders, signs.

Each function promotes, broadcasts, and is then one operation. Quotients and remainders
are rounded down, as Python's are, and take a few.
"""

import math
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.dtypes import bool_
from covector.errors import DTypeError
from covector.numpy.fuse import fuse
from covector.numpy.promote import inexact, number, promote, promote_inexact
from covector.operations import arithmetic, bitwise, magnitude
from covector.operations.casting import convert
from covector.operations.comparison import eq, lt, ne
from covector.operations.identities import stop_gradient
from covector.operations.rounding import Round, RoundingMethod, floor
from covector.operations.selection import where

__all__ = [
    "abs",
    "absolute",
    "divide",
    "divmod",
    "fabs",
    "floor_divide",
    "fmod",
    "mod",
    "positive",
    "reciprocal",
    "remainder",
    "sign",
    "true_divide",
]


def add(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x + y, element by element; the operator ``+``. Of bools, ``or``.

    The arrays broadcast together, and the result has the dtype that both promote to.
    Integers beyond it wrap around without an error.

    Args:
      x1, x2: arrays or numbers, whose shapes broadcast together.

    Returns:
      An array of the shape and dtype of both together.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> print(add(cnp.array([1, 2]), 0.5))
    [1.5 2.5]

    See also: ``sum`` (along an axis), ``subtract``, ``logaddexp``.
    """
    x, y = promote("add", x1, x2)
    if x.type.dtype is bool_:
        return bitwise.or_(x, y)
    return arithmetic.add(x, y)


def subtract(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x − y, element by element: ``x1 - x2``. Unsigned integers wrap around below 0.

    Raises:
      DTypeError: both are bools.

    >>> import covector.numpy as cnp
    >>> print(subtract(cnp.array([1, 2]), 2))
    [-1  0]

    See also: ``add``, ``diff``, ``negative``.
    """
    x, y = promote("subtract", x1, x2)
    if x.type.dtype is bool_:
        raise DTypeError(
            f"subtract needs numbers, but got {x.type} and {y.type}. Of bools, x ^ y "
            "is where they differ."
        )
    return arithmetic.sub(x, y)


def multiply(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x · y, element by element; the operator ``*``. Of bools, ``and``.

    The arrays broadcast together, and the result has the dtype that both promote to.
    Integers beyond it wrap around without an error.

    Args:
      x1, x2: arrays or numbers, whose shapes broadcast together.

    Returns:
      An array of the shape and dtype of both together.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> print(multiply(cnp.array([1, 2]), 3))
    [3 6]

    See also: ``matmul`` (of matrices), ``outer``, ``prod``.
    """
    x, y = promote("multiply", x1, x2)
    if x.type.dtype is bool_:
        return bitwise.and_(x, y)
    return arithmetic.mul(x, y)


def true_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x / y, element by element, in floating point also for integers: ``x1 / x2``.

    Division by 0 raises nothing: 1 / 0 is ∞, 0 / 0 is NaN. To avoid it under ``grad``,
    replace the divisor with ``where``, not the result.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> print(true_divide(cnp.array([1, 3]), 2), true_divide(1, 0))
    [0.5 1.5] inf

    See also: ``floor_divide``, ``reciprocal``, ``where``.
    """
    return arithmetic.div(*promote_inexact("true_divide", x1, x2))


divide = true_divide


def reciprocal(x: ArrayLike, /) -> Array:
    """1 / x, element by element, in floating point also for integers.

    ±∞ at 0.

    >>> float(reciprocal(4))
    0.25

    See also: ``divide``, ``power``.
    """
    x = inexact("reciprocal", x)
    return arithmetic.div(scalar(1, x.type.dtype, x.type.weak), x)


# -- rounded down ----------------------------------------------------------------------


def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """⌊x / y⌋, element by element: ``x1 // x2``.

    Integers divided by zero give 0. Where a float is infinite, or y is zero, the result
    is that of ``floor(x / y)``, as the array API standard has it: ∞ // 2 = ∞. Floats
    stay floats; their derivative is 0.

    Raises:
      DTypeError: complex numbers have no floor.

    >>> import covector.numpy as cnp
    >>> floor_divide(cnp.array([7, -7]), 2).tolist(), float(floor_divide(1.0, 0.1))
    ([3, -4], 9.0)

    See also: ``remainder``, ``divmod``, ``true_divide``.
    """
    x, y = _real("floor_divide", x1, x2)
    if dtypes.is_floating(x.type.dtype):
        return _floor_divide_floats(x, y)
    if dtypes.is_unsigned(x.type.dtype):
        return _divide_unsigned(x, y)
    return _floor_divide_integers(x, y)


def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x − y · ⌊x / y⌋, which has the sign of y: ``x1 % x2``. Of integers, x % 0 = 0.

    The derivative is 1 in x and −⌊x / y⌋ in y; the jumps have none.

    Args:
      x1, x2: arrays or numbers, whose shapes broadcast together.

    Returns:
      An array of the dtype to which both promote.

    Raises:
      DTypeError: complex numbers have no remainder.

    >>> import covector.numpy as cnp
    >>> remainder(cnp.array([7, -7]), 3).tolist(), float(remainder(-1.0, 0.75))
    ([1, 2], 0.5)

    See also: ``fmod`` (has the sign of x), ``floor_divide``, ``divmod``.
    """
    return _remainder(*_real("remainder", x1, x2))


mod = remainder


def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """⌊x / y⌋ and x − y · ⌊x / y⌋.

    >>> [int(n) for n in divmod(-7, 3)]
    [-3, 2]
    """
    x, y = _real("divmod", x1, x2)
    return floor_divide(x, y), _remainder(x, y)


def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x − y · trunc(x / y), which has the sign of x. Of integers, fmod(x, 0) = 0.

    Raises:
      DTypeError: complex numbers have no remainder.

    >>> import covector.numpy as cnp
    >>> fmod(cnp.array([7, -7]), 3).tolist()
    [1, -1]
    """
    x, y = _real("fmod", x1, x2)
    if dtypes.is_floating(x.type.dtype):
        return arithmetic.rem(x, y)
    return _fmod_integers(x, y)


def _remainder(x: Value, y: Value) -> Array:
    floating = dtypes.is_floating(x.type.dtype)
    return _remainder_of_floats(x, y) if floating else _remainder_of_integers(x, y)


def _real(who: str, x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    """Promoted operands that are real numbers; bools count as integers."""
    x, y = promote(who, x1, x2)
    if x.type.dtype is bool_:
        x, y = number(who, x), number(who, y)
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(
            f"{who} needs real numbers, but got {x.type} and {y.type}: complex numbers "
            "cannot be rounded down."
        )
    return x, y


def _floor_divide_on_host(x: HostArray, y: HostArray) -> Any:
    exact = np.floor_divide(x, y)
    unusual = np.isinf(x) | np.isinf(y)
    return np.where(unusual, np.floor(x / y), exact) if unusual.any() else exact


# XLA takes remainders of floats one by one on CPUs, and is slower than NumPy at any
# size.
@fuse(host=_floor_divide_on_host, limit=math.inf)
def _floor_divide_floats(x: Value, y: Value) -> Array:
    x, y = stop_gradient(x), stop_gradient(y)  # it jumps, and stands still between
    zero, one = scalar(0, x.type.dtype, True), scalar(1, x.type.dtype, True)
    rest = arithmetic.rem(x, y)
    whole = arithmetic.div(arithmetic.sub(x, rest), y)
    behind = bitwise.and_(ne(rest, zero), bitwise.xor(lt(rest, zero), lt(y, zero)))
    whole = arithmetic.sub(whole, where(behind, one, zero))
    # (x − rest) / y is a whole number, but for its last digit.
    whole = Round(RoundingMethod.TO_NEAREST_EVEN)(whole)
    quotient = arithmetic.div(x, y)
    whole = where(eq(whole, zero), arithmetic.mul(quotient, zero), whole)
    infinite = eq(magnitude.abs_(y), scalar(np.inf, y.type.dtype, True))
    unusual = bitwise.or_(ne(rest, rest), infinite)
    return where(unusual, floor(quotient), whole)


@fuse(host=np.floor_divide)
def _floor_divide_integers(x: Value, y: Value) -> Array:
    zero = scalar(0, x.type.dtype, True)
    quotient = arithmetic.div(x, y)
    inexact = ne(arithmetic.mul(quotient, y), x)
    behind = bitwise.and_(inexact, lt(bitwise.xor(x, y), zero))
    quotient = arithmetic.sub(quotient, convert(behind, x.type.dtype, True))
    return where(eq(y, zero), zero, quotient)


@fuse(host=np.floor_divide)
def _divide_unsigned(x: Value, y: Value) -> Any:
    zero = scalar(0, x.type.dtype, True)
    return where(eq(y, zero), zero, arithmetic.div(x, y))


@fuse(host=np.remainder, limit=math.inf)
def _remainder_of_floats(x: Value, y: Value) -> Array:
    zero, one = scalar(0, x.type.dtype, True), scalar(1, x.type.dtype, True)
    rest, down = arithmetic.rem(x, y), lt(y, zero)
    # No rest is a zero with the sign of y: r − r, which still moves as the rest does.
    sign = where(down, arithmetic.neg(one), one)
    r = arithmetic.mul(sign, rest)
    nothing = arithmetic.mul(sign, arithmetic.sub(r, stop_gradient(r)))
    behind = bitwise.xor(lt(rest, zero), down)
    rest_or_more = where(behind, arithmetic.add(rest, y), rest)
    return where(eq(rest, zero), nothing, rest_or_more)


@fuse(host=np.remainder)
def _remainder_of_integers(x: Value, y: Value) -> Array:
    zero = scalar(0, x.type.dtype, True)
    rest = arithmetic.rem(x, y)
    if not dtypes.is_unsigned(x.type.dtype):
        behind = bitwise.and_(ne(rest, zero), lt(bitwise.xor(rest, y), zero))
        rest = where(behind, arithmetic.add(rest, y), rest)
    return where(eq(y, zero), zero, rest)


@fuse(host=np.fmod)
def _fmod_integers(x: Value, y: Value) -> Array:
    zero = scalar(0, x.type.dtype, True)
    return where(eq(y, zero), zero, arithmetic.rem(x, y))


# -- signs -----------------------------------------------------------------------------


def negative(x: ArrayLike, /) -> Array:
    """−x, element by element; unsigned integers wrap around.

    Raises:
      DTypeError: x is bool; ``logical_not`` is what it would be.

    >>> import covector.numpy as cnp
    >>> print(negative(cnp.array([1, -2])))
    [-1  2]
    """
    x = as_array(x, "negative")
    if x.type.dtype is bool_:
        raise DTypeError(f"negative needs numbers, but got {x.type}. Of bools, use ~x.")
    return arithmetic.neg(x)


def positive(x: ArrayLike, /) -> Array:
    """x itself, as an array.

    >>> import covector.numpy as cnp
    >>> print(positive(cnp.array([1, -2])))
    [ 1 -2]
    """
    return as_array(x, "positive")


def absolute(x: ArrayLike, /) -> Array:
    """The absolute value |x|, element by element; of complex numbers their length.

    The derivative at 0 is 0. The smallest integer of a signed dtype has no positive
    counterpart and stays negative; bools stay as they are.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``; real, and otherwise of its dtype.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> absolute(cnp.array([3 - 4j])).tolist()
    [5.0]

    See also: ``sign``, ``square``, ``hypot``, ``linalg.norm``.
    """
    x = as_array(x, "absolute")
    return x if x.type.dtype is bool_ else magnitude.abs_(x)


abs = absolute


def fabs(x: ArrayLike, /) -> Array:
    """|x| of real numbers, in floating point also for integers.

    Raises:
      DTypeError: x is complex; ``abs`` takes it.

    >>> float(fabs(-2))
    2.0
    """
    x = inexact("fabs", x)
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(f"fabs needs real numbers, but got {x.type}. Use abs.")
    return magnitude.abs_(x)


def sign(x: ArrayLike, /) -> Array:
    """−1, 0 or 1, element by element; of complex numbers z / |z|. NaN stays NaN.

    The derivative is 0 everywhere.

    Args:
      x: numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      DTypeError: x is bool.

    >>> import covector.numpy as cnp
    >>> sign(cnp.array([-3.0, 0.0, 7.0])).tolist()
    [-1.0, 0.0, 1.0]

    See also: ``copysign``, ``signbit``, ``absolute``.
    """
    return magnitude.sign(as_array(x, "sign"))
