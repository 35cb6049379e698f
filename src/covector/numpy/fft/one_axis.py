"""Transforms along one axis."""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.numpy.complex import conj
from covector.numpy.fft.transforms import along_one_axis, opposite
from covector.operations.fft import FftType

__all__ = ["fft", "hfft", "ifft", "ihfft", "irfft", "rfft"]


def fft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The Fourier transform X[k] = Σ_j a[j] exp(−2πi jk/n) along ``axis``.

    Args:
      n: the length of the signal: ``a`` is cut off there, or padded with zeros.
      norm: what divides: ``"backward"`` or None: the inverse transform, by n;
        ``"forward"``: this one, by n; ``"ortho"``: both, by √n.

    Returns:
      Complex numbers, n along ``axis``: first those of the frequencies 0, 1, …, then of
      the negative ones up to −1, as ``fftfreq`` has them.

    Raises:
      AxisError: ``axis`` is not an axis of ``a``.
      ArgumentError: n is less than 1, or the norm is none of these.

    >>> import covector.numpy as cnp
    >>> print(fft(cnp.array([1.0, 2.0, 3.0, 4.0])))
    [10.+0.j -2.+2.j -2.+0.j -2.-2.j]
    """
    return along_one_axis("fft", FftType.FFT, a, n, axis, norm)


def ifft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The inverse transform x[j] = 1/n Σ_k a[k] exp(2πi jk/n) along ``axis``.

    Arguments and errors are those of ``fft``.

    >>> import covector.numpy as cnp
    >>> print(ifft(cnp.array([4.0, 0.0, 0.0, 0.0])))
    [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
    return along_one_axis("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The transform of a real signal: the first n // 2 + 1 elements of ``fft``.

    The others are conjugates of these. Arguments and errors are those of ``fft``.

    Raises:
      DTypeError: ``a`` is complex.

    >>> import covector.numpy as cnp
    >>> print(rfft(cnp.array([1.0, 2.0, 3.0, 4.0])))
    [10.+0.j -2.+2.j -2.+0.j]
    """
    return along_one_axis("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The real signal with the ``rfft`` ``a``.

    Imaginary parts of the first element, and for even n of element n / 2, are not read.

    Args:
      n: the length of the signal, by default 2 (m − 1) for m elements along ``axis``;
        ``a`` is cut off, or padded with zeros, to n // 2 + 1 elements. An odd length
        has to be given.
      norm: as in ``fft``.

    Returns:
      Real numbers, n along ``axis``.

    >>> import covector.numpy as cnp
    >>> print(irfft(rfft(cnp.array([1.0, 2.0, 3.0])), 3))
    [1. 2. 3.]
    """
    return along_one_axis("irfft", FftType.IRFFT, a, n, axis, norm)


def hfft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The transform, which is real, of a signal a[−j] = a[j]*, given by its first half.

    Args:
      n: the number of results, by default 2 (m − 1) for m elements along ``axis``;
        ``a`` is cut off, or padded with zeros, to n // 2 + 1 elements.
      norm: as in ``fft``.

    >>> import covector.numpy as cnp
    >>> print(hfft(cnp.array([1.0, 2.0, 3.0])))
    [ 8. -2.  0. -2.]
    """
    norm = opposite("hfft", norm)
    return along_one_axis("hfft", FftType.IRFFT, conj(a), n, axis, norm)


def ihfft(
    a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The first half, n // 2 + 1 elements, of the signal with the real transform ``a``.

    Arguments and errors are those of ``rfft``.

    >>> import covector.numpy as cnp
    >>> print(ihfft(cnp.array([8.0, -2.0, 0.0, -2.0])))
    [1.-0.j 2.-0.j 3.-0.j]
    """
    norm = opposite("ihfft", norm)
    return conj(along_one_axis("ihfft", FftType.RFFT, a, n, axis, norm))
