"""Reductions that ignore NaN.

NaN becomes what does not count (0 in a sum, −∞ in a maximum), so derivatives are finite
too. Where no element is left, sums are 0, products 1, and everything else is NaN.
"""

from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.numpy.axes import check_no_out
from covector.numpy.reduction_base import mask_for
from covector.numpy.reductions import all, max, min, prod, sum
from covector.numpy.statistics import mean, std, var
from covector.ops.bitwise import and_
from covector.ops.comparison import eq, ne
from covector.ops.reductions import highest, lowest
from covector.ops.selection import where as select
from covector.programs.jit.debug_nans import as_one

__all__ = [
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _without_nan(x: Any, neutral: Any) -> Array:
    """``x`` with a neutral number in place of NaN."""
    if not dtypes.is_inexact(x.type.dtype):
        return x
    return select(ne(x, x), scalar(neutral, x.type.dtype), x)


def nansum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """``sum`` in which NaN counts as 0.

    >>> import covector.numpy as cnp
    >>> print(cnp.nansum(cnp.array([1.0, cnp.nan, 2.0])))
    3.0
    """
    check_no_out("nansum", out)
    x = _without_nan(as_array(a, "nansum"), 0)
    return sum(x, axis, dtype, None, keepdims, initial, where)


def nanprod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """``prod`` in which NaN counts as 1.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanprod(cnp.array([3.0, cnp.nan, 2.0])))
    6.0
    """
    check_no_out("nanprod", out)
    x = _without_nan(as_array(a, "nanprod"), 1)
    return prod(x, axis, dtype, None, keepdims, initial, where)


def nanmax(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """``max`` of the elements that are not NaN; NaN if all are.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanmax(cnp.array([1.0, cnp.nan, 2.0])))
    2.0
    """
    check_no_out("nanmax", out)
    x = as_array(a, "nanmax")
    return _extremum(max, x, lowest(x.type.dtype), axis, keepdims, initial, where)


def nanmin(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """``min`` of the elements that are not NaN; NaN if all are.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanmin(cnp.array([1.0, cnp.nan, 2.0])))
    1.0
    """
    check_no_out("nanmin", out)
    x = as_array(a, "nanmin")
    return _extremum(min, x, highest(x.type.dtype), axis, keepdims, initial, where)


def _extremum(
    reduce: Any,
    x: Value,
    last: Any,
    axis: Axes,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Array:
    def known(x: Value) -> Any:
        found = reduce(_without_nan(x, last), axis, None, keepdims, initial, where)
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
    """``mean`` of the elements that are not NaN.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanmean(cnp.array([1.0, cnp.nan, 2.0])))
    1.5
    """
    check_no_out("nanmean", out)
    x, there = _known("nanmean", a, where)
    return mean(x, axis, dtype, None, keepdims, where=there)


def _known(who: str, a: ArrayLike, where: Any) -> tuple[Array, Array]:
    """The array with 0 for NaN, and the mask of elements that take part."""
    x = as_array(a, who)
    if not dtypes.is_inexact(x.type.dtype):
        return x, where
    there = eq(x, x)
    if where is not None:
        there = and_(there, mask_for(who, where, x.type))
    return select(there, x, scalar(0, x.type.dtype)), there


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
    check_no_out("nanvar", out)
    x, there = _known("nanvar", a, where)
    return var(x, axis, dtype, None, ddof, keepdims, where=there, mean=mean)


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
    """``std`` of the elements that are not NaN.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanstd(cnp.array([1.0, cnp.nan, 3.0])))
    1.0
    """
    check_no_out("nanstd", out)
    x, there = _known("nanstd", a, where)
    return std(x, axis, dtype, None, ddof, keepdims, where=there, mean=mean)
