"""Arrays over several devices, put together from parts.

make_array_from_callback               a function is asked for each part
make_array_from_single_device_arrays   the parts are on their devices already
make_array_from_process_local_data     this process has all of the values
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.convert import as_array, from_numpy
from covector.core.sharding.moving import check_devices
from covector.core.sharding.resolving import as_sharding
from covector.core.sharding.shardings import Sharding
from covector.core.types import ArrayType, show_types
from covector.errors import ShardingError, TypeMismatch
from covector.programs.placing import device_put
from covector.runtime import parts

Shape = tuple[int, ...]


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Any,
    data_callback: Callable[[tuple[slice, ...]], Any],
    dtype: Any = None,
) -> ConcreteArray:
    """An array whose parts ``data_callback`` gives: it is called with the index of
    each, a tuple of slices of the whole, once for each part that differs.

    Args:
      shape: of the whole.
      sharding: which device gets which part.
      dtype: what the parts are converted to; that of the first one by default.

    Raises:
      ShardingError: the sharding does not fit the shape, or is over no devices.
      TypeMismatch: a part has another shape, or another dtype than the first one.

    >>> import covector as cv
    >>> place = cv.sharding.SingleDeviceSharding(cv.devices()[0])
    >>> print(make_array_from_callback((3,), place, lambda index: np.arange(3)[index]))
    [0 1 2]
    """
    who, shape = "make_array_from_callback", tuple(map(int, shape))
    place = as_sharding(sharding, who)
    check_devices(place)
    part_shape = place.shard_shape(shape)
    made: dict[str, np.ndarray] = {}
    values = []
    for index in place.devices_indices_map(shape).values():
        key = str(index)
        if key not in made:
            made[key] = _part(data_callback(_bounded(index, shape)), dtype)
        values.append(made[key])
    _check_parts(who, [ArrayType(v.shape, v.dtype) for v in values], part_shape)
    return _whole(shape, place, values)


def _bounded(index: tuple[slice, ...], shape: Shape) -> tuple[slice, ...]:
    """The index with numbers for bounds."""
    return tuple([slice(*s.indices(n)[:2]) for s, n in zip(index, shape, strict=True)])


def _part(data: Any, dtype: Any) -> np.ndarray:
    array = as_array(data if hasattr(data, "dtype") else np.asarray(data))
    values = np.asarray(array.host())  # type: ignore[attr-defined]
    if dtype is None:
        return values
    wanted: Any = dtypes.as_dtype(dtype)
    return np.asarray(from_numpy(values.astype(wanted)).host())


def _whole(shape: Shape, place: Sharding, values: Sequence[Any]) -> ConcreteArray:
    type_ = ArrayType(shape, values[0].dtype)
    buffer = parts.put(values, shape, place.layout(len(shape)))
    return ConcreteArray(type_, None, buffer, place)


def _check_parts(who: str, types: Sequence[ArrayType], part_shape: Shape) -> None:
    for type_ in types:
        if type_.shape != part_shape or type_.dtype != types[0].dtype:
            wanted = ArrayType(part_shape, types[0].dtype)
            raise TypeMismatch(
                f"{who} needs parts of type {wanted}, but one is {type_}."
            )


def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: Any,
    arrays: Sequence[Any],
    *,
    dtype: Any = None,
) -> ConcreteArray:
    """An array whose parts are these arrays, each on its device already; they share
    the memory.

    Args:
      shape: of the whole.
      sharding: which device has which part.
      arrays: one for each device of the sharding, in any order.
      dtype: of the whole, where there are no parts to tell.

    Raises:
      ShardingError: a device of the sharding has no array, or another device has one.
      TypeMismatch: an array has not the type of a part.

    >>> import covector as cv
    >>> place = cv.sharding.SingleDeviceSharding(cv.devices()[0])
    >>> x = cv.device_put(cv.numpy.arange(3), cv.devices()[0])
    >>> print(make_array_from_single_device_arrays((3,), place, [x]))
    [0 1 2]
    """
    who, shape = "make_array_from_single_device_arrays", tuple(map(int, shape))
    place = as_sharding(sharding, who)
    check_devices(place)
    by_device: dict[Any, ConcreteArray] = {}
    for array in arrays:
        if not isinstance(array, ConcreteArray) or array.sharding.num_devices > 1:
            raise ShardingError(
                f"{who} needs arrays that are on one device each, but got {array!r}."
            )
        by_device[array.sharding.flat_devices[0]] = array
    if by_device.keys() != place.device_set or len(arrays) != len(by_device):
        raise ShardingError(
            f"{who} needs one array on each of the {place.num_devices} devices of "
            f"{place}, but got {len(arrays)} on "
            f"{', '.join(sorted({str(d) for d in by_device})) or 'no device'}."
        )
    ordered = [by_device[device] for device in place.flat_devices]
    _check_parts(who, [a.type.strong() for a in ordered], place.shard_shape(shape))
    wanted = ordered[0].dtype if dtype is None else dtypes.as_dtype(dtype)
    if wanted != ordered[0].dtype:
        raise TypeMismatch(
            f"{who} got dtype={dtypes.short_name(wanted)}, but parts of "
            f"type {show_types([ordered[0].type])}."
        )
    found = [a.buffer_over(a.sharding) for a in ordered]
    buffer = parts.assemble(found, shape, place.layout(len(shape)))
    return ConcreteArray(ArrayType(shape, ordered[0].dtype), None, buffer, place)


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
) -> ConcreteArray:
    """An array of the values that this process has: where it is the only one, all.

    Raises:
      ShardingError: the sharding does not fit the shape.
      TypeMismatch: ``global_shape`` is another than that of the values.

    >>> import covector as cv
    >>> place = cv.sharding.SingleDeviceSharding(cv.devices()[0])
    >>> print(make_array_from_process_local_data(place, np.arange(3)))
    [0 1 2]
    """
    who = "make_array_from_process_local_data"
    place = as_sharding(sharding, who)
    values = np.asarray(local_data)
    if global_shape is not None and tuple(global_shape) != values.shape:
        raise TypeMismatch(
            f"{who}: the data of the only process are all there are, so global_shape "
            f"must be {values.shape}, but is {tuple(global_shape)}."
        )
    return device_put(values, place)
