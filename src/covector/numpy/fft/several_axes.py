"""Transforms along several axes: along the last two, or along all that are named.

    fft2  ifft2  rfft2  irfft2      by default along the last two axes
    fftn  ifftn  rfftn  irfftn      by default along all

They are the transforms along one axis, one after the other.
"""

from covector.core.annotations import ArrayLike, Axes, ShapeLike
from covector.core.array_like import Array
from covector.numpy.fft.transforms import along_axes
from covector.operations.fft import FftType

__all__ = ["fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn"]


def fftn(
    a: ArrayLike, s: ShapeLike | None = None, axes: Axes = None, norm: str | None = None
) -> Array:
    """The Fourier transform along several axes.

    Args:
      s: the lengths of the signal along ``axes``, by default those of ``a``, for which
        −1 stands too: ``a`` is cut off there, or padded with zeros.
      axes: axes that differ; None stands for all, or for the last ones where ``s`` is
        given.
      norm: as in ``fft``, for the product n of the lengths.

    Raises:
      AxisError: the axes are not, or not different, axes of ``a``.
      ArgumentError: a length is less than 1, there are not as many of them as axes, or
        the norm is unknown.

    >>> import covector.numpy as cnp
    >>> print(fftn(cnp.array([[1.0, 2.0], [3.0, 4.0]])).real)
    [[10. -2.]
     [-4.  0.]]
    """
    return along_axes("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(
    a: ArrayLike, s: ShapeLike | None = None, axes: Axes = None, norm: str | None = None
) -> Array:
    """The inverse of ``fftn``.

    Arguments and errors are those of ``fftn``.

    >>> import covector.numpy as cnp
    >>> print(ifftn(cnp.array([[4.0, 0.0], [0.0, 0.0]])).real)
    [[1. 1.]
     [1. 1.]]
    """
    return along_axes("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(
    a: ArrayLike, s: ShapeLike | None = None, axes: Axes = None, norm: str | None = None
) -> Array:
    """The transform of a real signal: of ``fftn`` the first half along one axis.

    Along the last of ``axes``, of length n, there are n // 2 + 1 elements. Arguments
    and errors are those of ``fftn``.

    Raises:
      DTypeError: ``a`` is complex.

    >>> import covector.numpy as cnp
    >>> rfftn(cnp.ones((2, 3, 4))).shape
    (2, 3, 3)
    """
    return along_axes("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(
    a: ArrayLike, s: ShapeLike | None = None, axes: Axes = None, norm: str | None = None
) -> Array:
    """The real signal with the ``rfftn`` ``a``.

    Along the last of ``axes`` its length is by default 2 (m − 1) for m elements of
    ``a``. Arguments and errors are those of ``fftn``.

    >>> import covector.numpy as cnp
    >>> irfftn(cnp.ones((2, 3, 3))).shape
    (2, 3, 4)
    """
    return along_axes("irfftn", FftType.IRFFT, a, s, axes, norm)


def fft2(
    a: ArrayLike,
    s: ShapeLike | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``fftn`` along two axes, by default the last.

    >>> import covector.numpy as cnp
    >>> fft2(cnp.ones((2, 3, 4))).shape
    (2, 3, 4)
    """
    return along_axes("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(
    a: ArrayLike,
    s: ShapeLike | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``ifftn`` along two axes, by default the last.

    >>> import covector.numpy as cnp
    >>> ifft2(cnp.ones((2, 3, 4))).shape
    (2, 3, 4)
    """
    return along_axes("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(
    a: ArrayLike,
    s: ShapeLike | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``rfftn`` along two axes, by default the last.

    >>> import covector.numpy as cnp
    >>> rfft2(cnp.ones((2, 3, 4))).shape
    (2, 3, 3)
    """
    return along_axes("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(
    a: ArrayLike,
    s: ShapeLike | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
) -> Array:
    """``irfftn`` along two axes, by default the last.

    >>> import covector.numpy as cnp
    >>> irfft2(cnp.ones((2, 3, 4))).shape
    (2, 3, 6)
    """
    return along_axes("irfft2", FftType.IRFFT, a, s, axes, norm)
