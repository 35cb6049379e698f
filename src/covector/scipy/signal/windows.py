"""Window functions by name: weights with which a part of a signal is taken out.

A window of n weights is made for Fourier transforms, that is periodic: weight n, which
is not there, would be weight 0 again. A symmetric one has the last weight equal to the
first, and is a periodic one of n − 1 weights and the first once more.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import HostArray
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.errors import ArgumentError
from covector.numpy.axes import canonical_shape

__all__ = ["get_window"]


def get_window(window: Any, Nx: int, fftbins: bool = True) -> Array:
    """A window of ``Nx`` weights by its name.

    Args:
      window: ``"boxcar"``, ``"triang"``, ``"bartlett"``, ``"hann"``, ``"hamming"``,
        ``"blackman"``, ``"nuttall"``, ``"blackmanharris"``, ``"flattop"``,
        ``"cosine"``, ``"bohman"``, ``"parzen"``, ``"barthann"``; with parameters
        ``("tukey", alpha)``, ``("kaiser", beta)``, ``("gaussian", std)``,
        ``("general_gaussian", p, sigma)``, ``("general_hamming", alpha)``,
        ``("general_cosine", weights)``, ``("exponential", center, tau)``; or a number,
        the β of a Kaiser window.
      fftbins: whether it is periodic, for Fourier transforms, or else symmetric.

    Raises:
      ArgumentError: there is no such window, or ``Nx`` is less than 1.

    >>> print(get_window("hann", 4))
    [0.  0.5 1.  0.5]
    """
    dtype = dtypes.default_float(options.current().enable_x64)
    return from_host(weights("get_window", window, Nx, fftbins).astype(dtype))


def weights(who: str, window: Any, count: Any, fftbins: bool = True) -> HostArray:
    """A window by its name, in float64."""
    (n,) = canonical_shape(who, (count,), "Nx")
    if n < 1:
        raise ArgumentError(f"{who} needs a window of 1 weight at least, not {n}.")
    if isinstance(window, int | float):
        window = ("kaiser", float(window))
    name, *parameters = window if isinstance(window, tuple) else (window,)
    if name not in _WINDOWS:
        raise ArgumentError(
            f"{who} knows no window {window!r}; there are {', '.join(_WINDOWS)}."
        )
    if n == 1:
        return np.ones(1)
    # t counts from −1 to 1 over a symmetric window, which a periodic one is cut from.
    symmetric = n + 1 if fftbins else n
    k = np.arange(symmetric)
    try:
        values = _WINDOWS[name](2 * k / (symmetric - 1) - 1, *parameters)
    except TypeError:
        raise ArgumentError(
            f"{who}: the window {name!r} does not take the parameters "
            f"{tuple(parameters)}."
        ) from None
    return values[:n]


# -- windows over t from −1 to 1 -------------------------------------------------------


def _general_cosine(t: HostArray, weights: Sequence[float]) -> HostArray:
    """Σ_j a[j] cos(jπt)."""
    return sum([a * np.cos(j * np.pi * t) for j, a in enumerate(weights)], 0.0 * t)


def _cosines(*weights: float) -> Callable[[HostArray], HostArray]:
    return lambda t: _general_cosine(t, weights)


def _triang(t: HostArray) -> HostArray:
    # It would be 0 half a step, or of an even number a whole one, outside.
    n = len(t)
    return 1 - abs(t) * (n - 1) / (n + n % 2)


def _bohman(t: HostArray) -> HostArray:
    t = abs(t)
    out = (1 - t) * np.cos(np.pi * t) + np.sin(np.pi * t) / np.pi
    return np.where(t == 1, 0.0, out)


def _parzen(t: HostArray) -> HostArray:
    s = abs(t) * (len(t) - 1) / len(t)
    return np.where(s <= 0.5, 1 - 6 * s**2 * (1 - s), 2 * (1 - s) ** 3)


def _tukey(t: HostArray, alpha: float = 0.5) -> HostArray:
    if alpha <= 0:
        return np.ones_like(t)
    alpha = min(alpha, 1.0)
    inside = (abs(t) - (1 - alpha)) / alpha
    return np.where(inside > 0, 0.5 * (1 + np.cos(np.pi * inside)), 1.0)


def _kaiser(t: HostArray, beta: float) -> HostArray:
    return np.i0(beta * np.sqrt(np.maximum(1 - t * t, 0))) / np.i0(beta)


def _general_gaussian(t: HostArray, p: float, sigma: float) -> HostArray:
    k = t * (len(t) - 1) / 2
    return np.exp(-0.5 * abs(k / sigma) ** (2 * p))


def _exponential(
    t: HostArray, center: float | None = None, tau: float = 1.0
) -> HostArray:
    k = np.arange(len(t))
    middle = (len(t) - 1) / 2 if center is None else center
    return np.exp(-abs(k - middle) / tau)


_WINDOWS: dict[Any, Callable[..., HostArray]] = {
    "boxcar": np.ones_like,
    "triang": _triang,
    "bartlett": lambda t: 1 - abs(t),
    "hann": _cosines(0.5, 0.5),
    "hamming": _cosines(0.54, 0.46),
    "blackman": _cosines(0.42, 0.5, 0.08),
    "nuttall": _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": _cosines(0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": _cosines(0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
    "cosine": lambda t: np.cos(np.pi / 2 * t * (len(t) - 1) / len(t)),
    "bohman": _bohman,
    "parzen": _parzen,
    "barthann": lambda t: 0.62 - 0.48 * abs(t / 2) + 0.38 * np.cos(np.pi * t),
    "tukey": _tukey,
    "kaiser": _kaiser,
    "gaussian": lambda t, std: _general_gaussian(t, 1, std),
    "general_gaussian": _general_gaussian,
    "general_hamming": lambda t, alpha: _general_cosine(t, (alpha, 1 - alpha)),
    "general_cosine": _general_cosine,
    "exponential": _exponential,
}
