"""Rows of Fourier transforms, signals and images."""

from typing import Any

import numpy as np
import scipy.signal

from tests.public.draws import Draw, Maker
from tests.public.rows.linear_algebra import numbers
from tests.public.table import rows

#: how exactly sums of many products are known
SUMS: dict[str, Any] = {
    "rounding": 256, "cancels": True, "zeros": False, "shuffled": False, "promotes": True,
}  # fmt: skip


def signal(draw: Draw, kinds: str, ndim: tuple[int, int] = (1, 3)) -> np.ndarray:
    """Ordinary numbers, of a few elements along each axis, seldom none in front."""
    shape = draw.shape(ndim, empty=False)
    if len(shape) > ndim[0] and not draw.smooth and draw.chance(0.05):
        shape = (0, *shape[1:])
    return draw.values(numbers(draw, kinds), shape, (-3, 4))


# -- numpy.fft, lax.fft ----------------------------------------------------------------

NORMS = (None, "backward", "ortho", "forward")


def along_one(kinds: str, halved: bool = False) -> Maker:
    def make(draw: Draw) -> Any:
        x = signal(draw, kinds)
        axis = draw.integer(-x.ndim, x.ndim)
        named = draw.some(n=(1, 2, 3, 4, 5, 7), norm=NORMS)
        if not x.shape[axis] or (halved and x.shape[axis] == 1):
            named["n"] = 3
        return (x,), named | {"axis": axis}

    return make


def along_several(kinds: str, least: int = 1, halved: bool = False) -> Maker:
    """``least``: of how many axes there are at least."""

    def make(draw: Draw) -> Any:
        x = signal(draw, kinds, (least, 4))
        axes = tuple(map(int, draw.rng.permutation(x.ndim)))[: draw.integer(1, x.ndim + 1)]
        named = draw.some(norm=NORMS)
        if least == 1 or draw.chance(0.5):
            named["axes"] = axes
        among = named.get("axes", (-2, -1))
        lengths = [x.shape[k] for k in among]
        if draw.chance(0.5) or 0 in lengths or (halved and lengths[-1] == 1):
            named["s"] = [draw.integer(2, 6) for _ in among]
        return (x,), named

    return make


FFTS = SUMS | {"promotes": False}
rows("numpy.fft", "fft ifft", along_one("ifc"), **FFTS)
rows("numpy.fft", "rfft ihfft", along_one("if"), **FFTS)
rows("numpy.fft", "irfft hfft", along_one("ifc", halved=True), **FFTS)
rows("numpy.fft", "fftn ifftn", along_several("ifc"), **FFTS)
rows("numpy.fft", "rfftn", along_several("if"), **FFTS)
rows("numpy.fft", "irfftn", along_several("ifc", halved=True), **FFTS)
rows("numpy.fft", "fft2 ifft2", along_several("ifc", 2), **FFTS)
rows("numpy.fft", "rfft2", along_several("if", 2), **FFTS)
rows("numpy.fft", "irfft2", along_several("ifc", 2, halved=True), **FFTS)
rows("numpy.fft", "fftfreq rfftfreq",
     lambda d: ((d.integer(1, 9), d.values(np.float64 if d.x64 else np.float32, (), (0.5, 2))), {}))
rows("numpy.fft", "fftshift ifftshift",
     lambda d: ((x := d.array("bifc", d.shape((0, 3))),), {"axes": d.axes(x.ndim)}))


def by_operation(draw: Draw) -> Any:
    kind = draw.pick("FFT", "IFFT", "RFFT", "IRFFT")
    x = signal(draw, "f" if kind == "RFFT" else "c")
    lengths = list(x.shape[-draw.integer(1, x.ndim + 1) :])
    if kind == "IRFFT":
        lengths[-1] = max(1, 2 * lengths[-1] - draw.pick(1, 2))
    return x, kind, tuple(lengths)


rows("lax", "fft", by_operation, **FFTS)

# -- scipy.fft -------------------------------------------------------------------------


