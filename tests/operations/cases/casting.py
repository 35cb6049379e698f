"""Rows of the operations in ``operations/casting.py``."""

import ml_dtypes
import numpy as np

from covector.core import dtypes
from covector.operations.casting import (
    BitcastConvertType,
    ConvertElementType,
    ReducePrecision,
)
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.75, 1.5]])
_z = _x[:, :2] + 1j * _x[:, 1:]
_special = np.array([0.0, -0.0, 1.9, -1.9, 3e9, -3e9, 1e30, np.inf, -np.inf, np.nan])
_integers = np.array([0, 1, -1, 300, -(2**31), 2**31 - 1], np.int32)
_bytes = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
_floats = ("float32", "float64", "float16", "bfloat16")


def _to(dtype):
    """As NumPy converts it, but floats to integers saturate."""
    dtype = dtypes.as_dtype(dtype)

    def convert(x):
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x != 0 if dtype.kind == "b" else x.real
        if x.dtype.kind == "f" and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            whole = [0 if np.isnan(v) else v for v in x.ravel().tolist()]
            inside = [
                limits.max
                if v >= limits.max
                else limits.min
                if v <= limits.min
                else int(v)
                for v in whole
            ]
            return np.array(inside, dtype).reshape(x.shape)
        return x.astype(dtype)

    return convert


def _round_trip(narrow):
    """Through a narrower type and back: what is subnormal there becomes zero."""
    tiny = float(ml_dtypes.finfo(narrow).tiny)

    def reduced(x):
        there = x.astype(narrow).astype(np.float64)
        return np.where(np.abs(there) < tiny, np.copysign(0, there), there)

    return reduced


_targets = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int32",
    "int8",
    "uint8",
    "uint32",
    "int64",
    "bool",
    "float8_e4m3fn",
)

CASES = [
    *[
        Case(
            ConvertElementType(dtypes.as_dtype(d)),
            (x,),
            _to(d),
            derivative=d in ("float64", "complex128"),
        )
        for x in (_x, _z)
        for d in _targets
    ],
    *[
        Case(
            ConvertElementType(dtypes.as_dtype(d)),
            (_special,),
            _to(d),
            name="convert_element_type of special values",
            derivative=False,
            dtypes=("float32", "float64"),
        )
        for d in ("int32", "int8", "uint8", "uint32", "int64", "uint64", "bool")
    ],
    *[
        Case(
            ConvertElementType(dtypes.as_dtype(d)),
            (_integers,),
            _to(d),
            name="convert_element_type of integers",
            dtypes=("int32", "int64"),
        )
        for d in ("int8", "uint8", "uint32", "int64", "float32", "bool", "complex64")
    ],
    Case(ConvertElementType(dtypes.float64, weak=True), (1.5,), _to("float64")),
    Case(ConvertElementType(dtypes.float64), (np.zeros((0, 2)),), _to("float64")),
    Case(
        BitcastConvertType(dtypes.int32),
        (_x,),
        lambda x: x.view(np.int32),
        derivative=False,
        dtypes=("float32",),
        upcast=False,
    ),
    Case(
        BitcastConvertType(dtypes.uint8),
        (_x,),
        lambda x: x[..., None].view(np.uint8),
        derivative=False,
        dtypes=("float32", "float16", "float64", "int16"),
        upcast=False,
        name="bitcast_convert_type to bytes",
    ),
    Case(
        BitcastConvertType(dtypes.float32),
        (_bytes,),
        lambda x: x.view(np.float32)[..., 0],
        dtypes=("uint8", "int8"),
        upcast=False,
        rtol=0,
        name="bitcast_convert_type of bytes",
    ),
    Case(
        BitcastConvertType(dtypes.int16),
        (1.5,),
        lambda x: x.view(np.int16),
        derivative=False,
        dtypes=("bfloat16", "float16"),
        upcast=False,
    ),
    Case(BitcastConvertType(dtypes.int4), (_bytes,), dtypes=("uint8", "uint4")),
    Case(BitcastConvertType(dtypes.bool_), (_x > 0,), np.copy),
    *[
        Case(
            ReducePrecision(*bits),
            (np.append(_x.ravel(), [1.2345, 70000, 1e-7, -0.0, np.inf, np.nan]),),
            _round_trip(narrow),
            derivative=False,
            dtypes=("float32", "float64"),
            rtol=0,
        )
        for bits, narrow in [
            ((5, 10), np.float16),
            ((8, 7), ml_dtypes.bfloat16),
            ((5, 2), ml_dtypes.float8_e5m2),
        ]
    ],
    Case(
        ReducePrecision(8, 7), (_x,), _round_trip(ml_dtypes.bfloat16), derivative=False
    ),
    Case(
        ReducePrecision(3, 0),
        (np.array([1.7, 1.3, 3.0, 1.5, 9.0, 100.0, 0.2, 0.1]),),
        lambda x: np.array([2, 1, 2, 2, 8, np.inf, 0.25, 0]),
        name="reduce_precision to powers of 2",
        derivative=False,
        dtypes=_floats,
    ),
    Case(ReducePrecision(5, 10), (1.5,), np.copy, derivative=False),
]
