"""Special functions that NumPy has: ``sinc`` and ``i0``."""

import math

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.errors import DTypeError
from covector.numpy.fuse import fuse
from covector.numpy.promote import inexact
from covector.operations.arithmetic import add, div, mul
from covector.operations.bessel import bessel_i0e
from covector.operations.comparison import lt
from covector.operations.magnitude import abs_
from covector.operations.selection import where
from covector.operations.transcendental import exp, sin

__all__ = ["i0", "sinc"]

#: sin(y)/y = Σ (−1)ᵏ y²ᵏ / (2k + 1)!; eight terms are enough for |y| ≤ ½ in float64
_SINC_SERIES = [(-1) ** k / math.factorial(2 * k + 1) for k in range(8)]


def sinc(x: ArrayLike, /) -> Array:
    """sin(πx) / (πx), which is 1 at 0; its derivatives of any order are right there
    too.

    >>> float(sinc(0)), round(float(sinc(0.5)), 4)
    (1.0, 0.6366)
    """
    return _sinc(inexact("sinc", x))


@fuse()
def _sinc(x: Value) -> Array:
    dtype = x.type.dtype
    y = mul(x, scalar(math.pi, dtype, x.type.weak))
    near = lt(abs_(y), scalar(0.5, dtypes.real_part(dtype), True))
    # Each branch gets numbers that it can work with where the other one is taken.
    small = where(near, y, scalar(0, dtype, True))
    square = mul(small, small)
    series = scalar(_SINC_SERIES[-1], dtype, x.type.weak)
    for coefficient in _SINC_SERIES[-2::-1]:
        series = add(mul(series, square), scalar(coefficient, dtype, x.type.weak))
    large = where(near, scalar(1, dtype, True), y)
    return where(near, series, div(sin(large), large))


def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0, I₀, of real numbers.

    Raises:
      DTypeError: x is complex.

    >>> round(float(i0(0)), 4), round(float(i0(1)), 4)
    (1.0, 1.2661)
    """
    x = inexact("i0", x)
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(f"i0 needs real numbers, but got {x.type}.")
    return mul(exp(abs_(x)), bessel_i0e(x))
