"""Sorting large arrays in NumPy, whose sort compares many numbers at once.

It is that fast only where it need not be stable. So it is given numbers of which equal
ones are the same, or keys that end with the index of their element.
"""

import sys
from collections.abc import Sequence

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, HostArray
from covector.core.number_info import bit_width

#: which of two neighbouring integers of 32 bits is the low half of one of 64
_LOW, _HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)


def is_quick(dtype: DType, alone: bool) -> bool:
    """Whether NumPy is quick with arrays of any size, where one of this dtype decides;
    ``alone`` or with others that follow it.
    """
    if not (dtypes.is_real(dtype) or dtypes.is_bool(dtype)):
        return False
    return bit_width(dtype) <= 32 or alone


def sort_alone(x: HostArray, axis: int) -> HostArray:
    """``x``, ascending along an axis; equal elements keep their order."""
    numbers = _as_sorted(_rows(x, axis))
    if not (dtypes.is_floating(x.dtype) and _has_equals_that_differ(numbers)):
        ordered = np.sort(numbers).astype(x.dtype, copy=False)
    elif bit_width(x.dtype) > 32:
        ordered = np.sort(numbers, kind="stable")
    else:
        return sort_together([x], axis)[0]
    return np.moveaxis(ordered, -1, axis)


def sort_together(xs: Sequence[HostArray], axis: int) -> Sequence[HostArray]:
    """Arrays of one shape in the order of the first, of up to 32 bits; where its
    elements are equal they keep their order.
    """
    rows = [_rows(x, axis) for x in xs]
    both = np.empty((*rows[0].shape, 2), np.int32)
    both[..., _HIGH] = _order_key(_as_sorted(rows[0]))
    both[..., _LOW] = np.arange(rows[0].shape[-1], dtype=np.int32)
    both.view(np.int64)[..., 0].sort()
    order = both[..., _LOW].astype(np.intp)
    return [np.moveaxis(np.take_along_axis(x, order, -1), -1, axis) for x in rows]


def _rows(x: HostArray, axis: int) -> HostArray:
    """``x`` with the axis last and its elements side by side: columns take longer."""
    return np.ascontiguousarray(np.moveaxis(x, axis, -1))


def _as_sorted(x: HostArray) -> HostArray:
    """The same numbers in a dtype that NumPy has a fast sort for."""
    if dtypes.is_floating(x.dtype):
        return x if x.dtype.itemsize >= 4 else x.astype(np.float32)
    is_wide = dtypes.is_of_numpy(x.dtype) and x.dtype.itemsize > 1
    return x if is_wide else x.astype(np.int16)


def _has_equals_that_differ(x: HostArray) -> bool:
    """Whether there are negative zeros or NaNs."""
    bits = x.view(f"i{x.dtype.itemsize}")
    return bool((bits == np.iinfo(bits.dtype).min).any() or np.isnan(x).any())


def _order_key(x: HostArray) -> HostArray:
    """Integers of 32 bits in the order of numbers of up to 32 bits, for which zeros are
    equal, and NaNs, which come last.
    """
    if x.dtype == np.uint32:
        return (x ^ np.uint32(2**31)).view(np.int32)
    if x.dtype.kind != "f":
        return x
    bits, top = x.view(np.int32), np.int32(2**31 - 1)
    key = bits ^ ((bits >> 31) & top)
    key[x == 0] = 0
    key[np.isnan(x)] = top
    return key
