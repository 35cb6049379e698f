"""What XLA:CPU vectorises of an extremum along axes, with NaN among the floats.

The reduction of floats is left to a library that loses NaN, or compares one by one.
Slices combined element by element are vectorised, and so are extrema of the bits.
"""

import math
from collections.abc import Sequence

import numpy as np

from covector.core.annotations import DType, Value
from covector.core.types import ArrayType
from covector.operations.extrema import max_, min_
from covector.operations.slicing import Slice

#: how many slices are combined element by element, the elements from which that pays,
#: and how many of a slice should lie side by side
_SLICES, _WORTH_FOLDING, _RUN = 16, 2**12, 64


def slices_of(x: ArrayType, axes: tuple[int, ...]) -> list[Slice]:
    """Slices of equal length along one of these axes, of which each element is in at
    least one: an extremum may see it twice. None where they would be short and many.
    """
    if type(x.size) is not int or x.size < _WORTH_FOLDING:
        return []
    for axis in axes:
        n = x.shape[axis]
        length = _slice_length(x, axis)
        if n > length:
            starts = [min(start, n - length) for start in range(0, n, length)]
            return [cut_of(x, axis, start, start + length) for start in starts]
    return []


def _slice_length(x: ArrayType, axis: int) -> int:
    """The length of slices along an axis; all of it where slices do not pay."""
    n = x.shape[axis]
    if axis == x.ndim - 1:
        return 1 if n <= _SLICES // 2 else n
    length = -(-n // _SLICES)
    return length if length * math.prod(x.shape[axis + 1 :]) >= _RUN else n


def cut_of(x: ArrayType, axis: int, start: int, limit: int) -> Slice:
    """The slice of x from ``start`` to ``limit`` along one axis."""
    starts, limits = [0] * x.ndim, list(x.shape)
    starts[axis], limits[axis] = start, limit
    return Slice(tuple(starts), tuple(limits))


def has_long_rows(x: ArrayType, axes: tuple[int, ...]) -> bool:
    """Whether rows along the last axis are reduced, of floats whose bits are in the
    order of IEEE 754.
    """
    if type(x.size) is not int or x.size < _WORTH_FOLDING or x.dtype.itemsize < 2:
        return False
    return x.ndim - 1 in axes and x.shape[-1] > _SLICES // 2


def words_of(dtype: DType) -> tuple[DType, DType, DType]:
    """The integers whose extrema tell that of floats: signed, signed and unsigned."""
    bits = 8 * dtype.itemsize
    signed = np.dtype(f"int{bits}")
    return signed, signed, np.dtype(f"uint{bits}")


def extrema_of_words(*words: Value) -> Sequence[Value]:
    """Of two elements, the largest and the smallest word, and the largest unsigned."""
    x, y = words[:3], words[3:]
    return [max_(x[0], y[0]), min_(x[1], y[1]), max_(x[2], y[2])]
