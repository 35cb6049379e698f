"""Changing the element type, or the precision, of an array."""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, scalar, to_be_cast
from covector.core.number_info import bit_width, iinfo
from covector.core.promotion import result_type
from covector.numpy.axes import as_integer
from covector.operations import casting

__all__ = [
    "bitcast_convert_type",
    "convert_element_type",
    "dtype",
    "reduce_precision",
]


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The values in another element type; 64-bit types need ``enable_x64``.

    Floats become integers by truncation, and saturate; NaN gives 0. Integers wrap
    around. Complex numbers lose their imaginary part.

    Args:
      operand: an array of numbers or bools.
      new_dtype: the dtype of the result.

    >>> convert_element_type(-1.7, "int8").tolist()
    -1

    See also: ``bitcast_convert_type``, which keeps the bits.
    """
    dtype = asked_dtype(new_dtype, operand)
    if type(operand) is int and not dtypes.is_key(dtype):
        return _number(operand, dtype)
    return casting.convert(to_be_cast(operand, "convert_element_type"), dtype)


def _number(x: int, dtype: DType) -> Array:
    """An integer of any size, which wraps around."""
    if not dtypes.is_integer(dtype):
        return scalar(x, dtype)
    bits = bit_width(dtype)
    x %= 1 << bits
    return scalar(x if x <= iinfo(dtype).max else x - (1 << bits), dtype)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The bits of integers or floats as another of these types.

    To a narrower type, each element becomes several along a new last axis, lowest bits
    first; to a wider one, the elements along the last axis become one.

    Raises:
      DTypeError: a type is neither an integer nor a float.
      TypeMismatch: the last axis does not hold what a wider element needs.

    >>> bitcast_convert_type(1.0, "uint32").tolist() == 0x3F800000
    True

    See also: ``convert_element_type``, which keeps the values.
    """
    x = as_array(operand, "bitcast_convert_type")
    return casting.BitcastConvertType(asked_dtype(new_dtype))(x)


def dtype(x: Any) -> DType:
    """The element type of an array, a number, or what names a type.

    64-bit types are those of 32 bits, unless ``enable_x64`` is on.

    >>> dtype(1.5), dtype(int), dtype("int8")
    (dtype('float32'), dtype('int32'), dtype('int8'))
    """
    if isinstance(x, type | np.dtype):  # which have a shape as well
        return result_type(x)
    if isinstance(x, bool | int | float | complex) or hasattr(x, "shape"):
        return as_array(x, "dtype").dtype
    return result_type(x)


def reduce_precision(
    operand: ArrayLike, exponent_bits: int, mantissa_bits: int
) -> Array:
    """X rounded to a float with so many exponent and mantissa bits; its type stays.

    Ties go to even; what is too large becomes infinite, what would be subnormal 0.

    Raises:
      ArgumentError: a number of bits is not an integer.
      TypeMismatch: there is no exponent bit, or a negative number of mantissa bits.

    >>> reduce_precision(1.2345, 8, 7).tolist()
    1.234375
    """
    x = as_array(operand, "reduce_precision")
    # No dtype has so many, and the compiler takes no more.
    given = ("exponent_bits", exponent_bits), ("mantissa_bits", mantissa_bits)
    bits = [min(as_integer("reduce_precision", n, name), 64) for name, n in given]
    return casting.ReducePrecision(*bits)(x)
