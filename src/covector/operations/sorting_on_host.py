"""Sorting large arrays in NumPy, whose sort compares many numbers at once, and
selecting from them, where it sorts only what is selected.

Sorting is that fast only where it need not be stable. So it is given numbers of which
equal ones are the same, or keys that end with the index of their element.

Selected elements of a given rank lie between two that a sample of their row tells.
Whether they do is counted, and where the sample misled, the whole row is looked at.

Compiled programs of the CPU call both, too.
"""

import math
import sys
from collections.abc import Sequence

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, HostArray
from covector.core.number_info import bit_width
from covector.runtime import host_calls

#: which of two neighbouring integers of 32 bits is the low half of one of 64
_LOW, _HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)
#: into how many groups a row is divided at least, of how many elements
_GROUPS, _WORTH_GROUPING = 64, 4
#: how many elements of a row are a sample, of rows that are so many times as long
_SAMPLE, _WORTH_SAMPLING = 2**13, 8
#: by how many standard deviations a rank in the sample may be off
_DEVIATIONS = 4


def is_quick(dtype: DType, alone: bool) -> bool:
    """Whether NumPy is quick with arrays of any size, where one of this dtype decides;
    ``alone`` or with others that follow it.
    """
    if not (dtypes.is_real(dtype) or dtypes.is_bool(dtype)):
        return False
    return bit_width(dtype) <= 32 or alone


def is_sorted_by_numpy(dtype: DType) -> bool:
    """Whether compiled programs may have one array of this dtype sorted here: numbers
    or bools of a whole byte, floats of two or more.
    """
    if dtypes.is_floating(dtype):
        return bit_width(dtype) >= 16
    return dtypes.is_bool(dtype) or (dtypes.is_real(dtype) and bit_width(dtype) >= 8)


def sort_alone(x: HostArray, axis: int) -> HostArray:
    """``x``, ascending along an axis; equal elements keep their order."""
    rows = np.array(x.swapaxes(axis, -1), order="C")
    plain = not dtypes.is_floating(x.dtype) or not _has_equals_that_differ(rows)
    return _sort_rows(rows, plain).swapaxes(-1, axis)


def _sort_in_program(x: HostArray, plain: HostArray | None = None) -> tuple[HostArray]:
    """``x`` ascending along the second of three axes, for compiled programs: on their
    threads NumPy takes subnormal numbers for zero, so ``plain`` has to say that there
    are none either.

    XLA gives ``x`` up, and wants the result where that was.
    """
    found = _writable(x)
    ordered = _sort_rows(_rows(found, 1), plain is None or bool(plain))
    if not np.may_share_memory(ordered, found):
        found[...] = np.moveaxis(ordered, -1, 1)
    return (found,)


host_calls.add_standard("sort", _sort_in_program)


class _Memory:
    """The memory of an array, to be written to, in the form that NumPy asks for."""

    def __init__(self, x: HostArray) -> None:
        address, _ = x.__array_interface__["data"]
        self.__array_interface__ = {**x.__array_interface__, "data": (address, False)}


def _writable(x: HostArray) -> HostArray:
    """The same memory, which jaxlib says cannot be written to."""
    return np.asarray(_Memory(x)).view(x.dtype)


def _sort_rows(x: HostArray, plain: bool) -> HostArray:
    """``x``, which is not used any more, ascending along the last axis; ``plain`` if
    equal numbers in it are the same bits.
    """
    if plain:
        numbers = _as_sorted(x)
        numbers.sort()
        return numbers.astype(x.dtype, copy=False)
    if x.dtype.itemsize == 1:
        return sort_together([x], -1)[0]
    return _sort_bits(x)


def _sort_bits(x: HostArray) -> HostArray:
    """Rows of floats by their bits: integers in the order of the numbers are sorted,
    and zeros and NaNs put back in the order that they had.
    """
    bits = x.view(f"i{x.dtype.itemsize}")
    top, sign = np.iinfo(bits.dtype).max, 8 * x.dtype.itemsize - 1
    infinity = np.array(np.inf).astype(x.dtype).view(bits.dtype)
    zero, nan = (bits & top) == 0, (bits & top) > infinity
    keys = bits ^ ((bits >> sign) & top)
    keys[zero], keys[nan] = 0, top
    keys.sort()
    found = keys ^ ((keys >> sign) & top)
    found[keys == 0], found[keys == top] = bits[zero], bits[nan]
    return found.view(x.dtype)


def packed_on_host(keys: HostArray, columns: HostArray) -> HostArray:
    """Integers of 64 bits in the order of the keys, then of the columns."""
    both = np.empty((*keys.shape, 2), np.int32)
    both[..., _HIGH], both[..., _LOW] = keys, columns
    return both.view(np.int64)[..., 0]


def low_half(both: HostArray) -> HostArray:
    """The second integers of pairs that ``packed_on_host`` made one of."""
    return both.view(np.int32).reshape(*both.shape, 2)[..., _LOW]


def sort_together(xs: Sequence[HostArray], axis: int) -> Sequence[HostArray]:
    """Arrays of one shape in the order of the first, of up to 32 bits; where its
    elements are equal they keep their order.
    """
    rows = [_rows(x, axis) for x in xs]
    columns = np.arange(rows[0].shape[-1], dtype=np.int32)
    both = packed_on_host(key_on_host(rows[0]), columns)
    both.sort()
    order = low_half(both).astype(np.intp)
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


