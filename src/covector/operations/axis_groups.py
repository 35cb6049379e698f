"""Composite axes: an axis split into groups, batch and the rest, and merged again.

An axis of length g·m may stand for g groups of m entries each. These functions move
groups, and the axis of a batch, from one axis into another.
"""

from typing import Any

from covector.core.annotations import Value
from covector.operations.broadcasting import move_axis
from covector.operations.transposing import Reshape, Transpose


def regrouped(x: Value, source: int, into: int, groups: int) -> Value:
    """The outer part, of length ``groups``, of one axis becomes that of another."""
    if groups == 1:
        return x
    shape = list(x.type.shape)
    shape[source] //= groups
    split = (*shape[:source], groups, *shape[source:])
    axes = [k + (k >= source) for k in range(len(shape))]
    axes.insert(into, source)
    shape[into] *= groups
    return Reshape(tuple(shape))(Transpose(tuple(axes))(Reshape(split)(x)))


def folded(x: Value, dim: int, into: int, groups: int) -> Value:
    """A batch axis made part of axis ``into``: inside its groups, outside the rest.

    ``into`` counts without the batch axis.
    """
    shape = list(x.type.shape)
    size = shape.pop(dim)
    split = [*shape[:into], groups, shape[into] // groups, *shape[into + 1 :]]
    whole = move_axis(x, dim, into)
    if groups > 1:
        whole = Reshape((*shape[:into], size, *split[into:]))(whole)
        whole = move_axis(whole, into, into + 1)
    shape[into] *= size
    return Reshape(tuple(shape))(whole)


def unfolded(x: Value, axis: int, groups: int, size: int) -> tuple[Any, Any]:
    """The way back: results and batch axes of a ``batch`` rule."""
    shape = list(x.type.shape)
    shape[axis] //= size
    split = (*shape[:axis], groups, size, shape[axis] // groups, *shape[axis + 1 :])
    if groups == 1:
        return (Reshape((*shape[:axis], size, *shape[axis:]))(x),), (axis,)
    whole = move_axis(Reshape(split)(x), axis + 1, axis)
    return (Reshape((*shape[:axis], size, *shape[axis:]))(whole),), (axis,)
