"""Named axes as collectives take them: one or several by name, or groups of indices.

``named``, ``sized`` and ``grouped`` check the arguments. ``gather``, ``scatter`` and
``exchange`` communicate over several axes as over one: the last of the axes
``{a: n, b: m}`` is the fastest, index i of a and j of b is index ``i * m + j`` of both.
So a gather starts with the last axis, whose indices stand next to each other, and a
scatter with the first. Groups are of the indices of one axis.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.trace import current
from covector.errors import AxisError, TypeMismatch, did_you_mean
from covector.operations.all_to_all import AllToAll
from covector.operations.axis_index_groups import Groups, checked_groups
from covector.operations.broadcasting import move_axis
from covector.operations.collectives import AllGather, PSumScatter
from covector.operations.transposing import Reshape

Axes = Mapping[Any, int]
#: the name of an axis, or a tuple of names
AxisName = Any
#: sequences that hold each index of the axis once; None where all communicate
IndexGroups = Sequence[Sequence[int]] | None


def named(axis_name: AxisName, who: str) -> tuple[Any, ...]:
    """The axes that are named, each of which must exist around here."""
    names = axis_name if isinstance(axis_name, tuple | list) else (axis_name,)
    axes = current.trace.axes
    for name in names:
        if name not in axes:
            known = ", ".join(map(repr, axes))
            axes_here = f"the named axes here are {known}"
            here = axes_here if axes else "no axis is named here"
            raise AxisError(
                f"{who} over the axis {name!r}, but {here}.{did_you_mean(name, axes)} "
                "An axis gets its name from vmap(..., axis_name=...), or from the mesh "
                "of a shard_map."
            )
    return tuple(names)


def sized(axis_name: AxisName, who: str) -> dict[Any, int]:
    """The axes that are named, at least one, with their sizes."""
    names = named(axis_name, who)
    if not names:
        raise AxisError(f"{who} needs the name of an axis, but got {axis_name!r}.")
    return {name: current.trace.axes[name] for name in names}


def size_of(axis_name: AxisName, who: str) -> int:
    """The size of the axes that are named, together."""
    return prod([current.trace.axes[name] for name in named(axis_name, who)])


def grouped(
    groups: IndexGroups, axis_name: AxisName, who: str, *, equal: bool = False
) -> Any:
    """The axis index groups, checked; None where all communicate."""
    if groups is None:
        return None
    names = named(axis_name, who)
    if len(names) != 1:
        raise TypeMismatch(
            f"{who}: axis_index_groups are of the indices of one axis, but got the "
            f"axes {names}."
        )
    size = size_of(axis_name, who)
    return checked_groups(groups, names[0], size, who, equal=equal)


def sized_and_grouped(
    axis_name: AxisName, groups: IndexGroups, who: str
) -> tuple[dict[Any, int], Any]:
    """The named axes with their sizes, and axis index groups, all of one size."""
    return sized(axis_name, who), grouped(groups, axis_name, who, equal=True)


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
