"""Constructors of sharded arrays from their shards.

make_array_from_callback               calls a function for each shard
make_array_from_single_device_arrays   takes shards that are on their devices already
make_array_from_process_local_data     takes the values for this process's devices

In a multi-process run each process provides the shards of its own devices.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, from_numpy
from covector.core.sharding.as_sharding import ShardingLike, as_sharding
from covector.core.sharding.transfer import check_devices
from covector.core.types import ArrayType, show_types
from covector.errors import ShardingError, TypeMismatch, how_many
from covector.operations.casting import convert
from covector.placement.device_put import device_put
from covector.runtime import client, shards

Shape = tuple[int, ...]


def make_array_from_callback(
    shape: Sequence[int],
    sharding: ShardingLike,
    data_callback: Callable[[tuple[slice, ...]], Any],
    dtype: DTypeLike | None = None,
) -> Array:
    """An array whose shards ``data_callback`` gives: it is called with the index of
    each, a tuple of slices of the global array, once for each different shard that a
    device of this process is to have.

    Args:
      shape: of the global array.
      sharding: which device gets which shard.
      dtype: what the shards are converted to; that of the first one by default.

    Raises:
      ShardingError: the sharding does not fit the shape, or is over no devices.
      TypeMismatch: a shard has another shape, or another dtype than the first one.

    >>> import covector as cv
    >>> sharding = cv.sharding.SingleDeviceSharding(cv.devices()[0])
    >>> x = np.arange(3)
    >>> print(make_array_from_callback((3,), sharding, lambda index: x[index]))
    [0 1 2]
    """
    who, shape = "make_array_from_callback", tuple(map(int, shape))
    sharding = as_sharding(sharding, who)
    check_devices(sharding)
    shard_shape = sharding.shard_shape(shape)
    made: dict[str, ConcreteArray] = {}
    values = []
    for index in sharding.addressable_devices_indices_map(shape).values():
        bounds = [s.indices(n)[:2] for s, n in zip(index, shape, strict=True)]
        key = str(bounds)
        if key not in made:
            data = data_callback(tuple([slice(*each) for each in bounds]))
            made[key] = _shard(data, dtype, who)
        values.append(made[key])
    _check_shards(who, [v.type.strong() for v in values], shard_shape)
    hosts = [np.asarray(v.host()) for v in values]
    buffer = shards.put(hosts, shape, sharding.layout(len(shape)))
    return ConcreteArray(ArrayType(shape, values[0].dtype), None, buffer, sharding)


def _known(data: Any, who: str) -> ConcreteArray:
    """``data``, or nested lists of numbers, as an array with values."""
    array = as_array(data if hasattr(data, "dtype") else np.asarray(data), who)
    if isinstance(array, ConcreteArray):
        return array
    return from_numpy(np.asarray(array))  # which says of a tracer what it is


def _shard(
    data: ArrayLike | Sequence[Any], dtype: DTypeLike | None, who: str
) -> ConcreteArray:
    array = _known(data, who)
    if dtype is None:
        return array
    converted: Any = convert(array, asked_dtype(dtype))
    return converted


def _check_shards(who: str, types: Sequence[ArrayType], shard_shape: Shape) -> None:
    for type_ in types:
        if type_.shape != shard_shape or type_.dtype != types[0].dtype:
            wanted = ArrayType(shard_shape, types[0].dtype)
            raise TypeMismatch(
                f"{who} needs shards of type {wanted}, but one is {type_}."
            )


def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: ShardingLike,
    arrays: Sequence[Value],
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """An array whose shards are these arrays, each on its device already; they share
    the memory.

    Args:
      shape: of the global array.
      sharding: which device has which shard.
      arrays: one for each device of the sharding in this process, in any order.
      dtype: of the global array, where there are no shards to tell.

    Raises:
      ShardingError: a device of the sharding has no array, or another device has one.
      TypeMismatch: an array has not the type of a shard.

    >>> import covector as cv
    >>> sharding = cv.sharding.SingleDeviceSharding(cv.devices()[0])
    >>> x = cv.device_put(cv.numpy.arange(3), cv.devices()[0])
    >>> print(make_array_from_single_device_arrays((3,), sharding, [x]))
    [0 1 2]
    """
    who, shape = "make_array_from_single_device_arrays", tuple(map(int, shape))
    sharding = as_sharding(sharding, who)
    check_devices(sharding)
    by_device: dict[Any, ConcreteArray] = {}
    for array in arrays:
        if not isinstance(array, ConcreteArray) or array.sharding.num_devices > 1:
            raise ShardingError(
                f"{who} needs arrays that are on one device each, but got {array!r}."
            )
        by_device[array.sharding.flat_devices[0]] = array
    local = sharding.layout(len(shape)).local
    if by_device.keys() != set(local) or len(arrays) != len(by_device):
        raise ShardingError(
            f"{who} needs one array on each of the {how_many(len(local), 'device')} of "
            f"{sharding}, but got {len(arrays)} on "
            f"{', '.join(sorted({str(d) for d in by_device})) or 'no device'}."
        )
    ordered = [by_device[device] for device in local]
    _check_shards(who, [a.type.strong() for a in ordered], sharding.shard_shape(shape))
    wanted = ordered[0].dtype if dtype is None else dtypes.as_dtype(dtype)
    if wanted != ordered[0].dtype:
        raise TypeMismatch(
            f"{who} got dtype={dtypes.short_name(wanted)}, but shards of "
            f"type {show_types([ordered[0].type])}."
        )
    found = [a.buffer_over(a.sharding) for a in ordered]
    buffer = shards.assemble(found, shape, sharding.layout(len(shape)))
    return ConcreteArray(ArrayType(shape, ordered[0].dtype), None, buffer, sharding)


def make_array_from_process_local_data(
    sharding: ShardingLike,
    local_data: ArrayLike | Sequence[Any],
    global_shape: Sequence[int | None] | None = None,
) -> Array:
    """An array of the values that each process has: the rows of its own devices, say.

    Args:
      sharding: which device has which elements of the global array.
      local_data: the values for the devices of this process, beside each other as in
        the global array; along axes where ``global_shape`` says so, all values.
      global_shape: None, or None for an axis, where it follows from the data: the
        length of the data times the number of processes that the axis is over.

    Raises:
      ShardingError: the sharding does not fit the shape.
      TypeMismatch: ``global_shape`` does not fit the values.

    >>> import covector as cv
    >>> sharding = cv.sharding.SingleDeviceSharding(cv.devices()[0])
    >>> print(make_array_from_process_local_data(sharding, np.arange(3)))
    [0 1 2]
    """
    who = "make_array_from_process_local_data"
    sharding = as_sharding(sharding, who)
    check_devices(sharding)
    array = _known(local_data, who)
    values = np.asarray(array.host())
    counts, tiles = sharding.tiles(values.ndim)
    local = [
        tile
        for device, tile in zip(sharding.flat_devices, tiles, strict=True)
        if client.is_local(device)
    ]
    #: along each axis, the indices of the shards that belong to this process
    held = [sorted({tile[axis] for tile in local}) for axis in range(values.ndim)]
    shape = _global_shape(who, values.shape, counts, held, global_shape)
    if shape == values.shape and sharding.is_fully_addressable:
        return device_put(array, sharding)
    first = [
        0 if n == given else mine[0] * (n // count)
        for n, given, count, mine in zip(shape, values.shape, counts, held, strict=True)
    ]

    def shard(index: tuple[slice, ...]) -> ConcreteArray:
        local = [
            slice(s.start - start, s.stop - start)
            for s, start in zip(index, first, strict=True)
        ]
        found = values[tuple(local)]
        return ConcreteArray(array.type.with_shape(found.shape), found)

    return make_array_from_callback(shape, sharding, shard)


def _global_shape(
    who: str,
    given: Shape,
    counts: Shape,
    held: Sequence[Sequence[int]],
    requested: Sequence[int | None] | None,
) -> Shape:
    """The global shape: as asked for, or as follows from the data of one process."""
    found = tuple(
        [n * c // len(o) for n, c, o in zip(given, counts, held, strict=True)]
    )
    for axis, mine in enumerate(held):
        if mine != list(range(mine[0], mine[0] + len(mine))):
            raise ShardingError(
                f"{who}: along axis {axis} the devices of this process have the shards "
                f"{mine}, which are not beside each other. Use "
                "make_array_from_callback."
            )
    if requested is None:
        return found
    if len(requested) != len(given):
        raise TypeMismatch(
            f"{who} got data of shape {given}, but global_shape={tuple(requested)}."
        )
    wanted = tuple(
        [n if n is not None else f for n, f in zip(requested, found, strict=True)]
    )
    if any([n not in each for n, *each in zip(wanted, given, found, strict=True)]):
        shares = [f"{len(o)} of {c}" for o, c in zip(held, counts, strict=True)]
        raise TypeMismatch(
            f"{who}: this process has {', '.join(shares)} shards along each axis, so "
            f"data of shape {given} are those of an array of shape {found}; or, along "
            f"an axis, all there are: global_shape must be {found}, but is "
            f"{tuple(requested)}."
        )
    return wanted
