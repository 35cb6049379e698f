"""Fourier transforms over the last axes, of numbers that fit."""

from collections.abc import Sequence

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError
from covector.numpy.axes import canonical_shape
from covector.operations.fft import FFT, FftType

__all__ = ["FftType", "fft"]


def fft(
    x: ArrayLike, fft_type: FftType | str, fft_lengths: int | Sequence[int]
) -> Array:
    """A Fourier transform over the last axes: one, two or three.

    Args:
      x: complex64 or complex128; for ``RFFT`` float32 or float64.
      fft_type: ``FFT``, ``IFFT``, ``RFFT`` or ``IRFFT``, as a member of ``FftType`` or
        by its name.
      fft_lengths: the lengths of the signal along these axes. They are those of ``x``,
        but for ``IRFFT`` along the last axis, where ``x`` has half of n and 1 more.

    Raises:
      TypeMismatch: the lengths are not those of ``x``.
      DTypeError: the transform is none of such numbers.
      ArgumentError: there is no such transform.

    >>> import covector.numpy as cnp
    >>> fft(cnp.ones((2, 4)), "RFFT", (4,)).shape
    (2, 3)
    """
    lengths = canonical_shape("fft", fft_lengths, "fft_lengths")
    return FFT(_kind(fft_type), lengths)(as_array(x, "fft"))


def _kind(fft_type: FftType | str) -> FftType:
    name = fft_type.upper() if isinstance(fft_type, str) else None
    for kind in FftType:
        if fft_type is kind or name == kind.name:
            return kind
    raise ArgumentError(
        f"fft: fft_type must be one of {', '.join([k.name for k in FftType])}, but got "
        f"{fft_type!r}."
    )
