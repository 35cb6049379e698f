"""The order of axes, and of elements along them: transpose, flip, rotate, roll."""

from typing import Any

from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import AxisError
from covector.numpy.axes import canonical_axes, canonical_axis
from covector.ops.broadcasting import move_axis
from covector.ops.transposing import Transpose

__all__ = [
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "rollaxis",
    "swapaxes",
    "transpose",
]


def transpose(a: Any, axes: Any = None) -> Array:
    """``a`` with its axes in another order: axis k of the result is ``axes[k]`` of
    ``a``.

    By default the order is reversed.

    >>> import covector.numpy as cnp
    >>> cnp.transpose(cnp.ones((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    x = as_array(a, "transpose")
    ndim = x.type.ndim
    if axes is None:
        order = tuple(range(ndim - 1, -1, -1))
    else:
        order = canonical_axes("transpose", axes, ndim, "axes")
        if len(order) != ndim:
            raise AxisError(
                f"transpose of {x.type} needs each of its {ndim} axes once, but got "
                f"{axes}."
            )
    return _permute(x, order)


def permute_dims(a: Any, /, axes: Any) -> Array:
    """``a`` with its axes in the order ``axes``: ``transpose`` by its standard name.

    >>> import covector.numpy as cnp
    >>> cnp.permute_dims(cnp.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return transpose(a, axes)


def _permute(x: Any, order: tuple[int, ...]) -> Any:
    return x if order == tuple(range(len(order))) else Transpose(order)(x)


def matrix_transpose(x: Any, /) -> Array:
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


def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """``a`` with two axes exchanged.

    >>> import covector.numpy as cnp
    >>> cnp.swapaxes(cnp.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    x = as_array(a, "swapaxes")
    order = list(range(x.type.ndim))
    i = canonical_axis("swapaxes", axis1, len(order), "axis1")
    j = canonical_axis("swapaxes", axis2, len(order), "axis2")
    order[i], order[j] = j, i
    return _permute(x, tuple(order))


def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """``a`` with the axes ``source`` moved to ``destination``; the others keep their
    order.

    >>> import covector.numpy as cnp
    >>> cnp.moveaxis(cnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
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


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
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
