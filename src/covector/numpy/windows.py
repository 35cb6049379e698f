"""Window functions of signal processing: ``hanning``, ``kaiser`` and the like."""

from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError
from covector.numpy.axes import as_integer, known_length
from covector.numpy.promote import inexact
from covector.numpy.special import i0
from covector.operations.casting import convert

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def bartlett(M: int) -> Array:
    """A triangle from 0 to 1 and back: 1 − |2k/(M − 1) − 1| for k = 0 … M − 1.

    >>> print(bartlett(5))
    [0.  0.5 1.  0.5 0. ]
    """
    return _window("bartlett", np.bartlett, M)


def blackman(M: int) -> Array:
    """0.42 − 0.5 cos(2πk/(M − 1)) + 0.08 cos(4πk/(M − 1)) for k = 0 … M − 1.

    >>> print(blackman(3).round(2))
    [-0.  1. -0.]
    """
    return _window("blackman", np.blackman, M)


def hamming(M: int) -> Array:
    """0.54 − 0.46 cos(2πk/(M − 1)) for k = 0 … M − 1.

    >>> print(hamming(3).round(2))
    [0.08 1.   0.08]
    """
    return _window("hamming", np.hamming, M)


def hanning(M: int) -> Array:
    """0.5 − 0.5 cos(2πk/(M − 1)) for k = 0 … M − 1.

    >>> print(hanning(3))
    [0. 1. 0.]
    """
    return _window("hanning", np.hanning, M)


def kaiser(M: int, beta: Any) -> Array:
    """I₀(β √(1 − (2k/(M − 1) − 1)²)) / I₀(β) for k = 0 … M − 1.

    Args:
      beta: how narrow the window is: 0 makes it a rectangle, 6 much like ``hanning``.

    >>> print(kaiser(3, 0.0))
    [1. 1. 1.]
    """
    dtype = dtypes.default_float(options.current().enable_x64)
    beta = convert(inexact("kaiser", as_array(beta, "kaiser")), dtype)
    count = _count("kaiser", M)
    x = np.linspace(-1, 1, count) if count > 1 else np.zeros(count)
    width = from_host(np.sqrt(1 - x * x).astype(dtype))
    return i0(beta * width) / i0(beta)


def _count(who: str, M: Any) -> int:
    count = known_length(who, as_integer(who, M, "M"))
    if count < 0:
        raise ArgumentError(f"{who} cannot make a window of {count} weights.")
    return count


def _window(who: str, make: Any, M: Any) -> Array:
    values = make(_count(who, M))
    return from_host(values.astype(dtypes.default_float(options.current().enable_x64)))
