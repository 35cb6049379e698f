"""Complex numbers and their parts, element by element."""

from covector.core import dtypes
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.lax.operands import operands
from covector.operations import complex as parts

__all__ = ["complex", "conj", "imag", "real"]


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """The number x + iy of real and imaginary parts in float32 or float64.

    >>> complex(1.0, 2.0).tolist()
    (1+2j)
    """
    return parts.complex_(*operands("complex", x, y))


def real(x: ArrayLike) -> Array:
    """The real part of a complex array.

    >>> real(1.0 + 2.0j).tolist()
    1.0
    """
    return parts.real(as_array(x, "real"))


def imag(x: ArrayLike) -> Array:
    """The imaginary part of a complex array.

    >>> imag(1.0 + 2.0j).tolist()
    2.0
    """
    return parts.imag(as_array(x, "imag"))


def conj(x: ArrayLike) -> Array:
    """The conjugate; of a real array, in float32 or float64, as a complex one.

    >>> conj(1.0 + 2.0j).tolist()
    (1-2j)
    """
    x = as_array(x, "conj")
    if dtypes.is_complex(x.dtype):
        return parts.conj(x)
    return parts.complex_(x, scalar(0, x.dtype, x.weak_type))
