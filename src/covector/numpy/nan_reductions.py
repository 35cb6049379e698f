"""Reductions that ignore NaN.

NaN becomes what does not count (0 in a sum, −∞ in a maximum), so derivatives are finite
too. Where no element is left, sums are 0, products 1, and everything else is NaN.
"""

from typing import Any

from covector.core import dtypes
from covector.core.annotations import (
    ArrayLike,
    Axes,
    DTypeLike,
    Value,
    with_parameters_of,
)
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.dispatch.debug_nans import as_one
from covector.numpy.reduction_base import mask_for, without_nan
from covector.numpy.reductions import all, max, min, prod, sum
from covector.numpy.statistics import mean, std, var
from covector.operations.bitwise import and_
from covector.operations.comparison import eq, ne
from covector.operations.reductions import highest, lowest
from covector.operations.selection import where as select

__all__ = [
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


@with_parameters_of(sum)
def nansum(a: ArrayLike, *args: Any, **options: Any) -> Array:
    """``sum`` in which NaN counts as 0.

    >>> import covector.numpy as cnp
    >>> print(cnp.nansum(cnp.array([1.0, cnp.nan, 2.0])))
    3.0
    """
    return sum(without_nan(as_array(a, "nansum"), 0), *args, **options)


@with_parameters_of(prod)
def nanprod(a: ArrayLike, *args: Any, **options: Any) -> Array:
    """``prod`` in which NaN counts as 1.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanprod(cnp.array([3.0, cnp.nan, 2.0])))
    6.0
    """
    return prod(without_nan(as_array(a, "nanprod"), 1), *args, **options)


@with_parameters_of(max)
def nanmax(a: ArrayLike, *args: Any, **options: Any) -> Array:
    """The largest element that is not NaN; NaN if all are. Otherwise as ``max``.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanmax(cnp.array([1.0, cnp.nan, 2.0])))
    2.0

    See also: ``max``, ``nanmin``, ``nanargmax``, ``fmax``.
    """
    return _extremum(max, lowest, as_array(a, "nanmax"), *args, **options)


@with_parameters_of(min)
def nanmin(a: ArrayLike, *args: Any, **options: Any) -> Array:
    """The smallest element that is not NaN; NaN if all are. Otherwise as ``min``.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanmin(cnp.array([1.0, cnp.nan, 2.0])))
    1.0

    See also: ``min``, ``nanmax``, ``nanargmin``, ``fmin``.
    """
    return _extremum(min, highest, as_array(a, "nanmin"), *args, **options)


def _extremum(
    reduce: Any,
    last: Any,
    x: Value,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The extremum, with NaN as the last number of all; NaN where there is no other."""

    def known(x: Value) -> Any:
        numbers = without_nan(x, last(x.type.dtype))
        found = reduce(numbers, axis, out, keepdims, initial, where)
        if initial is not None or not dtypes.is_inexact(x.type.dtype):
            return found
        none = all(ne(x, x), axis, None, keepdims, where=where)
        return select(none, scalar(float("nan"), x.type.dtype), found)

    return as_one(known, x)


def nanmean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """The average of the elements that are not NaN; NaN where all are.

    Arguments are those of ``mean``; the derivative at NaN elements is 0.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanmean(cnp.array([1.0, cnp.nan, 2.0])))
    1.5

    See also: ``mean``, ``nansum``, ``nanstd``, ``nanmedian``.
    """
    x, there = _known("nanmean", a, where)
    return mean(x, axis, dtype, out, keepdims, where=there)


def nanvar(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """``var`` of the elements that are not NaN.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanvar(cnp.array([1.0, cnp.nan, 3.0])))
    1.0
    """
    x, there = _known("nanvar", a, where)
    return var(x, axis, dtype, out, ddof, keepdims, where=there, mean=mean)


def nanstd(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """The standard deviation of the elements that are not NaN; arguments as for
    ``std``.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanstd(cnp.array([1.0, cnp.nan, 3.0])))
    1.0

    See also: ``std``, ``nanvar``, ``nanmean``.
    """
    x, there = _known("nanstd", a, where)
    return std(x, axis, dtype, out, ddof, keepdims, where=there, mean=mean)


def _known(who: str, a: ArrayLike, where: Any) -> tuple[Array, Array]:
    """The array with 0 for NaN, and the mask of elements that take part."""
    x = as_array(a, who)
    if not dtypes.is_inexact(x.type.dtype):
        return x, where
    there = eq(x, x)
    if where is not None:
        there = and_(there, mask_for(who, where, x.type))
    return select(there, x, scalar(0, x.type.dtype)), there