def cosine(several: bool) -> Maker:
    def make(draw: Draw) -> Any:
        x = signal(draw, "ifc")
        axes = draw.axes(x.ndim) if several else draw.axis(x.ndim)
        axes = None if axes == () else axes
        length = draw.pick(2, 3, 4, 5, 6)
        count = x.ndim if axes is None else np.size(axes)
        named = {"s" if several else "n": (length,) * count if several else length}
        named |= {"axes" if several else "axis": axes} | draw.some(norm=NORMS)
        return (x,), named | draw.some(type=(1, 2, 3, 4))

    return make


rows("scipy.fft", "dct idct", cosine(several=False), **FFTS)
rows("scipy.fft", "dctn idctn", cosine(several=True), **FFTS)

# -- scipy.signal ----------------------------------------------------------------------

MODES = ("full", "same", "valid")


def two_signals(ndim: int | None = None, **keywords: Any) -> Maker:
    def make(draw: Draw) -> Any:
        axes = draw.integer(1, 3) if ndim is None else ndim
        x = draw.values(numbers(draw, "ifc"), [draw.integer(3, 7) for _ in range(axes)], (-3, 4))
        y = draw.values(numbers(draw, "ifc"), [draw.integer(1, 4) for _ in range(axes)], (-3, 4))
        pair = (x, y) if draw.chance(0.7) else (y, x)
        return pair, draw.some(mode=MODES, **keywords)

    return make


def two_broadcast(draw: Draw) -> Any:
    (x, y), named = two_signals(2)(draw)
    if draw.chance(0.5):
        x, y = (x, y[:1]) if len(x) >= len(y) else (y, x[:1])  # SciPy cuts the first to 1
        return (x, y), named | {"axes": draw.pick((1,), (-1,), 1)}
    return (x, y), named | draw.some(axes=(None, (0, 1), (1, 0)))


rows("scipy.signal", "convolve correlate", two_signals(method=("auto", "direct", "fft")),
     **SUMS)
rows("scipy.signal", "fftconvolve", two_broadcast, **SUMS)
two_images = two_signals(2, boundary=("fill", "wrap", "symm"), fillvalue=(0, 2))


def correlate2d(x: Any, y: Any, mode: str = "full", **keywords: Any) -> Any:
    """SciPy's conjugates the other image where it takes the larger one first."""
    found = scipy.signal.correlate2d(x, y, mode, **keywords)
    larger = mode == "valid" and any(np.less(np.shape(x), np.shape(y)))
    return np.conj(found) if larger else found


rows("scipy.signal", "convolve2d", two_images, **SUMS)
rows("scipy.signal", "correlate2d", two_images, numpy=correlate2d, **SUMS)


