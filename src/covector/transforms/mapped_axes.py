"""``in_axes`` and ``out_axes``: the mapped axis of each argument, and its size."""

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from covector import tree
from covector.core.flat import argument_path
from covector.core.types import ArrayType, as_size
from covector.errors import AxisError, TypeMismatch

#: the mapped axes of the positional arguments: one for all, one entry for each (an axis
#: or a tree of axes), or entries by the names of arguments
InAxes: TypeAlias = int | list[Any] | tuple[Any, ...] | Mapping[str, Any] | None
#: classes of nodes that are asked, by ``check_mapped_axis(axis, who)``, whether an axis
#: of their leaves can be mapped; whoever defines one adds it
with_check: list[type] = []


def check_in_axes(who: str, in_axes: object) -> None:
    """Raise where ``in_axes`` is of no class that it may be of."""
    if not isinstance(in_axes, int | tuple | list | Mapping | None):
        raise TypeMismatch(
            f"{who}: in_axes must be an int, None, a tuple with an entry per "
            f"positional argument, or a dict by argument name, but got {in_axes!r}."
        )


def refuse_bools(who: str, **axes: Any) -> None:
    """Raise where an axis is True or False, which Python takes for 1 and 0."""
    for name, given in axes.items():
        if type(given) is not int and bool in map(type, tree.leaves(given)):
            raise TypeMismatch(f"{who}: {name} holds ints and None, but got {given!r}.")


def check_axis_name(who: str, name: Any) -> None:
    """Raise where the name of a batch axis could not be looked up."""
    try:
        hash(name)
    except TypeError:
        raise AxisError(
            f"{who}: axis_name must be hashable, such as a string, but got {name!r}."
        ) from None


def in_dims(
    fun: Any,
    in_axes: InAxes,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    types: Sequence[ArrayType],
    in_tree: Any,
    who: str,
) -> list[int | None]:
    """The mapped axis of each leaf, counted from the front; None for shared leaves."""
    axes = axes_of_leaves(fun, in_axes, args, kwargs, len(types), who)
    return from_the_front(axes, types, in_tree, who, fun)


def axes_of_leaves(
    fun: Any, in_axes: InAxes, args: Sequence[Any], kwargs: Any, count: int, who: str
) -> list[Any]:
    """The entry of ``in_axes`` for each leaf of the arguments."""
    if isinstance(in_axes, int) and in_axes == 0:
        return [0] * count
    what = f"{who.partition(' ')[0]} in_axes"
    if isinstance(in_axes, Mapping):
        axes, named = _axes_by_name(fun, in_axes, args, kwargs, who)
    else:
        axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        named = dict.fromkeys(kwargs, 0)
    if isinstance(axes, tuple) and len(axes) != len(args):
        raise AxisError(
            f"{who}: in_axes must have one entry per positional argument, but it "
            f"has {len(axes)} and the call has {len(args)}. Keyword arguments are "
            "mapped over axis 0; a dict gives axes by name."
        )
    found = [
        *tree.flatten_prefix(axes, args, what, of="the positional arguments"),
        *tree.flatten_prefix(named, kwargs, what, of="the keyword arguments"),
    ]
    _check_nodes((args, kwargs), found, who)
    return found


def _check_nodes(arguments: Any, axes: Sequence[Any], who: str) -> None:
    """Ask nodes of which only some axes can be mapped, such as sparse arrays."""
    if not with_check:
        return  # as in most programs: to look at every node takes time

    def is_asked(x: Any) -> bool:
        return isinstance(x, tuple(with_check))

    at = 0
    for x in tree.leaves(arguments, is_leaf=is_asked):
        count = len(tree.leaves(x)) if is_asked(x) else 1
        for axis in axes[at : at + count] if is_asked(x) else ():
            if axis is not None:
                x.check_mapped_axis(axis, who)
        at += count


def from_the_front(
    axes: Sequence[Any], types: Sequence[Any], in_tree: Any, who: str, fun: Any
) -> list[int | None]:
    """Axes counted from the front, for leaves of these types; only mapped ones need a
    type.
    """
    return [
        None if d is None else _axis(d, t, i, in_tree, who, fun)
        for i, (d, t) in enumerate(zip(axes, types, strict=True))
    ]


def _axes_by_name(
    fun: Any, in_axes: Mapping[str, Any], args: Any, kwargs: Any, who: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        parameters = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        parameters = []
    unknown = set(in_axes) - set(parameters) - set(kwargs)
    if unknown:
        raise AxisError(
            f"{who}: in_axes names {', '.join(sorted(unknown))}, but the arguments are "
            f"{', '.join([*parameters, *kwargs])}."
        )
    by_position = tuple([in_axes.get(name, 0) for name in parameters[: len(args)]])
    by_position += (0,) * (len(args) - len(by_position))
    return by_position, {name: in_axes.get(name, 0) for name in kwargs}


def _axis(d: Any, type: ArrayType, i: int, in_tree: Any, who: str, fun: Any) -> int:
    if not isinstance(d, int) or isinstance(d, bool):
        raise TypeMismatch(f"{who}: in_axes holds ints and None, but got {d!r}.")
    if not -type.ndim <= d < type.ndim:
        raise AxisError(
            f"{who}: {argument_path(in_tree, i, fun)} is {type}, which has no axis {d} "
            "to map over. Give in_axes None for what the whole batch shares."
        )
    return d % type.ndim


def batch_size(
    types: Sequence[Any],
    dims: Sequence[int | None],
    given: int | None,
    in_tree: Any,
    who: str,
    fun: Any = None,
) -> int:
    """The one size that all mapped axes have."""
    if given is not None and not hasattr(given, "__index__"):
        raise AxisError(f"{who}: axis_size must be an integer, but got {given!r}.")
    sizes = [t.shape[d] for t, d in zip(types, dims, strict=True) if d is not None]
    if given is not None:
        sizes.append(as_size(given))
    if not sizes:
        raise AxisError(
            f"{who}: no argument is mapped, so the size of the batch is unknown. Give "
            "some argument an axis in in_axes, or pass axis_size."
        )
    if sizes.count(sizes[0]) != len(sizes):
        raise _sizes_differ(types, dims, given, in_tree, who, fun)
    return sizes[0]


def _sizes_differ(
    types: Sequence[Any],
    dims: Sequence[int | None],
    given: int | None,
    in_tree: Any,
    who: str,
    fun: Any,
) -> AxisError:
    mapped = [i for i, d in enumerate(dims) if d is not None]
    sizes = {i: types[i].shape[dims[i]] for i in mapped}
    common = given
    if common is None:
        common = Counter(sizes.values()).most_common(1)[0][0]
    shown = "; ".join(
        f"{argument_path(in_tree, i, fun)} is {types[i]}, mapped over axis "
        f"{dims[i]} of size {n}"
        for i, n in sizes.items()
        if n != common
    )
    transform, _, name = who.partition(" of ")
    source = "axis_size is" if given is not None else "the others have"
    return AxisError(
        f"{transform} got inconsistent sizes for array axes to be mapped: {shown}, "
        f"where {source} {common}. The function is {name}.",
        page="mapped-axes",
    )


def out_axis(axis: Any, shown: str, ndim: int, where: str, who: str) -> int:
    """The position of the mapped axis in a result of ``ndim`` axes."""
    if not isinstance(axis, int) or not -ndim <= axis < ndim:
        raise AxisError(
            f"{who}: out_axes is {axis!r} for {where}, which is {shown} and "
            f"needs an axis from {-ndim} to {ndim - 1}."
        )
    return axis % ndim
