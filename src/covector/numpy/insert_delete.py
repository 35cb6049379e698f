"""Insertion, deletion and trimming of parts of arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.host_values import plain
from covector.core.trace import Tracer
from covector.errors import (
    ArgumentError,
    AxisError,
    ConcretizationTypeError,
    InvalidIndex,
)
from covector.numpy.axes import canonical_axes, canonical_axis
from covector.numpy.axis_order import moveaxis
from covector.numpy.concatenation import concatenate
from covector.numpy.indexing import counted, index
from covector.numpy.indexing_take import take
from covector.numpy.promote import broadcast_to
from covector.numpy.reshaping import ravel, reshape
from covector.numpy.searching import searchsorted
from covector.numpy.sorting import argsort, sort
from covector.operations.arithmetic import add, sub
from covector.operations.bitwise import and_
from covector.operations.casting import convert, in_dtype
from covector.operations.comparison import eq, ge
from covector.operations.creation import Iota
from covector.operations.extrema import clamp
from covector.operations.selection import where

__all__ = ["delete", "insert", "trim_zeros"]


def delete(
    arr: ArrayLike,
    obj: int | slice | Sequence[int] | ArrayLike,
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """``arr`` without the parts at ``obj`` along ``axis``; None: of ``arr`` raveled.

    Args:
      obj: an integer, a slice, integers, or a mask. A single integer may be traced.
      assume_unique_indices: whether no index occurs twice in ``obj``; then integers may
        be traced, for the length of the result is known.

    >>> import covector.numpy as cnp
    >>> print(cnp.delete(cnp.array([5, 6, 7]), 1))
    [5 7]
    """
    x = as_array(arr, "delete")
    if axis is None:
        x, axis = ravel(x), 0
    k = canonical_axis("delete", axis, x.type.ndim)
    n = x.type.shape[k]
    if type(n) is not int and not isinstance(obj, slice):  # a symbolic size
        obj = as_array(obj, "delete")
    if isinstance(obj, Tracer) or (type(n) is not int and isinstance(obj, Array)):
        return _delete_traced(x, obj, k, assume_unique_indices)
    if isinstance(obj, slice):
        gone = np.arange(n)[obj]
    else:
        gone = plain(obj)
        if gone.dtype == np.bool_ and gone.shape != (n,):
            raise InvalidIndex(
                f"delete from {x.type} along axis {k} needs a mask of shape ({n},), "
                f"but got {gone.shape}."
            )
        if gone.dtype != np.bool_:
            gone = _positions("delete", gone, x.type, k)
    keep = np.ones(n, bool)
    keep[gone] = False
    return _kept(x, keep, k)


def _kept(x: Value, keep: np.ndarray, axis: int) -> Array:
    """The parts for which a known mask holds."""
    return index(x, (*(slice(None),) * axis, keep))


def _positions(who: str, given: np.ndarray, type_: Any, axis: int) -> np.ndarray:
    """Known indices inside an axis, or an error."""
    n = type_.shape[axis]
    if given.dtype.kind not in "iu" and given.size:
        raise InvalidIndex(
            f"{who} needs integers, a slice or a mask, but got {given.dtype} values."
        )
    if given.size and not -n <= given.min() <= given.max() < n:
        raise AxisError(
            f"{who}: {type_} has no index "
            f"{given.max() if given.max() >= n else given.min()} along axis {axis}, "
            f"whose length is {n}."
        )
    return given.astype(np.int64)


def _delete_traced(x: Value, obj: Any, axis: int, unique: bool) -> Any:
    """Deletion at traced indices, as many as ``obj`` has elements.

    A part moves on by one for each index deleted up to it: index k of the result is k
    plus the number of deleted indices p, ascending, with p − (how many before it) ≤ k.
    """
    n, count = x.type.shape[axis], obj.type.size
    if dtypes.is_bool(obj.type.dtype) or not (unique or obj.type.ndim == 0):
        raise ConcretizationTypeError(
            f"delete of traced indices ({obj.type}): how many differ, "
            f"and so the length of the result, is not known. {obj.origin()} If no "
            "index occurs twice, say so with assume_unique_indices=True."
        )
    gone = sort(counted(ravel(obj), n))
    left = Iota(gone.type.dtype, (max(n - count, 0),), 0)()
    shifted = gone - Iota(gone.type.dtype, (count,), 0)()
    before = searchsorted(shifted, left, "right")
    return take(x, add(left, convert(before, left.type.dtype)), axis, mode="clip")


def insert(
    arr: ArrayLike,
    obj: int | slice | Sequence[int] | ArrayLike,
    values: ArrayLike,
    axis: int | None = None,
) -> Array:
    """``arr`` with values put before the indices ``obj`` along ``axis``; None: raveled.

    Args:
      obj: an integer, integers, or a slice; may be traced. A traced index that is
        outside counts as the nearest one.
      values: broadcast to the parts that are put in, and take the element type of
        ``arr``.

    >>> import covector.numpy as cnp
    >>> print(cnp.insert(cnp.array([5, 6, 7]), cnp.array([0, 2]), 1))
    [1 5 6 1 7]
    """
    x = as_array(arr, "insert")
    if axis is None:
        x, axis = ravel(x), 0
    k = canonical_axis("insert", axis, x.type.ndim)
    n, ndim = x.type.shape[k], x.type.ndim
    positions = _insertion_positions(obj, n)
    if not positions.type.size:
        return x
    new = in_dtype(values, x.type.dtype, "insert")
    new = reshape(new, (1,) * (ndim - new.type.ndim) + new.type.shape)
    if positions.type.ndim == 0:
        new = moveaxis(new, 0, k)
    single = positions.type.size == 1
    count = new.type.shape[k] if single else positions.type.size
    new = broadcast_to(new, (*x.type.shape[:k], count, *x.type.shape[k + 1 :]))
    if single and not isinstance(positions, Tracer):
        position = (*(slice(None),) * k, slice(int(ravel(positions)[0])))
        rest = (*position[:-1], slice(position[-1].stop, None))
        return concatenate([index(x, position), new, index(x, rest)], k)
    positions = ravel(positions)
    if not single:
        order = argsort(positions)
        positions, new = (
            take(positions, order, mode="clip"),
            take(new, order, k, mode="clip"),
        )
    final = add(
        broadcast_to(positions, (count,)), Iota(positions.type.dtype, (count,), 0)()
    )
    return _merged(x, new, final, k)


def _insertion_positions(obj: Any, n: int) -> Any:
    """Indices from 0 to ``n``, before which something is put in."""
    if isinstance(obj, slice):
        obj = np.arange(n, dtype=np.int32)[obj]
    given = obj if isinstance(obj, Array) else as_array(plain(obj))
    if not dtypes.is_integer(given.type.dtype):
        raise InvalidIndex(f"insert needs integers or a slice, but got {given.type}.")
    if not isinstance(given, Tracer):
        known = np.asarray(given)
        if known.size and not (-n <= known.min() and known.max() <= n):
            raise InvalidIndex(
                f"insert takes indices from {-n} to {n} along an axis of this length, "
                f"but got {known.tolist()}."
            )
    positions = counted(given, n)
    low, high = [scalar(b, positions.type.dtype) for b in (0, n)]
    return clamp(low, positions, high)


def _merged(x: Value, new: Value, final: Value, axis: int) -> Array:
    """``x`` with new parts, which come to stand at ascending final indices."""
    n, count, dtype = x.type.shape[axis], new.type.shape[axis], final.type.dtype
    out = Iota(dtype, (n + count,), 0)()
    put_in = convert(searchsorted(final, out, "right"), dtype)
    last = sub(put_in, scalar(1, dtype))
    is_new = eq(take(final, last, mode="clip"), out)
    is_new = and_(is_new, ge(last, scalar(0, dtype)))
    source = where(is_new, add(last, scalar(n, dtype)), sub(out, put_in))
    return take(concatenate([x, new], axis), source, axis, mode="clip")


def trim_zeros(filt: Any, trim: str = "fb", axis: Axes = None) -> Array:
    """``filt`` without the zeros before the first and after the last other element.

    Args:
      trim: ``"f"`` trims the front, ``"b"`` the back, ``"fb"`` both.
      axis: along which axes parts that are all zero are trimmed; None: all.

    Raises:
      ConcretizationTypeError: ``filt`` is traced: the length of the result is not
        known.

    >>> import covector.numpy as cnp
    >>> print(cnp.trim_zeros(cnp.array([0, 0, 5, 0, 7, 0])))
    [5 0 7]
    """
    x = as_array(filt, "trim_zeros")
    if trim.lower() not in ("f", "b", "fb", "bf"):
        raise ArgumentError(
            f"trim_zeros: trim must be 'f', 'b' or 'fb', but got {trim!r}."
        )
    axes = canonical_axes("trim_zeros", axis, x.type.ndim)
    known = convert(x, dtypes.bool_)
    if isinstance(known, Tracer):
        raise ConcretizationTypeError(
            f"trim_zeros of a traced array ({x.type}): how much is zero, and so the "
            f"length of the result, is not known. {known.origin()} To mark the rest, "
            "use a mask."
        )
    mask = np.asarray(known)
    cut = [slice(None)] * x.type.ndim
    for k in axes:
        used = np.flatnonzero(mask.any(tuple([a for a in range(mask.ndim) if a != k])))
        start = used[0] if len(used) else mask.shape[k]
        stop = used[-1] + 1 if len(used) else 0
        front, back = "f" in trim.lower(), "b" in trim.lower()
        cut[k] = slice(int(start) if front else 0, int(stop) if back else mask.shape[k])
    return index(x, tuple(cut))
