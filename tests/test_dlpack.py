"""Tensors of other libraries become arrays, and the other way round."""

import numpy as np
import pytest

import covector.numpy as cnp
from covector import dlpack


def test_a_tensor_shares_its_memory_or_has_a_copy():
    base = np.zeros(64 + 16, np.float32)
    start = (-base.ctypes.data % 64) // 4
    values = base[start : start + 64]
    shared, copied = dlpack.from_dlpack(values), dlpack.from_dlpack(values, copy=True)
    values[0] = 5
    assert float(shared[0]) == 5
    assert float(copied[0]) == 0


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
def test_what_is_supported_goes_out_and_comes_back(dtype):
    assert dlpack.is_supported_dtype(dtype)
    x = cnp.ones((2, 3), dtype)
    back = dlpack.from_dlpack(x)
    assert back.dtype == x.dtype
    assert (back == x).all()


def test_what_is_not_supported_is_said():
    supported = ["bfloat16", "float8_e5m2", "float16", "uint64"]
    assert all(map(dlpack.is_supported_dtype, supported))
    assert not any(map(dlpack.is_supported_dtype, ["int4", "uint2", "float4_e2m1fn"]))
