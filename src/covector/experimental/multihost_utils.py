"""Communication of host values between processes, outside of programs.

Every process has to call the same function here, in the same order. Values are NumPy
arrays, numbers, or arrays that are whole in this process, unless it says otherwise;
trees of them are one call. In a program of one process all of this is the identity.
"""

import functools
import zlib
from typing import Any

import numpy as np

from covector import namespaces, tree
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.sharding.mesh import Mesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import PartitionSpec
from covector.dispatch.jit import jit
from covector.errors import ArgumentError, ShardingError
from covector.placement.device_put import device_put
from covector.placement.make_array import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from covector.runtime import client, multi_process
from covector.runtime.multi_process import ProgramDigest

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "process_allgather",
    "sync_global_devices",
]
__dir__ = namespaces.completions(globals())

PROCESSES = "processes"


@functools.cache
def _mesh() -> Mesh:
    """The first device of each process."""
    first: dict[int, Any] = {}
    for device in client.devices():
        first.setdefault(device.process_index, device)
    return Mesh([first[rank] for rank in sorted(first)], (PROCESSES,))


@functools.cache
def _gathering(source: int | None) -> Any:
    """The program that gives every process the values of all, or of one."""

    def gathered(values: list[Any]) -> list[Any]:
        return values if source is None else [x[source] for x in values]

    return jit(gathered, out_shardings=NamedSharding(_mesh(), PartitionSpec()))


def _gather(values: list[np.ndarray], source: int | None = None) -> list[np.ndarray]:
    per_process = NamedSharding(_mesh(), PartitionSpec(PROCESSES))
    rank, count = client.process_index(), client.process_count()
    stacked = [
        make_array_from_callback((count, *x.shape), per_process, lambda _, x=x: x[None])
        for x in values
    ]
    assert rank < count, "a process has devices"
    return [np.array(x) for x in _gathering(source)(stacked)]


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes, as NumPy arrays, in each of them.

    Values of this process get an axis in front, with an entry for each process; with
    ``tiled`` they are put one behind the other along their first axis. Arrays that are
    over several processes come whole, and as they are.

    >>> process_allgather(np.arange(2)).tolist()
    [[0, 1]]
    """
    leaves, treedef = tree.flatten(in_tree)
    is_global = [
        isinstance(x, ConcreteArray) and not x.is_fully_addressable for x in leaves
    ]
    local = [
        np.asarray(x) for x, done in zip(leaves, is_global, strict=True) if not done
    ]
    if tiled:
        local = [np.atleast_1d(x) for x in local]
    gathered = iter(_gather(local) if local else [])
    found = []
    for x, done in zip(leaves, is_global, strict=True):
        if done:
            found.append(np.asarray(_replicated(x)))
        else:
            all_ = next(gathered)
            found.append(all_.reshape(-1, *all_.shape[2:]) if tiled else all_)
    return treedef.unflatten(found)


def _replicated(x: ConcreteArray) -> Array:
    return x if x.is_fully_replicated else device_put(x, x.sharding.replicated)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of one process, as NumPy arrays, in each of them.

    Args:
      in_tree: the same structure, shapes and dtypes everywhere; values of the others
        are not used.
      is_source: whether this process is the one; process 0 by default.

    Raises:
      ArgumentError: not exactly one process says that it is the source.

    >>> broadcast_one_to_all({"a": np.ones(2)})["a"].tolist()
    [1.0, 1.0]
    """
    source = 0
    if is_source is not None:
        (sources,) = _gather([np.asarray(is_source, np.bool_)])
        if sources.sum() != 1:
            raise ArgumentError(
                "broadcast_one_to_all needs one process that is the source, but "
                f"{int(sources.sum())} say so: processes "
                f"{np.flatnonzero(sources).tolist()}."
            )
        source = int(sources.argmax())
    leaves, treedef = tree.flatten(in_tree)
    if not leaves:
        return in_tree
    return treedef.unflatten(_gather([np.asarray(x) for x in leaves], source))


