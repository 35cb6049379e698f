"""Trigonometric and hyperbolic functions, and angles in degrees.

Angles are in radians. The inverse functions have two names each: NumPy's (``arcsin``)
and the array API standard's (``asin``).
"""

import math
from typing import Any

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.numpy.promote import inexact, promote_inexact
from covector.operations import arithmetic, logarithms, transcendental

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "rad2deg",
    "radians",
    "sin",
    "sinh",
    "tan",
    "tanh",
]


def sin(x: ArrayLike, /) -> Array:
    """The sine of an angle in radians, element by element.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``, of its dtype where that is floating or complex; of
      the default float for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> print(sin(cnp.array([0.0, cnp.pi / 2])))
    [0. 1.]

    See also: ``cos``, ``arcsin``, ``radians``, ``sinc``.
    """
    return transcendental.sin(inexact("sin", x))


def cos(x: ArrayLike, /) -> Array:
    """The cosine of an angle in radians, element by element.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``, of its dtype where that is floating or complex; of
      the default float for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> print(cos(cnp.array([0.0, cnp.pi])))
    [ 1. -1.]

    See also: ``sin``, ``arccos``, ``radians``.
    """
    return transcendental.cos(inexact("cos", x))


def tan(x: ArrayLike, /) -> Array:
    """The tangent of an angle in radians, element by element.

    >>> float(tan(0))
    0.0

    See also: ``sin``, ``arctan``, ``arctan2``.
    """
    return transcendental.tan(inexact("tan", x))


def arcsin(x: ArrayLike, /) -> Array:
    """The angle between −π/2 and π/2 with sine x; NaN of real x outside [−1, 1].

    The derivative at ±1 is infinite; ``arctan2`` of sine and cosine has no such edges.

    >>> round(float(arcsin(1)), 6)
    1.570796

    See also: ``arccos``, ``arctan2``, ``sin``.
    """
    return transcendental.asin(inexact("arcsin", x))


asin = arcsin


def arccos(x: ArrayLike, /) -> Array:
    """The angle between 0 and π with cosine x; NaN of real x outside [−1, 1].

    The derivative at ±1 is infinite, and a cosine that rounding put beyond 1 gives NaN:
    for the angle between vectors use ``arctan2`` of the lengths of cross and dot
    product.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``, of its dtype where that is floating or complex; of
      the default float for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> round(float(arccos(0)), 6)
    1.570796

    See also: ``arcsin``, ``arctan2``, ``cos``.
    """
    return transcendental.acos(inexact("arccos", x))


acos = arccos


def arctan(x: ArrayLike, /) -> Array:
    """The angle between −π/2 and π/2 with tangent x.

    For the angle of a point in all four quadrants use ``arctan2``.

    >>> round(float(arctan(1)), 6)
    0.785398

    See also: ``arctan2``, ``tan``, ``angle``.
    """
    return transcendental.atan(inexact("arctan", x))


atan = arctan


def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The angle of the point (x2, x1) in radians: the second coordinate comes first.

    Between −π and π, by the signs of both. At the origin the angle is 0 or ±π by the
    signs of the zeros, and the derivative is NaN.

    Args:
      x1: y, the vertical coordinates; real.
      x2: x, the horizontal ones, which broadcast with them.

    Returns:
      Angles in radians, of the shape of both together; floating.

    Raises:
      TypeMismatch: the shapes do not broadcast.
      DTypeError: something is complex.

    >>> round(float(arctan2(1, -1)), 6)
    2.356194

    See also: ``arctan``, ``angle`` (of complex numbers), ``hypot``.
    """
    return logarithms.atan2(*promote_inexact("arctan2", x1, x2))


atan2 = arctan2


# -- hyperbolic ------------------------------------------------------------------------


def sinh(x: ArrayLike, /) -> Array:
    """The hyperbolic sine, (eˣ − e⁻ˣ) / 2.

    >>> float(sinh(0))
    0.0
    """
    return transcendental.sinh(inexact("sinh", x))


def cosh(x: ArrayLike, /) -> Array:
    """The hyperbolic cosine, (eˣ + e⁻ˣ) / 2.

    >>> float(cosh(0))
    1.0
    """
    return transcendental.cosh(inexact("cosh", x))


def tanh(x: ArrayLike, /) -> Array:
    """The hyperbolic tangent sinh x / cosh x, element by element; between −1 and 1.

    Far from 0 it is rounded to ±1, and its derivative to 0.

    Args:
      x: an array or a number.

    Returns:
      An array of the shape of ``x``, of its dtype where that is floating or complex; of
      the default float for integers and bools.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> print(tanh(cnp.array([-100.0, 0.0, 100.0])))
    [-1.  0.  1.]

    See also: ``arctanh``, ``sinh``, ``nn.sigmoid``.
    """
    return transcendental.tanh(inexact("tanh", x))


def arcsinh(x: ArrayLike, /) -> Array:
    """The number with hyperbolic sine x.

    >>> float(arcsinh(0))
    0.0
    """
    return transcendental.asinh(inexact("arcsinh", x))


asinh = arcsinh


def arccosh(x: ArrayLike, /) -> Array:
    """The number ≥ 0 with hyperbolic cosine x; NaN of real x below 1.

    >>> float(arccosh(1))
    0.0
    """
    return transcendental.acosh(inexact("arccosh", x))


acosh = arccosh


def arctanh(x: ArrayLike, /) -> Array:
    """The number with hyperbolic tangent x; NaN of real x outside [−1, 1].

    >>> float(arctanh(0))
    0.0
    """
    return transcendental.atanh(inexact("arctanh", x))


atanh = arctanh


# -- degrees ---------------------------------------------------------------------------


def deg2rad(x: ArrayLike, /) -> Array:
    """Degrees to radians: x · π / 180.

    >>> round(float(deg2rad(180)), 6)
    3.141593
    """
    return _times("deg2rad", x, math.pi / 180)


radians = deg2rad


def rad2deg(x: ArrayLike, /) -> Array:
    """Radians to degrees: x · 180 / π.

    >>> round(float(rad2deg(math.pi)), 3)
    180.0
    """
    return _times("rad2deg", x, 180 / math.pi)


degrees = rad2deg


def _times(who: str, x: Any, factor: float) -> Array:
    x = inexact(who, x)
    return arithmetic.mul(x, scalar(factor, x.type.dtype, x.type.weak))
