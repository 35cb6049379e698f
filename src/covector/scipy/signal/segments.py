"""Signals cut into segments that overlap, and signals put together from such.

    frames(x, 4, 2)      x[0:4], x[2:6], x[4:8], …
    overlap_add          the adjoint: each element is the sum of those it was cut to

Both only reshape, so that they and their derivatives are moves of whole blocks: a
segment of length q·step is q blocks, and row j of a matrix whose rows are one element
longer or shorter than those of another begins j elements further on.
"""

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.numpy.axis_order import moveaxis
from covector.numpy.fft.transforms import resized
from covector.numpy.promote import broadcast_to
from covector.numpy.reductions import sum

__all__ = []


def frames(x: Value, length: int, step: int) -> Array:
    """``[..., n]`` as ``[..., segments, length]``; what is left at the end is cut."""
    *front, n = x.type.shape
    count = (n - length) // step + 1
    many = -(-length // step)
    blocks = count + many - 1
    x = of_length(x, blocks * step)
    x = x.reshape(*front, 1, blocks, step)
    x = broadcast_to(x, (*front, many, blocks, step))
    x = x.reshape(*front, many * blocks, step)
    x = of_length(x, many * (blocks + 1), -2)
    x = x.reshape(*front, many, blocks + 1, step)[..., :count, :]
    x = moveaxis(x, -3, -2).reshape(*front, count, many * step)
    return x[..., :length]


def overlap_add(x: Value, step: int) -> Array:
    """``[..., segments, length]`` as the ``[..., n]`` to which the segments add up."""
    *front, count, length = x.type.shape
    many = -(-length // step)
    blocks = count + many - 1
    x = of_length(x, many * step).reshape(*front, count, many, step)
    x = of_length(moveaxis(x, -3, -2), blocks + 1, -2)
    x = x.reshape(*front, many * (blocks + 1), step)
    x = x[..., : many * blocks, :].reshape(*front, many, blocks, step)
    return sum(x, -3).reshape(*front, blocks * step)[..., : (count - 1) * step + length]


def of_length(x: Value, n: int, axis: int = -1) -> Value:
    """``x`` cut off, or padded with zeros at the end, to the length ``n``."""
    return resized(x, (n,), (axis,))