def key_on_host(x: HostArray) -> HostArray:
    """Integers of 32 bits in the order of numbers of up to 32 bits, for which zeros are
    equal, and NaNs, which come last.
    """
    x = _as_sorted(x)
    if x.dtype == np.uint32:
        return (x ^ np.uint32(2**31)).view(np.int32)
    if x.dtype.kind != "f":
        return x
    bits, top = x.view(np.int32), np.int32(2**31 - 1)
    key = bits ^ ((bits >> 31) & top)
    key[x == 0] = 0
    key[np.isnan(x)] = top
    return key


# -- the least elements ----------------------------------------------------------------


def first_of(keys: HostArray, count: HostArray | int) -> HostArray:
    """The indices of the ``count`` least integers of 32 bits of each row, ascending; of
    equal ones the first come first.
    """
    rows, count = keys.reshape(-1, keys.shape[-1]), int(count)
    found = np.flatnonzero(rows <= _bound(rows, count))
    row, column = np.divmod(found, rows.shape[1])
    in_row = np.bincount(row, minlength=len(rows))
    place = np.arange(found.size) - np.repeat(np.cumsum(in_row) - in_row, in_row)
    # A key and its index are one integer; the largest fills what is left of a row.
    both = np.full((len(rows), in_row.max()), np.iinfo(np.int64).max)
    both[row, place] = (rows.reshape(-1)[found].astype(np.int64) << 32) | column
    both.sort()
    ordered = both[:, :count].astype(np.int32)
    return np.ascontiguousarray(ordered).reshape(*keys.shape[:-1], count)


def _bound(rows: HostArray, count: int) -> HostArray:
    """A number for each row that at least ``count`` elements do not exceed, and few
    more: of the least of many groups of elements, as many do not.
    """
    groups = max(4 * count, _GROUPS)
    size = rows.shape[1] // groups
    if size >= _WORTH_GROUPING:
        divided = rows[:, : groups * size].reshape(len(rows), size, groups)
        rows = divided.min(1)
    elif rows.shape[1] >= _WORTH_SAMPLING * _SAMPLE:
        return np.array([[_bound_by_sample(row, count)] for row in rows])
    return _exact_bound(rows, count)


def _exact_bound(rows: HostArray, count: int) -> HostArray:
    return np.partition(rows, count - 1)[:, count - 1 : count]


def _bound_by_sample(row: HostArray, count: int) -> np.int32:
    _, high = _around(row, 0, count - 1)
    enough = np.count_nonzero(row <= high) >= count
    return high if enough else _exact_bound(row[None], count)[0, 0]


# -- elements of given ranks -----------------------------------------------------------


def places_of_ranks(keys: HostArray, ranks: HostArray) -> HostArray:
    """The indices of the elements of given ranks among the integers of 32 bits of each
    row; of equal ones the first has the lowest rank.
    """
    if not ranks.size:
        return ranks
    found = np.empty((math.prod(ranks.shape[:-1]), ranks.shape[-1]), np.int32)
    rows = keys.reshape(len(found), keys.shape[-1])
    for row, wanted, out in zip(rows, ranks.reshape(found.shape), found, strict=True):
        distinct, which = np.unique(wanted, return_inverse=True)
        neighbours = np.split(distinct, np.flatnonzero(np.diff(distinct) > 1) + 1)
        out[:] = np.concatenate([_in_row(row, some) for some in neighbours])[which]
    return found.reshape(ranks.shape)


def _in_row(row: HostArray, ranks: HostArray) -> HostArray:
    """The indices of the elements of a few neighbouring ranks, ascending."""
    first, last = int(ranks[0]), int(ranks[-1])
    low, high = _around(row, first, last)
    below = np.count_nonzero(row < low)
    near = np.flatnonzero((row >= low) & (row <= high))
    if not below <= first <= last < below + near.size:
        below, near = 0, np.arange(row.size)
    both = packed_on_host(row[near], near.astype(np.int32))
    both.partition(ranks - below)
    return low_half(both[ranks - below])


def _around(row: HostArray, first: int, last: int) -> tuple[np.int32, np.int32]:
    """Two numbers between which the elements of these ranks probably are.

    Of a sample of m the share below a number deviates by at most 1 / 2√m. An odd step
    falls out of step with rows whose length is a power of two.
    """
    sample = np.sort(row[:: (row.size // _SAMPLE) | 1])
    limits, scale = np.iinfo(row.dtype), sample.size / row.size
    slack = _DEVIATIONS * math.sqrt(sample.size) / 2 + 1
    begin, end = int(first * scale - slack), int((last + 1) * scale + slack)
    low = sample[begin] if begin > 0 else row.dtype.type(limits.min)
    high = sample[end] if end < sample.size else row.dtype.type(limits.max)
    return low, high


# -- in compiled programs --------------------------------------------------------------


def _first_in_program(keys: HostArray, count: HostArray) -> tuple[HostArray]:
    return (first_of(keys, count),)


def _places_in_program(keys: HostArray, ranks: HostArray) -> tuple[HostArray]:
    return (places_of_ranks(keys, ranks),)


host_calls.add_standard("first of", _first_in_program)
host_calls.add_standard("places of ranks", _places_in_program)
