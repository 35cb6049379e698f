"""Signals cut into segments that overlap, and signals put together from such.

    frames(x, 4, 2)      x[0:4], x[2:6], x[4:8], …
    overlap_add          the adjoint: each element is the sum of those it was cut to

A segment is a number of blocks, each as long as a step; block j of segment i is block
i + j of the signal. By doubling, segments of twice as many blocks are made of two at a
distance. So there are few operations, none of which turns elements around.
"""

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.numpy.concatenation import stack
from covector.numpy.fft.transforms import resized
from covector.numpy.padding import pad

__all__ = []


def frames(x: Value, length: int, step: int) -> Array:
    """``[..., n]`` as ``[..., segments, length]``; what is left at the end is cut."""
    *front, n = x.type.shape
    count = (n - length) // step + 1
    many = _power_of_two(-(-length // step))
    blocks = count + many - 1
    x = of_length(x, blocks * step).reshape(*front, blocks, 1, step)
    shift = many
    while shift > 1:
        shift //= 2
        x = stack([x[..., :-shift, :, :], x[..., shift:, :, :]], -2)
        x = x.reshape(*front, x.shape[-4], many // shift, step)
    return x.reshape(*front, count, many * step)[..., :length]


def overlap_add(x: Value, step: int) -> Array:
    """``[..., segments, length]`` as the ``[..., n]`` to which the segments add up."""
    *front, count, length = x.type.shape
    many = _power_of_two(-(-length // step))
    x = of_length(x, many * step).reshape(*front, count, many, step)
    shift = 1
    while shift < many:
        first, second = x[..., ::2, :], x[..., 1::2, :]
        others = [(0, 0)] * len(front)
        first = pad(first, [*others, (0, shift), (0, 0), (0, 0)])
        x = first + pad(second, [*others, (shift, 0), (0, 0), (0, 0)])
        shift *= 2
    return x.reshape(*front, x.shape[-3] * step)[..., : (count - 1) * step + length]


def of_length(x: Value, n: int) -> Value:
    """``x`` cut off, or padded with zeros at the end, to the length ``n``."""
    return resized(x, (n,), (-1,))


def _power_of_two(n: int) -> int:
    """The least one from ``n`` on."""
    return 1 << (n - 1).bit_length()
