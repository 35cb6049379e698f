"""Bits: logic on integers, shifts, counting and packing."""

from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.dtypes import bool_
from covector.errors import ArgumentError, DTypeError
from covector.numpy.axes import canonical_axis
from covector.numpy.promote import broadcast, number, promote
from covector.operations import bitwise
from covector.operations.broadcasting import ReduceSum, move_axis
from covector.operations.casting import convert
from covector.operations.comparison import ne
from covector.operations.creation import Iota
from covector.operations.magnitude import abs_
from covector.operations.slicing import Pad
from covector.operations.transposing import Reshape

__all__ = [
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_right_shift",
    "invert",
    "left_shift",
    "packbits",
    "right_shift",
    "unpackbits",
]


def bitwise_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The bits that are set in both; of bools, ``and``.

    Raises:
      DTypeError: the operands are neither integers nor bools.

    >>> int(bitwise_and(6, 3))
    2
    """
    return bitwise.and_(*promote("bitwise_and", x, y))


def bitwise_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The bits that are set in one or both; of bools, ``or``.

    Raises:
      DTypeError: the operands are neither integers nor bools.

    >>> int(bitwise_or(6, 3))
    7
    """
    return bitwise.or_(*promote("bitwise_or", x, y))


def bitwise_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The bits that are set in just one; of bools, whether they differ.

    Raises:
      DTypeError: the operands are neither integers nor bools.

    >>> int(bitwise_xor(6, 3))
    5
    """
    return bitwise.xor(*promote("bitwise_xor", x, y))


def invert(x: ArrayLike, /) -> Array:
    """The bits that are not set, −1 − x for signed integers; of bools, ``not``.

    Raises:
      DTypeError: x is neither integer nor bool.

    >>> int(invert(6))
    -7
    """
    return bitwise.not_(as_array(x, "invert"))


bitwise_invert = invert
bitwise_not = invert


# -- shifts ----------------------------------------------------------------------------


def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x · 2ʸ: bits move left, zeros come in. 0 where y is not below the width.

    Raises:
      DTypeError: the operands are not integers.

    >>> int(left_shift(3, 2))
    12
    """
    return bitwise.shift_left(*_integers("left_shift", x, y))


bitwise_left_shift = left_shift


def right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """⌊x / 2ʸ⌋: bits move right; copies of the sign come in, or zeros if there is none.

    Raises:
      DTypeError: the operands are not integers.

    >>> int(right_shift(-8, 1)), int(right_shift(13, 2))
    (-4, 3)
    """
    x, y = _integers("right_shift", x1, x2)
    if dtypes.is_unsigned(x.type.dtype):
        return bitwise.shift_right_logical(x, y)
    return bitwise.shift_right_arithmetic(x, y)


bitwise_right_shift = right_shift


def _integers(who: str, x1: Any, x2: Any) -> tuple[Array, Array]:
    """Promoted integers; bools count as such."""
    x, y = promote(who, x1, x2)
    if x.type.dtype is bool_:
        x, y = number(who, x), number(who, y)
    return x, y


def bitwise_count(x: ArrayLike, /) -> Array:
    """The number of bits set in the absolute value, as ``uint8``.

    Raises:
      DTypeError: x does not hold integers or bools.

    >>> import covector.numpy as cnp
    >>> bitwise_count(cnp.array([5, -8])).tolist()
    [2, 1]
    """
    x = as_array(x, "bitwise_count")
    if x.type.dtype is bool_:
        return convert(x, dtypes.uint8)
    return convert(bitwise.population_count(abs_(x)), dtypes.uint8)


# -- bytes -----------------------------------------------------------------------------


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Eight elements along ``axis`` become the bits of one ``uint8``: set if not zero.

    Args:
      axis: None packs the flattened array. The last byte is filled up with zeros.
      bitorder: "big" makes the first element the highest bit, "little" the lowest.

    Raises:
      DTypeError: the array holds neither integers nor bools.

    >>> import covector.numpy as cnp
    >>> packbits(cnp.array([1, 0, 1, 0, 0, 0, 0, 0, 1])).tolist()
    [160, 128]
    """
    x, axis = _last("packbits", a, axis)
    if not (x.type.dtype is bool_ or dtypes.is_integer(x.type.dtype)):
        raise DTypeError(f"packbits needs integers or bools, but got {x.type}.")
    *rest, n = x.type.shape
    bits = convert(ne(x, scalar(0, x.type.dtype, True)), dtypes.uint8)
    bits = _lengthen(bits, -n % 8)
    bits = Reshape((*rest, (n + 7) // 8, 8))(bits)
    packed = ReduceSum((len(rest) + 1,))(
        bitwise.shift_left(
            *broadcast("packbits", bits, _positions(bitorder, "packbits"))
        )
    )
    return move_axis(packed, len(rest), axis)


def unpackbits(
    a: ArrayLike,
    axis: int | None = None,
    count: int | None = None,
    bitorder: str = "big",
) -> Array:
    """The bits of each ``uint8``, as zeros and ones, one after the other along
    ``axis``.

    Args:
      axis: None unpacks the flattened array.
      count: how many bits to keep, zeros being added; a negative number leaves out so
        many of the last.
      bitorder: "big" gives the highest bit first, "little" the lowest.

    Raises:
      DTypeError: the array is not one of ``uint8``.

    >>> import covector.numpy as cnp
    >>> unpackbits(cnp.array([5], "uint8")).tolist()
    [0, 0, 0, 0, 0, 1, 0, 1]
    """
    x, axis = _last("unpackbits", a, axis)
    if x.type.dtype is not dtypes.uint8:
        raise DTypeError(f"unpackbits needs an array of u8, but got {x.type}.")
    *rest, n = x.type.shape
    x = Reshape((*rest, n, 1))(x)
    moved = bitwise.shift_right_logical(
        *broadcast("unpackbits", x, _positions(bitorder, "unpackbits"))
    )
    bits = bitwise.and_(moved, scalar(1, dtypes.uint8, True))
    bits = Reshape((*rest, 8 * n))(bits)
    if count is not None:
        kept = max(8 * n + count, 0) if count < 0 else count
        bits = _lengthen(bits, kept - 8 * n)
    return move_axis(bits, len(rest), axis)


def _last(who: str, a: ArrayLike, axis: int | None) -> tuple[Any, int]:
    """``a`` with the chosen axis last, or flattened; and where that axis was."""
    x = as_array(a, who)
    if axis is None:
        return Reshape((x.type.size,))(x), 0
    axis = canonical_axis(who, axis, x.type.ndim)
    return move_axis(x, axis, x.type.ndim - 1), axis


def _lengthen(x: Value, by: int) -> Array:
    """Zeros added at the end of the last axis; elements taken away if negative."""
    if not by:
        return x
    config = ((0, 0, 0),) * (x.type.ndim - 1) + ((0, by, 0),)
    return Pad(config)(x, scalar(0, x.type.dtype, True))


def _positions(bitorder: str, who: str) -> Any:
    """For each of eight bits in order, by how many positions it is shifted."""
    if bitorder not in ("big", "little"):
        raise ArgumentError(
            f"{who}: bitorder must be 'big' or 'little', but got {bitorder!r}."
        )
    up = Iota(dtypes.uint8, (8,), 0)()
    return up if bitorder == "little" else 7 - up
