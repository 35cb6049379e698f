"""Reshaping, broadcasting, concatenation and splitting.

The functions of the NumPy namespace promote and broadcast; these do only what they are
told, and refuse the rest.
"""

import math
from collections.abc import Sequence
from typing import Any

from covector.core.annotations import ArrayLike, ShapeLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.errors import AxisError, TypeMismatch, how_many
from covector.numpy import promote, reshaping
from covector.numpy.axes import (
    canonical_axes,
    canonical_axis,
    canonical_shape,
    with_out_sharding,
)
from covector.numpy.repeating import tile as repeat_whole
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.joining import Concatenate, Split, Stack, Unstack
from covector.operations.transposing import Reshape, Rev, Transpose

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "collapse",
    "concatenate",
    "expand_dims",
    "reshape",
    "rev",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]


# -- the same elements -----------------------------------------------------------------


def reshape(
    operand: ArrayLike,
    new_sizes: Any,
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The elements in row-major order, in another shape.

    Args:
      new_sizes: lengths, all of them known.
      dimensions: the order in which the axes of the operand are run through instead.

    Raises:
      TypeMismatch: the numbers of elements differ.

    >>> import covector.numpy as cnp
    >>> reshape(cnp.arange(6).reshape(2, 3), (3, 2), (1, 0)).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    x: Any = as_array(operand, "reshape")
    if dimensions is not None:
        x = transpose(x, dimensions)
    shape = canonical_shape("reshape", new_sizes, "new_sizes")
    x = x if x.type.shape == shape else Reshape(shape)(x)
    return with_out_sharding(x, out_sharding)


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """The operand with its axes in another order.

    Args:
      operand: an array.
      permutation: axis k of the result is axis ``permutation[k]`` of the operand.

    Raises:
      TypeMismatch: the permutation does not name each axis once.

    >>> import covector.numpy as cnp
    >>> transpose(cnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    x = as_array(operand, "transpose")
    order = canonical_shape("transpose", permutation, "permutation")
    return x if order == tuple(range(x.type.ndim)) else Transpose(order)(x)


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The array without these axes, which have length 1.

    Raises:
      TypeMismatch: one of them has another length.

    >>> import covector.numpy as cnp
    >>> squeeze(cnp.zeros((1, 3, 1)), (0, -1)).shape
    (3,)
    """
    x = as_array(array, "squeeze")
    gone = canonical_axes("squeeze", dimensions, x.type.ndim, "dimensions")
    if any([x.type.shape[a] != 1 for a in gone]):
        raise TypeMismatch(
            f"squeeze of {x.type} cannot leave out axes {gone}: only axes of length 1."
        )
    return reshape(x, [n for a, n in enumerate(x.type.shape) if a not in gone])


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The array with new axes of length 1, which are axes ``dimensions`` of the result.

    >>> import covector.numpy as cnp
    >>> expand_dims(cnp.zeros(3), (0, -1)).shape
    (1, 3, 1)
    """
    x = as_array(array, "expand_dims")
    count = x.type.ndim + len(canonical_shape("expand_dims", dimensions))
    new = canonical_axes("expand_dims", dimensions, count, "dimensions")
    lengths = iter(x.type.shape)
    return reshape(x, [1 if a in new else next(lengths) for a in range(count)])


def collapse(
    operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None
) -> Array:
    """The axes from ``start_dimension`` to before ``stop_dimension`` merged into one.

    >>> import covector.numpy as cnp
    >>> collapse(cnp.zeros((2, 3, 4)), 1).shape
    (2, 12)
    """
    x = as_array(operand, "collapse")
    first, last, _ = slice(start_dimension, stop_dimension).indices(x.type.ndim)
    if last < first:
        raise AxisError(
            f"collapse of {x.type} from axis {start_dimension} to {stop_dimension}: "
            "the second must not be before the first."
        )
    shape = x.type.shape
    return reshape(x, (*shape[:first], math.prod(shape[first:last]), *shape[last:]))


# -- broadcast to new axes ------------------------------------------------------------


def broadcast(
    operand: ArrayLike,
    sizes: Sequence[int],
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The operand repeated over new axes of these lengths, in front.

    >>> import covector.numpy as cnp
    >>> broadcast(cnp.arange(2), (3,)).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    x = as_array(operand, "broadcast")
    shape = (*canonical_shape("broadcast", sizes, "sizes"), *x.type.shape)
    axes = range(len(shape) - x.type.ndim, len(shape))
    return broadcast_in_dim(x, shape, tuple(axes), out_sharding=out_sharding)


def broadcast_in_dim(
    operand: ArrayLike,
    shape: ShapeLike,
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The operand broadcast to ``shape``; axis k becomes ``broadcast_dimensions[k]``.

    Axes of length 1 are repeated, axes that are not named are new. Where the numbers do
    not ascend, the axes are transposed.

    Args:
      operand: an array of as many axes as ``broadcast_dimensions`` has numbers.
      shape: the shape of the result.
      broadcast_dimensions: an axis of the result for each axis of the operand.

    Raises:
      TypeMismatch: an axis has neither length 1 nor that of its axis of the result.

    >>> import covector.numpy as cnp
    >>> broadcast_in_dim(cnp.arange(2), (2, 3), (0,)).tolist()
    [[0, 0, 0], [1, 1, 1]]

    See also: ``covector.numpy.broadcast_to``, ``expand_dims``.
    """
    x: Any = as_array(operand, "broadcast_in_dim")
    shape = canonical_shape("broadcast_in_dim", shape)
    axes = canonical_shape("broadcast_in_dim", broadcast_dimensions, "axes")
    order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    if len(axes) == x.type.ndim and list(order) != list(range(len(axes))):
        x, axes = Transpose(order)(x), tuple([axes[k] for k in order])
    if shape != x.type.shape or axes != tuple(range(len(shape))):
        x = BroadcastInDim(shape, axes)(x)
    return with_out_sharding(x, out_sharding)


def broadcast_shapes(*shapes: ArrayLike) -> Shape:
    """The shape to which all of these broadcast, by NumPy's rule.

    Raises:
      TypeMismatch: an axis has two lengths, neither of them 1.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return reshaping.broadcast_shapes(*shapes)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """The array with axes of length 1 in front, until it has ``rank`` of them.

    >>> import covector.numpy as cnp
    >>> broadcast_to_rank(cnp.zeros(3), 2).shape
    (1, 3)
    """
    x = as_array(x, "broadcast_to_rank")
    return reshape(x, (1,) * (rank - x.type.ndim) + x.type.shape)


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """The array broadcast to the shape of another one, by NumPy's rule.

    >>> import covector.numpy as cnp
    >>> broadcast_like(1.5, cnp.zeros(2)).tolist()
    [1.5, 1.5]
    """
    x, like = as_array(arr, "broadcast_like"), as_array(like_arr, "broadcast_like")
    if (
        promote.broadcast_shapes("broadcast_like", [x.type, like.type])
        != like.type.shape
    ):
        raise TypeMismatch(
            f"broadcast_like cannot broadcast {x.type} to the shape of {like.type}."
        )
    return promote.broadcast_to(x, like.type.shape)


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """The operand repeated as a whole, ``reps[k]`` times along axis k.

    >>> import covector.numpy as cnp
    >>> tile(cnp.arange(2), (2,)).tolist()
    [0, 1, 0, 1]
    """
    x, counts = as_array(operand, "tile"), canonical_shape("tile", reps, "reps")
    if len(counts) != x.type.ndim:
        raise TypeMismatch(
            f"tile of {x.type} needs a count for each of its "
            f"{how_many(x.type.ndim, 'axis', 'axes')}, but got {counts}. "
            "covector.numpy.tile fills up with ones."
        )
    return repeat_whole(x, counts)


# -- joined and taken apart ------------------------------------------------------------


def concatenate(operands: Sequence[ArrayLike], dimension: int) -> Array:
    """The operands one after the other along an axis.

    Args:
      operands: a sequence of arrays of one dtype, with equal lengths of other axes.
      dimension: the axis along which they are put together.

    Raises:
      TypeMismatch: dtypes differ, or the lengths of other axes.

    >>> import covector.numpy as cnp
    >>> concatenate([cnp.arange(2), cnp.arange(3)], 0).tolist()
    [0, 1, 0, 1, 2]

    See also: ``covector.numpy.concatenate`` promotes; ``covector.numpy.stack``.
    """
    parts = _operands("concatenate", operands)
    ndim = parts[0].type.ndim if parts else 0
    axis = canonical_axis("concatenate", dimension, ndim, "dimension")
    return Concatenate(axis)(*parts)


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """The operands, of one shape and dtype, along a new axis.

    >>> import covector.numpy as cnp
    >>> stack([cnp.arange(2), cnp.arange(2)], axis=1).tolist()
    [[0, 0], [1, 1]]
    """
    parts = _operands("stack", operands)
    ndim = parts[0].type.ndim if parts else 0
    return Stack(canonical_axis("stack", axis, ndim + 1))(*parts)


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Consecutive parts along an axis, ``sizes[k]`` elements in part k.

    Raises:
      TypeMismatch: the sizes do not add up to the length of the axis.

    >>> import covector.numpy as cnp
    >>> [part.tolist() for part in split(cnp.arange(5), (2, 3))]
    [[0, 1], [2, 3, 4]]
    """
    x = as_array(operand, "split")
    axis = canonical_axis("split", axis, x.type.ndim)
    return list(Split(canonical_shape("split", sizes, "sizes"), axis)(x))


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The parts for each position along an axis, without that axis.

    >>> import covector.numpy as cnp
    >>> [row.tolist() for row in unstack(cnp.arange(4).reshape(2, 2))]
    [[0, 1], [2, 3]]
    """
    x = as_array(x, "unstack")
    return tuple(Unstack(canonical_axis("unstack", axis, x.type.ndim))(x))


def _operands(who: str, operands: Sequence[ArrayLike]) -> list[Array]:
    if isinstance(operands, Array):
        return list(Unstack(0)(operands))
    return [as_array(x, who) for x in operands]


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The elements in opposite order along some axes.

    >>> import covector.numpy as cnp
    >>> rev(cnp.array([[1, 2], [3, 4]]), (1,)).tolist()
    [[2, 1], [4, 3]]
    """
    x = as_array(operand, "rev")
    return Rev(canonical_axes("rev", dimensions, x.type.ndim, "dimensions"))(x)
