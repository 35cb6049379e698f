"""Quantiles, percentiles and medians.

Between two elements the methods differ. Those of ``CONTINUOUS`` interpolate at the
index n·q + α + q·(1 − α − β) − 1, counted from 0 (Hyndman and Fan, Sample Quantiles in
Statistical Packages, 1996); the others of ``METHODS`` choose at the index of
``linear``.
"""

import math
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, Value, with_parameters_of
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.trace import Tracer
from covector.errors import ArgumentError, DTypeError, TypeMismatch
from covector.numpy.axes import canonical_axes, check_no_out, with_out_sharding
from covector.numpy.axis_order import moveaxis
from covector.numpy.cumulative import cumsum
from covector.numpy.indexing import index
from covector.numpy.indexing_take import take_along_axis
from covector.numpy.promote import inexact, standard_promotion
from covector.numpy.reduction_base import (
    count_along,
    kept_shape,
    weights_for,
    working_dtype,
)
from covector.numpy.reshaping import reshape
from covector.numpy.xp_function import XpArray, xp_function
from covector.operations.argmax import Argmax
from covector.operations.arithmetic import mul
from covector.operations.bitwise import and_, not_, or_
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.casting import convert
from covector.operations.comparison import eq, ge, gt, le, ne
from covector.operations.ranks import (
    PlacesOfRanks,
    is_worth_selecting,
    places_in_rows,
)
from covector.operations.reductions import ReduceOr
from covector.operations.selection import where
from covector.operations.sorting import Sort
from covector.operations.sorting_on_host import sort_alone
from covector.operations.transposing import Reshape, Transpose

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]

