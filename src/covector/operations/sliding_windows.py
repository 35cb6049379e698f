"""Sliding windows of convolutions and window reductions.

A window has positions p = 0, 1, … along an axis and taps k = 0, 1, …; at p, tap k
meets position p·stride + k·rhs_dilation − low of the operand, between whose elements
there are lhs_dilation − 1 gaps. ``low`` and ``high`` positions are added around it, or
cut off where they are negative.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from covector.core.annotations import HostArray
from covector.core.types import Shape


class Window(NamedTuple):
    """A convolution along one spatial axis."""

    stride: int
    low: int
    high: int
    lhs_dilation: int
    rhs_dilation: int

    def num_positions(self, length: int, window: int) -> int:
        """The number of positions of a window of this length along an axis."""
        room = dilated(length, self.lhs_dilation) + self.low + self.high
        span = dilated(window, self.rhs_dilation)
        # With less room, the quotient is below −1; that a size is at least 1 may tell
        # a symbolic room that it is not.
        if 0 <= room >= span - self.stride:
            return (room - span) // self.stride + 1
        return 0

    def num_meetings(self, length: int, window: int) -> int:
        """The number of times that a tap meets an element, not a margin or a gap."""
        end = dilated(length, self.lhs_dilation)
        positions = self.num_positions(length, window)
        period = self.lhs_dilation // math.gcd(self.stride, self.lhs_dilation)
        count = 0
        for tap in range(window):
            # Position p of the window is at first + p·stride: inside from ``low`` to
            # ``high``, and on an element once in each period, or never.
            first = tap * self.rhs_dilation - self.low
            low = max(0, -(first // self.stride))
            high = min(positions, (end - 1 - first) // self.stride + 1)
            count += sum(
                [
                    len(range(p, high, period))
                    for p in range(low, low + period)
                    if (first + p * self.stride) % self.lhs_dilation == 0
                ]
            )
        return count

    def of_lhs(self, length: int, window: int) -> "Window":
        """The adjoint: the result slides over the reversed window.

        out[p] weighs the dilated operand at p·s + k·r − low. So element i, which is at
        i·d there, receives ct[p]·w[k] where p·s = i·d + low − k·r. With k = K−1−j this
        is position i·d + j·r − low' of the cotangent dilated by s;
        low' = (K−1)·r − low.
        """
        span = dilated(window, self.rhs_dilation)
        low = span - 1 - self.low
        made = dilated(self.num_positions(length, window), self.stride)
        high = dilated(length, self.lhs_dilation) + span - 1 - made - low
        return Window(self.lhs_dilation, low, high, self.stride, self.rhs_dilation)

    def of_rhs(self, length: int, window: int) -> "Window":
        """The adjoint: the cotangent, dilated by the stride, slides over ``lhs``."""
        made = dilated(self.num_positions(length, window), self.stride)
        room = dilated(window, self.rhs_dilation) - 1 + made
        high = room - dilated(length, self.lhs_dilation) - self.low
        return Window(self.rhs_dilation, self.low, high, self.lhs_dilation, self.stride)


def features_last(ndim: int) -> tuple[Shape, Shape, Shape]:
    """The order of axes that XLA:CPU has a quick convolution for, in the manner of
    ``dimension_numbers``: batch, positions, features.
    """
    positions = tuple(range(1, ndim - 1))
    image = (0, ndim - 1, *positions)
    return image, (ndim - 1, ndim - 2, *range(ndim - 2)), image


def dilated(length: int, dilation: int) -> int:
    """The length of an axis with ``dilation − 1`` zeros between its elements."""
    return (length - 1) * dilation + 1 if length else 0


def sliding_view(x: HostArray, windows: Sequence[Window], taps: Shape) -> HostArray:
    """The last axes of ``x`` replaced by those of positions and then those of taps.

    A view of ``x``, or of a copy where gaps or margins have to be filled with zeros.
    """
    rank = len(windows)
    outer, lengths = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    x = _with_margins(x, windows, outer, lengths)
    positions = [
        w.num_positions(n, k) for w, n, k in zip(windows, lengths, taps, strict=True)
    ]
    kept, steps = x.strides[: len(outer)], x.strides[len(outer) :]
    return np.lib.stride_tricks.as_strided(
        x,
        (*outer, *positions, *taps),
        (
            *kept,
            *[w.stride * s for w, s in zip(windows, steps, strict=True)],
            *[w.rhs_dilation * s for w, s in zip(windows, steps, strict=True)],
        ),
        writeable=False,
    )


def _with_margins(
    x: HostArray, windows: Sequence[Window], outer: Shape, inner: Shape
) -> HostArray:
    """``x`` with zeros between and around its elements, or elements cut off."""
    padded, at, kept = [], [], []
    for w, n in zip(windows, inner, strict=True):
        room = dilated(n, w.lhs_dilation) + w.low + w.high
        first = max(0, -(w.low // w.lhs_dilation))
        last = min(n, (room - 1 - w.low) // w.lhs_dilation + 1)
        start = first * w.lhs_dilation + w.low
        count = max(last - first, 0)
        padded.append(room)
        at.append(slice(start, start + count * w.lhs_dilation, w.lhs_dilation))
        kept.append(slice(first, first + count))
    if padded == list(inner) and kept == [slice(0, n) for n in inner]:
        return x
    whole = np.zeros((*outer, *padded), x.dtype)
    whole[..., *at] = x[..., *kept]
    return whole
