"""Comparisons, element by element; the results are bool.

NaN is unequal to everything and in order with nothing. Complex numbers are ordered by
real, then by imaginary parts.
"""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.lax.operands import operands
from covector.operations import comparison

__all__ = ["eq", "ge", "gt", "is_finite", "le", "lt", "ne"]


def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x = y. Random keys can be compared as well.

    >>> eq(2, 2).tolist()
    True
    """
    return comparison.eq(*operands("eq", x, y))


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x ≠ y. Random keys can be compared as well.

    >>> ne(2, 2).tolist()
    False
    """
    return comparison.ne(*operands("ne", x, y))


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x < y.

    >>> lt(1, 2).tolist()
    True
    """
    return comparison.lt(*operands("lt", x, y))


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x ≤ y.

    >>> le(2, 2).tolist()
    True
    """
    return comparison.le(*operands("le", x, y))


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x > y.

    >>> gt(1, 2).tolist()
    False
    """
    return comparison.gt(*operands("gt", x, y))


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x ≥ y.

    >>> ge(2, 2).tolist()
    True
    """
    return comparison.ge(*operands("ge", x, y))


def is_finite(x: ArrayLike) -> Array:
    """Whether x, a float, is neither infinite nor NaN.

    >>> is_finite(float("inf")).tolist()
    False
    """
    return comparison.is_finite(as_array(x, "is_finite"))
