"""Fourier transforms and convolution, jitted; the peer named numpy is SciPy here."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Measure

TITLE = "Signals"


def measures(tiny: bool) -> list[Measure]:
    long, side, rows = (64, 8, 10) if tiny else (1 << 20, 1024, 10_000)
    kernel = 3 if tiny else 101
    transforms = [
        (f"fft of {long:,} complex numbers", "fftn", (long,), 1, np.complex64),
        (f"fft of {long:,} complex128", "fftn", (long,), 1, np.complex128),
        (
            f"fft2 of {side} × {side} complex numbers",
            "fftn",
            (side, side),
            2,
            np.complex64,
        ),
        (
            f"fft of {rows:,} × 128 complex numbers",
            "fftn",
            (rows, 128),
            1,
            np.complex64,
        ),
        (f"rfft of {rows:,} × 128 floats", "rfftn", (rows, 128), 1, np.float32),
    ]
    found = [
        Measure(
            name,
            lambda cv, what=what: transform(cv, *what),
            {
                "numpy": lambda np_, what=what: transform_by_scipy(*what),
                "torch": lambda torch, what=what: transform_by_torch(torch, *what),
            },
        )
        for name, *what in transforms
    ]
    convolution = Measure(
        f"convolution of {side} × {side} with {kernel} × {kernel} by transforms",
        lambda cv: convolve(cv, side, kernel),
        {"numpy": lambda np_: convolve_by_scipy(side, kernel)},
    )
    return [*found, convolution]


def signal(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((2, *shape))
    kind = np.dtype(dtype).kind
    return (values[0] + 1j * values[1] if kind == "c" else values[0]).astype(dtype)


def transform(
    cv: Any, function: str, shape: tuple[int, ...], axes: int, dtype: Any
) -> Callable[[], Any]:
    with cv.enable_x64(np.dtype(dtype).itemsize == 16):
        x = cv.numpy.asarray(signal(shape, dtype))
        along = tuple(range(-axes, 0))
        jitted = cv.jit(lambda x: getattr(cv.numpy.fft, function)(x, axes=along))
        compiled = jitted.lower(x).compile()
    return lambda: compiled(x)


def transform_by_scipy(
    function: str, shape: tuple[int, ...], axes: int, dtype: Any
) -> Callable[[], Any]:
    import scipy.fft  # noqa: PLC0415  only by the worker that measures it

    x, along = signal(shape, dtype), tuple(range(-axes, 0))
    return lambda: getattr(scipy.fft, function)(x, axes=along)


def transform_by_torch(
    torch: Any, function: str, shape: tuple[int, ...], axes: int, dtype: Any
) -> Callable[[], Any]:
    x, along = torch.from_numpy(signal(shape, dtype)), tuple(range(-axes, 0))
    return lambda: getattr(torch.fft, function)(x, dim=along)


def convolve(cv: Any, side: int, kernel: int) -> Callable[[], Any]:
    x, y = [signal((n, n), np.float32) for n in (side, kernel)]
    x, y = cv.numpy.asarray(x), cv.numpy.asarray(y)
    jitted = cv.jit(lambda x, y: cv.scipy.signal.fftconvolve(x, y, "same"))
    return lambda: jitted(x, y)


def convolve_by_scipy(side: int, kernel: int) -> Callable[[], Any]:
    import scipy.signal  # noqa: PLC0415  only by the worker that measures it

    x, y = [signal((n, n), np.float32) for n in (side, kernel)]
    return lambda: scipy.signal.fftconvolve(x, y, "same")
