"""Exponentials and logarithms."""

import math
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.numpy.fuse import fuse
from covector.numpy.promote import inexact, promote_inexact
from covector.operations import arithmetic, logarithms, transcendental
from covector.operations.comparison import eq
from covector.operations.complex import complex_, imag, real
from covector.operations.extrema import max_
from covector.operations.logaddexp import logaddexp as logaddexp_
from covector.operations.magnitude import abs_
from covector.operations.rounding import Round, RoundingMethod
from covector.operations.selection import where

__all__ = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
]


def exp(x: ArrayLike, /) -> Array:
    """eˣ, element by element. Integers and bools become floating point.

    Infinite beyond x ≈ 88.7 in float32, and 11.1 in float16. For sums of exponentials
    use ``logaddexp`` or ``scipy.special.logsumexp``, for their shares ``nn.softmax``.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``, of its dtype where that is floating or complex; of
      the default float for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> print(exp(cnp.array([0.0, 100.0])))
    [ 1. inf]

    See also: ``expm1`` (exact for small x), ``exp2``, ``log``.
    """
    return transcendental.exp(inexact("exp", x))


def exp2(x: ArrayLike, /) -> Array:
    """2ˣ, element by element. Integers and bools become floating point.

    >>> float(exp2(3))
    8.0

    See also: ``exp``, ``log2``, ``ldexp``.
    """
    return transcendental.exp2(inexact("exp2", x))


def expm1(x: ArrayLike, /) -> Array:
    """eˣ − 1, element by element; exact also where x is small, unlike ``exp(x) - 1``.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``, of its dtype where that is floating or complex; of
      the default float for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> f"{float(expm1(1e-10)):.3e}", float(cnp.exp(1e-10) - 1)
    ('1.000e-10', 0.0)

    See also: ``exp``, ``log1p``.
    """
    return transcendental.expm1(inexact("expm1", x))


def log(x: ArrayLike, /) -> Array:
    """The natural logarithm, element by element; −∞ at 0, NaN of negative real numbers.

    The derivative at 0 is infinite. To leave zeros out of a sum, replace the argument
    with ``where`` before the logarithm, not the result; for x log y at 0 there is
    ``scipy.special.xlogy``.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``, of its dtype where that is floating or complex; of
      the default float for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> print(log(cnp.array([1.0, 0.0, -1.0])), log(-1 + 0j))
    [  0. -inf  nan] 3.1415927j

    See also: ``log1p`` (near 1), ``log2``, ``log10``, ``exp``.
    """
    return logarithms.log(inexact("log", x))


def log1p(x: ArrayLike, /) -> Array:
    """log(1 + x), element by element; exact also where x is small.

    −∞ at −1, NaN below.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``, of its dtype where that is floating or complex; of
      the default float for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> f"{float(log1p(1e-10)):.3e}", float(cnp.log(1 + cnp.array(1e-10)))
    ('1.000e-10', 0.0)

    See also: ``log``, ``expm1``, ``logaddexp``.
    """
    return logarithms.log1p(inexact("log1p", x))


def log2(x: ArrayLike, /) -> Array:
    """The logarithm to base 2; −∞ at 0, NaN of negative real numbers.

    >>> float(log2(8))
    3.0

    See also: ``log``, ``log10``, ``frexp``.
    """
    return logarithms.log2(inexact("log2", x))


def log10(x: ArrayLike, /) -> Array:
    """The logarithm to base 10; −∞ at 0, NaN of negative real numbers.

    >>> float(log10(100))
    2.0

    See also: ``log``, ``log2``.
    """
    return _log10(inexact("log10", x))


def _log10_on_host(x: HostArray) -> Any:
    # Of float32, NumPy's is 2.0000002 for 100.
    wide = x.astype(np.float64) if dtypes.is_floating(x.dtype) else x
    return np.log10(wide).astype(x.dtype)


@fuse(host=_log10_on_host)
def _log10(x: Value) -> Array:
    out = logarithms.log(x)
    ten = scalar(math.log(10), dtypes.real_part(x.type.dtype), True)
    if not dtypes.is_complex(x.type.dtype):
        return arithmetic.div(out, ten)
    # Part by part, for ∞ / (1 + 0i) has the imaginary part ∞ · 0.
    return complex_(arithmetic.div(real(out), ten), arithmetic.div(imag(out), ten))


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """log(eˣ + eʸ), where it fits the dtype also if the exponentials do not.

    To add probabilities that are given by their logarithms.

    >>> float(logaddexp(1000.0, 1000.0)) - 1000
    0.69317...

    See also: ``scipy.special.logsumexp`` (along an axis), ``logaddexp2``,
    ``nn.softplus``.
    """
    out = logaddexp_(*promote_inexact("logaddexp", x1, x2))
    return _principal(out) if dtypes.is_complex(out.type.dtype) else out


def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """log₂(2ˣ + 2ʸ), where it fits the dtype also if the powers do not.

    >>> float(logaddexp2(3.0, 3.0))
    4.0
    """
    x, y = promote_inexact("logaddexp2", x1, x2)
    if not dtypes.is_complex(x.type.dtype):
        return _logaddexp2(x, y)
    return logaddexp(x * math.log(2), y * math.log(2)) * (1 / math.log(2))


@fuse(host=np.logaddexp2)
def _logaddexp2(x: Value, y: Value) -> Array:
    # As in the operation logaddexp; of two equal infinities the difference counts as 0.
    difference = where(eq(x, y), scalar(0, x.type.dtype, True), arithmetic.sub(x, y))
    small = transcendental.exp2(arithmetic.neg(abs_(difference)))
    bits = arithmetic.div(
        logarithms.log1p(small), scalar(math.log(2), x.type.dtype, True)
    )
    return arithmetic.add(max_(x, y), bits)


@fuse()
def _principal(z: Any) -> Any:
    """A complex logarithm with its imaginary part brought to between −π and π."""
    angle = imag(z)
    turn = scalar(2 * math.pi, angle.type.dtype, True)
    turns = Round(RoundingMethod.TO_NEAREST_EVEN)(arithmetic.div(angle, turn))
    return complex_(real(z), arithmetic.sub(angle, arithmetic.mul(turn, turns)))
