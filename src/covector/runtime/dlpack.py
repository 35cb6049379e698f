"""The fields of a DLPack capsule, read from its memory.

A buffer that jaxlib makes of a capsule does not tell its shape and dtype, so they are
read from the capsule beforehand, whose layout the DLPack specification fixes.
"""

import ctypes
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from covector.errors import DLPackError, how_many

# Device types of the specification.
CPU = 1
CUDA = 2

# Element types of the specification, as (code, bits).
_BY_CODE: dict[tuple[int, int], Any] = {
    (4, 16): ml_dtypes.bfloat16,
    (6, 8): np.bool_,
    (7, 8): ml_dtypes.float8_e3m4,
    (8, 8): ml_dtypes.float8_e4m3,
    (9, 8): ml_dtypes.float8_e4m3b11fnuz,
    (10, 8): ml_dtypes.float8_e4m3fn,
    (11, 8): ml_dtypes.float8_e4m3fnuz,
    (12, 8): ml_dtypes.float8_e5m2,
    (13, 8): ml_dtypes.float8_e5m2fnuz,
    (14, 8): ml_dtypes.float8_e8m0fnu,
}
_BY_CODE |= {(0, 8 * n): np.dtype(f"i{n}") for n in (1, 2, 4, 8)}
_BY_CODE |= {(1, 8 * n): np.dtype(f"u{n}") for n in (1, 2, 4, 8)}
_BY_CODE |= {(2, 8 * n): np.dtype(f"f{n}") for n in (2, 4, 8)}
_BY_CODE |= {(5, 8 * n): np.dtype(f"c{n}") for n in (8, 16)}

#: the dtypes that it has
DTYPES = frozenset(map(np.dtype, _BY_CODE.values()))


class _Tensor(ctypes.Structure):
    """``DLTensor``, the head of what a capsule points to."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
    ]


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def shape_and_dtype(capsule: Any) -> tuple[tuple[int, ...], np.dtype]:
    """The description of the tensor in an unversioned capsule, which stays unused."""
    tensor = _Tensor.from_address(_get_pointer(capsule, b"dltensor"))
    dtype = _BY_CODE.get((tensor.code, tensor.bits))
    if dtype is None or tensor.lanes != 1:
        raise DLPackError(
            f"from_dlpack: no dtype here has DLPack's type code {tensor.code}, "
            f"{how_many(tensor.bits, 'bit')}, {tensor.lanes} lanes."
        )
    return tuple(tensor.shape[: tensor.ndim]), np.dtype(dtype)
