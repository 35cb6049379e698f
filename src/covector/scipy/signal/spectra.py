"""Short-time Fourier transforms: spectra of the segments of a signal.

A signal is cut into segments of ``nperseg`` elements, of which ``noverlap`` are shared
by neighbours; each is weighted with a window, and transformed.
"""

from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, HostArray, Value
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.errors import ArgumentError, how_many
from covector.numpy.axes import beside, canonical_axis, canonical_shape
from covector.numpy.axis_order import moveaxis
from covector.numpy.fft import fft, fftfreq, ifft, irfft, rfft, rfftfreq
from covector.numpy.padding import pad
from covector.numpy.promote import broadcast_to, inexact, single_or_double
from covector.numpy.reductions import sum
from covector.numpy.selection import where
from covector.scipy.signal.segments import frames, of_length, overlap_add
from covector.scipy.signal.trends import detrend as without_trend
from covector.scipy.signal.windows import weights

__all__ = ["istft", "stft"]


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """The short-time Fourier transform: the spectra of segments of a signal.

    Args:
      fs: the number of samples in a unit of time.
      window: what segments are weighted with: a name, or one with its parameters, as
        ``get_window`` takes them; or an array of ``nperseg`` weights.
      nperseg: the length of a segment, by default 256; if the signal is shorter, its
        length.
      noverlap: how many elements neighbours share, by default half of them.
      nfft: the length to which segments are padded with zeros, by default ``nperseg``.
      detrend: what is taken off each segment: ``"constant"``, ``"linear"`` (see
        ``detrend``), or False; or a function of segments along the last axis.
      return_onesided: whether a real signal has no negative frequencies.
      boundary: with what half a segment is put before and after the signal:
        ``"zeros"``, ``"constant"`` (the last element), ``"even"`` (a mirror image),
        ``"odd"`` (a point reflection), or None: it is not.
      padded: whether zeros at the end complete the last segment; otherwise elements
        that do not fill one are left out.
      axis: the axis of time.

    Returns:
      The frequencies; the times of the middles of segments; and the spectra, with the
      frequency in place of ``axis`` and the time last. A spectrum is divided by the
      sum of the window.

    Raises:
      ArgumentError: a length does not fit; there is no such window or boundary.

    >>> import covector.numpy as cnp
    >>> f, t, spectra = stft(cnp.ones(8), nperseg=4)
    >>> print(f, t, spectra.shape)
    [0.   0.25 0.5 ] [0. 2. 4. 6. 8.] (3, 5)
    """
    x = single_or_double("stft", x)
    axis = canonical_axis("stft", axis, x.type.ndim)
    x = moveaxis(x, axis, -1)
    segments = segments_of("stft", window, nperseg, noverlap, nfft, x.type.shape[-1])
    if boundary is not None:
        x = _extended(x, segments.length // 2, boundary)
    if padded:
        missing = (segments.length - x.type.shape[-1]) % segments.step
        x = of_length(x, x.type.shape[-1] + missing)
    one_sided = return_onesided and not dtypes.is_complex(x.type.dtype)
    found = spectra("stft", x, segments, one_sided, detrend) / sum(segments.weights(x))
    fs, start = inexact("stft", fs), 0 if boundary else segments.length / 2
    middles = np.arange(found.shape[-2]) * segments.step + start
    frequencies = segments.frequencies("stft", fs, one_sided, x)
    return (
        frequencies,
        _times("stft", middles, fs, x),
        moveaxis(moveaxis(found, -2, -1), -2, axis),
    )


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """The signal with the short-time Fourier transform ``Zxx``.

    It is the sum of the segments, weighted with the window once more and divided by the
    sum of its squares: of all signals the one whose spectra are nearest.

    Args:
      nperseg: the length of a segment, by default 2 (m − 1) for m frequencies (m if
        they are not one-sided).
      nfft: the length of transforms, by default that of a segment.
      input_onesided: whether negative frequencies are left out; the signal is real.
      boundary: whether half a segment was put before and after the signal.
      fs, window, noverlap: as they were for ``stft``.

    Returns:
      The times, and the signal, with its time in place of ``time_axis``.

    Raises:
      ArgumentError: a length does not fit, or there is no such window.

    >>> import covector.numpy as cnp
    >>> f, t, spectra = stft(cnp.array([1.0, 2.0, 3.0, 4.0]), nperseg=2)
    >>> print(istft(spectra)[1].round(3))
    [1. 2. 3. 4.]
    """
    x = single_or_double("istft", Zxx)
    frequency, time = [
        canonical_axis("istft", axis, x.type.ndim) for axis in (freq_axis, time_axis)
    ]
    if frequency == time:
        raise ArgumentError(
            f"istft needs an axis of frequencies and one of times, but both are {time}."
        )
    x = moveaxis(x, (time, frequency), (-2, -1))
    count, bins = x.type.shape[-2:]
    default = 2 * (bins - 1) if input_onesided else bins
    length = default if nperseg is None else nperseg
    if nfft is None:
        nfft = max(default, length) if length == default + input_onesided else default
    segments = segments_of("istft", window, length, noverlap, nfft, None)
    inverse = irfft if input_onesided else ifft
    parts = inverse(x, segments.transformed)[..., : segments.length]
    taper = segments.weights(parts)
    signal: Array = overlap_add(parts * taper, segments.step) * sum(taper)
    squares = broadcast_to(taper * taper, (count, segments.length))
    norm = overlap_add(squares, segments.step)
    if boundary:
        half = segments.length // 2
        inside = slice(half, norm.shape[-1] - half)
        signal, norm = signal[..., inside], norm[inside]
    signal = signal / where(norm > 1e-10, norm, 1)
    times = _times("istft", np.arange(signal.shape[-1]), inexact("istft", fs), x)
    return times, moveaxis(signal, -1, time - (frequency < time))


# -- segments --------------------------------------------------------------------------


class _Segments(NamedTuple):
    """The way in which a signal is cut, weighted and transformed."""

    window: Any
    length: int
    step: int
    transformed: int

    def weights(self, x: Value) -> Array:
        """The window, as precise as ``x``."""
        dtype = dtypes.real_part(x.type.dtype)
        if isinstance(self.window, np.ndarray):
            return from_host(self.window.astype(dtype))
        return self.window

    def frequencies(self, who: str, fs: Value, one_sided: bool, x: Value) -> Array:
        """Those of the transforms of segments of ``x``, as precise as it."""
        make = rfftfreq if one_sided else fftfreq
        dtype = dtypes.real_part(x.type.dtype)
        return beside(who, make(self.transformed, 1 / fs, dtype=dtype), x)


def segments_of(
    who: str,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    available: int | None,
) -> _Segments:
    """The segments of a signal of ``available`` elements, by the arguments."""
    named = isinstance(window, str | tuple)
    weighted: Any = window if named else inexact(who, window)
    if not named and weighted.type.ndim != 1:
        raise ArgumentError(
            f"{who} needs a window as a vector of weights, but got {weighted.type}."
        )
    default = 256 if named else weighted.type.size
    (length,) = canonical_shape(who, default if nperseg is None else nperseg, "nperseg")
    if named and available is not None:
        length = min(length, available)
    if not named and weighted.type.size != length:
        raise ArgumentError(
            f"{who} with segments of nperseg={how_many(length, 'element')} needs as "
            f"many weights, but got {weighted.type}."
        )
    (shared,) = canonical_shape(
        who, length // 2 if noverlap is None else noverlap, "noverlap"
    )
    (transformed,) = canonical_shape(who, length if nfft is None else nfft, "nfft")
    if length < 1 or not 0 <= shared < length or transformed < length:
        raise ArgumentError(
            f"{who} needs nperseg of at least 1, noverlap below it and nfft not below "
            f"it, but got {length}, {shared} and {transformed}."
        )
    if named:
        weighted = weights(who, window, length)
    return _Segments(weighted, length, length - shared, transformed)


_EXTENSIONS: dict[str, dict[str, str]] = {
    "zeros": {"mode": "constant"},
    "constant": {"mode": "edge"},
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
}


def _extended(x: Value, count: int, boundary: str) -> Array:
    """``x`` with so many elements before and after it."""
    if boundary not in _EXTENSIONS:
        raise ArgumentError(
            f"stft: boundary must be None or one of {', '.join(_EXTENSIONS)}, but got "
            f"{boundary!r}."
        )
    widths = [(0, 0)] * (x.type.ndim - 1) + [(count, count)]
    return pad(x, widths, **_EXTENSIONS[boundary])


def spectra(
    who: str, x: Value, segments: _Segments, one_sided: bool, detrend: Any
) -> Array:
    """``[..., n]`` as the transforms of its segments, ``[..., segments, bins]``."""
    if x.type.shape[-1] < segments.length:
        raise ArgumentError(
            f"{who} needs a signal of one segment at least, {segments.length} "
            f"elements, but got {x.type}, with the time last."
        )
    parts: Any = frames(x, segments.length, segments.step)
    if callable(detrend):
        parts = detrend(parts)
    elif detrend:
        parts = without_trend(parts, type=detrend)
    parts = parts * segments.weights(x)
    return (rfft if one_sided else fft)(parts, segments.transformed)


def _times(who: str, samples: HostArray, fs: Value, x: Value) -> Array:
    """The times of samples of ``x``, as precise as it."""
    times = from_host(samples.astype(dtypes.real_part(x.type.dtype)))
    return beside(who, times / fs, x)