def trend(draw: Draw) -> Any:
    x = signal(draw, "ifc")
    axis = draw.axis(x.ndim)
    n = x.shape[axis] or 1
    named = draw.some(type=("linear", "constant"), bp=(0, n // 2, (1, n)))
    if not x.size:
        x = np.ones((2, *x.shape[1:]), x.dtype)
        named.pop("bp", None)
    return (x,), named | {"axis": axis}


rows("scipy.signal", "detrend", trend, **FFTS)

WINDOWS = ("hann", "hamming", ("tukey", 0.5), "boxcar", ("gaussian", 2.0))


def pieces(draw: Draw) -> dict[str, Any]:
    """How a signal is cut."""
    length = draw.integer(2, 9)
    return draw.some(window=WINDOWS, nfft=(length, length + 3), noverlap=(0, 1, length - 1)) | {
        "nperseg": length, "fs": draw.pick(1.0, 2.5),
    }  # fmt: skip


def timed(draw: Draw, kinds: str) -> tuple[np.ndarray, int]:
    """A signal of many elements along one axis."""
    shape = draw.pick((20,), (2, 17), (16, 2))
    x = draw.values(numbers(draw, kinds), shape, (-3, 4))
    return x, int(np.argmax(shape)) - draw.pick(0, x.ndim)


def short_time(draw: Draw) -> Any:
    x, axis = timed(draw, "ifc")
    named = draw.some(
        boundary=("zeros", "even", "odd", "constant", None), padded=(True, False),
        detrend=(False, "constant", "linear"), return_onesided=(True, False),
    )  # fmt: skip
    return (x,), pieces(draw) | named | {"axis": axis}


rows("scipy.signal", "stft", short_time, **FFTS)


def spectra(draw: Draw) -> Any:
    length = draw.integer(3, 7)
    one_sided = draw.chance(0.6)
    bins = length // 2 + 1 if one_sided else length
    z = draw.values(np.complex128 if draw.smooth else np.complex64, (bins, 5), (-3, 4))
    named = {"nperseg": length, "input_onesided": one_sided, "window": draw.pick("hann", "hamming")}
    if draw.chance(0.3):
        z, named = z.T, named | {"time_axis": 0, "freq_axis": 1}
    return (z,), named | draw.some(boundary=(True, False), fs=(1.0, 2.5))


rows("scipy.signal", "istft", spectra, **FFTS)


def averaged(count: int) -> Maker:
    def make(draw: Draw) -> Any:
        x, axis = timed(draw, "ifc")
        if count == 2 and draw.chance(0.7):
            y = draw.values(numbers(draw, "ifc"), x.shape, (-3, 4))
        else:
            y = None
        named = draw.some(
            detrend=(False, "constant", "linear"), return_onesided=(True, False),
            scaling=("density", "spectrum"), average=("mean", "median"),
        )  # fmt: skip
        if draw.smooth:
            named["average"] = "mean"
        operands = (x,) if count == 1 else (x, y)
        return operands, pieces(draw) | named | {"axis": axis}

    return make


rows("scipy.signal", "csd", averaged(2), **FFTS)
rows("scipy.signal", "welch", averaged(1), **FFTS)
rows("scipy.signal", "get_window",
     lambda d: ((d.pick(*WINDOWS, "flattop", ("kaiser", 4.0)), d.integer(1, 9)),
                d.some(fftbins=(True, False))), zeros=False)

# -- scipy.ndimage, interpolate, integrate, cluster --------------------------------------


def coordinates(draw: Draw) -> Any:
    x = draw.values(numbers(draw, "ifc"), [draw.integer(2, 5) for _ in range(draw.integer(1, 3))],
                    (-9, 10))  # fmt: skip
    where = np.float64 if draw.smooth else np.float32
    at = [draw.values(where, (2, 3), (-4, 8)) for _ in x.shape]
    order = 1 if draw.smooth else draw.pick(0, 1)
    modes = ("constant", "nearest", "wrap", "mirror", "reflect")
    return (x, at, order), draw.some(mode=modes, cval=(0.0, 2.0))


# SciPy has other values near edges, as it interpolates with nothing beyond them.
rows("scipy.ndimage", "map_coordinates", coordinates, numpy=None, **SUMS | {"promotes": False})


def observations(draw: Draw) -> Any:
    n = draw.pick((), (1,), (3,))
    dtype = numbers(draw, "if")
    return draw.values(dtype, (5, *n), (-9, 9)), draw.values(dtype, (3, *n), (-9, 9))


rows("scipy.cluster.vq", "vq", observations, **FFTS)

# -- image -----------------------------------------------------------------------------

METHODS = ("linear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch", "area")


def resized(draw: Draw) -> Any:
    shape = draw.pick((5,), (4, 6), (2, 5, 3))
    x = draw.values(numbers(draw, "if"), shape, (-9, 10))
    new = tuple([n if draw.chance(0.2) else draw.integer(1, 10) for n in shape])
    methods = METHODS if draw.smooth else (*METHODS, "nearest")
    return (x, new, draw.pick(*methods)), draw.some(antialias=(True, False))


rows("image", "resize", resized, **FFTS)


def moved(draw: Draw) -> Any:
    dtype = np.float64 if draw.smooth else numbers(draw, "f")
    x = draw.values(dtype, (4, 6), (-9, 10))
    axes = draw.pick((0, 1), (1,), (-1, 0))
    scale = draw.values(dtype, (len(axes),), (0.6, 2.3))
    shift = draw.values(dtype, (len(axes),), (-2, 2))
    new = (7, 8) if len(axes) == 2 else (4, 8)
    return (x, new, axes, scale, shift, draw.pick("linear", "cubic", "area", "cubic-pytorch")), \
        draw.some(antialias=(True, False))  # fmt: skip


rows("image", "scale_and_translate", moved, **FFTS)
