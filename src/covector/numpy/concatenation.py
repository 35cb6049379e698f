"""Concatenation and stacking of arrays, and assembly from blocks.

All functions promote to one element type. Where one array is given in place of a list
of arrays, it counts as the list of its parts along the first axis, and none are taken
apart.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike, Axes, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.types import Shape, show_types
from covector.errors import ArgumentError, TypeMismatch
from covector.numpy.axes import canonical_axis, check_no_out
from covector.numpy.promote import promote_dtypes
from covector.numpy.reshaping import (
    in_one_axis,
    in_three_axes,
    in_two_axes,
    ravel,
    reshape,
)
from covector.numpy.splitting import unstack
from covector.operations.broadcasting import move_axis
from covector.operations.casting import convert
from covector.operations.joining import Concatenate, Stack

__all__ = [
    "append",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dstack",
    "hstack",
    "stack",
    "vstack",
]


def concatenate(
    arrays: Sequence[ArrayLike] | ArrayLike,
    axis: Axes = 0,
    dtype: DTypeLike | None = None,
) -> Array:
    """The arrays joined end to end along ``axis``, which all of them have already.

    To join along a new axis use ``stack``. Each call copies everything: in a loop,
    collect the parts in a list and join them once.

    Args:
      arrays: a sequence of arrays with the same number of axes, at least one, and the
        same lengths along all axes but ``axis``; or one array, whose first axis is the
        sequence.
      axis: an axis, or None to ravel each array first.
      dtype: of the result; by default the one that all promote to.

    Returns:
      One array, of ``dtype``; along ``axis`` as long as all together.

    Raises:
      TypeMismatch: the shapes do not fit.
      ArgumentError: there is no array.

    >>> import covector.numpy as cnp
    >>> cnp.concatenate([cnp.ones((1, 2)), cnp.zeros((2, 2))]).shape
    (3, 2)

    See also: ``stack``, ``hstack``, ``vstack``, ``append``.
    """
    if isinstance(arrays, Array | np.ndarray):
        return _merge(_as_dtype(as_array(arrays, "concatenate"), dtype), axis)
    parts = _parts("concatenate", arrays, dtype)
    if axis is None:
        parts, axis = [ravel(x) for x in parts], 0
    ndim = parts[0].type.ndim
    if ndim == 0 or any(x.type.ndim != ndim for x in parts):
        raise TypeMismatch(
            "concatenate needs arrays with the same number of axes, at least one, but "
            f"got {show_types(x.type for x in parts)}. To join along a new axis, use "
            "stack."
        )
    k = canonical_axis("concatenate", axis, ndim)
    return parts[0] if len(parts) == 1 else Concatenate(k)(*parts)


def concat(
    arrays: Sequence[ArrayLike] | ArrayLike, /, *, axis: int | None = 0
) -> Array:
    """``concatenate`` by its standard name.

    >>> import covector.numpy as cnp
    >>> cnp.concat([cnp.arange(2), cnp.arange(3)]).tolist()
    [0, 1, 0, 1, 2]
    """
    return concatenate(arrays, axis)


def _parts(who: str, arrays: Any, dtype: DTypeLike | None = None) -> Sequence[Array]:
    """The arrays of a list, at least one, in one element type."""
    if not isinstance(arrays, Sequence):
        raise ArgumentError(
            f"{who} needs a list or tuple of arrays, but got {type(arrays).__name__}."
        )
    if not arrays:
        raise ArgumentError(f"{who} needs at least one array, but got none.")
    if dtype is not None:
        return [_as_dtype(as_array(a, who), dtype) for a in arrays]
    return promote_dtypes(who, *arrays)


def _as_dtype(x: Value, dtype: DTypeLike | None) -> Any:
    return x if dtype is None else convert(x, asked_dtype(dtype))


def _merge(x: Value, axis: Axes) -> Any:
    """The parts of ``x`` along its first axis, one after the other along ``axis``."""
    if axis is None:
        return ravel(x)
    if x.type.ndim < 2:
        raise TypeMismatch(
            f"concatenate needs arrays with at least one axis, but got the scalars in "
            f"{x.type}, which is such an array already."
        )
    k = canonical_axis("concatenate", axis, x.type.ndim - 1)
    moved = move_axis(x, 0, k)
    shape = moved.type.shape
    return reshape(moved, (*shape[:k], shape[k] * shape[k + 1], *shape[k + 2 :]))


def stack(
    arrays: Sequence[ArrayLike] | ArrayLike,
    axis: int = 0,
    out: None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """The arrays, all of one shape, joined along a new axis.

    n arrays ``[2, 3]`` give ``[n, 2, 3]`` for ``axis=0`` and ``[2, 3, n]`` for
    ``axis=-1``. To join along an axis that the arrays have, use ``concatenate``.

    Args:
      arrays: a sequence of arrays, or one array, whose first axis is the sequence.
      axis: where the new axis is in the result.
      out: must be None.
      dtype: of the result; by default the one that all promote to.

    Returns:
      One array, of ``dtype``, with one axis more than each of them.

    Raises:
      TypeMismatch: the shapes differ.
      ArgumentError: there is no array.

    >>> import covector.numpy as cnp
    >>> cnp.stack([cnp.array([1, 2]), cnp.array([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]

    See also: ``concatenate``, ``unstack``, ``expand_dims``.
    """
    check_no_out("stack", out)
    if isinstance(arrays, Array | np.ndarray):
        x = _as_dtype(as_array(arrays, "stack"), dtype)
        return move_axis(x, 0, canonical_axis("stack", axis, x.type.ndim))
    parts = _parts("stack", arrays, dtype)
    if len({x.type.shape for x in parts}) > 1:
        raise TypeMismatch(
            "stack needs arrays of one shape, but got "
            f"{show_types(x.type for x in parts)}. To join along an axis that they "
            "have, use concatenate."
        )
    return Stack(canonical_axis("stack", axis, parts[0].type.ndim + 1))(*parts)


def vstack(
    tup: Sequence[ArrayLike] | ArrayLike, dtype: DTypeLike | None = None
) -> Array:
    """The arrays below one another, joined along the first axis; vectors count as rows.

    Raises:
      TypeMismatch: the shapes do not fit.
      ArgumentError: there is no array.

    >>> import covector.numpy as cnp
    >>> cnp.vstack([cnp.arange(2), cnp.ones((2, 2))]).shape
    (3, 2)

    See also: ``hstack``, ``stack``, ``concatenate``.
    """
    return concatenate(_formed("vstack", tup, in_two_axes), 0, dtype)


def hstack(
    tup: Sequence[ArrayLike] | ArrayLike, dtype: DTypeLike | None = None
) -> Array:
    """The arrays side by side: joined along the second axis, or vectors end to end.

    Numbers count as arrays ``[1]``.

    Args:
      tup: a sequence of arrays, which agree along all axes but that one.
      dtype: of the result; by default the one that all promote to.

    Returns:
      One array, with the axes that the arrays have.

    Raises:
      TypeMismatch: the shapes do not fit.
      ArgumentError: there is no array.

    >>> import covector.numpy as cnp
    >>> cnp.hstack([cnp.arange(2), cnp.arange(3)]).shape
    (5,)
    >>> cnp.hstack([cnp.ones((2, 3)), cnp.ones((2, 1))]).shape
    (2, 4)

    See also: ``vstack``, ``concatenate``, ``column_stack``.
    """
    parts = _formed("hstack", tup, in_one_axis)
    dims = [parts.ndim - 1] if isinstance(parts, Array) else [x.ndim for x in parts]
    return concatenate(parts, 0 if dims[:1] == [1] else 1, dtype)


def dstack(
    tup: Sequence[ArrayLike] | ArrayLike, dtype: DTypeLike | None = None
) -> Array:
    """The arrays behind one another, along their third axis.

    >>> import covector.numpy as cnp
    >>> cnp.dstack([cnp.arange(2), cnp.arange(2)]).shape
    (1, 2, 2)
    """
    return concatenate(_formed("dstack", tup, in_three_axes), 2, dtype)


def column_stack(tup: Sequence[ArrayLike] | ArrayLike) -> Array:
    """The arrays as columns of a matrix; those with two axes contribute several.

    >>> import covector.numpy as cnp
    >>> cnp.column_stack([cnp.arange(3), cnp.ones((3, 2))]).shape
    (3, 3)
    """
    return concatenate(_formed("column_stack", tup, _as_columns), 1)


def _as_columns(shape: Shape) -> Shape:
    return shape if len(shape) > 1 else (*in_one_axis(shape), 1)


def _formed(
    who: str, arrays: Any, form: Callable[[Shape], Shape]
) -> Sequence[Array] | Array:
    """The arrays of a list, or one array whose parts along its first axis they are,
    each in another shape of as many elements.
    """
    if isinstance(arrays, Array | np.ndarray) and np.ndim(arrays):
        x = as_array(arrays, who)
        return reshape(x, (x.type.shape[0], *form(x.type.shape[1:])))
    if isinstance(arrays, Array | np.ndarray):
        arrays = unstack(arrays)
    parts = [as_array(x, who) for x in arrays]
    return [reshape(x, form(x.type.shape)) for x in parts]


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """A copy of ``arr`` with ``values`` after its end.

    Arrays do not grow in place: a loop that appends copies everything each time, and
    under ``jit`` compiles for each length. Collect the parts in a list and
    ``concatenate`` them once, or fill an array of the final length with
    ``x.at[i].set(value)``.

    Args:
      arr, values: arrays with the same number of axes, which agree along all but
        ``axis``.
      axis: an axis, or None to ravel both first.

    Returns:
      A new array, of the dtype to which both promote.

    Raises:
      TypeMismatch: the shapes do not fit.

    >>> import covector.numpy as cnp
    >>> cnp.append(cnp.arange(2), 7).tolist()
    [0, 1, 7]

    See also: ``concatenate``, ``stack``, ``insert``.
    """
    return concatenate(promote_dtypes("append", arr, values), axis)


# -- blocks ----------------------------------------------------------------------------


def block(arrays: Sequence[ArrayLike] | ArrayLike) -> Array:
    """An array assembled from nested lists of blocks.

    The innermost lists are joined along the last axis, those around them along the one
    before, and so on. Blocks with fewer axes than needed get new ones in front.

    Raises:
      ArgumentError: a list is empty, the lists are not equally deep, or a tuple is
        among them.

    >>> import covector.numpy as cnp
    >>> cnp.block([[cnp.eye(2), cnp.zeros((2, 1))], [cnp.ones((1, 3))]]).shape
    (3, 3)
    """
    depth = _depth(arrays)
    ndim = max(depth, *[x.ndim for x in _leaves(arrays)])
    return _assemble(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    """The nesting depth of the lists, the same everywhere."""
    if isinstance(arrays, tuple):
        raise ArgumentError(
            "block takes blocks in nested lists, not tuples, but got the tuple "
            f"{arrays!r}."
        )
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(a) for a in arrays}
    if len(depths) != 1:
        found = f"depths {sorted(depths)}" if depths else "an empty list"
        raise ArgumentError(
            "block needs lists that are nested equally deep and not empty, but got "
            f"{found}."
        )
    return depths.pop() + 1


def _leaves(arrays: Any) -> list[Array]:
    if isinstance(arrays, list):
        return [leaf for a in arrays for leaf in _leaves(a)]
    return [as_array(arrays, "block")]


def _assemble(arrays: Any, depth: int, ndim: int) -> Array:
    if isinstance(arrays, list):
        return concatenate(
            [_assemble(a, depth - 1, ndim) for a in arrays], ndim - depth
        )
    x = as_array(arrays, "block")
    return reshape(x, (1,) * (ndim - x.ndim) + x.shape)
