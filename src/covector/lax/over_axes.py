"""Gathers, scatters and exchanges over several named axes, as over one.

The last of the axes ``{a: n, b: m}`` is the fastest: index i of a and j of b is index
``i * m + j`` of both. So a gather starts with the last axis, whose indices stand next
to each other, and a scatter with the first. Groups are of the indices of one axis.
"""

from collections.abc import Mapping
from math import prod
from typing import Any

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.errors import TypeMismatch
from covector.ops.all_to_all import AllToAll
from covector.ops.axis_index_groups import Groups
from covector.ops.broadcasting import move_axis
from covector.ops.collectives import AllGather, PSumScatter
from covector.ops.transposing import Reshape

Axes = Mapping[Any, int]


def gather(x: Value, axes: Axes, at: int, tiled: bool, groups: Groups = None) -> Array:
    """The values of all participants: stacked along a new axis, or, when ``tiled``,
    concatenated along an old one.
    """
    for name, size in reversed([*axes.items()]):
        x = AllGather(name, _group_size(size, groups), at, tiled, groups)(x)
        tiled = True
    return x


def scatter(x: Value, axes: Axes, at: int, tiled: bool, groups: Groups = None) -> Array:
    """The sum, of which each participant keeps its part of an axis."""
    _check_length("psum_scatter", "scatters", x, axes, at, tiled)
    *outer, last = axes
    for name in outer:
        x = PSumScatter(name, axes[name], at, True)(x)
    size = _group_size(axes[last], groups)
    return PSumScatter(last, size, at, tiled, groups)(x)


def exchange(
    x: Value, axes: Axes, split: int, concat: int, tiled: bool, groups: Groups = None
) -> Array:
    """Axis ``split``, split among the participants, and what each receives concatenated
    along ``concat``.
    """
    if len(axes) == 1:
        ((name, size),) = axes.items()
        return AllToAll(name, _group_size(size, groups), split, concat, tiled, groups)(
            x
        )
    _check_length("all_to_all", "splits", x, axes, split, tiled)
    count, shape = prod(axes.values()), x.type.shape
    rest = (shape[split] // count,) if tiled else ()
    x = Reshape((*shape[:split], *axes.values(), *rest, *shape[split + 1 :]))(x)
    # The index along each axis to which a part goes becomes that from which it came.
    for k, (name, size) in enumerate(axes.items(), split):
        x = AllToAll(name, size, k, k, False)(x)
    x = Reshape((*shape[:split], count, *rest, *shape[split + 1 :]))(x)
    x = move_axis(x, split, concat)
    if not tiled:
        return x
    shape = x.type.shape
    long = count * shape[concat + 1]
    return Reshape((*shape[:concat], long, *shape[concat + 2 :]))(x)


def _group_size(size: int, groups: Groups) -> int:
    """The number of participants that communicate with each other."""
    return size if groups is None else len(groups[0])


def _check_length(
    who: str, does: str, x: Value, axes: Axes, at: int, tiled: bool
) -> None:
    """Raise where an axis cannot be divided among the participants of several axes."""
    count, length = prod(axes.values()), x.type.shape[at]
    if len(axes) > 1 and (length % count if tiled else length != count):
        need = "a multiple of" if tiled else "equal to"
        raise TypeMismatch(
            f"{who} over {tuple(axes)} of size {count} {does} axis {at} of {x.type}: "
            f"its length must be {need} {count}, but is {length}."
        )
