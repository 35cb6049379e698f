"""Selecting from large arrays in NumPy, which sorts only what is selected.

Elements of a given rank lie between two that a sample of their row tells. Whether they
do is counted, and where the sample misled, the whole row is looked at. Compiled
programs of the CPU call it, too.
"""

import math

import numpy as np

from covector.core.annotations import HostArray
from covector.operations.sorting_on_host import low_half, packed_on_host
from covector.runtime import host_calls

#: into how many groups a row is divided at least, of how many elements
_GROUPS, _WORTH_GROUPING = 64, 4
#: how many elements of a row are a sample, of rows that are so many times as long
_SAMPLE, _WORTH_SAMPLING = 2**13, 8
#: by how many standard deviations a rank in the sample may be off
_DEVIATIONS = 4


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
