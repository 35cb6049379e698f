"""Arithmetic, magnitude and order, element by element.

Operands have one element type: nothing is promoted. See ``covector.numpy`` for that.
"""

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.number_info import bit_width
from covector.errors import DTypeKindError, TypeMismatch
from covector.lax.casting import convert_element_type
from covector.lax.operands import operands
from covector.operations import (
    arithmetic,
    bitwise,
    comparison,
    extrema,
    magnitude,
    powers,
)
from covector.operations.casting import convert
from covector.operations.selection import where

__all__ = [
    "abs",
    "add",
    "clamp",
    "div",
    "max",
    "min",
    "mul",
    "mulhi",
    "neg",
    "reciprocal",
    "rem",
    "sign",
    "sub",
]


def neg(x: ArrayLike) -> Array:
    """−x; unsigned integers wrap around.

    >>> neg(1.5).tolist()
    -1.5
    """
    return arithmetic.neg(as_array(x, "neg"))


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """The sum x + y, element by element.

    It neither broadcasts nor promotes, except scalars; ``covector.numpy.add`` does.

    Raises:
      TypeMismatch: element types or shapes differ; a scalar goes with every shape.

    >>> add(2.0, 3.0).tolist()
    5.0
    """
    return arithmetic.add(*operands("add", x, y))


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """The difference x − y.

    >>> sub(2.0, 3.0).tolist()
    -1.0
    """
    return arithmetic.sub(*operands("sub", x, y))


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """The product x · y, computed in ``out_dtype`` if one is given.

    >>> mul(2.0, 3.0).tolist()
    6.0
    """
    x, y = operands("mul", x, y)
    if out_dtype is not None:
        x, y = (convert_element_type(a, out_dtype) for a in (x, y))
    return arithmetic.mul(x, y)


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """The quotient x / y; of integers, rounded towards zero.

    Integers: −7 / 2 = −3, x / 0 = −1 (all bits), and the smallest over −1 is itself.

    >>> div(-7, 2).tolist(), div(1.0, 4.0).tolist()
    (-3, 0.25)

    See also: ``rem``, ``covector.numpy.floor_divide``, ``covector.numpy.true_divide``.
    """
    return arithmetic.div(*operands("div", x, y))


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """The remainder x − y · trunc(x / y), which has the sign of x.

    Integers: x rem 0 = x.

    >>> rem(-7, 2).tolist(), rem(5.5, 2.0).tolist()
    (-1, 1.5)
    """
    return arithmetic.rem(*operands("rem", x, y))


def reciprocal(x: ArrayLike) -> Array:
    """1 / x of floating-point or complex x.

    >>> reciprocal(4.0).tolist()
    0.25
    """
    return powers.IntegerPow(-1)(as_array(x, "reciprocal"))


def abs(x: ArrayLike) -> Array:
    """|x|; of complex numbers √(x² + y²), a real one. The derivative at 0 is 0.

    >>> abs(-1.5).tolist(), abs(3 + 4j).tolist()
    (1.5, 5.0)
    """
    return magnitude.abs_(as_array(x, "abs"))


def sign(x: ArrayLike) -> Array:
    """−1, 0 or 1; of a complex number z / |z|.

    >>> sign(-1.5).tolist()
    -1.0
    """
    return magnitude.sign(as_array(x, "sign"))


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """The larger of x and y, element by element; NaN if one is.

    Complex numbers are compared by real, then by imaginary parts. Where both are equal,
    each gets half of the gradient.

    >>> max(2.0, 3.0).tolist()
    3.0

    See also: ``covector.numpy.maximum`` broadcasts and promotes; ``reduce_max``.
    """
    return extrema.max_(*operands("max", x, y))


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """The smaller of x and y; NaN if one is. As ``max`` otherwise.

    >>> min(2.0, 3.0).tolist()
    2.0
    """
    return extrema.min_(*operands("min", x, y))


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """The array x within bounds, which have its shape or are scalars.

    The bounds are the first and the last argument. Where they cross, the result is the
    upper one. On a bound, the derivative is 0.

    >>> clamp(0.0, 1.5, 1.0).tolist()
    1.0

    See also: ``covector.numpy.clip`` broadcasts and promotes.
    """
    return extrema.clamp(*operands("clamp", min, x, max))


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The upper half of the digits of the product of integers, twice as long as they.

    Raises:
      DTypeKindError: the operands are not integers of 8 bits or more.

    >>> import covector.numpy as cnp
    >>> mulhi(cnp.uint32(2**31), cnp.uint32(6)).tolist()
    3
    """
    x, y = operands("mulhi", x, y)
    dtype = x.type.dtype
    if not dtypes.is_integer(dtype) or dtype in dtypes.SUB_BYTE:
        raise DTypeKindError(
            f"mulhi needs integers of 8 bits or more, but got {x.type} and {y.type}."
        )
    if y.type.dtype != dtype:
        raise TypeMismatch(
            f"mulhi needs integers of one dtype, but got {x.type} and {y.type}. "
            "Convert one of them with astype."
        )
    signed = dtype in dtypes.SIGNED
    plain = dtypes.UNSIGNED[dtypes.SIGNED.index(dtype)] if signed else dtype
    high = convert(_upper(convert(x, plain), convert(y, plain)), dtype)
    if not signed:
        return high
    # A negative number counts 2ⁿ too much without its sign.
    zero = scalar(0, dtype)
    of_x = where(comparison.lt(x, zero), y, zero)
    of_y = where(comparison.lt(y, zero), x, zero)
    return arithmetic.sub(arithmetic.sub(high, of_x), of_y)


def _upper(x: Array, y: Array) -> Array:
    """The upper half of a product of unsigned integers, by products of halves."""
    bits = bit_width(x.type.dtype)
    half = scalar(bits // 2, x.type.dtype)
    mask = scalar((1 << bits // 2) - 1, x.type.dtype)
    (a, b), (c, d) = (
        (bitwise.shift_right_logical(v, half), bitwise.and_(v, mask)) for v in (x, y)
    )
    low = bitwise.shift_right_logical(b * d, half)
    middle = a * d + low
    other = bitwise.and_(middle, mask) + b * c
    carried = bitwise.shift_right_logical(middle, half)
    return a * c + carried + bitwise.shift_right_logical(other, half)
