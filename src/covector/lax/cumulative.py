"""Cumulative results along an axis: entry k combines the elements 0 to k.

With ``reverse`` it combines the elements from k to the end. What the arguments may be
is written once, for ``cumsum``.
"""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.numpy.axes import as_integer
from covector.operations.cumulative import Cumlogsumexp, Cummax, Cummin, Cumprod, Cumsum

__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"]


def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Sums of the elements up to each index along ``axis``; of integers, they wrap.

    Args:
      axis: counted from 0.
      reverse: sum from each index to the end instead.

    Raises:
      TypeMismatch: there is no such axis.
      DTypeError: the elements are not numbers.

    >>> import covector.numpy as cnp
    >>> print(cumsum(cnp.array([1, 2, 3])), cumsum(cnp.array([1, 2, 3]), reverse=True))
    [1 3 6] [6 5 3]

    See also: ``cumprod``, ``associative_scan``, ``covector.numpy.cumsum``.
    """
    axis = as_integer("cumsum", axis, "axis")
    return Cumsum(axis, bool(reverse))(as_array(operand, "cumsum"))


def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Products of the elements up to each index along ``axis``; see ``cumsum``.

    >>> import covector.numpy as cnp
    >>> print(cumprod(cnp.array([1, 2, 3])))
    [1 2 6]
    """
    axis = as_integer("cumprod", axis, "axis")
    return Cumprod(axis, bool(reverse))(as_array(operand, "cumprod"))


def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The largest element up to each index along ``axis``; NaN from the first one on.

    In all else as ``cumsum``.

    >>> import covector.numpy as cnp
    >>> print(cummax(cnp.array([1, 3, 2])))
    [1 3 3]
    """
    axis = as_integer("cummax", axis, "axis")
    return Cummax(axis, bool(reverse))(as_array(operand, "cummax"))


def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The smallest element up to each index along ``axis``; NaN from the first one on.

    In all else as ``cumsum``.

    >>> import covector.numpy as cnp
    >>> print(cummin(cnp.array([2, 3, 1])))
    [2 2 1]
    """
    axis = as_integer("cummin", axis, "axis")
    return Cummin(axis, bool(reverse))(as_array(operand, "cummin"))


def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Logarithms of the sums of the exponentials up to each index along ``axis``.

    Of floats and complex numbers; in all else as ``cumsum``.

    >>> import covector.numpy as cnp
    >>> cumlogsumexp(cnp.array([1000.0, 1000.0])).tolist()
    [1000.0, 1000.693...]
    """
    axis = as_integer("cumlogsumexp", axis, "axis")
    return Cumlogsumexp(axis, bool(reverse))(as_array(operand, "cumlogsumexp"))
