"""Statistics of samples: ranks, the most frequent value, errors of means."""

from typing import Literal, NamedTuple

import numpy as np

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, DTypeKindError
from covector.lax.cumulative import cummax, cummin
from covector.numpy.axes import canonical_axis
from covector.numpy.promote import inexact, standard_promotion
from covector.transforms.vmap import vmap

__all__ = ["ModeResult", "mode", "rankdata", "sem"]

Ties = Literal["average", "min", "max", "dense", "ordinal"]
NanPolicy = Literal["propagate", "omit"]


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Array
    count: Array


def _flat(who: str, a: ArrayLike, axis: int | None, policy: str) -> tuple[Array, int]:
    """An array and the axis along which a statistic goes; all axes are one if None."""
    x = as_array(a, who)
    if policy not in ("propagate", "omit"):
        raise ArgumentError(
            f"{who}: nan_policy must be 'propagate' or 'omit', but got {policy!r}. "
            "Errors cannot depend on values that may be traced."
        )
    if axis is None:
        return x.reshape(-1), 0
    return x, canonical_axis(who, axis, x.ndim)


@standard_promotion
def mode(
    a: ArrayLike,
    axis: int | None = 0,
    nan_policy: NanPolicy = "propagate",
    keepdims: bool = False,
) -> ModeResult:
    """The most frequent value along an axis; of several the least.

    Args:
      a: real numbers. axis: None for all elements.
      nan_policy: NaN is a value as others, and the greatest; ``"omit"`` leaves it out.
      keepdims: keep the axis, with length 1; all axes, if ``axis`` is None.

    Returns:
      ``(mode, count)``. Of no elements the mode is NaN, and the count 0.

    Raises:
      DTypeKindError: the elements are complex. ArgumentError: an unknown policy.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import mode
    >>> found = mode(cnp.array([1, 3, 3, 2, 2]))
    >>> int(found.mode), int(found.count)
    (2, 2)
    """
    x, axis_ = _flat("mode", a, axis, nan_policy)
    if dtypes.is_complex(x.type.dtype):
        raise DTypeKindError(f"mode needs elements with an order, but got {x.type}.")
    if not x.shape[axis_]:
        rest = (*x.shape[:axis_], *x.shape[axis_ + 1 :])
        value, count = cnp.full(rest, np.nan), cnp.zeros(rest, int)
    else:
        moved = cnp.moveaxis(x, axis_, -1)
        rows = moved.reshape(-1, moved.shape[-1])
        found = vmap(lambda row: _most_frequent(row, nan_policy))(rows)
        value, count = (v.reshape(moved.shape[:-1]) for v in found)
    if keepdims and axis is None:
        value, count = (v.reshape((1,) * cnp.ndim(a)) for v in (value, count))
    elif keepdims:
        value, count = (cnp.expand_dims(v, axis_) for v in (value, count))
    return ModeResult(value, count)


def _most_frequent(row: Array, policy: str) -> tuple[Array, Array]:
    """Of a vector, sorted, the longest run: it begins where a longer one ends."""
    x = cnp.sort(row)
    is_nan = cnp.isnan(x)
    positions = cnp.arange(x.size)
    first = cnp.concatenate([cnp.ones(1, bool), x[1:] != x[:-1]])
    # Several NaN are one run, at the end.
    first = first & ~(is_nan & cnp.concatenate([cnp.zeros(1, bool), is_nan[:-1]]))
    begin = cummax(cnp.where(first, positions, 0))
    lengths = positions - begin + 1
    lengths = cnp.where(is_nan, 0, lengths) if policy == "omit" else lengths
    chosen = cnp.argmax(lengths)
    return x[chosen], lengths[chosen]


@standard_promotion
def rankdata(
    a: ArrayLike,
    method: Ties = "average",
    *,
    axis: int | None = None,
    nan_policy: NanPolicy = "propagate",
) -> Array:
    """The rank of each element along an axis, from 1 for the least on.

    Args:
      a: numbers. axis: None for all elements, which are flattened.
      method: the rank of equal elements: the ``"average"``, ``"min"`` or ``"max"`` of
        their positions in order; ``"dense"``, the number of lesser values and 1; or
        ``"ordinal"``, their position in order of occurrence.
      nan_policy: with NaN among the elements all ranks are NaN; ``"omit"`` ranks the
        others, and NaN are NaN.

    Returns:
      Floating-point ranks of the shape of ``a``.

    Raises:
      ArgumentError: an unknown method or policy.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import rankdata
    >>> print(rankdata(cnp.array([0, 2, 3, 2])))
    [1.  2.5 4.  2.5]
    """
    x, axis_ = _flat("rankdata", a, axis, nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ArgumentError(
            "rankdata: method must be 'average', 'min', 'max', 'dense' or 'ordinal', "
            f"but got {method!r}."
        )
    dtype = dtypes.default_float(cnp.zeros(()).dtype.itemsize == 8)
    if not x.size:
        return cnp.zeros(x.shape, dtype)
    moved = cnp.moveaxis(x, axis_, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    ranks = vmap(lambda row: _ranks(row, method).astype(dtype))(rows)
    is_nan = cnp.isnan(rows)
    lost = cnp.any(is_nan, -1, keepdims=True) if nan_policy == "propagate" else is_nan
    ranks = cnp.where(lost, np.nan, ranks).reshape(moved.shape)
    return cnp.moveaxis(ranks, -1, axis_)


def _ranks(row: Array, method: str) -> Array:
    """The ranks of a vector; NaN are last."""
    order = cnp.argsort(row)
    positions = cnp.arange(row.size)
    back = cnp.zeros_like(order).at[order].set(positions, unique_indices=True)
    if method == "ordinal":
        return back + 1
    x = row[order]
    first = cnp.concatenate([cnp.ones(1, bool), x[1:] != x[:-1]])
    dense = cnp.cumsum(first)
    if method == "dense":
        return dense[back]
    lowest = cummax(cnp.where(first, positions, 0))
    last = cnp.concatenate([first[1:], cnp.ones(1, bool)])
    ends = cnp.where(last, positions, row.size - 1)
    highest = cummin(ends, reverse=True)
    if method == "min":
        return lowest[back] + 1
    if method == "max":
        return highest[back] + 1
    return 0.5 * (lowest + highest)[back] + 1


@standard_promotion
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: NanPolicy = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The standard error of the mean along an axis: the standard deviation / √n.

    Args:
      axis: None for all elements.
      ddof: the sum of squares is divided by n − ddof.
      nan_policy: with NaN among the elements the result is NaN; ``"omit"`` leaves them
        out.

    Raises:
      ArgumentError: an unknown policy.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import sem
    >>> round(float(sem(cnp.array([1.0, 2.0, 4.0]))), 4)
    0.8819
    """
    x, axis_ = _flat("sem", inexact("sem", a), axis, nan_policy)
    if nan_policy == "omit":
        count = cnp.sum(~cnp.isnan(x), axis_, keepdims=True).astype(x.dtype)
        deviation = cnp.nanstd(x, axis_, ddof=ddof, keepdims=True)
    else:
        count = cnp.asarray(x.shape[axis_], x.dtype)
        deviation = cnp.std(x, axis_, ddof=ddof, keepdims=True)
    found = deviation / cnp.sqrt(count)
    if not keepdims:
        return cnp.squeeze(found, axis_)
    return found.reshape((1,) * cnp.ndim(a)) if axis is None else found
