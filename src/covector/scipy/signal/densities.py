"""Power spectral densities: the mean spectrum of the segments of a signal."""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.errors import ArgumentError
from covector.numpy.axes import canonical_axis
from covector.numpy.axis_order import moveaxis
from covector.numpy.complex import conj, imag, real
from covector.numpy.order_statistics import median
from covector.numpy.promote import (
    broadcast_shapes,
    inexact,
    promote_dtypes_inexact,
    single_or_double,
)
from covector.numpy.reductions import sum
from covector.numpy.statistics import mean
from covector.operations.complex import complex_
from covector.scipy.signal.segments import of_length
from covector.scipy.signal.spectra import segments_of, spectra

__all__ = ["csd", "welch"]


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The cross-spectral density of two signals by Welch's method.

    It is the mean, over segments, of the spectrum of ``y`` times the conjugate of that
    of ``x``.

    Args:
      y: None stands for ``x``; the shorter signal is padded with zeros.
      scaling: ``"density"``: by frequency; ``"spectrum"``: in squares of the unit of x.
      average: ``"mean"``, or ``"median"``, corrected for its bias.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis: as in
        ``stft``.

    Returns:
      The frequencies, and the density, with the frequency in place of ``axis``:
      complex, or of one signal real.

    Raises:
      TypeMismatch: the signals do not broadcast along other axes.
      ArgumentError: a length does not fit; there is no such window, scaling or average.

    >>> import covector.numpy as cnp
    >>> f, density = csd(cnp.arange(8.0), cnp.arange(8.0), nperseg=4)
    >>> print(density.real.round(2))
    [0.67 1.67 0.  ]
    """
    how = (window, nperseg, noverlap, nfft)
    return _welch(
        "csd", x, y, fs, how, detrend, return_onesided, scaling, axis, average
    )


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The power spectral density of a signal by Welch's method.

    Arguments and errors are those of ``csd``. The density is real.

    >>> import covector.numpy as cnp
    >>> f, density = welch(cnp.arange(8.0), nperseg=4)
    >>> print(f, density.round(2))
    [0.   0.25 0.5 ] [0.67 1.67 0.  ]
    """
    how = (window, nperseg, noverlap, nfft)
    return _welch(
        "welch", x, None, fs, how, detrend, return_onesided, scaling, axis, average
    )


def _welch(
    who: str,
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike,
    how: tuple[Any, int | None, int | None, int | None],
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Array, Array]:
    """The frequencies, and the mean of products of spectra."""
    if scaling not in ("density", "spectrum") or average not in ("mean", "median"):
        raise ArgumentError(
            f"{who}: scaling must be 'density' or 'spectrum' and average 'mean' or "
            f"'median', but got {scaling!r} and {average!r}."
        )
    a, b = _signals(who, x, y, axis)
    fs = inexact(who, fs)
    one_sided = return_onesided and not dtypes.is_complex(a.type.dtype)
    segments = segments_of(who, *how, available=a.type.shape[-1])
    first = spectra(who, a, segments, one_sided, detrend)
    second = first if y is None else spectra(who, b, segments, one_sided, detrend)
    weights = segments.weights(a)
    by = fs * sum(weights * weights) if scaling == "density" else sum(weights) ** 2
    products = conj(first) * second / by
    density = _average(real(products) if y is None else products, average)
    if one_sided:  # what is not its own mirror image counts twice
        n = segments.transformed
        k = np.arange(n // 2 + 1)
        twice = np.where((k == 0) | (2 * k == n), 1, 2)
        density = density * from_host(twice.astype(by.dtype))
    frequencies = segments.frequencies(who, fs, one_sided, a)
    return frequencies, moveaxis(density, -1, axis)


def _signals(
    who: str, x: ArrayLike, y: ArrayLike | None, axis: int
) -> tuple[Array, Array]:
    """Two signals along the last axis, of one length."""
    if y is None:
        a = single_or_double(who, x)
        a = moveaxis(a, canonical_axis(who, axis, a.type.ndim), -1)
        return a, a
    a, b = [
        moveaxis(single_or_double(who, v), canonical_axis(who, axis, v.type.ndim), -1)
        for v in promote_dtypes_inexact(who, x, y)
    ]
    broadcast_shapes(who, [v.type.with_shape((*v.type.shape[:-1], 1)) for v in (a, b)])
    n = max(a.type.shape[-1], b.type.shape[-1])
    return of_length(a, n), of_length(b, n)


def _average(x: Value, average: str) -> Array:
    """The mean over segments, or their median corrected by what it is of n numbers that
    are distributed exponentially with mean 1.
    """
    if average == "mean":
        return mean(x, -2)
    n = x.type.shape[-2]
    k = 2 * np.arange(1, (n - 1) // 2 + 1)
    bias = 1 + float(np.sum(1 / (k + 1) - 1 / k))
    if not dtypes.is_complex(x.type.dtype):
        return median(x, -2) / bias
    return complex_(median(real(x), -2), median(imag(x), -2)) / bias
