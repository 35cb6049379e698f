"""Reshaping: the same elements in another shape, and broadcasting to larger ones.

Everything here is at most a reshape and a broadcast; no element is computed.
"""

import math
from typing import Any, overload

from covector.core import types
from covector.core.annotations import ArrayLike, Axes, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import ArrayType, Shape
from covector.errors import (
    ArgumentError,
    AxisError,
    InconclusiveDimensionOperation,
    TypeMismatch,
    how_many,
)
from covector.numpy import promote
from covector.numpy.axes import canonical_axes, canonical_shape, with_out_sharding
from covector.operations.broadcasting import BroadcastInDim, zeros
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape, Transpose

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "ravel",
    "reshape",
    "resize",
    "squeeze",
]


def reshape(
    a: ArrayLike,
    shape: ShapeLike,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The elements of ``a``, in the same order, in another shape.

    It does not exchange axes: to turn ``[m, n]`` into ``[n, m]`` use ``transpose``.

    Args:
      a: array or number.
      shape: lengths, which must be known under ``jit``; one of them may be −1, which
        stands for what is left.
      order: ``"C"``: elements are read and written with the last axis running fastest;
        ``"F"``: with the first, as in Fortran and MATLAB.
      copy: accepted for NumPy's sake; arrays are immutable, so it makes no difference.
      out_sharding: where the result is to be.

    Returns:
      An array of that shape and of the dtype of ``a``.

    Raises:
      TypeMismatch: the numbers of elements differ.

    >>> import covector.numpy as cnp
    >>> cnp.reshape(cnp.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    >>> cnp.reshape(cnp.arange(6), (2, 3), order="F").tolist()
    [[0, 2, 4], [1, 3, 5]]

    See also: ``ravel``, ``transpose``, ``expand_dims``, ``squeeze``.
    """
    x = as_array(a, "reshape")
    wanted = _fill_unknown(x.type, canonical_shape("reshape", shape))
    if order == "C":
        return with_out_sharding(
            x if wanted == x.type.shape else Reshape(wanted)(x), out_sharding
        )
    if order == "F":
        return with_out_sharding(
            _reversed(Reshape(wanted[::-1])(_reversed(x))), out_sharding
        )
    raise ArgumentError(f"reshape: order must be 'C' or 'F', but got {order!r}.")


def _reversed(x: Value) -> Array:
    """``x`` with its axes in opposite order."""
    return Transpose(tuple(range(x.type.ndim))[::-1])(x) if x.type.ndim > 1 else x


def _fill_unknown(type: ArrayType, shape: Shape) -> Shape:
    """The shape with −1 replaced by the length that makes the elements fit."""
    unknown = shape.count(-1)
    if not unknown:
        return shape
    known = math.prod([n for n in shape if n != -1])
    if unknown > 1 or known == 0 or type.size % known:
        raise TypeMismatch(
            f"reshape of {type} ({how_many(type.size, 'element')}) to the shape "
            f"{shape}: "
            + (
                "only one length can be left open with -1."
                if unknown > 1
                else f"no length in place of -1 fits, for the others make {known}."
            )
        )
    return tuple([type.size // known if n == -1 else n for n in shape])


def ravel(
    a: ArrayLike | None, order: str = "C", *, out_sharding: ShardingLike | None = None
) -> Array:
    """The elements of ``a`` along one axis.

    Args:
      order: ``"C"``: the last axis runs fastest; ``"F"``: the first.
      out_sharding: where the result is to be.

    >>> import covector.numpy as cnp
    >>> cnp.ravel(cnp.array([[1, 2], [3, 4]]), order="F").tolist()
    [1, 3, 2, 4]

    See also: ``reshape``, ``ravel_multi_index``, ``flatten_util.ravel_pytree``.
    """
    x = as_array(a, "ravel")
    if x.type.ndim == 1 and order in ("C", "F", "A", "K") and out_sharding is None:
        return x
    order = "C" if order in ("A", "K") else order
    return reshape(x, (x.type.size,), order, out_sharding=out_sharding)


def squeeze(a: ArrayLike, axis: Axes = None) -> Array:
    """``a`` without its axes of length 1, or without those of them that ``axis`` names.

    Name the axis in functions for data of any size: without it, a batch that happens to
    have length 1 loses its axis too.

    Args:
      a: an array or a number.
      axis: an axis of length 1, or several; None for all such axes.

    Returns:
      An array with the same elements in the same order.

    Raises:
      AxisError: ``axis`` names an axis whose length is not 1.

    >>> import covector.numpy as cnp
    >>> cnp.squeeze(cnp.ones((1, 3, 1)), axis=0).shape
    (3, 1)

    See also: ``expand_dims``, ``reshape``.
    """
    x = as_array(a, "squeeze")
    shape = x.type.shape
    if axis is None:
        if not {int}.issuperset(map(type, shape)):
            raise InconclusiveDimensionOperation(
                f"squeeze of {x.type} drops axes of length 1, but a symbolic size is 1 "
                "for some sizes and not for others. Say which axes: squeeze(x, axis=…)."
            )
        dropped = tuple([k for k, n in enumerate(shape) if n == 1])
    else:
        dropped = canonical_axes("squeeze", axis, len(shape))
        longer = [k for k in dropped if shape[k] != 1]
        if longer:
            raise AxisError(
                f"squeeze can drop axes of length 1 only, but axis {longer[0]} of "
                f"{x.type} has length {shape[longer[0]]}."
            )
    if not dropped:
        return x
    return Reshape(tuple([n for k, n in enumerate(shape) if k not in dropped]))(x)


def expand_dims(a: ArrayLike, axis: Axes) -> Array:
    """``a`` with new axes of length 1, which stand at ``axis`` in the result.

    For one axis, ``x[:, None]`` does the same.

    Args:
      axis: one position, or several, counted in the result.

    Returns:
      An array with the same elements in the same order.

    Raises:
      AxisError: a position is outside of the result, or named twice.

    >>> import covector.numpy as cnp
    >>> cnp.expand_dims(cnp.ones((2, 3)), (0, -1)).shape
    (1, 2, 3, 1)

    See also: ``squeeze``, ``reshape``, ``broadcast_to``.
    """
    x = as_array(a, "expand_dims")
    count = len(axis) if isinstance(axis, tuple | list | range) else 1
    new = canonical_axes("expand_dims", axis, x.type.ndim + count)
    lengths = iter(x.type.shape)
    shape = [1 if k in new else next(lengths) for k in range(x.type.ndim + count)]
    return Reshape(tuple(shape))(x)


def broadcast_shapes(*shapes: ArrayLike) -> Shape:
    """The shape to which arrays of these shapes broadcast together.

    Raises:
      TypeMismatch: they do not.

    >>> import covector.numpy as cnp
    >>> cnp.broadcast_shapes((3, 1), (4,), 1)
    (3, 4)

    See also: ``broadcast_arrays``, ``broadcast_to``.
    """
    found = [canonical_shape("broadcast_shapes", s) for s in shapes]
    try:
        return types.broadcast_shapes(*found)
    except ValueError:
        raise TypeMismatch(
            "Incompatible shapes for broadcasting: broadcast_shapes got "
            f"{', '.join(map(str, found))}. Seen from the right, each axis needs one "
            "length, or 1."
        ) from None


def broadcast_to(
    array: Any, shape: ShapeLike, *, out_sharding: ShardingLike | None = None
) -> Array:
    """``array`` repeated along new axes in front and axes of length 1, up to ``shape``.

    Unlike NumPy's, the result is not a view of ``array``. Within ``jit`` it usually
    takes no memory, since the compiler reads ``array`` again instead.

    Args:
      array: an array or a number.
      shape: lengths, known under ``jit``; no fewer than ``array`` has axes.
      out_sharding: where the result is to be.

    Returns:
      An array of that shape and of the dtype of ``array``.

    Raises:
      TypeMismatch: seen from the right, a length is neither 1 nor the one wanted.

    >>> import covector.numpy as cnp
    >>> cnp.broadcast_to(cnp.arange(2), (3, 2)).tolist()
    [[0, 1], [0, 1], [0, 1]]

    See also: ``broadcast_arrays``, ``expand_dims``, ``tile``, ``repeat``.
    """
    x = as_array(array, "broadcast_to")
    wanted = canonical_shape("broadcast_to", shape)
    missing = len(wanted) - x.type.ndim
    fits = missing >= 0 and all(
        n in (1, m) for n, m in zip(x.type.shape, wanted[missing:], strict=True)
    )
    if not fits:
        raise TypeMismatch(
            f"broadcast_to cannot broadcast {x.type} to the shape {wanted}: seen from "
            "the right, each of its lengths must be 1 or the one wanted."
        )
    return with_out_sharding(promote.broadcast_to(x, wanted), out_sharding)


def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """The arrays, each broadcast to the shape to which they broadcast together.

    Raises:
      TypeMismatch: their shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> [x.shape for x in cnp.broadcast_arrays(cnp.ones((3, 1)), 2.0, cnp.ones(4))]
    [(3, 4), (3, 4), (3, 4)]

    See also: ``broadcast_shapes``, ``broadcast_to``.
    """
    arrays = [as_array(a, "broadcast_arrays") for a in args]
    shape = promote.broadcast_shapes("broadcast_arrays", [x.type for x in arrays])
    return tuple([promote.broadcast_to(x, shape) for x in arrays])


@overload
def atleast_1d(x: ArrayLike, /) -> Array: ...
@overload
def atleast_1d(*arys: ArrayLike) -> Array | list[Array]: ...
def atleast_1d(*arys: ArrayLike) -> Array | list[Array]:
    """Each array with at least one axis: a number becomes ``[1]``, other arrays stay.

    Args:
      arys: arrays or numbers.

    Returns:
      One array for one argument; a list for none or several.

    Raises:
      DTypeError: one is not an array or a number.

    >>> import covector.numpy as cnp
    >>> cnp.atleast_1d(3.0).shape
    (1,)

    See also: ``atleast_2d``, ``expand_dims``.
    """
    return _each("atleast_1d", arys, in_one_axis)


def in_one_axis(shape: Shape) -> Shape:
    """A shape with at least one axis, of as many elements."""
    return shape or (1,)


@overload
def atleast_2d(x: ArrayLike, /) -> Array: ...
@overload
def atleast_2d(*arys: ArrayLike) -> Array | list[Array]: ...
def atleast_2d(*arys: ArrayLike) -> Array | list[Array]:
    """Each array with at least two axes; new ones stand in front.

    >>> import covector.numpy as cnp
    >>> cnp.atleast_2d(cnp.ones(3)).shape
    (1, 3)
    """
    return _each("atleast_2d", arys, in_two_axes)


def in_two_axes(shape: Shape) -> Shape:
    """A shape with at least two axes, of as many elements; new ones stand in front."""
    return (1,) * (2 - len(shape)) + shape


@overload
def atleast_3d(x: ArrayLike, /) -> Array: ...
@overload
def atleast_3d(*arys: ArrayLike) -> Array | list[Array]: ...
def atleast_3d(*arys: ArrayLike) -> Array | list[Array]:
    """Each array with at least three axes: n becomes (1, n, 1), and (m, n) (m, n, 1).

    >>> import covector.numpy as cnp
    >>> cnp.atleast_3d(cnp.ones(3)).shape
    (1, 3, 1)
    """
    return _each("atleast_3d", arys, in_three_axes)


def in_three_axes(shape: Shape) -> Shape:
    """A shape with at least three axes, as ``atleast_3d`` has them."""
    match shape:
        case ():
            return (1, 1, 1)
        case (n,):
            return (1, n, 1)
        case (m, n):
            return (m, n, 1)
    return shape


def _each(who: str, arys: Any, lift: Any) -> Any:
    """Each array in the shape that ``lift`` makes of its own."""
    arrays = [as_array(a, who) for a in arys]
    lifted = [reshape(x, lift(x.type.shape)) for x in arrays]
    return lifted[0] if len(lifted) == 1 else lifted


def resize(a: ArrayLike, new_shape: Any) -> Array:
    """The elements of ``a``, repeated from the start or cut off, to fill ``new_shape``.

    >>> import covector.numpy as cnp
    >>> cnp.resize(cnp.arange(3), (2, 4)).tolist()
    [[0, 1, 2, 0], [1, 2, 0, 1]]
    """
    x = ravel(as_array(a, "resize"))
    shape = canonical_shape("resize", new_shape, "new_shape")
    if min(shape, default=0) < 0:
        raise ArgumentError(f"resize to {shape}: lengths must not be negative.")
    total, n = math.prod(shape), x.type.size
    if n == 0:
        return zeros(x.type.with_shape(shape))
    if total > n:
        count = -(-total // n)
        x = Reshape((count * n,))(BroadcastInDim((count, n), (1,))(x))
    return reshape(x if total == x.type.size else Slice((0,), (total,))(x), shape)
