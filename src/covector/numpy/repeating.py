"""Repetition of arrays: ``tile`` and ``repeat``."""

import operator
from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.host_values import plain
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.errors import (
    ArgumentError,
    ConcretizationTypeError,
    DTypeError,
    TypeMismatch,
)
from covector.numpy.axes import (
    as_count,
    canonical_axis,
    canonical_shape,
    with_out_sharding,
)
from covector.numpy.cumulative import cumsum
from covector.numpy.indexing_take import take
from covector.numpy.promote import broadcast_to
from covector.numpy.reshaping import ravel, reshape
from covector.numpy.searching import searchsorted
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.creation import Iota

__all__ = ["repeat", "tile"]


def tile(A: Any, reps: Any) -> Array:
    """``A`` as a whole repeated ``reps[k]`` times along axis k.

    If ``A`` has fewer axes than ``reps``, or the other way round, the shorter gets ones
    in front.

    Args:
      A: an array or a number.
      reps: a count, or one for each axis; known under ``jit``.

    Returns:
      An array whose lengths are those of ``A`` times ``reps``.

    Raises:
      ArgumentError: a count is negative.
      TracerIntegerConversionError: a count is traced.

    >>> import covector.numpy as cnp
    >>> cnp.tile(cnp.array([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]

    See also: ``repeat`` (each element), ``broadcast_to``.
    """
    x = as_array(A, "tile")
    counts = canonical_shape("tile", reps, "reps")
    ndim = max(len(counts), x.type.ndim)
    counts = (1,) * (ndim - len(counts)) + counts
    lengths = (1,) * (ndim - x.type.ndim) + x.type.shape
    if min(counts, default=0) < 0:
        raise ArgumentError(f"tile needs counts that are not negative, but got {reps}.")
    if set(counts) <= {1}:
        return reshape(x, lengths)
    pairs = tuple([n for pair in zip(counts, lengths, strict=True) for n in pair])
    positions = tuple([2 * k + 1 for k in range(ndim - x.type.ndim, ndim)])
    shape = tuple([m * n for m, n in zip(counts, lengths, strict=True)])
    return reshape(BroadcastInDim(pairs, positions)(x), shape)


def repeat(
    a: ArrayLike | None,
    repeats: ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """``a`` with each element repeated in place.

    Args:
      repeats: how often each; an integer, or one for each position along ``axis``.
      axis: None repeats the elements of ``a`` raveled.
      total_repeat_length: the length of the result along ``axis``, which is needed
        where ``repeats`` is traced. What is more is cut off; if the repeats are fewer,
        the last index is repeated.
      out_sharding: where the result is to be.

    Returns:
      An array of the dtype of ``a``.

    Raises:
      ConcretizationTypeError: ``repeats`` is traced, and there is no
        ``total_repeat_length``.

    >>> import covector.numpy as cnp
    >>> print(cnp.repeat(cnp.array([7, 8, 9]), cnp.array([2, 0, 1])))
    [7 7 9]

    See also: ``tile`` (the whole array), ``broadcast_to``.
    """
    x = as_array(a, "repeat")
    if axis is None:
        x, axis = ravel(x), 0
    elif not x.type.ndim:
        x = reshape(x, (1,))
    k = canonical_axis("repeat", axis, x.type.ndim)
    if total_repeat_length is not None:
        total_repeat_length = as_count(
            "repeat", total_repeat_length, "total_repeat_length"
        )
    return with_out_sharding(_repeat(x, repeats, k, total_repeat_length), out_sharding)


def _repeat(x: Value, repeats: ArrayLike, k: int, total_repeat_length: Any) -> Array:
    """``x`` with its parts along axis k repeated."""
    n = x.type.shape[k]
    if isinstance(repeats, Tracer):
        return _repeat_traced(x, repeats, k, total_repeat_length)
    if isinstance(repeats, int) and total_repeat_length is None:
        return _repeat_evenly(x, repeats, k)  # also where it is a symbolic size
    counts = plain(repeats)
    if not counts.size:
        counts = counts.astype(np.int32)  # of an empty list nothing says what it holds
    if counts.dtype.kind not in "biu":
        raise DTypeError(
            f"repeat needs integers for `repeats`, but got {as_array(counts).type}."
        )
    if counts.size == 1 and total_repeat_length is None:
        return _repeat_evenly(x, operator.index(counts.ravel()[0]), k)
    if counts.shape not in ((), (1,), (n,)) or counts.min(initial=0) < 0:
        raise _wrong_counts(x.type, k, counts.shape)
    positions = np.repeat(np.arange(n, dtype=np.int32), counts)
    if total_repeat_length is not None:
        missing = max(0, total_repeat_length - positions.size)
        positions = np.pad(
            positions[:total_repeat_length], (0, missing), constant_values=n - 1
        )
    return take(x, positions, k, mode="clip")


def _repeat_evenly(x: Value, count: int, axis: int) -> Array:
    if count < 0:
        raise ArgumentError(
            f"repeat needs a count that is not negative, but got {count}."
        )
    shape = x.type.shape
    before, n, after = shape[:axis], shape[axis], shape[axis + 1 :]
    positions = tuple([k + (k > axis) for k in range(x.type.ndim)])
    repeated = BroadcastInDim((*before, n, count, *after), positions)(x)
    return reshape(repeated, (*before, n * count, *after))


def _repeat_traced(x: Value, repeats: Any, axis: int, total: Any) -> Any:
    """Index k of the result is where the running sum of the repeats first exceeds k."""
    n = x.type.shape[axis]
    if total is None:
        raise ConcretizationTypeError(
            f"repeat of {x.type} by traced counts ({repeats.type}): the length of the "
            f"result, which is a shape, is not known. {repeats.origin()} Say it with "
            "total_repeat_length."
        )
    if repeats.type.shape not in ((), (1,), (n,)):
        raise _wrong_counts(x.type, axis, repeats.type.shape)
    counts = broadcast_to(repeats, (n,))
    index = Iota(dtypes.default_int(options.current().enable_x64), (total,), 0)()
    positions = searchsorted(cumsum(counts), index, side="right")
    return take(x, positions, axis, mode="clip")


def _wrong_counts(type_: ArrayType, axis: int, shape: tuple[int, ...]) -> TypeMismatch:
    return TypeMismatch(
        f"repeat of {type_} along axis {axis} needs counts, none negative, of shape () "
        f"or ({type_.shape[axis]},), but got {shape}."
    )
