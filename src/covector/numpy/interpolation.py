"""Linear interpolation, and unwrapping of angles."""

import math
from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, AxisError, DTypeError, TypeMismatch
from covector.numpy.arithmetic import remainder
from covector.numpy.axes import canonical_axis
from covector.numpy.concatenation import concatenate
from covector.numpy.cumulative import cumsum
from covector.numpy.minmax import clip
from covector.numpy.promote import promote_dtypes, promote_dtypes_inexact
from covector.numpy.searching import searchsorted
from covector.numpy.selection import where
from covector.numpy.sorting import argsort
from covector.numpy.xp_function import XpArray
from covector.operations.broadcasting import move_axis

__all__ = ["interp", "unwrap"]


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """The value at ``x`` of the line through the points (xp, fp).

    Args:
      x: where to evaluate; any shape.
      xp: ``[n]``, in increasing order, unless there is a period.
      fp: ``[n]``, real or complex.
      left, right: the value before the first and after the last point, by default
        theirs; "extrapolate" goes on along the first and last line.
      period: xp and x are angles: what differs by a period is the same.

    Raises:
      TypeMismatch: xp and fp are not vectors of one length.
      ArgumentError: ``left`` or ``right`` is another string.
      DTypeError: x, xp or the period is complex.

    >>> import covector.numpy as cnp
    >>> print(interp(cnp.array([0.5, 9.0]), cnp.arange(3), cnp.array([0.0, 10.0, 0.0])))
    [5. 0.]
    """
    xp, fp = as_array(xp, "interp"), as_array(fp, "interp")
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise TypeMismatch(
            "interp needs points as two vectors of one length, but got "
            f"{xp.type} and {fp.type}."
        )
    x, xp = promote_dtypes_inexact("interp", x, xp)
    (fp,) = promote_dtypes_inexact("interp", fp)
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(
            f"interp needs real coordinates, but got {x.type} and {xp.type}."
        )
    if period is not None:
        x, xp, fp = _unrolled(x, xp, fp, period)
        left = right = None
    return _on_lines(x, xp, fp, left, right)


def _unrolled(x: Value, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Indices within one period, in order, with a point of its neighbours on both
    sides.
    """
    period = abs(as_array(period, "interp"))
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])


def _on_lines(x: XpArray, xp: XpArray, fp: XpArray, left: Any, right: Any) -> Array:
    n = xp.shape[0]
    last = max(n - 1, 1) if type(n) is int else n - 1  # symbolic: the others decide
    i = clip(clip(searchsorted(xp, x, side="right"), max=last), 1)
    before, after = i - 1, clip(i, max=n - 1)
    width = xp[after] - xp[before]
    # Two points in one index make a jump: the second counts, and nothing is divided by
    # 0.
    jump = width == 0
    share = (x - xp[before]) / where(jump, 1, width)
    out = where(jump, fp[after], fp[before] + share * (fp[after] - fp[before]))
    for name, value, outside, nearest in (
        ("left", left, x < xp[0], fp[0]),
        ("right", right, x > xp[-1], fp[-1]),
    ):
        if isinstance(value, str):
            if value != "extrapolate":
                raise ArgumentError(
                    f"interp: {name} must be a number or 'extrapolate', but got "
                    f"{value!r}."
                )
            continue
        out = where(outside, nearest if value is None else value, out)
    return out


def unwrap(
    p: ArrayLike, discont: Any = None, axis: int = -1, period: ArrayLike = 2 * math.pi
) -> Array:
    """Angles whose jumps by more than half a period are taken back by whole periods.

    Args:
      discont: the smallest jump that is taken back, if larger than half a period.
      axis: along which the angles follow each other.
      period: an integer keeps integers what they are.

    Raises:
      DTypeError: ``p`` is complex.

    >>> import covector.numpy as cnp
    >>> print(unwrap(cnp.array([0, 3, 6, 1, 4]), period=8))
    [ 0  3  6  9 12]
    """
    x = as_array(p, "unwrap")
    if x.ndim == 0:
        raise AxisError(f"unwrap needs an axis to go along, but got {x.type}.")
    x, period = promote_dtypes("unwrap", x, period)
    if dtypes.is_complex(x.type.dtype):
        raise DTypeError(f"unwrap needs real angles, but got {x.type}.")
    axis = canonical_axis("unwrap", axis, x.ndim)
    x = move_axis(x, axis, 0)
    step = x[1:] - x[:-1]
    whole = dtypes.is_integer(x.type.dtype)
    half = period // 2 if whole else period / 2
    # The same step within half a period; of the two ways round, that of the step's
    # sign.
    short = remainder(step + half, period) - half
    short = where((short == -half) & (step > 0) & (half + half == period), half, short)
    small = 2 * abs(step) < period if discont is None else abs(step) < discont
    change = where(small, 0, short - step)
    out = concatenate([x[:1], x[1:] + cumsum(change, 0, x.type.dtype)])
    return move_axis(out, 0, axis)
