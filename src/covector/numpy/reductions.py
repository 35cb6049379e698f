"""Reductions: sum, product, extrema, any and all."""

from functools import partial
from typing import Any

from covector import options
from covector.core import dtypes
from covector.core.annotations import (
    ArrayLike,
    Axes,
    DTypeLike,
    Value,
    with_parameters_of,
)
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.numpy.axes import check_no_out
from covector.numpy.promote import bound_in
from covector.numpy.reduction_base import Reduction, reduce, sum_dtype
from covector.operations.arithmetic import add, mul, sub
from covector.operations.bitwise import and_, or_
from covector.operations.broadcasting import ReduceSum
from covector.operations.casting import convert
from covector.operations.extrema import max_, min_
from covector.operations.reductions import (
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
)

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "count_nonzero",
    "max",
    "min",
    "prod",
    "ptp",
    "sum",
]

SUM = Reduction("sum", ReduceSum, add, 0)
PRODUCT = Reduction("prod", ReduceProd, mul, 1)
MAXIMUM = Reduction("max", ReduceMax, max_, bound=partial(bound_in, upper=False))
MINIMUM = Reduction("min", ReduceMin, min_, bound=partial(bound_in, upper=True))
ALL = Reduction("all", ReduceAnd, and_, True)
ANY = Reduction("any", ReduceOr, or_, False)


def sum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """The sum of the elements along ``axis``.

    bool and integers with fewer bits than the default integer are summed in the default
    one, which still overflows without an error. Sums of float16 and bfloat16 are formed
    in more bits, then rounded: pass ``dtype="float32"`` to keep them.

    Args:
      axis: an axis, several, or None for all.
      dtype: of the sum, and of the additions; by default that of ``a``, or the default
        integer as told above.
      out: must be None.
      keepdims: whether the axes stay, with length 1.
      initial: a scalar that is added.
      where: which elements take part; broadcasts to the shape of ``a``.
      promote_integers: False keeps narrow integers narrow.

    Returns:
      An array without these axes, or with them at length 1; of ``dtype``.

    Raises:
      AxisError: the array has no such axis, or one is named twice.

    >>> import covector.numpy as cnp
    >>> print(cnp.sum(cnp.array([[1.0, 2.0], [3.0, 4.0]]), axis=0))
    [4. 6.]
    >>> cnp.sum(cnp.array([100, 100], "int8"))
    Array(200, dtype=int32)

    See also: ``mean``, ``cumsum``, ``nansum``, ``prod``.
    """
    check_no_out("sum", out)
    if dtype is None and isinstance(a, Array) and a.type.inexact and not a.type.weak:
        return reduce(SUM, a, axis, keepdims, initial, where)
    x = _numbers("sum", a, dtype, promote_integers)
    fold = ANY if x.type.dtype is dtypes.bool_ else SUM
    return reduce(fold, x, axis, keepdims, initial, where)


def prod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """The product of the elements along ``axis``; arguments are those of ``sum``.

    The derivative is right also where elements are 0. Products of many numbers leave
    the range of their dtype soon: of positive ones, sum the logarithms instead.

    Args:
      a: numbers or bools.
      axis, dtype, out, keepdims, initial, where, promote_integers: as for ``sum``.

    Returns:
      An array without these axes, of the dtype that ``sum`` has.

    Raises:
      AxisError: the array has no such axis, or one is named twice.

    >>> import covector.numpy as cnp
    >>> int(cnp.prod(cnp.array([2, 3, 4])))
    24

    See also: ``sum``, ``cumprod``, ``nanprod``.
    """
    check_no_out("prod", out)
    x = _numbers("prod", a, dtype, promote_integers)
    fold = ALL if dtypes.is_bool(x.type.dtype) else PRODUCT
    return reduce(fold, x, axis, keepdims, initial, where)


def _numbers(
    who: str, a: ArrayLike, dtype: DTypeLike | None, promote_integers: bool
) -> Array:
    """The operand in the element type in which it is added up or multiplied."""
    x = as_array(a, who)
    to = x.type.dtype
    if dtype is not None:
        to = asked_dtype(dtype)
    elif not x.type.inexact and (promote_integers or to is dtypes.bool_):
        to = sum_dtype(to)
    return convert(x, to)


