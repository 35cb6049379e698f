"""``restore``: arrays with any sharding, whatever their sharding was when saved."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from covector import options
from covector import tree as pytree
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.sharding.as_sharding import as_sharding
from covector.core.sharding.shardings import Index, Sharding
from covector.core.sharding.transfer import check_devices
from covector.core.types import ArrayType
from covector.errors import (
    ArgumentError,
    DTypeError,
    ShardingError,
    TreeMismatch,
    TypeMismatch,
)
from covector.experimental.checkpoint.contents import SCALARS, Entry, Shape
from covector.experimental.checkpoint.manifest import data_folder, read_manifest
from covector.experimental.checkpoint.reading import Reader
from covector.runtime import shards
from covector.tree.prefix import is_none


class Wanted(NamedTuple):
    """The requested form of a leaf."""

    #: as in ``Entry``
    kind: str
    type: ArrayType | None
    placement: Any = None


def restore(
    directory: str | os.PathLike[str], like: Any = None, *, shardings: Any = None
) -> Any:
    """The tree that was saved.

    Each process reads what its own devices are to hold, and no more; the mesh, and the
    number of processes, may be others than when it was saved.

    Args:
      like: a tree of the same structure, whose leaves say what is wanted: arrays or
        ``ShapeDtypeStruct`` of the same shapes, put where theirs are. Another dtype
        of the same kind converts: float32 to bfloat16, say. Without it, dicts, lists
        and tuples are returned, with a dict of its fields for an object; and arrays
        free to move.
      shardings: where arrays are to be: a device, a ``Sharding``, a ``PartitionSpec``
        for the mesh in force, or a tree of these, each for what is below it. It goes
        before what ``like`` says.

    Raises:
      CheckpointNotFound: there is no checkpoint, or it was never finished.
      CheckpointError: a file of it is missing or damaged.
      TreeMismatch: ``like`` or ``shardings`` has another structure.
      TypeMismatch: a leaf of ``like`` has another shape, or dtype of another kind.
      DTypeError: an array of 64 bits, while ``enable_x64`` is off.

    >>> import tempfile
    >>> import covector as cv
    >>> from covector.experimental.checkpoint import save
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     save(f"{directory}/new", [cv.numpy.ones(2)])
    ...     print(restore(f"{directory}/new", [cv.ShapeDtypeStruct((2,), "bfloat16")]))
    [Array([1, 1], dtype=bfloat16)]
    """
    path = Path(directory).absolute()
    manifest = read_manifest(path)
    entries = manifest.entries
    if like is None:
        order, treedef = pytree.flatten(manifest.tree)
        wanted = [_as_saved(entries[k]) for k in order]
    else:
        pairs, treedef = pytree.flatten_with_path(like, is_none)
        paths = [pytree.keystr(keys) for keys, _ in pairs]
        order = _in_order_of(paths, entries, path)
        wanted = [
            _like(leaf, entries[k]) for (_, leaf), k in zip(pairs, order, strict=True)
        ]
    placements = pytree.flatten_prefix(
        shardings, treedef, "restore shardings", of="the checkpoint"
    )
    reader = Reader(data_folder(path, manifest.number))
    reader.check_sizes(entries)
    rows = zip(order, wanted, placements, strict=True)
    return treedef.unflatten(
        [_restored(reader, entries[k], want, placement) for k, want, placement in rows]
    )


# -- what is wanted --------------------------------------------------------------------


def _in_order_of(paths: list[str], entries: list[Entry], directory: Path) -> list[int]:
    """The numbers of the leaves with these paths, which are all that there are."""
    numbers = {entry.path: k for k, entry in enumerate(entries)}
    missing = [path for path in paths if path not in numbers]
    left = [path for path in numbers if path not in set(paths)]
    if missing or left:
        words = []
        if missing:
            words.append(f"has {_some(missing)}, which the checkpoint has not")
        if left:
            words.append(f"has not {_some(left)}, which the checkpoint has")
        raise TreeMismatch(
            f"restore: like has another structure than the checkpoint at {directory}: "
            f"it {', and it '.join(words)}."
        )
    return [numbers[path] for path in paths]


def _some(paths: list[str]) -> str:
    shown = ", ".join(path or "a leaf at the root" for path in paths[:3])
    return f"{shown} and {len(paths) - 3} more" if len(paths) > 3 else shown


def _as_saved(entry: Entry) -> Wanted:
    type_ = entry.type
    if entry.kind == "array" and type_ is not None and _narrowed(type_) != type_:
        raise DTypeError(
            f"restore: {entry.path or 'the array'} was saved as {type_}, and "
            "enable_x64 is off. Switch it on, with covector.enable_x64(True):, or say "
            f"with like= that {_narrowed(type_)} is wanted."
        )
    return Wanted(entry.kind, type_)


def _narrowed(type: ArrayType) -> ArrayType:
    dtype = dtypes.canonical(type.dtype, options.current().enable_x64)
    return ArrayType(type.shape, dtype, type.weak)


def _like(leaf: Any, entry: Entry) -> Wanted:
    """The form that a leaf of ``like`` requests, checked against the saved entry."""
    where, wanted = entry.path or "the leaf", _wanted(leaf, entry.path)
    if wanted.type is not None and entry.type is not None:
        _check_type(where, entry.type, wanted.type)
    elif wanted.kind != entry.kind:
        saved = repr(entry.value) if entry.type is None else str(entry.type)
        kind = "None" if wanted.kind == "none" else wanted.kind
        shown = kind if wanted.type is None else wanted.type
        raise TypeMismatch(
            f"restore: {where} was saved as {saved}, but like has {shown}."
        )
    return wanted


def _wanted(leaf: Any, path: str) -> Wanted:
    if isinstance(leaf, np.ndarray | np.generic):
        return Wanted("numpy", ArrayType(leaf.shape, leaf.dtype))
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        weak = bool(getattr(leaf, "weak_type", False))
        type_ = _narrowed(ArrayType(tuple(leaf.shape), leaf.dtype, weak))
        # An array that was never put anywhere may go anywhere, and so may its like.
        placement = "placement" if isinstance(leaf, ConcreteArray) else "sharding"
        return Wanted("array", type_, getattr(leaf, placement, None))
    kind = "none" if leaf is None else type(leaf).__name__
    if leaf is not None and SCALARS.get(kind) is not type(leaf):
        raise ArgumentError(
            f"restore: the leaf of like at {path or 'the root'} is of type {kind}. It "
            "needs arrays, ShapeDtypeStruct, None, or Python's numbers and str."
        )
    return Wanted(kind, None)


def _check_type(where: str, saved: ArrayType, wanted: ArrayType) -> None:
    if saved.shape != wanted.shape:
        raise TypeMismatch(
            f"restore: {where} was saved as {saved}, but like has {wanted}. A "
            "checkpoint is restored in the shapes that it has; change them afterwards."
        )
    if not _converts(saved.dtype, wanted.dtype):
        raise TypeMismatch(
            f"restore: {where} was saved as {saved}, but like has {wanted}. Only "
            "floating and complex dtypes become others of their kind, and integers "
            "wider ones; restore it as it was saved, and convert it then."
        )


def _converts(saved: Any, wanted: Any) -> bool:
    if saved is wanted:
        return True
    if dtypes.is_integer(saved) and dtypes.is_integer(wanted):
        return np.can_cast(saved, wanted, "safe")
    return (dtypes.is_floating(saved) and dtypes.is_floating(wanted)) or (
        dtypes.is_complex(saved) and dtypes.is_complex(wanted)
    )


# -- putting it together ---------------------------------------------------------------


def _restored(reader: Reader, entry: Entry, wanted: Wanted, placement: Any) -> Any:
    type_ = wanted.type
    if type_ is None:
        return entry.value

    def read(start: Shape, shape: Shape) -> np.ndarray:
        values = reader.block(entry, start, shape)
        return values.astype(type_.storage, copy=False)

    if wanted.kind == "numpy":
        return read((0,) * type_.ndim, type_.shape)[()]
    try:
        return _array(
            type_, placement if placement is not None else wanted.placement, read
        )
    except ShardingError as error:
        error.add_note(f"while restoring {entry.path or 'the array'}, {type_}")
        raise


def _array(
    type: ArrayType, placement: Any, read: Callable[[Shape, Shape], np.ndarray]
) -> ConcreteArray:
    if placement is None:
        return ConcreteArray(type, read((0,) * type.ndim, type.shape))
    sharding: Sharding = as_sharding(placement, "restore")
    check_devices(sharding)
    part_shape = sharding.shard_shape(type.shape)
    found: dict[Shape, np.ndarray] = {}
    values = []
    for index in sharding.addressable_devices_indices_map(type.shape).values():
        start = _start(index, type.shape)
        if start not in found:
            found[start] = read(start, part_shape)
        values.append(found[start])
    if sharding.single is not None:
        return ConcreteArray(type, values[0]).to_device(sharding)
    buffer = shards.put(values, type.shape, sharding.layout(type.ndim))
    return ConcreteArray(type, None, buffer, sharding)


def _start(index: Index, shape: Shape) -> Shape:
    return tuple([s.indices(n)[0] for s, n in zip(index, shape, strict=True)])