def sync_global_devices(name: str) -> None:
    """Wait until all processes are here, with the same name.

    Raises:
      ProgramMismatch: another process came with another name, or to a program.
      PeerLost: one of them is gone, or does not come within ``COVECTOR_PEER_TIMEOUT``.

    >>> sync_global_devices("checkpoint written")
    """
    session = multi_process.session()
    if session is not None:
        what = f"sync_global_devices({name!r})"
        session.everyone.agree(ProgramDigest(what, what, lambda: what))


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise in every process where they do not have the same values.

    Raises:
      AssertionError: so it is; with the leaf, and the processes that differ from 0.

    >>> assert_equal({"step": 3})
    """
    leaves, treedef = tree.flatten(in_tree)
    sums = [_sums(np.asarray(x)) for x in leaves]
    structure = zlib.crc32(str(treedef).encode())
    digest = np.array([structure, zlib.crc32(repr(sums).encode())], np.uint32)
    (all_,) = _gather([digest])
    if (all_ == all_[0]).all():
        return
    words = f"{fail_message} " if fail_message else ""
    who = np.flatnonzero((all_ != all_[0]).any(1)).tolist()
    where = ""
    if (all_[:, 0] == all_[0, 0]).all():
        (each,) = _gather([np.array(sums, np.uint32)])
        leaf = int(np.flatnonzero((each != each[0]).any(axis=(0, 2)))[0])
        where = f" at {tree.keystr(tree.leaf_path(treedef, leaf)) or 'the one leaf'}"
    raise AssertionError(
        f"{words}Values differ between processes{where}: those of {who} are not those "
        "of process 0."
    )


def _sums(x: np.ndarray) -> tuple[int, int]:
    """Checksums of the type and of the values."""
    return (
        zlib.crc32(f"{x.shape} {x.dtype}".encode()),
        zlib.crc32(np.ascontiguousarray(x).tobytes()),
    )


def host_local_array_to_global_array(
    local_inputs: Any, global_mesh: Mesh, pspecs: Any
) -> Any:
    """Arrays over a mesh of all processes, of which each has the values for its own
    devices.

    Args:
      pspecs: the global sharding: a ``PartitionSpec`` for each array, or a tree
        prefix of them. What a spec does not shard, all processes have in full.

    Raises:
      ShardingError: a spec does not fit.

    >>> import covector as cv
    >>> mesh = cv.make_mesh((cv.device_count(),), ("x",))
    >>> x = np.arange(cv.device_count())
    >>> host_local_array_to_global_array(x, mesh, cv.P("x")).sharding.spec
    P('x')
    """
    leaves, treedef = tree.flatten(local_inputs)
    specs = _specs(pspecs, local_inputs)
    made = [
        x
        if isinstance(x, ConcreteArray) and not x.is_fully_addressable
        else make_array_from_process_local_data(NamedSharding(global_mesh, s), x)
        for x, s in zip(leaves, specs, strict=True)
    ]
    return treedef.unflatten(made)


def global_array_to_host_local_array(
    global_inputs: Any, global_mesh: Mesh, pspecs: Any
) -> Any:
    """Arrays with the values on the devices of this process only, over its part of
    the mesh: the way back from ``host_local_array_to_global_array``.

    Raises:
      ShardingError: a spec does not fit.

    >>> import covector as cv
    >>> mesh = cv.make_mesh((cv.device_count(),), ("x",))
    >>> x = host_local_array_to_global_array(np.arange(2), mesh, cv.P())
    >>> print(global_array_to_host_local_array(x, mesh, cv.P()))
    [0 1]
    """
    leaves, treedef = tree.flatten(global_inputs)
    specs = _specs(pspecs, global_inputs)
    found = []
    for x, spec in zip(leaves, specs, strict=True):
        array = device_put(x, NamedSharding(global_mesh, spec))
        local = NamedSharding(global_mesh.local_mesh, spec)
        shards = [shard.data for shard in array.addressable_shards]
        counts = local.tiles(array.ndim).counts
        pairs = zip(shards[0].shape, counts, strict=True)
        shape = tuple([n * count for n, count in pairs])
        found.append(make_array_from_single_device_arrays(shape, local, shards))
    return treedef.unflatten(found)


def _specs(pspecs: Any, of: Any) -> list[PartitionSpec]:
    found = tree.flatten_prefix(
        pspecs, of, "pspecs", of="the arrays", is_leaf=lambda s: s is None
    )
    for spec in found:
        if spec is not None and not isinstance(spec, PartitionSpec):
            raise ShardingError(f"pspecs needs PartitionSpecs, but one is {spec!r}.")
    return [PartitionSpec() if s is None else s for s in found]