#: α and β of the methods that interpolate
CONTINUOUS = {
    "linear": (1.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "interpolated_inverted_cdf": (0.0, 1.0),
}
METHODS = (*CONTINUOUS, "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The quantiles ``q``, fractions of the elements, along ``axis``.

    Args:
      q: a number from 0 to 1, or several along one axis, which then stands first in the
        result. Beyond, traced values give NaN.
      axis: an axis, several, or None for all.
      method: what to do between two elements: ``"linear"`` interpolates, ``"lower"``
        and ``"higher"`` take one of them, ``"nearest"`` the nearer, ``"midpoint"``
        their average; ``"inverted_cdf"``, ``"hazen"``, ``"weibull"``,
        ``"median_unbiased"``, ``"normal_unbiased"`` and ``"interpolated_inverted_cdf"``
        estimate the quantile of the distribution that the elements were drawn from.
      keepdims: whether the axes stay, with length 1.
      weights: of the shape of ``a``, or one for each position along ``axis``; only for
        ``"inverted_cdf"``.

    Returns:
      Floating; NaN where there is a NaN, or no element, or where weights are negative
      or all 0. What has no weight is never chosen.

    Raises:
      ArgumentError: ``q`` is known and not in [0, 1].

    >>> import covector.numpy as cnp
    >>> print(cnp.quantile(cnp.array([1.0, 2.0, 4.0]), 0.75))
    3.0
    """
    how = axis, out, overwrite_input, method, keepdims
    return _quantile("quantile", a, q, *how, weights=weights)


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """``quantile`` with the fraction ``q`` in percent, from 0 to 100.

    ``out_sharding`` says where the result is to be.

    >>> import covector.numpy as cnp
    >>> print(cnp.percentile(cnp.array([1.0, 2.0, 4.0]), 75))
    3.0
    """
    how = axis, out, overwrite_input, method, keepdims
    found = _quantile("percentile", a, q, *how, weights=weights, percent=True)
    return with_out_sharding(found, out_sharding)


@with_parameters_of(quantile)
def nanquantile(*args: Any, **options: Any) -> Array:
    """``quantile`` of the elements that are not NaN.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanquantile(cnp.array([1.0, cnp.nan, 4.0]), 0.5))
    2.5
    """
    return _quantile("nanquantile", *args, skip_nan=True, **options)


@with_parameters_of(quantile)
def nanpercentile(*args: Any, **options: Any) -> Array:
    """``percentile`` of the elements that are not NaN.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanpercentile(cnp.array([1.0, cnp.nan, 4.0]), 50))
    2.5
    """
    return _quantile("nanpercentile", *args, percent=True, skip_nan=True, **options)


def median(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """The element in the middle along ``axis``, or the average of the two there.

    NaN where there is one.

    Args:
      axis: an axis, several, or None for all.
      out: must be None.
      overwrite_input: without meaning here: arrays do not change.
      keepdims: whether the axes stay, with length 1.

    >>> import covector.numpy as cnp
    >>> print(cnp.median(cnp.array([[1, 9, 2], [4, 3, 8]]), axis=1))
    [2. 4.]

    See also: ``nanmedian``, ``quantile``, ``mean``.
    """
    how = axis, out, overwrite_input, "midpoint", keepdims
    return _quantile("median", a, 0.5, *how)


def nanmedian(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """``median`` of the elements that are not NaN.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanmedian(cnp.array([1.0, cnp.nan, 2.0, 9.0])))
    2.0
    """
    how = axis, out, overwrite_input, "midpoint", keepdims
    return _quantile("nanmedian", a, 0.5, *how, skip_nan=True)


def _quantile(
    who: str,
    a: ArrayLike,
    q: Any,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    percent: bool = False,
    skip_nan: bool = False,
) -> Array:
    check_no_out(who, out)
    if method not in METHODS:
        raise ArgumentError(
            f"{who}: method must be one of {METHODS}, but got {method!r}."
        )
    x, fractions = _operands(who, a, q, percent)
    axes = canonical_axes(who, axis, x.type.ndim)
    rows = _rows(x, axes)
    if weights is not None:
        counted = _rows(_weights(who, x, weights, method, axis), axes)
        found = _weighted(rows, counted, fractions, skip_nan=skip_nan)
    else:
        found = _at_fractions(rows, fractions, method=method, skip_nan=skip_nan)
    if fractions.type.ndim:
        found = moveaxis(found, -1, 0)
    else:
        found = Reshape(found.type.shape[:-1])(found)
    if not keepdims:
        return found
    kept = kept_shape(x.type.shape, axes)
    return reshape(found, (*fractions.type.shape, *kept))


def _operands(who: str, a: ArrayLike, q: Any, percent: bool) -> tuple[Array, Array]:
    """The array, and the levels as fractions from 0 to 1 in the dtype of the work:
    they may be coarser than the array, and are divided as precisely as it is.
    """
    exact = percent and isinstance(q, int | float)  # divided in double precision
    x, levels = inexact(who, a), inexact(who, q / 100 if exact else q)
    for operand in (x, levels):
        if dtypes.is_complex(operand.type.dtype):
            raise DTypeError(f"{who} needs real numbers, but got {operand.type}.")
    if levels.type.ndim > 1:
        raise TypeMismatch(
            f"{who} needs a scalar or one axis of fractions q, but got {levels.type}."
        )
    fractions = convert(levels, working_dtype(x.type.dtype))
    if percent and not exact:
        fractions = fractions / scalar(100, fractions.type.dtype)
    return x, _within_bounds(who, q, fractions, 100 if percent else 1)


def _within_bounds(who: str, q: Any, fractions: Value, top: int) -> Any:
    """The fractions, of which those that are none are an error, or NaN if traced."""
    if isinstance(fractions, Tracer):
        zero, one = [scalar(number, fractions.type.dtype) for number in (0, 1)]
        inside = and_(ge(fractions, zero), le(fractions, one))
        return where(inside, fractions, scalar(math.nan, fractions.type.dtype))
    if type(q) is float and 0 <= q <= top:
        return fractions
    known = np.asarray(q, np.float64)
    beyond = known[(known < 0) | (known > top)]  # a NaN has NaN for a quantile
    if beyond.size:
        raise ArgumentError(
            f"{who} needs q between 0 and {top}, but got {beyond[0]:g}."
            + _other_scale(who, float(known.max()), float(known.min()), top)
        )
    return fractions


def _other_scale(who: str, highest: float, lowest: float, top: int) -> str:
    """A hint, where a fraction was wanted and percentages came."""
    if top == 1 and lowest >= 0 and highest <= 100:
        percents = who.replace("quantile", "percentile")
        return f" covector.numpy.{percents} takes q in percent."
    return " Bring it there with covector.numpy.clip, if that is what you mean."


def _rows(x: Value, axes: tuple[int, ...]) -> Array:
    """``x`` with all the axes as one, behind the others."""
    kept = [k for k in range(x.type.ndim) if k not in axes]
    lengths = tuple([x.type.shape[k] for k in kept])
    order, shape = (*kept, *sorted(axes)), (*lengths, count_along(x.type.shape, axes))
    x = x if order == tuple(range(x.type.ndim)) else Transpose(order)(x)
    return x if x.type.shape == shape else Reshape(shape)(x)


def _of_rows(xp: Any, x: XpArray, q: XpArray, *, method: str, skip_nan: bool) -> Any:
    """The quantiles of rows, along the last axis."""
    result, dtype = x.dtype, working_dtype(x.dtype)
    x, q = x.astype(dtype), q.astype(dtype).reshape((-1,))
    n = x.shape[-1]
    if n == 0:
        return xp.full((*x.shape[:-1], q.size), np.nan, result)
    if skip_nan:  # NaN is last
        count = n - xp.sum(xp.isnan(x).astype(dtype), axis=-1, keepdims=True)
    else:  # the positions are those of all rows
        count = xp.asarray(n, dtype)
    low, high, weight = _positions(xp, count, q, method)
    low, high = low.astype(np.int32), high.astype(np.int32)
    below, above, unknown = _of_ranks(xp, x, low, high)
    if skip_nan:
        unknown = count == 0
    if method == "midpoint":
        out = below / 2 + above / 2  # also of an infinite number and a finite one
    else:
        out = below + weight * (above - below)
    # Between equal infinities, and at an element, there is nothing to interpolate.
    out = xp.where((below == above) | (weight == 0), below, out)
    return xp.where(unknown | xp.isnan(q), np.nan, out).astype(result)


def _of_ranks(xp: Any, x: XpArray, low: XpArray, high: XpArray) -> Any:
    """The elements of these ranks in rows, where −0 and 0 keep their order; and which
    rows have a NaN.
    """
    k = low.shape[-1]
    if is_worth_selecting(x.shape[-1], 2 * k, x.dtype):
        find = places_in_rows if xp is np else PlacesOfRanks()
        ranks = xp.concatenate([low, high], axis=-1)
        places = find(x, xp.broadcast_to(ranks, (*x.shape[:-1], 2 * k)))
        found = xp.take_along_axis(x, places, axis=-1)
        return found[..., :k], found[..., k:], xp.isnan(x).any(axis=-1, keepdims=True)
    ordered = sort_alone(x, -1) if xp is np else xp.sort(x, axis=-1, stable=True)
    pick = xp.take if low.ndim == 1 else xp.take_along_axis
    below, above = [pick(ordered, ranks, axis=-1) for ranks in (low, high)]
    return below, above, xp.isnan(ordered[..., -1:])


# However many there are, sorting takes most of the time, and NumPy is quicker at it.
_at_fractions = xp_function(_of_rows, limit=math.inf)


def _positions(xp: Any, count: Any, q: Any, method: str) -> tuple[Any, Any, Any]:
    """The two indices between which a quantile lies, and how far on the way to the
    second.
    """
    last = xp.maximum(count - 1, 0)
    alpha, beta = CONTINUOUS.get(method, (1.0, 1.0))
    if method == "inverted_cdf":
        position = xp.ceil(count * q) - 1
    elif alpha == beta == 1:
        position = (count - 1) * q
    else:
        position = count * q + (alpha + q * (1 - alpha - beta)) - 1
    position = xp.where(xp.isnan(position), 0, position)
    position = xp.minimum(xp.maximum(position, 0), last)
    low, high = xp.floor(position), xp.ceil(position)
    match method:
        case "lower":
            high = low
        case "higher" | "inverted_cdf":
            low = high
        case "nearest":
            low = high = xp.where(position - low > 0.5, high, low)
        case "midpoint":
            return low, high, xp.where(low == high, 0, 0.5).astype(q.dtype)
    return (
        low,
        high,
        position - low if method in CONTINUOUS else xp.zeros_like(position),
    )


# -- weights ---------------------------------------------------------------------------


def _weights(who: str, x: Value, weights: Any, method: str, axis: Axes) -> Any:
    w = as_array(weights, who)
    if method != "inverted_cdf":
        raise ArgumentError(
            f"{who} takes weights with method='inverted_cdf' only, but got {method!r}."
        )
    if dtypes.is_complex(w.type.dtype):
        raise DTypeError(f"{who} needs real weights, but got {w.type}.")
    return convert(weights_for(who, x.type, w, axis), working_dtype(x.type.dtype))


@standard_promotion
def _weighted(x: Value, w: Value, q: Any, *, skip_nan: bool) -> Any:
    """The first element of each row up to which the weights add up to a fraction; NaN
    where one is NaN, unless these are skipped, or negative, or all are 0.
    """
    axis = x.type.ndim - 1
    unknown = ne(x, x)
    if skip_nan:
        w = where(unknown, scalar(0, w.type.dtype), w)
    ordered, moved = Sort(axis)(x, w)
    reached = cumsum(moved, axis)
    total = index(reached, (..., -1))
    zero = scalar(0, reached.type.dtype)
    # An element without weight is never the one, not even for q = 0.
    reached = where(gt(reached, zero), reached, scalar(-1, reached.type.dtype))
    fractions = reshape(convert(q, reached.type.dtype), (-1,))
    shape = (*total.type.shape, fractions.type.size, x.type.shape[-1])
    wanted = mul(
        BroadcastInDim(shape, tuple(range(axis)))(total),
        BroadcastInDim(shape, (axis,))(fractions),
    )
    beside = BroadcastInDim(shape, (*range(axis), axis + 1))(reached)
    first = Argmax(axis + 1, dtypes.int32)(ge(beside, wanted))
    out = take_along_axis(ordered, first, -1)
    bad = not_(ge(w, zero))
    bad = bad if skip_nan else or_(unknown, bad)
    missing = or_(ReduceOr((axis,))(bad), eq(total, zero))
    missing = BroadcastInDim(out.type.shape, tuple(range(axis)))(missing)
    nowhere = reshape(ne(fractions, fractions), (-1,))
    missing = or_(missing, BroadcastInDim(out.type.shape, (axis,))(nowhere))
    return where(missing, scalar(float("nan"), out.type.dtype), out)