def max(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element along ``axis``; NaN if there is one.

    Complex numbers are ordered by their real parts, then by their imaginary parts.
    Equal largest elements share the derivative equally.

    Args:
      axis: an axis, several, or None for all.
      out: must be None.
      keepdims: whether the axes stay, with length 1.
      initial: a scalar that takes part.
      where: which elements take part; needs ``initial``.

    Returns:
      An array without these axes, of the dtype of ``a``.

    Raises:
      ArgumentError: there may be no element, and no ``initial`` is given.

    >>> import covector.numpy as cnp
    >>> print(cnp.max(cnp.array([[1, 5], [3, 2]]), axis=1))
    [5 3]

    See also: ``maximum`` (of two arrays), ``argmax``, ``nanmax``, ``min``.
    """
    check_no_out("max", out)
    x = _strong(as_array(a, "max"))
    return reduce(MAXIMUM, x, axis, keepdims, initial, where)


@with_parameters_of(max)
def min(
    a: ArrayLike, axis: Axes = None, out: None = None, *args: Any, **options: Any
) -> Array:
    """The smallest element along ``axis``; NaN if there is one. Otherwise as ``max``.

    Args:
      a: numbers or bools.
      axis, out, keepdims, initial, where: as for ``max``.

    Returns:
      An array without these axes, of the dtype of ``a``.

    Raises:
      ArgumentError: there may be no element, and no ``initial`` is given.
      AxisError: the array has no such axis, or one is named twice.

    >>> import covector.numpy as cnp
    >>> print(cnp.min(cnp.array([[1, 5], [3, 2]]), axis=1))
    [1 2]

    See also: ``minimum`` (of two arrays), ``argmin``, ``nanmin``, ``max``.
    """
    check_no_out("min", out)
    return reduce(MINIMUM, _strong(as_array(a, "min")), axis, *args, **options)


def _strong(x: Value) -> Array:
    return convert(x, x.type.dtype) if x.type.weak else x


amax = max
amin = min


def all(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether all elements along ``axis`` are true: not zero. True if there are none.

    The result is an array: under ``jit``, Python's ``if`` cannot test it.

    Args:
      axis: an axis, several, or None for all.
      out: must be None.
      keepdims: whether the axes stay, with length 1.
      where: which elements take part; broadcasts to the shape of ``a``.

    Returns:
      bools, without these axes, or with them at length 1.

    Raises:
      AxisError: the array has no such axis, or one is named twice.

    >>> import covector.numpy as cnp
    >>> print(cnp.all(cnp.array([[1, 0], [2, 3]]), axis=1))
    [False  True]

    See also: ``any``, ``logical_and``, ``array_equal``.
    """
    check_no_out("all", out)
    x = convert(as_array(a, "all"), dtypes.bool_)
    return reduce(ALL, x, axis, keepdims, None, where)


def any(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether any element along ``axis`` is true: not zero. False if there are none.

    The arguments are those of ``all``.

    Args:
      a: numbers or bools.
      axis, out, keepdims, where: as for ``all``.

    Returns:
      bools, without these axes, or with them at length 1.

    Raises:
      AxisError: the array has no such axis, or one is named twice.

    >>> import covector.numpy as cnp
    >>> print(cnp.any(cnp.array([[0, 0], [2, 3]]), axis=1))
    [False  True]

    See also: ``all``, ``logical_or``, ``count_nonzero``.
    """
    check_no_out("any", out)
    x = convert(as_array(a, "any"), dtypes.bool_)
    return reduce(ANY, x, axis, keepdims, None, where)


def count_nonzero(a: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Array:
    """The number of elements along ``axis`` that are not zero; NaN counts.

    Args:
      axis: an axis, several, or None for all.
      keepdims: whether the axes stay, with length 1.

    >>> import covector.numpy as cnp
    >>> print(cnp.count_nonzero(cnp.array([[0, 4], [2, 3]]), axis=1))
    [1 2]

    See also: ``nonzero``, ``any``, ``sum``.
    """
    x = convert(as_array(a, "count_nonzero"), dtypes.bool_)
    x = convert(x, dtypes.default_int(options.current().enable_x64))
    return reduce(SUM, x, axis, keepdims)


def ptp(
    a: ArrayLike, axis: Axes = None, out: None = None, keepdims: bool = False
) -> Array:
    """The largest element along ``axis`` minus the smallest.

    >>> import covector.numpy as cnp
    >>> print(cnp.ptp(cnp.array([[1, 5], [3, 2]]), axis=1))
    [4 1]
    """
    check_no_out("ptp", out)
    x = _strong(as_array(a, "ptp"))
    high = reduce(MAXIMUM, x, axis, keepdims)
    return sub(high, reduce(MINIMUM, x, axis, keepdims))
