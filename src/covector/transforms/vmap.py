"""``vmap``: a function of one thing becomes a function of a batch of things."""

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from covector import tree
from covector.core.flat import FlatFunction, argument_path, arrays, describe, who_of
from covector.core.types import ArrayType
from covector.errors import AxisError, TypeMismatch
from covector.ops.broadcasting import batched
from covector.transforms.batch import batch_flat


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """``fun`` over a batch: each operation runs once, for all of it.

    Args:
      in_axes: which axis of each argument is the batch: an int (negative counts from
        the end), None for arguments that all share, or a tuple with one entry per
        positional argument, each an int, None, or a tree of them that is a prefix of
        the argument. Keyword arguments are mapped over axis 0; a dict gives axes by
        argument name, for positional and keyword arguments alike (0 where a name is
        left out).
      out_axes: where the batch axis goes in the results; a prefix of the result. None
        is for results that are the same for the whole batch.
      axis_name: a name by which collectives such as ``lax.psum`` refer to the batch.
      axis_size: the size of the batch, needed only where no argument is mapped.
      spmd_axis_name: mesh axes over which the batch axis is divided, for shardings
        inside ``fun``.

    Raises:
      AxisError: an argument has no such axis, sizes differ, or nothing is mapped.
      TreeMismatch: in_axes or out_axes is not a prefix of what it speaks of.

    >>> import covector as cv, covector.numpy as cnp
    >>> cv.vmap(lambda x, y: x * y, in_axes=(0, None))(cnp.arange(3), 2).tolist()
    [0, 2, 4]
    """
    who = who_of("vmap", fun)
    if not isinstance(in_axes, int | tuple | list | Mapping | None):
        raise TypeMismatch(
            f"{who}: in_axes must be an int, None, a tuple with an entry per "
            f"positional argument, or a dict by argument name, but got {in_axes!r}."
        )

    @functools.wraps(fun)
    def over_batch(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        leaves = arrays(leaves, who)
        dims = _in_dims(fun, in_axes, args, kwargs, leaves, in_tree, who)
        size = _batch_size(leaves, dims, axis_size, in_tree, who)
        flat = FlatFunction(fun, in_tree, who)
        outs, found = batch_flat(flat, size, leaves, dims, axis_name, who)
        wanted = _out_dims(out_axes, flat.out_tree, outs, found, who)
        placed = [
            x if w is None else batched(size, x, d, w)
            for x, d, w in zip(outs, found, wanted, strict=True)
        ]
        return flat.out_tree.unflatten(placed)

    return over_batch


def _in_dims(
    fun: Any,
    in_axes: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    leaves: Sequence[Any],
    in_tree: Any,
    who: str,
) -> list[int | None]:
    """The batch axis of each leaf, counted from the front."""
    if in_axes == 0 and isinstance(in_axes, int):
        dims: list[Any] = [0] * len(leaves)
    else:
        if isinstance(in_axes, Mapping):
            axes, named = _axes_by_name(fun, in_axes, args, kwargs, who)
        else:
            axes, named = in_axes, dict.fromkeys(kwargs, 0)
            axes = tuple(axes) if isinstance(axes, list) else axes
        if isinstance(axes, tuple) and len(axes) != len(args):
            raise AxisError(
                f"{who}: in_axes must have one entry per positional argument, but it "
                f"has {len(axes)} and the call has {len(args)}. Keyword arguments are "
                "mapped over axis 0; a dict gives axes by name."
            )
        dims = tree.flatten_prefix(
            axes, args, "vmap in_axes", of="the positional arguments"
        )
        dims += tree.flatten_prefix(
            named, kwargs, "vmap in_axes", of="the keyword arguments"
        )
    return [
        None if d is None else _axis(d, x.type, i, in_tree, who)
        for i, (d, x) in enumerate(zip(dims, leaves, strict=True))
    ]


def _axes_by_name(
    fun: Any, in_axes: Mapping[str, Any], args: Any, kwargs: Any, who: str
) -> tuple[tuple, dict[str, Any]]:
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
    placed = tuple([in_axes.get(name, 0) for name in parameters[: len(args)]])
    placed += (0,) * (len(args) - len(placed))
    return placed, {name: in_axes.get(name, 0) for name in kwargs}


def _axis(d: Any, type: ArrayType, i: int, in_tree: Any, who: str) -> int:
    if not isinstance(d, int) or isinstance(d, bool):
        raise TypeMismatch(f"{who}: in_axes holds ints and None, but got {d!r}.")
    if not -type.ndim <= d < type.ndim:
        raise AxisError(
            f"{who}: {argument_path(in_tree, i)} is {type}, which has no axis {d} to "
            "map over. Give in_axes None for what the whole batch shares."
        )
    return d % type.ndim


def _batch_size(
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    given: int | None,
    in_tree: Any,
    who: str,
) -> int:
    sizes = {
        i: x.type.shape[d]
        for i, (x, d) in enumerate(zip(leaves, dims, strict=True))
        if d is not None
    }
    counted = Counter(sizes.values())
    if given is not None:
        counted[given] += 1
    if not counted:
        raise AxisError(
            f"{who}: no argument is mapped, so the size of the batch is unknown. Give "
            "some argument an axis in in_axes, or pass axis_size."
        )
    if len(counted) > 1:
        common = counted.most_common(1)[0][0] if given is None else given
        shown = "; ".join(
            f"{argument_path(in_tree, i)} is {leaves[i].type}, mapped over axis "
            f"{dims[i]} of size {n}"
            for i, n in sizes.items()
            if n != common
        )
        source = "axis_size is" if given is not None else "the others have"
        raise AxisError(
            f"{who}: the mapped axes must have one size, but {shown}, where {source} "
            f"{common}."
        )
    return next(iter(counted))


def _out_dims(
    out_axes: Any,
    out_tree: Any,
    outs: Sequence[Any],
    found: Sequence[int | None],
    who: str,
) -> list[int | None]:
    """Where each result wants its batch axis, counted from the front."""
    if out_axes == 0 and isinstance(out_axes, int):
        return [0] * len(outs)
    axes = tree.flatten_prefix(out_axes, out_tree, "vmap out_axes", of="the result")
    wanted: list[int | None] = []
    for i, (axis, x, d) in enumerate(zip(axes, outs, found, strict=True)):
        where = f"the result{tree.keystr(tree.leaf_path(out_tree, i))}"
        if axis is None:
            if d is not None:
                raise AxisError(
                    f"{who}: out_axes is None for {where}, which differs over the "
                    f"batch ({x.type} with the batch at axis {d}). Give it an axis."
                )
            wanted.append(None)
            continue
        ndim = x.type.ndim + (d is None)
        if not isinstance(axis, int) or not -ndim <= axis < ndim:
            raise AxisError(
                f"{who}: out_axes is {axis!r} for {where}, which is {describe(x)} and "
                f"needs an axis from {-ndim} to {ndim - 1}."
            )
        wanted.append(axis % ndim)
    return wanted
