"""What all transforms share: operands, lengths, norms, and any number of axes."""

import math
from collections.abc import Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, Shape, Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.errors import ArgumentError, DTypeError
from covector.numpy.axes import canonical_axes, canonical_shape
from covector.numpy.axis_order import moveaxis
from covector.numpy.promote import single_or_double
from covector.operations.arithmetic import mul
from covector.operations.casting import convert
from covector.operations.fft import FFT, FftType
from covector.operations.slicing import Pad

__all__ = []

#: over so many axes one operation goes
_AT_ONCE = 3


def along_one_axis(
    who: str, kind: FftType, a: ArrayLike, n: Any, axis: Any, norm: str | None
) -> Array:
    """A transform along one axis of a signal of length ``n``."""
    x = _operand(who, kind, a)
    axes = canonical_axes(who, (axis,), x.type.ndim)
    lengths = _of_signal(kind, x, axes)
    lengths = lengths if n is None else canonical_shape(who, (n,), "n")
    return _transformed(who, kind, x, lengths, axes, norm)


def along_axes(
    who: str, kind: FftType, a: ArrayLike, s: Any, axes: Axes, norm: str | None
) -> Array:
    """A transform along several axes of a signal of the lengths ``s``, of which −1
    stands for what the signal has.
    """
    x = _operand(who, kind, a)
    given, among = asked_axes(who, s, axes, x.type.ndim)
    if not among and kind in (FftType.RFFT, FftType.IRFFT):
        raise ArgumentError(f"{who} needs one axis at least, but got {x.type}.")
    lengths = asked_lengths(who, given, _of_signal(kind, x, among), among)
    return _transformed(who, kind, x, lengths, among, norm)


def opposite(who: str, norm: str | None) -> str:
    """The norm of a transform by which one in the other direction has ``norm``."""
    check_norm(who, norm)
    return {"ortho": "ortho", "forward": "backward"}.get(norm or "", "forward")


# -- operands --------------------------------------------------------------------------


def _operand(who: str, kind: FftType, a: ArrayLike) -> Array:
    """``a`` as numbers that the transform takes."""
    x = single_or_double(who, a)
    if kind is not FftType.RFFT:
        return convert(x, dtypes.complex_of(x.type.dtype))
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(
            f"{who} transforms real numbers, but got {x.type}. Use fft or ifft for "
            "complex ones, or take x.real."
        )
    return x


def _of_signal(kind: FftType, x: Value, axes: tuple[int, ...]) -> Shape:
    """The lengths along the axes of the signal that ``x`` is or is made of."""
    lengths = [x.type.shape[k] for k in axes]
    if kind is FftType.IRFFT:
        lengths[-1] = 2 * (lengths[-1] - 1)
    return tuple(lengths)


def asked_axes(
    who: str, s: Any, axes: Axes, ndim: int, name: str = "axes"
) -> tuple[Shape | None, tuple[int, ...]]:
    """The lengths and the axes as tuples: as many of the last axes as there are
    lengths, where only those are given.
    """
    given = None if s is None else canonical_shape(who, s, "s")
    if axes is None and given is not None:
        axes = tuple(range(-len(given), 0))
    return given, canonical_axes(who, axes, ndim, name)


def asked_lengths(
    who: str, s: Shape | None, lengths: Shape, axes: tuple[int, ...]
) -> Shape:
    """The lengths ``s`` along the axes; −1, and None, stand for those that are."""
    if s is None:
        return lengths
    if len(s) != len(axes):
        raise ArgumentError(
            f"{who} needs a length for each of the axes {axes}, but got s={s}."
        )
    both = zip(s, lengths, strict=True)
    return tuple([length if n == -1 else n for n, length in both])


def check_lengths(who: str, x: Value, lengths: Shape, axes: Sequence[int]) -> None:
    """Raise unless there is something to transform along each axis."""
    for n, axis in zip(lengths, axes, strict=True):
        if n < 1:
            raise ArgumentError(
                f"{who} needs a signal of one element at least along axis {axis} of "
                f"{x.type}, but its length would be {n}."
            )


# -- transforms ------------------------------------------------------------------------


def _transformed(
    who: str,
    kind: FftType,
    x: Value,
    lengths: Shape,
    axes: tuple[int, ...],
    norm: str | None,
) -> Array:
    """``x`` transformed along axes that differ, of a signal of these lengths."""
    check_lengths(who, x, lengths, axes)
    scale = _scale(who, kind, math.prod(lengths), norm)
    if not axes:
        return x
    ends = tuple(range(-len(axes), 0))
    halved = kind is FftType.IRFFT
    wanted = FFT(kind, lengths).halved if halved else lengths
    x = moveaxis(resized(x, wanted, axes), axes, ends)
    x = moveaxis(_along_last(kind, x, lengths), ends, axes)
    return x if scale == 1 else mul(x, scalar(scale, x.type.dtype))


def _along_last(kind: FftType, x: Value, lengths: Shape) -> Array:
    """``x`` transformed along its last axes, however many."""
    if len(lengths) <= _AT_ONCE:
        return FFT(kind, lengths)(x)
    # A real signal has its complex axes in front of the one that is halved.
    first, last = lengths[:-_AT_ONCE], lengths[-_AT_ONCE:]
    complex_kind = FftType.IFFT if kind in _INVERSE else FftType.FFT
    ends = tuple(range(-len(lengths), 0))
    front, back = ends[:-_AT_ONCE], ends[-len(first) :]

    def along_first(x: Value) -> Array:
        x = moveaxis(x, front, back)
        return moveaxis(_along_last(complex_kind, x, first), back, front)

    if kind in _INVERSE:
        return FFT(kind, last)(along_first(x))
    return along_first(FFT(kind, last)(x))


def resized(x: Value, lengths: Sequence[int], axes: Sequence[int]) -> Value:
    """``x`` cut off, or padded with zeros at the end, to these lengths along axes."""
    padding = [(0, 0, 0)] * x.type.ndim
    for n, axis in zip(lengths, axes, strict=True):
        padding[axis] = (0, n - x.type.shape[axis], 0)
    if not any([high != 0 for _, high, _ in padding]):
        return x
    return Pad(tuple(padding))(x, scalar(0, x.type.dtype))


# -- norms -----------------------------------------------------------------------------

_INVERSE = (FftType.IFFT, FftType.IRFFT)
_NORMS = (None, "backward", "ortho", "forward")


def check_norm(who: str, norm: str | None) -> None:
    if norm not in _NORMS:
        raise ArgumentError(
            f"{who}: norm must be None, 'backward', 'ortho' or 'forward', but got "
            f"{norm!r}."
        )


def _scale(who: str, kind: FftType, count: int, norm: str | None) -> float:
    """By what to multiply the transform of ``count`` elements, as the operation has it:
    inverse transforms divide.
    """
    check_norm(who, norm)
    scale = {"ortho": 1 / math.sqrt(count), "forward": 1 / count}.get(norm or "", 1.0)
    return 1 / scale if kind in _INVERSE else scale
