"""Padding by name along axes of symbolic length, for windows with strides.

Of an axis of length n, windows of k taps that begin at every stride s see

    L = (⌈n / s⌉ − 1) · s + k    positions, from    max(L − n, 0) // 2    before it on.

How many zeros that makes on each side depends on what n leaves over when divided by s:
a small number, which a program for every size cannot have for a size. L it can have. So
the axis gets k − 1 zeros on both sides, more than any window needs, and L positions of
that are cut out, from where the program finds when it runs. Of ``"VALID"`` windows,
which leave over as small a number of elements, L is what they see.
"""

from collections.abc import Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.operations.dynamic_slicing import DynamicSlice
from covector.operations.extrema import max_
from covector.operations.slicing import Pad


def is_open(padding: object, length: int, span: int, stride: int) -> bool:
    """Whether what ``padding`` adds, or leaves over, depends on a symbolic length."""
    if not isinstance(padding, str) or type(length) is int or stride < 2:
        return False
    return padding.upper() in ("SAME", "SAME_LOWER", "VALID")


def same_padded(
    x: Value, axis: int, span: int, stride: int, padding: str, fill: Any = 0
) -> Array:
    """``x`` with that padding along one axis, and without what no window sees."""
    n = x.type.shape[axis]
    if padding.upper() == "VALID" or span == 1:
        seen = (n - span) // stride * stride + span
        shape = (*x.type.shape[:axis], seen, *x.type.shape[axis + 1 :])
        # Not by Slice, the adjoint of which pads by what is left over.
        return DynamicSlice(shape)(x, *[scalar(0, dtypes.int32)] * x.type.ndim)
    wanted = (-(-n // stride) - 1) * stride + span
    margins: Sequence[tuple[int, int, int]] = [
        (span - 1, span - 1, 0) if k == axis else (0, 0, 0) for k in range(x.type.ndim)
    ]
    wide = Pad(tuple(margins))(x, scalar(fill, x.type.dtype))
    length = as_array(n)
    zero = scalar(0, length.type.dtype)
    # Of the sizes, the program has n alone as a value: n and L are one number for some.
    total = max_(span - stride + -length % stride, zero)
    before = total // 2 if padding.upper() == "SAME" else total - total // 2
    starts: list[Any] = [zero] * x.type.ndim
    starts[axis] = span - 1 - before
    shape = (*x.type.shape[:axis], wanted, *x.type.shape[axis + 1 :])
    return DynamicSlice(shape)(wide, *starts)
