"""Arrays in files, in bytes, in text and in other libraries, and back."""

import os
from collections.abc import Iterable
from typing import IO, Any

import ml_dtypes
import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike
from covector.core.array import from_buffer, from_host
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.sharding.as_sharding import ShardingLike
from covector.errors import ArgumentError
from covector.numpy.axes import with_out_sharding
from covector.numpy.creation import asarray
from covector.runtime import buffers

__all__ = [
    "from_dlpack",
    "frombuffer",
    "fromfile",
    "fromiter",
    "fromstring",
    "load",
    "save",
    "savez",
]


def from_dlpack(
    x: ArrayLike, /, *, device: ShardingLike | None = None, copy: bool | None = None
) -> Array:
    """An array of any object that speaks DLPack, sharing its memory where possible.

    Whoever writes to ``x`` afterwards may change the array: pass ``copy=True`` then.

    Args:
      copy: True for memory of its own; False to refuse a copy.

    Raises:
      DLPackError: the tensor cannot be read here.
      ArgumentError: ``copy`` is False, and the dtype has to be narrowed to 32 bits.

    >>> from_dlpack(np.arange(3.0, dtype="float32")).tolist()
    [0.0, 1.0, 2.0]
    """
    values = buffers.from_dlpack(x)
    if not isinstance(values, np.ndarray):
        out = from_buffer(values)
        return with_out_sharding(out.copy() if copy else out, device)
    to = dtypes.canonical(values.dtype, options.current().enable_x64)
    if copy or to != values.dtype:
        if copy is False:
            raise ArgumentError(
                f"from_dlpack of {dtypes.short_name(values.dtype)} elements as "
                f"{dtypes.short_name(to)} needs a copy, and copy=False forbids it."
            )
        return with_out_sharding(as_array(values), device)
    return with_out_sharding(from_host(values), device)


def frombuffer(
    buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0
) -> Array:
    """The elements in an object with a buffer, such as ``bytes``.

    Args:
      dtype: of the elements in the buffer; 64-bit ones are narrowed afterwards.
      count: how many to read; −1 for all.
      offset: bytes to leave out at the beginning.

    >>> frombuffer(b"ab", dtype="uint8").tolist()
    [97, 98]
    """
    return as_array(np.frombuffer(buffer, np.dtype(dtype), count, offset))


def fromfile(
    file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0
) -> Array:
    """The elements in a file: in binary, or with ``sep`` in text.

    It is read when this is called; under ``jit``, that is while tracing.
    """
    return as_array(np.fromfile(file, np.dtype(dtype), count, sep, offset))


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1) -> Array:
    """The numbers that an iterable gives, in one dimension.

    >>> fromiter((n * n for n in range(4)), int).tolist()
    [0, 1, 4, 9]
    """
    return as_array(np.fromiter(iter, np.dtype(dtype), count))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """The numbers in a text, which ``sep`` separates.

    >>> fromstring("1 2 4", dtype=int, sep=" ").tolist()
    [1, 2, 4]
    """
    return as_array(np.fromstring(string, np.dtype(dtype), count, sep=sep))


def save(file: Any, arr: ArrayLike, allow_pickle: bool = True) -> None:
    """Write an array to a ``.npy`` file, which ``load`` reads."""
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: ArrayLike, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write arrays to one ``.npz`` file, under ``arr_0``, … and the names given."""
    arrays = [np.asarray(x) for x in args]
    named = {name: np.asarray(x) for name, x in kwds.items()}
    np.savez(file, *arrays, allow_pickle=allow_pickle, **named)


def load(file: IO[bytes] | str | os.PathLike[Any], *args: Any, **kwargs: Any) -> Any:
    """The array in a file of ``save``; for ``savez``, a mapping from names to NumPy
    arrays.

    A file does not tell which dtype of two bytes it holds that NumPy does not have: it
      is taken to be bfloat16.
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype == np.dtype("V2"):
        found = found.view(ml_dtypes.bfloat16)
    return asarray(found)
