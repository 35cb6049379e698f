"""The order of axes, and of elements along them: transpose, flip, rotate, roll."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike, Axes, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.host_values import plain
from covector.core.trace import Tracer
from covector.errors import ArgumentError, AxisError, how_many
from covector.numpy.axes import as_integer, canonical_axes, canonical_axis
from covector.numpy.indexing import modulo
from covector.numpy.reshaping import ravel, reshape
from covector.operations.arithmetic import sub
from covector.operations.broadcasting import move_axis
from covector.operations.dynamic_slicing import DynamicSlice
from covector.operations.joining import Concatenate, Roll, Unstack
from covector.operations.transposing import Rev, Transpose

__all__ = [
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "roll",
    "rollaxis",
    "rot90",
    "swapaxes",
    "transpose",
]


def transpose(a: ArrayLike, axes: Axes = None) -> Array:
    """``a`` with its axes in another order, by default the opposite one.

    Axis k of the result is axis ``axes[k]`` of ``a``. The default is ``a.T``: a vector
    stays as it is, and in a stack of matrices the stack moves too. ``a.mT`` transposes
    each matrix.

    Args:
      axes: every axis of ``a`` once.

    Returns:
      An array with the same elements, of the dtype of ``a``.

    Raises:
      AxisError: an axis is missing, or named twice.

    >>> import covector.numpy as cnp
    >>> cnp.transpose(cnp.ones((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)

    See also: ``matrix_transpose``, ``swapaxes``, ``moveaxis``, ``reshape``.
    """
    x = as_array(a, "transpose")
    ndim = x.type.ndim
    if axes is None:
        order = tuple(range(ndim - 1, -1, -1))
    else:
        order = canonical_axes("transpose", axes, ndim, "axes")
        if len(order) != ndim:
            raise AxisError(
                f"transpose of {x.type} needs each of its "
                f"{how_many(ndim, 'axis', 'axes')} once, but got {axes}."
            )
    return _permute(x, order)


def permute_dims(a: ArrayLike, /, axes: Axes) -> Array:
    """``a`` with its axes in the order ``axes``: ``transpose`` by its standard name.

    >>> import covector.numpy as cnp
    >>> cnp.permute_dims(cnp.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return transpose(a, axes)


def _permute(x: Value, order: tuple[int, ...]) -> Array:
    return x if order == tuple(range(len(order))) else Transpose(order)(x)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """``x`` with its last two axes exchanged.

    >>> import covector.numpy as cnp
    >>> cnp.matrix_transpose(cnp.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    x = as_array(x, "matrix_transpose")
    if x.type.ndim < 2:
        raise AxisError(
            f"matrix_transpose needs at least two axes, but got {x.type}. For a "
            "column, use x[:, None]."
        )
    return swapaxes(x, -1, -2)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """``a`` with two axes exchanged.

    Args:
      a: an array.
      axis1, axis2: two of its axes; negative ones count from the end.

    Returns:
      An array with the same elements; lengths ``axis1`` and ``axis2`` exchanged.

    Raises:
      AxisError: ``a`` has not that axis.

    >>> import covector.numpy as cnp
    >>> cnp.swapaxes(cnp.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)

    See also: ``moveaxis``, ``transpose``, ``matrix_transpose``.
    """
    x = as_array(a, "swapaxes")
    order = list(range(x.type.ndim))
    i = canonical_axis("swapaxes", axis1, len(order), "axis1")
    j = canonical_axis("swapaxes", axis2, len(order), "axis2")
    order[i], order[j] = j, i
    return _permute(x, tuple(order))


def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Array:
    """``a`` with axes moved to other positions; the rest keep their order.

    Args:
      source: an axis of ``a``, or several.
      destination: where they are in the result; as many.

    Returns:
      An array with the same elements and axes, in that order.

    Raises:
      AxisError: an axis does not exist, or the numbers of axes differ.

    >>> import covector.numpy as cnp
    >>> cnp.moveaxis(cnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)

    See also: ``swapaxes``, ``transpose``.
    """
    x = as_array(a, "moveaxis")
    ndim = x.type.ndim
    sources = canonical_axes("moveaxis", source, ndim, "source")
    destinations = canonical_axes("moveaxis", destination, ndim, "destination")
    if len(sources) != len(destinations):
        raise AxisError(
            f"moveaxis needs as many destinations as sources, but got {source} and "
            f"{destination}."
        )
    order = [k for k in range(ndim) if k not in sources]
    for to, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(to, axis)
    return _permute(x, tuple(order))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """``a`` with one axis moved to stand before the axis ``start``.

    >>> import covector.numpy as cnp
    >>> cnp.rollaxis(cnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_array(a, "rollaxis")
    ndim = x.type.ndim
    k = canonical_axis("rollaxis", axis, ndim)
    to = ndim if start == ndim else canonical_axis("rollaxis", start, ndim, "start")
    return move_axis(x, k, to - (k < to))


# -- elements along axes ---------------------------------------------------------------


def flip(m: ArrayLike, axis: Axes = None) -> Array:
    """``m`` with its elements in opposite order along ``axis``.

    Args:
      axis: an axis, several, or None for all.

    Returns:
      An array of the shape and dtype of ``m``.

    Raises:
      AxisError: ``m`` has not that axis.

    >>> import covector.numpy as cnp
    >>> print(cnp.flip(cnp.arange(3)))
    [2 1 0]

    See also: ``flipud``, ``fliplr``, ``roll``, ``rot90``.
    """
    return _flip("flip", as_array(m, "flip"), axis)


def flipud(m: ArrayLike) -> Array:
    """``m`` upside down: its first axis in opposite order.

    >>> import covector.numpy as cnp
    >>> cnp.flipud(cnp.array([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    return _flip("flipud", as_array(m, "flipud"), 0)


def fliplr(m: ArrayLike) -> Array:
    """``m`` with left and right exchanged: its second axis in opposite order.

    >>> import covector.numpy as cnp
    >>> cnp.fliplr(cnp.array([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    return _flip("fliplr", as_array(m, "fliplr"), 1)


def _flip(who: str, x: Value, axis: Axes) -> Array:
    axes = canonical_axes(who, axis, x.type.ndim)
    return Rev(tuple(sorted(axes)))(x) if axes else x


def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """``m`` turned by ``k`` quarters of a circle, from the first of two axes to the
    second.

    >>> import covector.numpy as cnp
    >>> cnp.rot90(cnp.array([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    x = as_array(m, "rot90")
    plane = canonical_axes("rot90", tuple(axes), x.type.ndim, "axes")
    if len(plane) != 2:
        raise ArgumentError(f"rot90 turns in the plane of two axes, but got {axes}.")
    first, second = plane
    match as_integer("rot90", k, "k") % 4:
        case 1:
            return swapaxes(_flip("rot90", x, second), first, second)
        case 2:
            return _flip("rot90", x, plane)
        case 3:
            return _flip("rot90", swapaxes(x, first, second), second)
    return x


def roll(a: ArrayLike, shift: ArrayLike | Sequence[int], axis: Axes = None) -> Array:
    """``a`` with its elements moved along ``axis``, around the end.

    To move without coming back at the start, ``pad`` one side and cut off the other.

    Args:
      shift: an integer, which may be traced, or one for each axis; negative to move
        back.
      axis: an axis, or several, which may be the same; None rolls ``a`` raveled.

    Returns:
      An array of the shape and dtype of ``a``.

    Raises:
      AxisError: the array has no such axis.
      ArgumentError: there are other numbers of shifts and of axes.

    >>> import covector.numpy as cnp
    >>> print(cnp.roll(cnp.arange(5), 2))
    [3 4 0 1 2]

    See also: ``flip``, ``rollaxis``, ``pad``.
    """
    x = as_array(a, "roll")
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.type.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = _shifts(shift)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    elif len(axes) == 1:
        axes = tuple(axes) * len(shifts)
    if len(shifts) != len(axes):
        raise ArgumentError(
            "roll needs as many shifts as axes, or one of either, but got "
            f"{len(shifts)} shifts and axes {axis}."
        )
    known = [0] * x.type.ndim
    for by, k in zip(shifts, axes, strict=True):
        axis = canonical_axis("roll", k, x.type.ndim)
        if isinstance(by, int) and type(x.type.shape[axis]) is int:
            known[axis] += by
        else:
            x = _roll_as_computed(x, by, axis)
    op = Roll(tuple(known))
    return op(x) if op.cuts(x.type.shape) else x


def _shifts(shift: Any) -> list[Any]:
    """Shifts as Python integers, or as scalar arrays where they are traced."""
    if isinstance(shift, tuple | list):
        return [s for each in shift for s in _shifts(each)]
    if isinstance(shift, Tracer):
        return [*Unstack(0)(ravel(shift))]
    return [as_integer("roll", s, "shift") for s in np.ravel(plain(shift))]


def _roll_as_computed(x: Value, shift: Any, axis: int) -> Array:
    """``x`` rolled along an axis, of which the shift or the length is not known."""
    n = x.type.shape[axis]
    if n in (0, 1):
        return x
    doubled, moved = Concatenate(axis)(x, x), modulo(as_array(shift), n)
    starts: list[Array] = [scalar(0, moved.type.dtype)] * x.type.ndim
    starts[axis] = sub(scalar(n, moved.type.dtype), moved)
    return DynamicSlice(x.type.shape)(doubled, *starts)
