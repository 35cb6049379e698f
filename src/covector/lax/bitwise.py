"""Bits of integers and logic of bools, element by element."""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.lax.operands import operands
from covector.operations import bitwise

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clz",
    "population_count",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
]


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits that are set in both of two integers; of bools, whether both hold.

    >>> bitwise_and(12, 10).tolist()
    8
    """
    return bitwise.and_(*operands("bitwise_and", x, y))


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits that are set in one of two integers or in both; of bools, whether one holds.

    >>> bitwise_or(12, 10).tolist()
    14
    """
    return bitwise.or_(*operands("bitwise_or", x, y))


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits that are set in just one of two integers; of bools, whether they differ.

    >>> bitwise_xor(12, 10).tolist()
    6
    """
    return bitwise.xor(*operands("bitwise_xor", x, y))


def bitwise_not(x: ArrayLike) -> Array:
    """Bits that are not set; of bools, the opposite.

    >>> bitwise_not(12).tolist()
    -13
    """
    return bitwise.not_(as_array(x, "bitwise_not"))


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """The integer x · 2ʸ; 0 if y is negative or not below the width of x.

    >>> shift_left(3, 2).tolist()
    12
    """
    return bitwise.shift_left(*operands("shift_left", x, y))


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """⌊x / 2ʸ⌋ of integers: copies of the sign bit come in.

    >>> shift_right_arithmetic(-12, 2).tolist()
    -3
    """
    return bitwise.shift_right_arithmetic(*operands("shift_right_arithmetic", x, y))


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits of x moved right by y: zeros come in.

    >>> shift_right_logical(-1, 28).tolist()
    15
    """
    return bitwise.shift_right_logical(*operands("shift_right_logical", x, y))


def population_count(x: ArrayLike) -> Array:
    """The number of bits of an integer that are set.

    >>> population_count(7).tolist()
    3
    """
    return bitwise.population_count(as_array(x, "population_count"))


def clz(x: ArrayLike) -> Array:
    """The number of zeros in front of the highest bit set in an integer.

    >>> clz(1).tolist()
    31
    """
    return bitwise.clz(as_array(x, "clz"))
