"""Means, variances and weighted averages.

Integers and bools are averaged as floating-point numbers, and what is narrower than
float32 in float32; the result is rounded once.
"""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import (
    ArrayLike,
    Axes,
    DType,
    DTypeLike,
    HostArray,
    Value,
    with_parameters_of,
)
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, scalar
from covector.errors import ArgumentError, DTypeError
from covector.numpy.axes import beside, canonical_axes, check_no_out
from covector.numpy.fuse import fuse
from covector.numpy.promote import broadcast_to, promote_dtypes_inexact
from covector.numpy.reduction_base import (
    count_along,
    keep,
    mask_for,
    mean_dtype,
    weights_for,
    working_dtype,
)
from covector.numpy.xp_function import XpArray, xp_function
from covector.operations.arithmetic import div, mul
from covector.operations.broadcasting import ReduceSum
from covector.operations.casting import ConvertElementType, convert
from covector.operations.comparison import eq
from covector.operations.roots import sqrt
from covector.operations.selection import where as select

__all__ = ["average", "mean", "std", "var"]


def mean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """The average of the elements along ``axis``; NaN where there are none.

    The mean of integers is floating point. float16 and bfloat16 are summed in more
    bits, and the result rounded.

    Args:
      axis: an axis, several, or None for all.
      dtype: of the result; by default that of ``a`` if floating or complex, else the
        default float.
      out: must be None.
      keepdims: whether the axes stay, with length 1.
      where: which elements take part; broadcasts to the shape of ``a``.

    Returns:
      An array without these axes, or with them at length 1.

    Raises:
      AxisError: the array has no such axis, or one is named twice.

    >>> import covector.numpy as cnp
    >>> print(cnp.mean(cnp.array([[1, 2], [3, 5]]), axis=1))
    [1.5 4. ]

    See also: ``average`` (with weights), ``nanmean``, ``median``, ``std``.
    """
    check_no_out("mean", out)
    x = as_array(a, "mean")
    found = mean_dtype(x.type.dtype)
    how = {
        "axes": canonical_axes("mean", axis, x.type.ndim),
        "dtype": found if dtype is None else asked_dtype(dtype),
        "working": working_dtype(found),
        "keepdims": bool(keepdims),
    }
    if where is None:
        return _mean(x, **how)
    return _mean(x, mask_for("mean", where, x.type), **how)


def _mean_on_host(
    x: HostArray,
    *mask: HostArray,
    axes: tuple[int, ...],
    dtype: Any,
    working: Any,
    keepdims: bool,
) -> HostArray:
    """``_mean`` of NumPy arrays."""
    count: Any = count_along(x.shape, axes)
    x = x if x.dtype == working else x.astype(working)
    if mask:
        known = np.broadcast_to(mask[0], x.shape)
        real = dtypes.real_part(working)
        count = np.add.reduce(known, axis=axes, dtype=real, keepdims=keepdims)
        x = np.where(known, x, working.type(0))
    total: Any = np.add.reduce(x, axis=axes, dtype=working, keepdims=keepdims)
    out = div.on_host(total, np.asarray(count).astype(working))
    return out if out.dtype == dtype else ConvertElementType(dtype).on_host(out)


@fuse(host=_mean_on_host)
def _mean(
    x: Value,
    *mask: Value,
    axes: tuple[int, ...],
    dtype: DType,
    working: DType,
    keepdims: bool,
) -> Array:
    """The average, in a wide enough dtype, of the elements that a mask selects."""
    shape = x.type.shape
    out = convert(div(*_total(convert(x, working), mask, axes)), dtype)
    return keep(out, shape, axes) if keepdims else out


def _total(
    x: Value, mask: tuple[Value, ...], axes: tuple[int, ...]
) -> tuple[Array, Array]:
    """The sum of the elements that take part, and how many they are."""
    total = ReduceSum(tuple(sorted(axes)))
    if not mask:
        return total(x), scalar(count_along(x.type.shape, axes), x.type.dtype)
    known = broadcast_to(mask[0], x.type.shape)
    count = total(convert(known, dtypes.real_part(x.type.dtype)))
    return total(select(known, x, scalar(0, x.type.dtype))), convert(
        count, x.type.dtype
    )


def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: int | float | None = None,
) -> Array:
    """The variance along ``axis``: the average of |x − mean|².

    The sum of squares is divided by n, as in NumPy; with ``ddof=1`` by n − 1, as in
    pandas and R.

    Args:
      axis, dtype, keepdims, where: as for ``mean``. The result is real.
      ddof: what is subtracted from the number of elements before dividing by it; NaN
        where nothing is left.
      mean: the mean, if it is known; broadcasts to the shape of ``a``.
      correction: another name for ``ddof``.

    >>> import covector.numpy as cnp
    >>> print(cnp.var(cnp.array([1.0, 2.0, 3.0, 4.0]), ddof=1))
    1.6666666

    See also: ``std``, ``mean``, ``cov``, ``nanvar``.
    """
    given = {"where": where, "mean": mean, "correction": correction}
    return _dispersion("var", a, axis, dtype, out, ddof, keepdims, **given)


@with_parameters_of(var)
def std(*args: Any, **options: Any) -> Array:
    """The standard deviation along ``axis``; arguments are those of ``var``.

    The sum of squares is divided by n, as in NumPy; with ``ddof=1`` by n − 1, as in
    pandas and R. Where all elements are equal, the derivative is 0.

    Args:
      a, axis, dtype, out, ddof, keepdims, where, mean, correction: as for ``var``.

    Returns:
      A floating-point array without these axes; real, of complex numbers too.

    Raises:
      AxisError: the array has no such axis, or one is named twice.

    >>> import covector.numpy as cnp
    >>> print(cnp.std(cnp.array([1.0, 3.0])), cnp.std(cnp.array([1.0, 3.0]), ddof=1))
    1.0 1.4142135

    See also: ``var``, ``mean``, ``nanstd``.
    """
    return _dispersion("std", *args, **options)


