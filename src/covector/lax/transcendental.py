"""Exponentials, logarithms, trigonometric and hyperbolic functions, element by element.

Of floating-point and complex numbers; integers are not converted. ``accuracy`` asks for
an error bound where hardware offers a choice.
"""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.lax.operands import operands
from covector.operations import logarithms, transcendental
from covector.operations.accuracy import Accuracy

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "logistic",
    "sin",
    "sinh",
    "tan",
    "tanh",
]


def exp(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The exponential eˣ, element by element.

    Args:
      x: floating-point or complex numbers.
      accuracy: how exact the result must be, where the platform has a choice.

    >>> exp(0.0).tolist()
    1.0

    See also: ``expm1``, which is exp(x) − 1 without the loss of digits; ``log``.
    """
    return transcendental.Exp(accuracy)(as_array(x, "exp"))


def exp2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """2ˣ, exact for whole x.

    >>> exp2(3.0).tolist()
    8.0
    """
    return transcendental.Exp2(accuracy)(as_array(x, "exp2"))


def expm1(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """eˣ − 1, accurate for small x.

    >>> expm1(0.0).tolist()
    0.0
    """
    return transcendental.Expm1(accuracy)(as_array(x, "expm1"))


def log(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The natural logarithm: −∞ at 0, NaN for negative real numbers.

    Args:
      x: floating-point or complex numbers.
      accuracy: how exact the result must be, where the platform has a choice.

    >>> log(1.0).tolist()
    0.0

    See also: ``log1p``, which is log(1 + x) without the loss of digits; ``exp``.
    """
    return logarithms.Log(accuracy)(as_array(x, "log"))


def log1p(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """log(1 + x), accurate for small x.

    >>> log1p(0.0).tolist()
    0.0
    """
    return logarithms.Log1p(accuracy)(as_array(x, "log1p"))


def logistic(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The logistic function 1 / (1 + e⁻ˣ), from 0 to 1.

    >>> logistic(0.0).tolist()
    0.5

    See also: ``covector.nn.sigmoid``, which takes integers too;
    ``covector.nn.log_sigmoid``.
    """
    return transcendental.Logistic(accuracy)(as_array(x, "logistic"))


def sin(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The sine of an angle in radians.

    >>> sin(0.0).tolist()
    0.0
    """
    return transcendental.Sin(accuracy)(as_array(x, "sin"))


def cos(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The cosine of an angle in radians.

    >>> cos(0.0).tolist()
    1.0
    """
    return transcendental.Cos(accuracy)(as_array(x, "cos"))


def tan(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The tangent of an angle in radians.

    >>> tan(0.0).tolist()
    0.0
    """
    return transcendental.Tan(accuracy)(as_array(x, "tan"))


def asin(x: ArrayLike) -> Array:
    """The angle with sine x, from −π/2 to π/2; NaN of real |x| > 1.

    >>> asin(0.0).tolist()
    0.0
    """
    return transcendental.asin(as_array(x, "asin"))


def acos(x: ArrayLike) -> Array:
    """The angle with cosine x, from 0 to π; NaN of real |x| > 1.

    >>> acos(1.0).tolist()
    0.0
    """
    return transcendental.acos(as_array(x, "acos"))


def atan(x: ArrayLike) -> Array:
    """The angle with tangent x, from −π/2 to π/2.

    >>> atan(0.0).tolist()
    0.0
    """
    return transcendental.atan(as_array(x, "atan"))


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """The angle of the point (y, x), from −π to π: its second coordinate comes first.

    >>> atan2(0.0, 1.0).tolist()
    0.0
    """
    return logarithms.atan2(*operands("atan2", x, y))


def sinh(x: ArrayLike) -> Array:
    """(eˣ − e⁻ˣ) / 2.

    >>> sinh(0.0).tolist()
    0.0
    """
    return transcendental.sinh(as_array(x, "sinh"))


def cosh(x: ArrayLike) -> Array:
    """(eˣ + e⁻ˣ) / 2.

    >>> cosh(0.0).tolist()
    1.0
    """
    return transcendental.cosh(as_array(x, "cosh"))


def tanh(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """sinh(x) / cosh(x).

    >>> tanh(0.0).tolist()
    0.0
    """
    return transcendental.Tanh(accuracy)(as_array(x, "tanh"))


def asinh(x: ArrayLike) -> Array:
    """The number with hyperbolic sine x.

    >>> asinh(0.0).tolist()
    0.0
    """
    return transcendental.asinh(as_array(x, "asinh"))


def acosh(x: ArrayLike) -> Array:
    """The number, not negative, with hyperbolic cosine x; NaN of real x < 1.

    >>> acosh(1.0).tolist()
    0.0
    """
    return transcendental.acosh(as_array(x, "acosh"))


def atanh(x: ArrayLike) -> Array:
    """The number with hyperbolic tangent x; NaN of real |x| > 1.

    >>> atanh(0.0).tolist()
    0.0
    """
    return transcendental.atanh(as_array(x, "atanh"))
