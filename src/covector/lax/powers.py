"""Powers and roots, element by element."""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.lax.operands import operands
from covector.numpy.axes import as_integer
from covector.operations import powers, roots
from covector.operations.accuracy import Accuracy

__all__ = ["cbrt", "integer_pow", "pow", "rsqrt", "sqrt", "square"]


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """xʸ; the exponent has the element type of x, or any integer type.

    Of real x < 0 it is NaN unless y is whole; x⁰ = 1. Of integers with y < 0 it is 0,
    unless x is ±1. The derivative by x is 0 where y = 0.

    >>> pow(2.0, 3).tolist()
    8.0
    """
    return powers.power(*operands("pow", x, y))


def integer_pow(x: ArrayLike, y: int) -> Array:
    """xʸ for a Python integer y, by repeated multiplication.

    Raises:
      ArgumentError: y is not an integer.
      DTypeError: x is an integer and y < 0.

    >>> integer_pow(-2.0, 3).tolist()
    -8.0
    """
    return powers.IntegerPow(as_integer("integer_pow", y, "y"))(
        as_array(x, "integer_pow")
    )


def square(x: ArrayLike) -> Array:
    """x².

    >>> square(-3.0).tolist()
    9.0
    """
    return powers.square(as_array(x, "square"))


def sqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """√x; NaN of negative numbers. The derivative at 0 is infinite.

    >>> sqrt(9.0).tolist()
    3.0
    """
    return roots.Sqrt(accuracy)(as_array(x, "sqrt"))


def rsqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """1 / √x in one operation; infinite at 0, NaN for negative real numbers.

    Args:
      x: floating-point or complex numbers.
      accuracy: how exact the result must be, where the platform has a choice.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      DTypeError: ``x`` is an integer or bool; unlike ``1 / sqrt(x)`` it does not
        convert.

    >>> rsqrt(4.0).tolist()
    0.5

    See also: ``sqrt``.
    """
    return roots.Rsqrt(accuracy)(as_array(x, "rsqrt"))


def cbrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The real cube root of x, which has its sign.

    >>> cbrt(-8.0).tolist()
    -2.0
    """
    return roots.Cbrt(accuracy)(as_array(x, "cbrt"))
