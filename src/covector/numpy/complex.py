"""Complex numbers: real and imaginary parts, conjugates, angles."""

import math

from covector.core import dtypes
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.numpy.filling import full_like, zeros_like
from covector.numpy.promote import inexact
from covector.operations import arithmetic
from covector.operations import complex as parts
from covector.operations.comparison import Comparison, eq, ne
from covector.operations.logarithms import atan2

__all__ = ["angle", "conj", "conjugate", "imag", "iscomplex", "isreal", "real"]


def real(val: ArrayLike, /) -> Array:
    """The real part; x itself where it is real.

    Args:
      val: an array or a number.

    Returns:
      An array of the shape of ``val``: float32 of complex64, float64 of complex128.

    Raises:
      DTypeError: ``val`` is not an array or a number.

    >>> float(real(3 + 4j))
    3.0

    See also: ``imag``, ``conj``, ``isrealobj``.
    """
    x = as_array(val, "real")
    return parts.real(x) if dtypes.is_complex(x.type.dtype) else x


def imag(val: ArrayLike, /) -> Array:
    """The imaginary part; zeros where x is real.

    >>> float(imag(3 + 4j))
    4.0
    """
    x = as_array(val, "imag")
    return parts.imag(x) if dtypes.is_complex(x.type.dtype) else zeros_like(x)


def conj(x: ArrayLike, /) -> Array:
    """The complex conjugate; x itself where it is real.

    ``grad`` of a real function of complex numbers gives the conjugate of the direction
    of steepest ascent: to descend, subtract ``conj`` of the gradient.

    >>> complex(conj(3 + 4j))
    (3-4j)

    See also: ``real``, ``imag``, ``vdot``.
    """
    x = as_array(x, "conj")
    return parts.conj(x) if dtypes.is_complex(x.type.dtype) else x


conjugate = conj


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of a complex number, between −π and π; of real numbers 0 or π.

    Args:
      deg: give it in degrees.

    >>> float(angle(2j, deg=True))
    90.0
    """
    z = inexact("angle", z)
    out = atan2(imag(z), real(z))
    factor = scalar(180 / math.pi, out.type.dtype, out.type.weak)
    return arithmetic.mul(out, factor) if deg else out


def isreal(x: ArrayLike) -> Array:
    """Whether the imaginary part is 0, element by element.

    >>> import covector.numpy as cnp
    >>> isreal(cnp.array([1, 1j])).tolist()
    [True, False]
    """
    return _compared_with_0("isreal", x, eq, of_real=True)


def iscomplex(x: ArrayLike) -> Array:
    """Whether the imaginary part is other than 0, element by element.

    >>> import covector.numpy as cnp
    >>> iscomplex(cnp.array([1, 1j])).tolist()
    [False, True]
    """
    return _compared_with_0("iscomplex", x, ne, of_real=False)


def _compared_with_0(
    who: str, x: ArrayLike, compare: Comparison, *, of_real: bool
) -> Array:
    """The imaginary parts, compared with 0."""
    x = as_array(x, who)
    if not dtypes.is_complex(x.type.dtype):
        return full_like(x, of_real, dtypes.bool_)
    part = parts.imag(x)
    return compare(part, scalar(0, part.type.dtype, True))