def _missing(who: str, ddof: Any, correction: Any) -> float:
    """The number of degrees of freedom to subtract."""
    missing = ddof if correction is None else correction
    if isinstance(missing, str | list | tuple | None):
        raise ArgumentError(f"{who}: ddof must be a number, but got {missing!r}.")
    if correction is None:
        return ddof
    if ddof != 0:
        raise ArgumentError(
            f"{who}: ddof and correction are two names for one number, but both are "
            f"given: {ddof} and {correction}."
        )
    return correction


def _dispersion(
    who: str,
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Array:
    """The variance or standard deviation."""
    check_no_out(who, out)
    missing = _missing(who, ddof, correction)
    x = as_array(a, who)
    axes = canonical_axes(who, axis, x.type.ndim)
    found = mean_dtype(x.type.dtype)
    result = dtypes.real_part(found) if dtype is None else asked_dtype(dtype)
    if dtypes.is_complex(found) and not dtypes.is_complex(result) and dtype is not None:
        raise DTypeError(
            f"{who} of {x.type} in a real element type is ambiguous: take real(x) or "
            "abs(x) first, or leave out dtype."
        )
    given = [x]
    if mean is not None:
        given.append(as_array(mean, who))
    if where is not None:
        given.append(mask_for(who, where, x.type))
    has = (mean is not None, where is not None)
    how = {
        "axes": axes,
        "dtype": result,
        "working": working_dtype(found),
        "keepdims": bool(keepdims),
        "missing": missing,
    }
    return _deviation(*given, has=has, root=who == "std", **how)


@xp_function
def _deviation(
    xp: Any,
    x: XpArray,
    *given: Any,
    has: tuple[bool, bool],
    root: bool,
    axes: tuple[int, ...],
    dtype: DType,
    working: DType,
    keepdims: bool,
    missing: float,
) -> Any:
    """The variance or its root, of the elements that a mask, if given, selects."""
    x = x if x.dtype == working else x.astype(working)
    mask = xp.broadcast_to(given[-1], x.shape) if has[1] else None
    if mask is not None:  # now: behind the square its derivative would be 0 · ∞
        x = xp.where(mask, x, 0)

    def total(z: XpArray) -> Any:
        z = z if mask is None else xp.where(mask, z, 0)
        return z.sum(axis=axes, keepdims=True)

    count: Any = count_along(x.shape, axes)
    if mask is not None:
        real_dtype = dtypes.real_part(x.dtype)
        count = mask.astype(real_dtype).sum(axis=axes, keepdims=True)
    center = given[0].astype(x.dtype) if has[0] else total(x) / count
    distance = x - center
    if dtypes.is_complex(x.dtype):
        squares = xp.real(distance * xp.conj(distance))
    else:
        squares = distance * distance
    free = count - missing
    free = xp.where(xp.asarray(free) > 0, free, np.nan) if missing else free
    out = total(squares) / free
    if root:
        out = xp.sqrt(out) if xp is np else _root(out)
    out = out if out.dtype == dtype else out.astype(dtype)
    kept = tuple([n for k, n in enumerate(x.shape) if k not in axes])
    return out if keepdims else out.reshape(kept)


def _root(variance: Value) -> Array:
    """The square root, whose derivative at 0, where it has none, is taken as 0."""
    zero, one = (scalar(n, variance.type.dtype, True) for n in (0, 1))
    nothing = eq(variance, zero)
    return select(nothing, zero, sqrt(select(nothing, one, variance)))


def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]:
    """The average of the elements along ``axis``, each with a weight: Σ w·x / Σ w.

    Args:
      axis: an axis, several, or None for all.
      weights: of the shape of ``a``, or one for each index along ``axis``; by default
        1. They need not sum to 1; where they sum to 0 the result is NaN or infinite.
      returned: whether the sum of the weights is returned as well.
      keepdims: whether the axes stay, with length 1.

    Raises:
      TypeMismatch: the weights have another shape.

    >>> import covector.numpy as cnp
    >>> print(cnp.average(cnp.array([1.0, 2.0]), weights=cnp.array([3.0, 1.0])))
    1.25

    See also: ``mean``, ``nanmean``, ``cov``.
    """
    x = as_array(a, "average")
    axes = canonical_axes("average", axis, x.type.ndim)
    if weights is None:
        out = mean(x, axes, keepdims=keepdims)
        if not returned:
            return out
        count = scalar(count_along(x.type.shape, axes), out.type.dtype)
        return out, beside("average", broadcast_to(count, out.type.shape), x)
    x, w = promote_dtypes_inexact("average", x, weights)
    w = weights_for("average", x.type, w, axis)
    out, scale = _weighted(x, w, axes=axes)
    if keepdims:
        out, scale = (keep(z, x.type.shape, axes) for z in (out, scale))
    return (out, scale) if returned else out


@fuse()
def _weighted(x: Value, w: Value, *, axes: tuple[int, ...]) -> tuple[Array, ...]:
    """The average of elements with weights, and the sum of the weights."""
    total = ReduceSum(tuple(sorted(axes)))
    scale = total(w)
    return div(total(mul(x, w)), scale), scale
