"""Images of any number of axes, read between their elements."""

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from covector import namespaces
from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError
from covector.numpy.minmax import clip
from covector.numpy.promote import inexact, promote
from covector.numpy.rounding import floor, trunc
from covector.numpy.selection import where
from covector.operations.casting import convert

__all__ = ["map_coordinates"]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """The elements of ``input`` at coordinates that may lie between elements.

    Args:
      coordinates: for each axis of ``input`` an array, of shapes that broadcast:
        positions along that axis, in elements.
      order: 0 takes the nearest element, 1 interpolates between neighbours.
      mode: what is beyond the edges: ``"constant"``: ``cval``; ``"nearest"``: the last
        element; ``"wrap"``: the input again; ``"mirror"``: its mirror image, without
        the edge; ``"reflect"``: with the edge.

    Returns:
      An array of the dtype of ``input`` and the shape of the coordinates; of integers
      the interpolation is rounded.

    Raises:
      ArgumentError: there are not as many coordinates as axes, another order, or no
        such mode.

    >>> import covector.numpy as cnp
    >>> x = cnp.array([[0.0, 1.0], [2.0, 3.0]])
    >>> print(map_coordinates(x, [cnp.array([0.5, 1.0]), cnp.array([0.5, 0.25])], 1))
    [1.5  2.25]
    """
    x = as_array(input, "map_coordinates")
    if len(coordinates) != x.type.ndim:
        raise ArgumentError(
            "map_coordinates needs coordinates for each axis, but got "
            f"{len(coordinates)} for {x.type}."
        )
    if order not in (0, 1):
        raise ArgumentError(
            f"map_coordinates: order must be 0 or 1, but got {order!r}."
        )
    if mode not in _INSIDE:
        raise ArgumentError(
            f"map_coordinates: mode must be one of {', '.join(_INSIDE)}, but got "
            f"{mode!r}."
        )
    around = _nearest if order == 0 else _neighbours
    where_ = [inexact("map_coordinates", c) for c in coordinates]
    where_ = promote("map_coordinates", *where_) if len(where_) > 1 else where_
    nodes = [around(c) for c in where_]
    terms = [_term(x, corner, mode, cval) for corner in itertools.product(*nodes)]
    out = functools.reduce(operator.add, terms) if nodes else x
    if not x.type.inexact:
        out = _rounded(out)
    return convert(out, x.type.dtype)


#: an index along an axis, not yet brought inside, and its weight
_Node = tuple[Value, Value | float]


def _nearest(c: Value) -> list[_Node]:
    return [(convert(_rounded(c), dtypes.int32), 1.0)]


def _rounded(x: Value) -> Value:
    """The nearest integer; halfway the one that is farther from zero."""
    return trunc(x + where(x < 0, -0.5, 0.5))


def _neighbours(c: Value) -> list[_Node]:
    lower = floor(c)
    index = convert(lower, dtypes.int32)
    return [(index, 1 - (c - lower)), (index + 1, c - lower)]


def _term(x: Value, corner: Sequence[_Node], mode: str, cval: ArrayLike) -> Value:
    """The element at one corner, times the weights of the corner."""
    lengths, indices = x.type.shape, [index for index, _ in corner]
    inside = [_INSIDE[mode](k, n) for k, n in zip(indices, lengths, strict=True)]
    element = x[tuple(inside)]
    if mode == "constant":
        pairs = zip(indices, lengths, strict=True)
        valid = [(k >= 0) & (k < n) for k, n in pairs]
        element = where(functools.reduce(operator.and_, valid), element, cval)
    return functools.reduce(operator.mul, [w for _, w in corner], element)


# -- beyond the edges ------------------------------------------------------------------


def _clipped(k: Value, n: int) -> Value:
    return clip(k, 0, n - 1)


def _mirrored(k: Value, n: int) -> Value:
    """Along 0, 1, …, n − 1, n − 2, …, 1 and so on."""
    return abs((k + (n - 1)) % max(2 * (n - 1), 1) - (n - 1))


_INSIDE: dict[str, Callable[[Value, int], Value]] = {
    "constant": _clipped,
    "nearest": _clipped,
    "wrap": lambda k, n: k % n,
    "mirror": _mirrored,
    "reflect": lambda k, n: (_mirrored(2 * k + 1, 2 * n + 1) - 1) // 2,
}
