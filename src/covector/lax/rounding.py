"""Rounding to whole numbers, which stay floats, and stepping to the next float."""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError
from covector.lax.operands import operands
from covector.operations import rounding
from covector.operations.rounding import RoundingMethod

__all__ = ["RoundingMethod", "ceil", "floor", "nextafter", "round"]


def floor(x: ArrayLike) -> Array:
    """The largest whole number that is not above x. The derivative is 0.

    >>> floor(-1.5).tolist()
    -2.0
    """
    return rounding.floor(as_array(x, "floor"))


def ceil(x: ArrayLike) -> Array:
    """The smallest whole number that is not below x. The derivative is 0.

    >>> ceil(-1.5).tolist()
    -1.0
    """
    return rounding.ceil(as_array(x, "ceil"))


def round(
    x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO
) -> Array:
    """The whole number nearest to x; the method decides halfway between two.

    >>> round(2.5).tolist(), round(2.5, RoundingMethod.TO_NEAREST_EVEN).tolist()
    (3.0, 2.0)
    """
    try:
        method = RoundingMethod(rounding_method)
    except ValueError:
        raise ArgumentError(
            f"round: rounding_method must be one of {[*map(str, RoundingMethod)]}, but "
            f"got {rounding_method!r}."
        ) from None
    return rounding.Round(method)(as_array(x, "round"))


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The float next to x1 in the direction of x2; x2 where they are equal.

    Raises:
      NotDifferentiable: under differentiation.

    >>> nextafter(1.0, 2.0).tolist() - 1.0
    1.1920928955078125e-07
    """
    return rounding.nextafter(*operands("nextafter", x1, x2))
