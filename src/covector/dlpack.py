"""Exchange of arrays with other libraries through DLPack."""

from typing import Any

from covector import namespaces
from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.sharding.as_sharding import ShardingLike
from covector.numpy import files
from covector.runtime import dlpack

__all__ = ["from_dlpack", "is_supported_dtype"]
__dir__ = namespaces.completions(globals())


def from_dlpack(
    external_array: Any,
    device: ShardingLike | None = None,
    copy: bool | None = None,
) -> Array:
    """An array of any object that speaks DLPack, sharing its memory where possible.

    Whoever writes to ``external_array`` afterwards may change the array: pass
    ``copy=True`` then.

    Args:
      device: where the array is to be; None leaves it where the object is.
      copy: True for memory of its own; False to refuse a copy.

    Raises:
      DLPackError: the tensor cannot be read here.
      ArgumentError: ``copy`` is False, and the dtype has to be narrowed to 32 bits.

    >>> import numpy as np
    >>> from_dlpack(np.arange(3, dtype="int32")).tolist()
    [0, 1, 2]
    """
    return files.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays with these elements can go through DLPack.

    >>> is_supported_dtype("bfloat16"), is_supported_dtype("int4")
    (True, False)
    """
    return dtypes.as_dtype(dtype) in dlpack.DTYPES
