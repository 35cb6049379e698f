"""Bit casts: elements viewed as another dtype, or with their bytes swapped."""

from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, scalar
from covector.core.number_info import bit_width
from covector.core.types import ArrayType
from covector.errors import ArgumentError, TypeMismatch
from covector.operations.casting import BitcastConvertType, convert
from covector.operations.comparison import ne
from covector.operations.complex import complex_, imag, real
from covector.operations.joining import Stack, Unstack
from covector.operations.transposing import Reshape, Rev

__all__ = []  # they are methods of arrays, and no functions of the namespace


def view(x: ArrayLike, dtype: DTypeLike | None = None, type: None = None) -> Array:
    """The bits of ``x`` as elements of another type: what ``x.view(dtype)`` calls.

    Where its elements are narrower or wider, the last axis becomes longer or shorter.

    Raises:
      TypeMismatch: the bits along the last axis do not make whole elements.

    >>> import covector.numpy as cnp
    >>> cnp.array([1.0, -2.0]).view("int32").tolist()
    [1065353216, -1073741824]
    """
    if type is not None:
        raise ArgumentError(f"view knows no array class {type!r}; there is one.")
    x = as_array(x, "view")
    to = x.type.dtype if dtype is None else asked_dtype(dtype)
    if to == x.type.dtype:
        return x
    return _as_elements(_as_real(x), to, x.type)


def _as_real(x: Value) -> Array:
    """The same bits as real numbers: of bools as bytes, of complex numbers as pairs."""
    if dtypes.is_bool(x.type.dtype):
        return convert(x, dtypes.uint8)
    if not dtypes.is_complex(x.type.dtype):
        return x
    pairs = Stack(x.type.ndim)(real(x), imag(x))
    return Reshape(_longer(x.type.shape, 2))(pairs) if x.type.ndim else pairs


def _as_elements(x: Value, to: DType, given: ArrayType) -> Array:
    """The bits of real numbers as elements of ``to``; ``given`` is what was asked
    of.
    """
    if dtypes.is_bool(to):
        return ne(_as_elements(x, dtypes.uint8, given), scalar(0, dtypes.uint8))
    if dtypes.is_complex(to):
        parts = _as_elements(x, dtypes.real_part(to), given)
        pairs = Reshape(_joined(parts.type.shape, 2, given, to))(parts)
        return complex_(*Unstack(pairs.type.ndim - 1)(pairs))
    old, new = bit_width(x.type.dtype), bit_width(to)
    if new > old:
        x = Reshape(_joined(x.type.shape, new // old, given, to))(x)
    out = BitcastConvertType(to)(x)
    if new < old:
        shape = _longer(x.type.shape, old // new) if x.type.ndim else out.type.shape
        out = Reshape(shape)(out)
    return out


def _longer(shape: tuple[int, ...], factor: int) -> tuple[int, ...]:
    return (*shape[:-1], shape[-1] * factor)


def _joined(
    shape: tuple[int, ...], count: int, given: Any, to: DType
) -> tuple[int, ...]:
    if not shape or shape[-1] % count:
        raise TypeMismatch(
            f"view of {given} as {dtypes.short_name(to)}: the bits along the last axis "
            "do not make whole elements."
        )
    return (*shape[:-1], shape[-1] // count, count)


def byteswap(x: ArrayLike) -> Array:
    """The bytes of each element in reverse order: what ``x.byteswap()`` calls.

    >>> import covector.numpy as cnp
    >>> cnp.array([1, 256], "int16").byteswap().tolist()
    [256, 1]
    """
    x = as_array(x, "byteswap")
    if dtypes.is_complex(x.type.dtype):
        return complex_(byteswap(real(x)), byteswap(imag(x)))
    if x.type.dtype.itemsize == 1:
        return x
    octets = BitcastConvertType(dtypes.uint8)(x)
    return BitcastConvertType(x.type.dtype)(Rev((x.type.ndim,))(octets))
