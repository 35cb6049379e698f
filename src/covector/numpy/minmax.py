"""``clip``, ``fmax``, ``fmin`` and ``heaviside``."""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.errors import DTypeError
from covector.numpy.fuse import fuse
from covector.numpy.promote import promote_bounds, promote_inexact, promote_range
from covector.operations.bitwise import or_
from covector.operations.comparison import gt, lt, ne
from covector.operations.extrema import max_, min_
from covector.operations.selection import where

__all__ = [
    "clip",
    "fmax",
    "fmin",
    "heaviside",
]


def maximum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The larger of two arrays, element by element; NaN if one of the two is.

    Where both are equal, each gets half of the derivative: that of ``maximum(x, 0)`` at
    0 is 0.5, and that of ``nn.relu`` is 0.

    Args:
      x, y: arrays or numbers, whose shapes broadcast together.

    Returns:
      An array of the dtype to which both promote.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> print(maximum(cnp.array([1, 5]), 3))
    [3 5]

    See also: ``max`` (along an axis), ``fmax`` (ignores NaN), ``clip``, ``minimum``.
    """
    return max_(*promote_bounds("maximum", x, y, upper=False))


def minimum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The smaller of two arrays, element by element; NaN if one of the two is.

    Where both are equal, each gets half of the derivative.

    Args:
      x, y: arrays or numbers, whose shapes broadcast together.

    Returns:
      An array of the dtype to which both promote.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> print(minimum(cnp.array([1, 5]), 3))
    [1 3]

    See also: ``min`` (along an axis), ``fmin`` (ignores NaN), ``clip``, ``maximum``.
    """
    return min_(*promote_bounds("minimum", x, y, upper=True))


def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The larger of x and y, element by element; where one is NaN, the other.

    >>> import covector.numpy as cnp
    >>> print(fmax(cnp.array([1.0, cnp.nan]), 0.5))
    [1.  0.5]
    """
    x, y = promote_bounds("fmax", x1, x2, upper=False)
    return where(or_(gt(x, y), ne(y, y)), x, y)


def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The smaller of x and y, element by element; where one is NaN, the other.

    >>> import covector.numpy as cnp
    >>> print(fmin(cnp.array([1.0, cnp.nan]), 0.5))
    [0.5 0.5]
    """
    x, y = promote_bounds("fmin", x1, x2, upper=True)
    return where(or_(lt(x, y), ne(y, y)), x, y)


def clip(arr: ArrayLike | None = None, /, min: Any = None, max: Any = None) -> Array:
    """Each element brought between two bounds: ``minimum(maximum(x, low), high)``.

    NaN stays NaN. The derivative is 1 between the bounds, 0.5 at one of them, and 0
    beyond, where gradient descent no longer moves an element.

    Args:
      arr: the array; integers or floats.
      min, max: the bounds, which broadcast against ``arr``; None where there is none.
        An integer beyond the dtype bounds nothing.

    Returns:
      An array of the shape to which all broadcast, and of the dtype of ``arr`` unless a
      bound needs another: 0.5 makes floats of integers.

    Raises:
      DTypeError: something is complex.
      IntegerOverflow: an integer beyond the dtype would be the result.

    >>> import covector.numpy as cnp
    >>> print(clip(cnp.arange(5), 1, 3), clip(cnp.arange(5), max=2))
    [1 1 2 3 3] [0 1 2 2 2]

    See also: ``maximum``, ``minimum``, ``nan_to_num``.
    """
    x = as_array(arr, "clip")
    if hasattr(min, "dtype") and hasattr(max, "dtype"):  # all three meet at once
        x, min, max = promote_range("clip", x, min, max)
    for bound, nearer in ((min, max_), (max, min_)):
        if bound is None:
            continue
        x, limit = promote_bounds("clip", x, bound, upper=nearer is min_)
        _check_ordered("clip", x)
        x = nearer(x, limit)
    _check_ordered("clip", x)
    return x


def _check_ordered(who: str, x: Value) -> None:
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(
            f"{who} needs real numbers, but got {x.type}: complex numbers are not "
            "between bounds. Clip their real and imaginary parts."
        )


def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """0 where x < 0, 1 where x > 0, and ``x2`` where x = 0; NaN where x is.

    Raises:
      DTypeError: an operand is complex.

    >>> import covector.numpy as cnp
    >>> print(heaviside(cnp.array([-2.0, 0.0, 2.0]), 0.5))
    [0.  0.5 1. ]
    """
    x, at_zero = promote_inexact("heaviside", x1, x2)
    _check_ordered("heaviside", x)
    return _heaviside(x, at_zero)


@fuse(host=np.heaviside)
def _heaviside(x: Value, at_zero: Value) -> Array:
    zero, one = scalar(0, x.type.dtype, True), scalar(1, x.type.dtype, True)
    out = where(lt(x, zero), zero, where(gt(x, zero), one, at_zero))
    return where(ne(x, x), x, out)
