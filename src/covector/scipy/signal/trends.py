"""Trends of signals, and signals without them."""

import itertools
from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike, Value
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.errors import ArgumentError
from covector.numpy.axes import canonical_axis, canonical_shape, known_length
from covector.numpy.axis_order import moveaxis
from covector.numpy.concatenation import concatenate
from covector.numpy.promote import inexact
from covector.numpy.reductions import sum
from covector.numpy.statistics import mean

__all__ = ["detrend"]


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: Any = 0,
    overwrite_data: None = None,
) -> Array:
    """``data`` without its trend along ``axis``: of mean 0, and without slope.

    Args:
      type: ``"linear"``: the line of least squares is taken off; ``"constant"``: the
        mean.
      bp: positions between 0 and the length, at which another line begins.
      overwrite_data: for SciPy's sake: arrays are never written to.

    Raises:
      ArgumentError: there is no such type, or a position is not in the signal.

    >>> import covector.numpy as cnp
    >>> print(detrend(cnp.array([1.0, 4.0, 8.0, 8.0, 9.0])).round(3))
    [-1.  0.  2.  0. -1.]
    """
    x = inexact("detrend", data)
    axis = canonical_axis("detrend", axis, x.type.ndim)
    if type not in ("linear", "constant"):
        raise ArgumentError(
            f"detrend: type must be 'linear' or 'constant', but got {type!r}."
        )
    if overwrite_data is not None:
        raise ArgumentError("detrend cannot overwrite: arrays are never written to.")
    if type == "constant":
        return x - mean(x, axis, keepdims=True)
    x = moveaxis(x, axis, -1)
    n = x.type.shape[-1]
    breaks = canonical_shape("detrend", bp, "bp")
    if breaks and not 0 <= min(breaks) <= max(breaks) <= n:
        raise ArgumentError(
            f"detrend needs break points from 0 to {n}, the length of {x.type} along "
            f"the axis, but got {bp}."
        )
    ends = sorted({0, n, *breaks})
    parts = [_without_line(x[..., i:j]) for i, j in itertools.pairwise(ends)]
    return moveaxis(concatenate(parts, -1) if parts else x, -1, axis)


def _without_line(x: Value) -> Array:
    """Segments, along the last axis, without their lines of least squares."""
    n = known_length("detrend", x.type.shape[-1])
    x = x - mean(x, -1, keepdims=True)
    t = np.arange(n) - (n - 1) / 2
    t /= np.sqrt(t @ t) or 1.0  # of norm 1, or of one element 0
    t = from_host(t.astype(x.type.dtype))
    return x - sum(x * t, -1, keepdims=True) * t
