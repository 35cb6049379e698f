"""Bitwise operations on integers, and logic on bools."""

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, HostArray
from covector.operations.families import Elementwise


def _is_integer_or_bool(dtype: DType) -> bool:
    return dtypes.is_integer(dtype) or dtypes.is_bool(dtype)


class _Logic(Elementwise):
    """Bit by bit; True and False are single bits."""

    vectors = dtypes.MACHINE_NUMBERS
    accepts = staticmethod(_is_integer_or_bool)
    accepted = "integers or bools"


class And(_Logic):
    """Bits that are set in both x and y."""

    hlo = "stablehlo.and"
    on_host = staticmethod(np.bitwise_and)


class Or(_Logic):
    """Bits that are set in x, y or both."""

    hlo = "stablehlo.or"
    on_host = staticmethod(np.bitwise_or)


class Xor(_Logic):
    """Bits that are set in one of x and y."""

    hlo = "stablehlo.xor"
    on_host = staticmethod(np.bitwise_xor)


class Not(_Logic):
    """Bits that are not set in x."""

    hlo = "stablehlo.not"
    on_host = staticmethod(np.invert)


and_, or_, xor, not_ = And(), Or(), Xor(), Not()


# -- of integers -----------------------------------------------------------------------


class _OfIntegers(Elementwise):
    """Bits at their positions in an integer."""

    accepts = staticmethod(dtypes.is_integer)
    accepted = "integers"


def _unsigned(x: HostArray) -> HostArray:
    """The same bits as an unsigned integer."""
    return np.asarray(x).view(f"u{x.dtype.itemsize}")


class ShiftLeft(_OfIntegers):
    """x · 2ʸ: zeros come in on the right. 0 if y is negative or not below the width."""

    hlo = "stablehlo.shift_left"

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        return np.left_shift(_unsigned(x), _unsigned(y)).view(x.dtype)


class ShiftRightLogical(_OfIntegers):
    """Bits move right and zeros come in. 0 if y is negative or not below the width."""

    hlo = "stablehlo.shift_right_logical"

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        return np.right_shift(_unsigned(x), _unsigned(y)).view(x.dtype)


class ShiftRightArithmetic(_OfIntegers):
    """⌊x / 2ʸ⌋: copies of the sign come in. Only they remain if y is negative or not
    below the width. Of unsigned integers the highest bit is the sign.
    """

    hlo = "stablehlo.shift_right_arithmetic"

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        signed = f"i{x.dtype.itemsize}"
        last = np.asarray(8 * x.dtype.itemsize - 1, _unsigned(y).dtype)
        positions = np.minimum(_unsigned(y), last).view(signed)
        return np.right_shift(np.asarray(x).view(signed), positions).view(x.dtype)


class PopulationCount(_OfIntegers):
    """The number of bits of x that are set."""

    hlo = "stablehlo.popcnt"

    def on_host(self, x: HostArray) -> HostArray:
        return np.bitwise_count(_unsigned(x)).astype(x.dtype)


class Clz(_OfIntegers):
    """The number of zeros in front of the highest bit set in x: its width if x is 0."""

    hlo = "stablehlo.count_leading_zeros"

    def on_host(self, x: HostArray) -> HostArray:
        bits, width = _unsigned(x), 8 * x.dtype.itemsize
        reach = 1
        while reach < width:  # every bit below the highest one set is set as well
            bits = bits | (bits >> reach)
            reach *= 2
        return (width - np.bitwise_count(bits)).astype(x.dtype)


shift_left, shift_right_logical = ShiftLeft(), ShiftRightLogical()
shift_right_arithmetic = ShiftRightArithmetic()
population_count, clz = PopulationCount(), Clz()
