"""``vmap``: a function applied to every element of a batch."""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from covector import tree
from covector.core.annotations import AxisName, MemorySize, PyTree
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.flat import FlatFunction, describe, who_of
from covector.core.masks import select
from covector.core.references import Ref, has_references, lent, on_values
from covector.core.sharding.mesh import axis_tuple
from covector.core.source import wraps
from covector.core.trace import current
from covector.errors import ArgumentError, AxisError
from covector.operations.broadcasting import batched
from covector.transforms.batch import ShardedAxis, batch_flat
from covector.transforms.mapped_axes import (
    InAxes,
    axes_of_leaves,
    batch_size,
    check_axis_name,
    check_in_axes,
    from_the_front,
    out_axis,
    refuse_bools,
)

P = ParamSpec("P")
R = TypeVar("R")


def vmap(
    fun: Callable[P, R],
    in_axes: InAxes = 0,
    out_axes: PyTree = 0,
    axis_name: AxisName | None = None,
    axis_size: int | None = None,
    spmd_axis_name: AxisName | None = None,
    memory: MemorySize | None = None,
) -> Callable[P, R]:
    """``fun`` over a batch: each operation runs once, for all of it.

    Write ``fun`` for one example. Inside it arrays are without the batch axis.

    Args:
      in_axes: which axis of each argument is the batch: an int (negative counts from
        the end), None for arguments that all share, which may be any objects, or a
        tuple with one entry per positional argument, each an int, None, or a tree of
        them that is a prefix of the argument. Keyword arguments are mapped over
        axis 0; a dict gives axes by argument name, for positional and keyword arguments
        alike (0 where a name is left out).
      out_axes: where the batch axis goes in the results; a prefix of the result. None
        is for results that are the same for the whole batch.
      axis_name: a name by which collectives such as ``lax.psum`` refer to the batch.
      axis_size: the size of the batch, needed only where no argument is mapped.
      spmd_axis_name: the mesh axis, or axes, over which the batch axis is divided by
        ``with_sharding_constraint`` and ``jit(in_shardings=)`` inside ``fun``.
      memory: the most that the compiled program may need, with arguments and results: a
        number of bytes, or such as ``"1.5GB"``. The batch is run in chunks, as large as
        that allows; so are values and gradients under ``grad``.

    Returns:
      A function with the arguments of ``fun``, each with a batch axis; in the results
      the batch axis is where ``out_axes`` says.

    Raises:
      AxisError: an argument has no such axis, sizes differ, or nothing is mapped; or,
        with ``memory``, ``fun`` communicates over ``axis_name``.
      OverBudget: one lane at a time needs more than ``memory``.
      TreeMismatch: in_axes or out_axes is not a prefix of what it speaks of.

    >>> import covector as cv, covector.numpy as cnp
    >>> cv.vmap(lambda x, y: x * y, in_axes=(0, None))(cnp.arange(3), 2).tolist()
    [0, 2, 4]

    See also: ``covector.lax.map`` in less memory, ``shard_map`` over devices.
    """
    who = who_of("vmap", fun)
    check_in_axes(who, in_axes)
    refuse_bools(who, in_axes=in_axes, out_axes=out_axes)
    check_axis_name(who, axis_name)
    if memory is not None and spmd_axis_name is not None:
        raise ArgumentError(
            f"{who} takes memory= or spmd_axis_name=, not both: a batch that is "
            "divided over devices is not run in chunks."
        )
    in_chunks = None if memory is None else _LateBinding.in_chunks(fun, memory, who)
    axis = axis_name
    if spmd_axis_name is not None:
        axis = ShardedAxis(axis_name, axis_tuple(spmd_axis_name))

    @wraps(fun)
    def over_batch(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, in_tree = tree.flatten((args, kwargs))
        axes = axes_of_leaves(fun, in_axes, args, kwargs, len(leaves), who)
        leaves = [
            x
            if isinstance(x, Array | Ref)
            or (a is None and not isinstance(x, np.ndarray))
            else as_array(x, who)
            for x, a in zip(leaves, axes, strict=True)
        ]
        types = [getattr(x, "type", None) for x in leaves]
        dims = from_the_front(axes, types, in_tree, who, fun)
        size = batch_size(types, dims, axis_size, in_tree, who, fun)
        observer = current.observer
        if in_chunks is not None and observer is None:
            outs, found, out_tree = in_chunks(leaves, dims, size, in_tree, axis_name)
            return _results(out_axes, out_tree, size, outs, found, who)
        flat = FlatFunction(fun, in_tree, who)
        if has_references(leaves):
            outs, found = _batch_references(flat, size, leaves, dims, axis, who)
        else:
            run = batch_flat if observer is None else observer.batch
            outs, found = run(flat, size, leaves, dims, axis, who)
        return _results(out_axes, flat.out_tree, size, outs, found, who)

    return over_batch


class _LateBinding:
    """``in_chunks(fun, memory, who)``, of programs, which import this; bound once."""

    in_chunks: Callable[..., Any]


def bind_chunks(in_chunks: Callable[..., Any]) -> None:
    """``vmap(fun, memory=)`` is ``in_chunks(fun, memory, who)`` on flat arguments."""
    _LateBinding.in_chunks = staticmethod(in_chunks)


def _results(
    out_axes: Any,
    out_tree: Any,
    size: int,
    outs: Sequence[Any],
    found: Sequence[int | None],
    who: str,
) -> Any:
    """The tree of results, with the batch axes where they are wanted."""
    wanted = _out_dims(out_axes, out_tree, outs, found, who)
    results = [
        x if w is None else batched(size, x, d, w)
        for x, d, w in zip(outs, found, wanted, strict=True)
    ]
    return out_tree.unflatten(results)


def _batch_references(
    fun: FlatFunction,
    size: int,
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    axis: Any,
    who: str,
) -> tuple[list[Any], list[int | None]]:
    """``batch_flat``, where arguments are references: each lane has a reference to its
    part of one that is mapped, in place of the whole.
    """
    mask = [type(x) is Ref and d is not None for x, d in zip(leaves, dims, strict=True)]
    refs = select(leaves, mask)
    values = [x[...] if m else x for x, m in zip(leaves, mask, strict=True)]
    with lent(refs, who):
        outs, found = batch_flat(on_values(fun, mask), size, values, dims, axis, who)
    count = len(outs) - len(refs)
    rows = zip(refs, outs[count:], found[count:], select(dims, mask), strict=True)
    for ref, x, d, to in rows:
        ref[...] = batched(size, x, d, to)
    return outs[:count], found[:count]


def _out_dims(
    out_axes: Any,
    out_tree: Any,
    outs: Sequence[Any],
    found: Sequence[int | None],
    who: str,
) -> list[int | None]:
    """The position of the batch axis in each result."""
    if isinstance(out_axes, int) and out_axes == 0:
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
        wanted.append(out_axis(axis, describe(x), ndim, where, who))
    return wanted
