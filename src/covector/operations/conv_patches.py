"""Convolution patches: the windows of an operand as features (im2col).

Elements are only moved: along each axis, one slice per tap, and the slices stacked. So
there are as many operations as the window is long, wide and high, not their product,
and what is infinite or not a number stays where it is.
"""

import math
from collections.abc import Sequence

from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.types import Shape
from covector.operations.joining import Concatenate
from covector.operations.slicing import Pad, Slice
from covector.operations.sliding_windows import Window
from covector.operations.transposing import Reshape, Transpose


def patches(x: Value, windows: Sequence[Window], taps: Shape) -> Value:
    """``[n, c, lengths…]`` as ``[n, c · taps, indices…]``."""
    outer, lengths = x.type.shape[:2], x.type.shape[2:]
    margins = [(w.low, w.high, w.lhs_dilation - 1) for w in windows]
    positions = [
        w.num_positions(n, k) for w, n, k in zip(windows, lengths, taps, strict=True)
    ]
    x = Pad(((0, 0, 0), (0, 0, 0), *margins))(x, scalar(0, x.type.dtype))
    for axis, (w, k) in enumerate(zip(windows, taps, strict=True)):
        # The taps of each axis come last, in order: the next axis keeps its position.
        x = _stacked(x, 2 + axis, w, k, positions[axis])
    rank = len(windows)
    order = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    shape = (outer[0], outer[1] * math.prod(taps), *positions)
    return Reshape(shape)(Transpose(order)(x))


def _stacked(x: Value, axis: int, window: Window, taps: int, positions: int) -> Value:
    """One axis as indices, and a last axis as the taps at each."""
    shape = list(x.type.shape)
    if not taps or not positions:
        shape[axis] = positions
        return Reshape((*shape, taps))(_taken(x, axis, 0, 1, 0))
    parts = []
    for k in range(taps):
        part = _taken(x, axis, k * window.rhs_dilation, window.stride, positions)
        parts.append(Reshape((*part.type.shape, 1))(part))
    return Concatenate(len(shape))(*parts) if taps > 1 else parts[0]


def _taken(x: Value, axis: int, start: int, step: int, count: int) -> Value:
    """``count`` elements of an axis, by steps."""
    starts, limits, steps = [0] * x.type.ndim, list(x.type.shape), [1] * x.type.ndim
    starts[axis], steps[axis] = start, step
    limits[axis] = start + (count - 1) * step + 1 if count else start
    return Slice(tuple(starts), tuple(limits), tuple(steps))(x)
