"""DLPack: tensors from and to NumPy and torch share memory, in every common dtype."""

import ml_dtypes
import numpy as np
import pytest

from covector.errors import DeletedArrayError, DLPackError
from covector.runtime import buffers, client, dlpack

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")

SHARED = [
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.float16, np.float32),
    *(np.float64, np.complex64, np.complex128, np.bool_),
]
TORCH_ONLY = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


class Exported:
    """A buffer as other libraries see it."""

    def __init__(self, buffer):
        self.buffer = buffer

    def __dlpack__(self, **arguments):
        return buffers.to_dlpack(self.buffer, **arguments)

    def __dlpack_device__(self):
        return buffers.dlpack_device(buffers.device_of(self.buffer))


class OnDevice:
    """A tensor that claims to be on some other device."""

    def __init__(self, kind, number=0):
        self.device = kind, number

    def __dlpack_device__(self):
        return self.device


@pytest.fixture
def device():
    return client.cpu_device()


@pytest.mark.parametrize("dtype", SHARED, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)], ids=str)
def test_numpy_and_torch_see_the_memory_of_a_buffer(dtype, shape, device):
    wanted = np.ones(shape, dtype)
    buffer = buffers.put(wanted, device)
    address = buffers.to_host(buffer).ctypes.data
    for library in filter(None, (np, torch)):
        seen = np.asarray(library.from_dlpack(Exported(buffer)))
        assert seen.ctypes.data == address
        assert seen.dtype == dtype
        np.testing.assert_array_equal(seen, wanted)


@pytest.mark.parametrize("dtype", SHARED, ids=lambda d: np.dtype(d).name)
def test_tensors_of_numpy_and_torch_are_shared(dtype):
    source = np.arange(6).reshape(2, 3).astype(dtype)
    theirs = [torch.from_numpy(x) for x in (source, source.T)] if torch else []
    for tensor in (source, source.T, *theirs):
        found = buffers.from_dlpack(tensor)
        assert found.dtype == dtype
        assert found.ctypes.data == source.ctypes.data
        np.testing.assert_array_equal(found, np.asarray(tensor))


@needs_torch
@pytest.mark.parametrize("name", TORCH_ONLY)
@pytest.mark.parametrize("transposed", [False, True])
def test_dtypes_that_numpy_does_not_know_come_from_torch(name, transposed):
    tensor = torch.tensor([[0.5, 1, 2], [-4, 0, 1]]).to(getattr(torch, name))
    tensor = tensor.T if transposed else tensor
    found = buffers.from_dlpack(tensor)
    assert found.dtype == TORCH_ONLY[name]
    np.testing.assert_array_equal(found.astype("f"), np.asarray(tensor.float()))


@needs_torch
def test_bfloat16_goes_to_torch(device):
    buffer = buffers.put(np.array([1, -2], ml_dtypes.bfloat16), device)
    tensor = torch.from_dlpack(Exported(buffer))
    assert tensor.dtype == torch.bfloat16
    assert tensor.tolist() == [1, -2]


def test_a_consumer_outlives_the_buffer(device):
    buffer = buffers.put(np.arange(4.0), device)
    seen = np.from_dlpack(Exported(buffer))
    buffers.delete(buffer)
    assert seen.tolist() == [0, 1, 2, 3]


def test_a_copy_shares_nothing(device):
    buffer = buffers.put(np.arange(4.0), device)
    seen = np.from_dlpack(Exported(buffer), copy=True)
    assert seen.ctypes.data != buffers.to_host(buffer).ctypes.data
    assert seen.tolist() == [0, 1, 2, 3]


@needs_torch
def test_an_imported_buffer_knows_its_shape_and_dtype(device):
    tensor = torch.ones((2, 3), dtype=torch.bfloat16)
    buffer = buffers._import_dlpack(tensor, device)
    assert repr(buffer.aval) == "bf16[2,3]"
    assert buffers.device_of(buffer) is device


@needs_torch
def test_an_imported_buffer_is_brought_to_row_major_order(device):
    transposed = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).T
    buffer = buffers._import_dlpack(transposed, device)
    straight = buffers._row_major(buffer)
    assert straight is not buffer
    assert buffers._row_major(straight) is straight
    assert buffers.to_host(straight).flags.c_contiguous
    np.testing.assert_array_equal(buffers.to_host(straight), buffers.to_host(buffer))


@needs_torch
def test_reading_a_capsule_leaves_it_usable():
    capsule = torch.ones((2, 0, 3), dtype=torch.int16).__dlpack__()
    assert dlpack.shape_and_dtype(capsule) == ((2, 0, 3), np.int16)
    assert torch.from_dlpack(capsule).shape == (2, 0, 3)


def test_a_dtype_without_dlpack_is_refused_by_name(device):
    buffer = buffers.put(np.ones((2, 3), ml_dtypes.int4), device)
    with pytest.raises(DLPackError, match=r"no dtype for i4\[2,3\]") as info:
        buffers.to_dlpack(buffer)
    assert isinstance(info.value, BufferError)


def test_a_deleted_buffer_cannot_be_exported(device):
    buffer = buffers.put(np.ones(2), device)
    buffers.delete(buffer)
    with pytest.raises(DeletedArrayError):
        np.from_dlpack(Exported(buffer))


def test_exporting_to_another_device_is_refused(device):
    buffer = buffers.put(np.ones(2, np.float32), device)
    with pytest.raises(DLPackError, match=r"f32\[2\] is on cpu:0 .* move it there"):
        buffers.to_dlpack(buffer, dl_device=(dlpack.CUDA, 0))


@needs_torch
def test_a_strided_tensor_that_needs_jaxlib_must_be_contiguous():
    strided = torch.ones(6, dtype=torch.bfloat16)[::2]
    with pytest.raises(DLPackError, match=r"bf16\[3\] in this layout; make it contig"):
        buffers.from_dlpack(strided)


def test_tensors_on_unknown_devices_are_refused():
    with pytest.raises(
        DLPackError, match="device of DLPack type 8; copy it to the CPU"
    ):
        buffers.from_dlpack(OnDevice(8))


def test_a_tensor_on_a_gpu_that_is_not_used_here_is_refused(monkeypatch):
    monkeypatch.setattr(client, "local_devices", lambda backend: [])
    with pytest.raises(DLPackError, match="does not use GPU number 3"):
        buffers.from_dlpack(OnDevice(dlpack.CUDA, 3))


def test_gpu_devices_have_their_number_in_dlpack(monkeypatch):
    class Gpu:
        platform = "cuda"
        local_hardware_id = 5

    assert buffers.dlpack_device(Gpu()) == (dlpack.CUDA, 5)
