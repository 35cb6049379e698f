"""Common parts of initializers: the dtype, and how weights are drawn and scaled."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import covector.numpy as cnp
from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import asked_dtype
from covector.core.sharding.as_sharding import ShardingLike
from covector.numpy.axes import with_out_sharding


class Initializer(Protocol):
    """A function ``(key, shape, dtype) → array``."""

    def __call__(
        self,
        key: Value,
        shape: Sequence[int],
        dtype: DType | None = None,
        out_sharding: ShardingLike | None = None,
    ) -> Any: ...


def dtype_of_weights(*choices: Any) -> DType:
    """The first dtype that is given, or the default one."""
    for choice in choices:
        if choice is not None:
            return asked_dtype(choice)
    return dtypes.default_float(options.current().enable_x64)


def initializer_of(
    default: DTypeLike | None,
    draw: Callable[[Any, Any, DType], Array],
    scale: ArrayLike | None = None,
) -> Initializer:
    """The initializer that draws weights in the dtype asked for, and scales them."""

    def initializer(
        key: Value | None,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        out_sharding: ShardingLike | None = None,
    ) -> Array:
        kind = dtype_of_weights(dtype, default)
        drawn = draw(key, shape, kind)
        scaled = drawn if scale is None else drawn * cnp.array(scale, kind)
        return with_out_sharding(scaled, out_sharding)

    return initializer
