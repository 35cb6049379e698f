"""Updates of elements that a boolean mask selects, without counting them.

    x.at[mask].set(v)   is   where(mask, v, x)

wherever one ``v`` is meant for each element or for all: so the mask may be traced.
Values that belong to the selected elements one by one need a known mask, and go by its
indices.
"""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.trace import Tracer
from covector.core.types import ArrayType, Shape
from covector.errors import NonConcreteBooleanIndexError
from covector.numpy.promote import broadcast_to
from covector.operations.transposing import Reshape


def only_mask(type_: ArrayType, idx: Any) -> tuple[Any, int] | None:
    """The mask, and its first axis in the array, if an index is nothing but a mask."""
    entries = idx if type(idx) is tuple else (idx,)
    masks = [e for e in entries if _is_mask(e)]
    whole = [e for e in entries if _is_whole(e)] if masks else []
    if len(masks) != 1 or len(whole) + 1 != len(entries):
        return None
    (mask,) = masks
    position = next(k for k, e in enumerate(entries) if e is mask)
    before = list(entries[:position])
    if Ellipsis in before:
        position = type_.ndim - mask.ndim - (len(entries) - position - 1)
    if type_.shape[position : position + mask.ndim] != tuple(mask.shape):
        return None
    return mask, position


def _is_mask(entry: Any) -> bool:
    return (
        isinstance(entry, Array | np.ndarray)
        and entry.ndim > 0
        and dtypes.is_bool(entry.dtype)
    )


def _is_whole(entry: Any) -> bool:
    return entry is Ellipsis or (type(entry) is slice and entry == slice(None))


def broadcast_mask(mask: Value, axis: int, shape: Shape) -> Any:
    """The mask repeated along the other axes of an array of this shape."""
    mask = as_array(mask)
    after = len(shape) - axis - mask.type.ndim
    return broadcast_to(Reshape((*mask.type.shape, *(1,) * after))(mask), shape)


def broadcast_values(
    values: Value, mask: Value, axis: int, type_: ArrayType
) -> Any | None:
    """A value for each element of the array, or None if each is meant for a selected
    one.

    To the selected elements, which have one axis in place of those of the mask, values
    must broadcast without that axis; or they have the shape of the whole array.
    """
    given, shape = values.type.shape, type_.shape
    if given == shape:
        return values
    padded = (1,) * (len(shape) - mask.ndim + 1 - len(given)) + given
    if len(padded) > len(shape) - mask.ndim + 1 or padded[axis] != 1:
        return None
    full = (*padded[:axis], *(1,) * mask.ndim, *padded[axis + 1 :])
    if any([n not in (1, m) for n, m in zip(full, shape, strict=True)]):
        return None
    return broadcast_to(Reshape(full)(values), shape) if values.type.ndim else values


def check_known(mask: Value, values: Value, type_: ArrayType) -> None:
    """Raise where a traced mask would have to say which value goes where."""
    if isinstance(mask, Tracer):
        raise NonConcreteBooleanIndexError(
            f"elements of {type_} were selected by a traced mask ({mask.type}) to be "
            f"changed with values of type {values.type}: how many are selected is not "
            f"known, so there is no saying which value goes where. {mask.origin()} "
            "Give one value for all, or one for each element of the array, "
            f"{type_.shape}."
        )
