"""Slicing, updating and padding, at static or traced indices.

Functions that end in ``_in_dim`` do it along one axis. Traced indices count from the
end where they are negative (unless ``allow_negative_indices`` is False), and a window
that would reach over the edge is moved inside.
"""

from collections.abc import Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.types import ArrayType
from covector.errors import DTypeError, InvalidIndex, TypeMismatch, how_many
from covector.numpy.axes import as_integer, canonical_axis, canonical_shape
from covector.numpy.indexing import counted, one_dtype
from covector.operations.dynamic_slicing import DynamicSlice, DynamicUpdateSlice
from covector.operations.joining import Unstack
from covector.operations.slicing import Pad, Slice, index_axis

__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "index_in_dim",
    "pad",
    "slice",
    "slice_in_dim",
]


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Elements ``start, start + stride, …`` before ``limit`` along each axis.

    Raises:
      TypeMismatch: a start, limit or stride is missing, or reaches outside.

    >>> import covector.numpy as cnp
    >>> x = cnp.arange(12).reshape(3, 4)
    >>> slice(x, (0, 1), (3, 4), (2, 1)).tolist()
    [[1, 2, 3], [9, 10, 11]]
    """
    steps = None if strides is None else canonical_shape("slice", strides, "strides")
    starts = canonical_shape("slice", start_indices, "start_indices")
    limits = canonical_shape("slice", limit_indices, "limit_indices")
    return Slice(starts, limits, steps)(as_array(operand, "slice"))


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """``slice`` along one axis; None stands for an end, negative bounds count from it.

    Raises:
      TypeMismatch: the bounds reach outside, or are the wrong way round.

    >>> import covector.numpy as cnp
    >>> slice_in_dim(cnp.arange(6), 1, -1, 2).tolist()
    [1, 3]
    """
    x = as_array(operand, "slice_in_dim")
    axis = canonical_axis("slice_in_dim", axis, x.type.ndim)
    n = x.type.shape[axis]
    starts, limits, steps = [0] * x.type.ndim, list(x.type.shape), [1] * x.type.ndim
    starts[axis] = _from_front(start_index, n, 0)
    limits[axis] = _from_front(limit_index, n, n)
    steps[axis] = as_integer("slice_in_dim", stride, "stride")
    return Slice(tuple(starts), tuple(limits), tuple(steps))(x)


def _from_front(bound: int | None, n: int, default: int) -> int:
    k = default if bound is None else as_integer("slice_in_dim", bound, "bound")
    return k + n if k < 0 else k


def index_in_dim(
    operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True
) -> Array:
    """Element ``index`` of one axis, which stays with length 1 if ``keepdims``.

    Raises:
      InvalidIndex: there is no such element.

    >>> import covector.numpy as cnp
    >>> index_in_dim(cnp.arange(6).reshape(2, 3), -1, axis=1).tolist()
    [[2], [5]]
    """
    x = as_array(operand, "index_in_dim")
    axis = canonical_axis("index_in_dim", axis, x.type.ndim)
    n, k = x.type.shape[axis], as_integer("index_in_dim", index, "index")
    if not -n <= k < n:
        raise InvalidIndex(
            f"index_in_dim: there is no element {k} along axis {axis} of {x.type}."
        )
    k = k + n if k < 0 else k
    if keepdims:
        return slice_in_dim(x, k, k + 1, axis=axis)
    return index_axis(x.type.shape, axis, k)(x)


def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """A window of known size at an index that may be traced.

    A start at which the window would reach outside is moved so that it fits: there is
    no error, and the result always has the shape ``slice_sizes``.

    Args:
      operand: an array.
      start_indices: one integer for each axis, as a sequence or an array.
      slice_sizes: the length of the window along each axis; Python integers.
      allow_negative_indices: whether negative starts count from the end; for all axes,
        or for each.

    Returns:
      An array of the shape ``slice_sizes``.

    Raises:
      TypeMismatch: the number of starts or sizes is wrong, or the window is too large.
      DTypeError: a start is not an integer.

    >>> import covector.numpy as cnp
    >>> x = cnp.arange(12).reshape(3, 4)
    >>> dynamic_slice(x, (1, 9), (2, 2)).tolist()
    [[6, 7], [10, 11]]

    See also: ``dynamic_slice_in_dim``, ``dynamic_update_slice``, ``slice``.
    """
    x = as_array(operand, "dynamic_slice")
    starts = _starts("dynamic_slice", x.type, start_indices, allow_negative_indices)
    sizes = canonical_shape("dynamic_slice", slice_sizes, "slice_sizes")
    return DynamicSlice(sizes)(x, *starts)


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """``slice_size`` elements along one axis, from an index that may be traced.

    As with ``dynamic_slice``, a start at which they would reach outside is moved.

    Args:
      operand: an array.
      start_index: a scalar integer.
      slice_size: how many; a Python integer.
      axis: the axis; the others are taken whole.
      allow_negative_indices: whether a negative start counts from the end.

    Returns:
      An array with ``slice_size`` elements along ``axis``.

    Raises:
      TypeMismatch: the axis is shorter than ``slice_size``.
      DTypeError: the start is not an integer.

    >>> import covector.numpy as cnp
    >>> dynamic_slice_in_dim(cnp.arange(6), 2, 3).tolist()
    [2, 3, 4]

    See also: ``dynamic_slice``, ``slice_in_dim``, ``dynamic_index_in_dim``.
    """
    who = "dynamic_slice_in_dim"
    start = start_index, allow_negative_indices
    return _window_along(
        who, operand, axis, as_integer(who, slice_size, "slice_size"), start
    )


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """One element of an axis, at an index that may be traced.

    The axis stays with length 1 if ``keepdims``. An index out of range means the
    nearest element.

    >>> import covector.numpy as cnp
    >>> x = cnp.arange(6).reshape(2, 3)
    >>> dynamic_index_in_dim(x, 1, axis=1, keepdims=False).tolist()
    [1, 4]
    """
    who = "dynamic_index_in_dim"
    start = index, allow_negative_indices
    return _window_along(who, operand, axis, 1, start, collapsed=not keepdims)


def _window_along(
    who: str,
    operand: ArrayLike,
    axis: int,
    size: int,
    start: tuple[Any, bool],
    *,
    collapsed: bool = False,
) -> Array:
    """A window of one axis, which is gone where it is ``collapsed``."""
    x = as_array(operand, who)
    axis = canonical_axis(who, axis, x.type.ndim)
    sizes = list(x.type.shape)
    sizes[axis] = size
    starts = _start(who, x.type, axis, *start)
    return DynamicSlice(tuple(sizes), (axis,) if collapsed else ())(x, *starts)


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """The operand with a window replaced by ``update``, at an index that may be traced.

    A start at which the window would reach outside is moved so that it fits, as in
    ``dynamic_slice``: a write past the end overwrites the last elements.

    Args:
      operand: an array; it is not changed.
      update: of the dtype and number of axes of the operand, and not larger.
      start_indices, allow_negative_indices: as for ``dynamic_slice``.

    Returns:
      An array of the type of the operand.

    Raises:
      TypeMismatch: the update does not fit.

    >>> import covector.numpy as cnp
    >>> dynamic_update_slice(cnp.arange(5), cnp.array([8, 9]), (-2,)).tolist()
    [0, 1, 2, 8, 9]

    See also: ``dynamic_update_slice_in_dim``, ``dynamic_slice``, ``scatter``.
    """
    x = as_array(operand, "dynamic_update_slice")
    update = like(x, update, "dynamic_update_slice")
    who = "dynamic_update_slice"
    starts = _starts(who, x.type, start_indices, allow_negative_indices)
    return DynamicUpdateSlice()(x, update, *starts)


def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """The operand with a window along one axis replaced; it spans the other axes.

    >>> import covector.numpy as cnp
    >>> dynamic_update_slice_in_dim(cnp.arange(5), cnp.array([8, 9]), 1, 0).tolist()
    [0, 8, 9, 3, 4]
    """
    who = "dynamic_update_slice_in_dim"
    start = start_index, allow_negative_indices
    return _updated_along(who, operand, update, axis, start, whole=True)


def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """The operand with one element of an axis replaced.

    ``update`` has that axis with length 1, or does not have it.

    >>> import covector.numpy as cnp
    >>> x = cnp.zeros((2, 2), int)
    >>> dynamic_update_index_in_dim(x, cnp.array([8, 9]), 1, axis=1).tolist()
    [[0, 8], [0, 9]]
    """
    who = "dynamic_update_index_in_dim"
    start = index, allow_negative_indices
    return _updated_along(who, operand, update, axis, start, whole=False)


def _updated_along(
    who: str,
    operand: Any,
    update: Any,
    axis: int,
    start: tuple[Any, bool],
    *,
    whole: bool,
) -> Array:
    """An update along one axis, which, unless it is ``whole``, may lack that axis."""
    x = as_array(operand, who)
    update = like(x, update, who)
    axis = canonical_axis(who, axis, x.type.ndim)
    inserted = (axis,) if not whole and update.type.ndim < x.type.ndim else ()
    return DynamicUpdateSlice(inserted)(x, update, *_start(who, x.type, axis, *start))


def pad(
    operand: ArrayLike,
    padding_value: ArrayLike,
    padding_config: Sequence[tuple[int, int, int]],
) -> Array:
    """The operand with copies of a scalar around its elements and between them.

    Args:
      padding_value: of the dtype of the operand.
      padding_config: (low, high, interior) for each axis: how many go before, after,
        and between each two neighbours. Negative ``low`` and ``high`` cut off.

    Raises:
      TypeMismatch: the value has another dtype, or the config does not fit.

    >>> import covector.numpy as cnp
    >>> pad(cnp.array([1, 2, 3]), 0, [(2, -1, 1)]).tolist()
    [0, 0, 1, 0, 2, 0]
    """
    x = as_array(operand, "pad")
    config: Any = tuple([canonical_shape("pad", c, "padding") for c in padding_config])
    if any([len(c) != 3 for c in config]):
        raise TypeMismatch(
            f"pad needs three integers (low, high, interior) for each axis, but got "
            f"{padding_config}."
        )
    return Pad(config)(x, like(x, padding_value, "pad"))


# -- operands --------------------------------------------------------------------------


def like(x: Value, value: ArrayLike, who: str) -> Array:
    """``value`` as an array; a Python number takes the dtype of ``x``."""
    if type(value) in (bool, int, float, complex):
        return scalar(value, x.type.dtype)
    return as_array(value, who)


def _starts(
    who: str, type_: ArrayType, starts: Any, negative: bool | Sequence[bool]
) -> list[Array]:
    """Starts for all axes, as scalars of one dtype, counted from the front."""
    if hasattr(starts, "ndim"):
        array = as_array(starts, who)
        if array.type.ndim != 1:
            raise TypeMismatch(
                f"{who} of {type_} needs {type_.ndim} starts, scalars or an array of "
                f"that length, but got {array.type}."
            )
        starts = Unstack(0)(array)
    allowed = [negative] * type_.ndim if isinstance(negative, bool) else list(negative)
    if not len(starts) == len(allowed) == type_.ndim:
        raise TypeMismatch(
            f"{who} of {type_} needs one start for each of its "
            f"{how_many(type_.ndim, 'axis', 'axes')}, but got {len(starts)}."
        )
    positions = [
        _axis_index(who, start, n, wrap)
        for start, n, wrap in zip(starts, type_.shape, allowed, strict=True)
    ]
    return one_dtype(positions)


def _start(
    who: str, type_: ArrayType, axis: int, start: ArrayLike, negative: bool
) -> list[Array]:
    """Starts for all axes, of which all but one are 0."""
    position = _axis_index(who, start, type_.shape[axis], negative)
    starts: list[Array] = [scalar(0, position.type.dtype)] * type_.ndim
    starts[axis] = position
    return starts


def _axis_index(who: str, start: Any, n: int, wrap: bool) -> Any:
    """One start as a scalar, counted from the front."""
    if type(start) is int:
        # Far outside is as good as just outside, and fits the dtype.
        k = min(max(start, -n - 1), n)
        return scalar(k + n if wrap and k < 0 else k, dtypes.int32)
    position = as_array(start, who)
    if position.type.ndim or not dtypes.is_integer(position.type.dtype):
        raise DTypeError(
            f"{who} starts at integer scalars, but got {position.type}. Convert it "
            "with .astype(int), or give one start for each axis."
        )
    return counted(position, n, wrap)
