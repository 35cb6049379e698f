"""Cumulative sums and products."""

from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, with_parameters_of
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.types import ArrayType
from covector.errors import AxisError
from covector.numpy.axes import canonical_axis, check_no_out
from covector.numpy.reduction_base import sum_dtype, without_nan
from covector.numpy.reshaping import ravel
from covector.operations.broadcasting import filled
from covector.operations.casting import convert
from covector.operations.cumulative import Cumprod, Cumsum
from covector.operations.joining import Concatenate

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "nancumprod",
    "nancumsum",
]


def cumsum(
    a: ArrayLike,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """Running sums along ``axis``; of ``a`` raveled where that is None, the default.

    The result has as many elements as ``a``: the first is the first element itself, not
    0. Unlike ``sum``, integers with few bits keep their dtype, and wrap around: pass
    ``dtype``.

    Args:
      axis: an axis, or None.
      dtype: of the result; by default that of ``a``, bools counting as integers.
      out: must be None.

    Returns:
      An array of the shape of ``a``, or a vector where ``axis`` is None.

    Raises:
      AxisError: the array has no such axis.

    >>> import covector.numpy as cnp
    >>> print(cnp.cumsum(cnp.array([1, 2, 4])))
    [1 3 7]

    See also: ``sum``, ``cumulative_sum``, ``cumprod``, ``diff``.
    """
    return _running("cumsum", Cumsum, a, axis, dtype, out)


@with_parameters_of(cumsum)
def cumprod(*args: Any, **options: Any) -> Array:
    """Running products along ``axis``; arguments are those of ``cumsum``.

    The derivative is right also where elements are 0.

    >>> import covector.numpy as cnp
    >>> print(cnp.cumprod(cnp.array([1, 2, 4])))
    [1 2 8]

    See also: ``prod``, ``cumsum``, ``cumulative_prod``.
    """
    return _running("cumprod", Cumprod, *args, **options)


@with_parameters_of(cumsum)
def nancumsum(*args: Any, **options: Any) -> Array:
    """Running sums along ``axis`` in which NaN counts as 0.

    >>> import covector.numpy as cnp
    >>> print(cnp.nancumsum(cnp.array([1.0, cnp.nan, 2.0])))
    [1. 1. 3.]
    """
    return _running("nancumsum", Cumsum, *args, for_nan=0, **options)


@with_parameters_of(cumsum)
def nancumprod(*args: Any, **options: Any) -> Array:
    """Running products along ``axis`` in which NaN counts as 1.

    >>> import covector.numpy as cnp
    >>> print(cnp.nancumprod(cnp.array([2.0, cnp.nan, 3.0])))
    [2. 2. 6.]
    """
    return _running("nancumprod", Cumprod, *args, for_nan=1, **options)


def _running(
    who: str,
    op: Any,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    *,
    for_nan: int | None = None,
) -> Array:
    check_no_out(who, out)
    x = as_array(a, who)
    if for_nan is not None:
        x = without_nan(x, for_nan)
    if dtype is not None:
        x = convert(x, asked_dtype(dtype))
    elif dtypes.is_bool(x.type.dtype):
        x = convert(x, sum_dtype(x.type.dtype))
    if axis is None or not x.type.ndim:
        x, axis = ravel(x), axis or 0
    return op(canonical_axis(who, axis, x.type.ndim))(convert(x, x.type.dtype))


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Running sums along ``axis``, which may be left out for arrays with one axis.

    Args:
      dtype: of the result; by default that of ``x``, where bools and narrow integers
        count as integers of the default width.
      include_initial: whether the result begins with 0, and is longer by one.

    >>> import covector.numpy as cnp
    >>> print(cnp.cumulative_sum(cnp.array([1, 2, 4]), include_initial=True))
    [0 1 3 7]
    """
    return _cumulative("cumulative_sum", Cumsum, x, axis, dtype, include_initial)


@with_parameters_of(cumulative_sum)
def cumulative_prod(x: ArrayLike, /, **options: Any) -> Array:
    """Running products along ``axis``; arguments are those of ``cumulative_sum``.

    >>> import covector.numpy as cnp
    >>> print(cnp.cumulative_prod(cnp.array([1, 2, 4]), include_initial=True))
    [1 1 2 8]
    """
    return _cumulative("cumulative_prod", Cumprod, x, **options)


def _cumulative(
    who: str,
    op: Any,
    x: ArrayLike,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    x = as_array(x, who)
    if axis is None and x.type.ndim != 1:
        raise AxisError(
            f"{who} needs to know along which axis, for {x.type} does not have exactly "
            "one."
        )
    x = convert(x, sum_dtype(x.type.dtype) if dtype is None else asked_dtype(dtype))
    k = canonical_axis(who, axis or 0, x.type.ndim)
    out = op(k)(x)
    if not include_initial:
        return out
    shape = (*x.type.shape[:k], 1, *x.type.shape[k + 1 :])
    start = filled(1 if op is Cumprod else 0, ArrayType(shape, x.type.dtype))
    return Concatenate(k)(start, out)
