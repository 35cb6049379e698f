"""``data_parallel``: a function of a batch that is sharded over the devices of a mesh.

    step(weights, batch)    each device has all weights and a shard of the batch; its
                            results are averaged over the devices

The shards have one size, so a mean over the batch is the mean of the means over the
shards, and the same holds for its gradients, whether they are taken inside or outside.
For that, a value inside is that of one device, even where it is equal on all of them,
and so is a derivative with respect to it: types do not track what varies. They need
not, since each result is either reduced or assembled from shards.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, ParamSpec, TypeVar, cast

from covector import tree
from covector.core.annotations import AxisName, PyTree
from covector.core.convert import as_array
from covector.core.flat import argument_numbers, argument_path, arrays, who_of
from covector.core.sharding.context_mesh import get_mesh
from covector.core.sharding.make_mesh import make_mesh
from covector.core.sharding.spec import PartitionSpec
from covector.core.source import wraps
from covector.core.types import ArrayType
from covector.errors import ArgumentError, AxisError, ShardingError, how_many
from covector.operations.collectives import PSum
from covector.programs.spmd.shard_map_api import shard_map
from covector.runtime import client
from covector.transforms.mapped_axes import batch_size

P = ParamSpec("P")
R = TypeVar("R")

SAME = PartitionSpec()


def data_parallel(
    fun: Callable[P, R],
    mesh: Any = None,
    *,
    batch_argnums: int | Sequence[int] = -1,
    axis_name: AxisName | None = None,
    reduce: str = "mean",
    out_specs: PyTree = SAME,
) -> Callable[P, R]:
    """``fun`` on a batch that is sharded over the devices of a mesh.

    Each device runs it on its shard of the batch, with all of the other arguments, and
    every result is averaged over the devices: a loss that is a mean over the batch, and
    its gradient, are those of one device that has it all. ``fun`` may take derivatives,
    and derivatives of the result may be taken; inside it, collectives may name the
    axis.

    Args:
      mesh: None for the one in force, or else all devices of this process, in a line
        whose axis is called "batch".
      batch_argnums: the arguments that are sharded, along axis 0 of each array.
      axis_name: the axis of the mesh that they are sharded over, or several; the first
        by default. The compiler partitions the work over the other axes.
      reduce: "mean", or "sum" for losses that are sums.
      out_specs: ``P()`` for results that are reduced; ``P(axis_name)`` for those with a
        value for each example, which are put together; or a prefix of the result.

    Raises:
      ShardingError: the batch cannot be sharded evenly.
      AxisError: arrays of the batch differ in size, or have no axis.

    >>> import covector as cv
    >>> loss = lambda w, x: cv.numpy.mean((x * w) ** 2)
    >>> step = data_parallel(cv.value_and_grad(loss))
    >>> [float(x) for x in step(2.0, cv.numpy.ones(8))]
    [4.0, 4.0]
    """
    who = who_of("data_parallel", fun)
    if reduce not in ("mean", "sum"):
        raise ArgumentError(f"{who}: reduce is 'mean' or 'sum', but got {reduce!r}.")
    indices = argument_numbers(who, "batch_argnums", batch_argnums)
    called: Callable[..., Any] = fun

    @wraps(fun)
    def over_devices(*args: Any) -> Any:
        chosen = _mesh(mesh)
        axes = _axes(chosen, axis_name, who)
        count = prod([chosen.shape[a] for a in axes])
        sharded = _batch_indices(indices, args, who)
        _check_batch(args, sharded, count, who)

        @wraps(fun)
        def on_device(*shards: Any) -> Any:
            leaves, out_tree = tree.flatten(called(*shards))
            specs = tree.flatten_prefix(
                out_specs, out_tree, f"{who}: out_specs", of="the result", is_leaf=_leaf
            )
            reduced = [
                _reduced(x, axes, count if reduce == "mean" else 1) if s == SAME else x
                for x, s in zip(leaves, specs, strict=True)
            ]
            return out_tree.unflatten(reduced)

        over_batch = PartitionSpec(axes)
        in_specs = [over_batch if i in sharded else SAME for i in range(len(args))]
        mapped = shard_map(
            on_device,
            mesh=chosen,
            in_specs=tuple(in_specs),
            out_specs=out_specs,
            axis_names=axes,
            check_vma=False,
        )
        return mapped(*args)

    return cast("Callable[P, R]", over_devices)


def _reduced(x: Any, axes: tuple[Any, ...], count: int) -> Any:
    total = PSum(axes)(as_array(x))
    return total if count == 1 else total / count


def _leaf(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def _mesh(mesh: Any) -> Any:
    if mesh is None:
        mesh = get_mesh()
        if mesh.empty:
            found = client.local_devices()
            return make_mesh((len(found),), ("batch",), devices=found)
    return mesh


def _axes(mesh: Any, axis_name: AxisName, who: str) -> tuple[Any, ...]:
    """The axes of the mesh that the batch is sharded over."""
    name = mesh.axis_names[0] if axis_name is None else axis_name
    axes = tuple(name) if isinstance(name, tuple | list) else (name,)
    for axis in axes:
        if axis not in mesh.shape:
            raise ShardingError(
                f"{who} shards the batch over the axis {axis!r}, but the axes of "
                f"{mesh} are {', '.join(map(repr, mesh.axis_names))}."
            )
    return axes


def _batch_indices(indices: Sequence[int], args: Sequence[Any], who: str) -> set[int]:
    """The indices of the sharded arguments, counted from the front."""
    for n in indices:
        if not -len(args) <= n < len(args):
            raise ArgumentError(
                f"{who}: batch_argnums has {n}, but the call has "
                f"{how_many(len(args), 'positional argument')}."
            )
    return {n % len(args) for n in indices}


def _check_batch(args: tuple, sharded: set[int], count: int, who: str) -> None:
    """Raise where the arrays of a batch do not fit together, or cannot be sharded."""
    leaves, in_tree = tree.flatten((args, {}))
    types: list[ArrayType] = [x.type for x in arrays(leaves, who)]
    counts = [len(tree.leaves(a)) for a in args]
    owners = [i for i, n in enumerate(counts) for _ in range(n)]
    for i, (type_, owner) in enumerate(zip(types, owners, strict=True)):
        if owner in sharded and type_.ndim == 0:
            raise AxisError(
                f"{who}: {argument_path(in_tree, i)} is {type_}, which has no axis "
                "along which a batch could be sharded. Say with batch_argnums which "
                "arguments are batches."
            )
    dims = [0 if owner in sharded else None for owner in owners]
    size = batch_size(types, dims, None, in_tree, who)
    rest = size % count
    if rest:
        k = dims.index(0)
        raise ShardingError(
            f"{who}: the batch has {how_many(size, 'example')} "
            f"({argument_path(in_tree, k)} is {types[k]}), which "
            f"{how_many(count, 'device')} cannot share evenly. Leave out {rest}; or "
            f"pad to {size + count - rest} (covector.numpy.pad), give what was added "
            "the weight 0, sum with reduce='sum', and divide by the sum of the "
            "weights."
        )
