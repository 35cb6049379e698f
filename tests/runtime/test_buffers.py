"""Buffers: every dtype there and back, and words for every way to lose one."""

import sys
import threading
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from jaxlib import _jax

from covector.errors import DeletedArrayError, DeviceError, DTypeError
from covector.runtime import buffers, client, compiler
from tests.runtime.programs import F32, add, output_of, square

DTYPES = [
    *(np.bool_, np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    *(ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn),
    *(ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.uint4),
]
SHAPES = [(), (0,), (1,), (5,), (2, 3), (2, 0, 3), (1, 2, 1, 3)]

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)


@pytest.fixture
def device():
    return client.cpu_device()


@pytest.fixture
def poisoned(device):
    """A buffer whose program failed after it was started."""
    sharding, _ = buffers.placement(device)
    what = SimpleNamespace(shape=(4,), dtype=F32, weak_type=False, sharding=sharding)
    with buffers.no_jax_import:
        return _jax._make_error_array(device.client, what, "the disk is on fire")


def values(dtype, shape):
    """Zeros and ones, or ones and twos in the dtype that has only powers of two."""
    found = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2
    if dtype == ml_dtypes.float8_e8m0fnu:
        found = found + 1
    return found.astype(dtype)


def aligned(size):
    """A float32 vector whose memory starts at a multiple of 64."""
    raw = np.zeros(4 * size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + 4 * size].view(np.float32)


# -- there and back -------------------------------------------------------------------


@every_dtype
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_survive_the_way_to_the_device_and_back(dtype, shape, device):
    wanted = values(dtype, shape)
    got = buffers.to_host(buffers.put(wanted, device))
    assert got.dtype == wanted.dtype
    assert got.shape == shape
    assert got.tobytes() == wanted.tobytes()


@every_dtype
def test_host_values_are_read_only(dtype, device):
    got = buffers.to_host(buffers.put(values(dtype, (3,)), device))
    assert not got.flags.writeable


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_special_floats_keep_their_bits(dtype, device):
    wanted = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45]).astype(dtype)
    got = buffers.to_host(buffers.put(wanted, device))
    assert got.tobytes() == wanted.tobytes()


def test_every_memory_order_arrives_as_the_same_values(device):
    grid = np.arange(64, dtype=np.float32).reshape(8, 8)
    for view in (grid.T, grid[::2, 1::3], grid[::-1], np.broadcast_to(grid[0], (3, 8))):
        np.testing.assert_array_equal(buffers.to_host(buffers.put(view, device)), view)


def test_foreign_byte_order_is_converted(device):
    wanted = np.array([1.5, -2.0], ">f4")
    got = buffers.to_host(buffers.put(wanted, device))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["<U1", "object", "datetime64[D]", "longdouble"])
def test_a_dtype_that_no_device_has_is_refused_by_name(dtype, device):
    array = np.zeros(2, dtype)
    with pytest.raises(DTypeError) as info:
        buffers.put(array, device)
    assert f"no device holds elements of dtype {array.dtype}" in str(info.value)
    assert isinstance(info.value, TypeError)


# -- sharing memory -------------------------------------------------------------------


def test_reading_on_the_cpu_copies_nothing(device):
    buffer = buffers.put(np.ones(4, np.float32), device)
    first, second = buffers.to_host(buffer), buffers.to_host(buffer)
    assert first.ctypes.data == second.ctypes.data


def test_writing_to_the_source_afterwards_changes_nothing(device):
    source = aligned(64)
    buffer = buffers.put(source, device)
    source[:] = 7
    assert not buffers.to_host(buffer).any()


def test_an_aligned_source_is_shared_when_no_copy_is_wanted(device):
    source = aligned(64)
    shared = buffers.to_host(buffers.put(source, device, copy=False))
    assert shared.ctypes.data == source.ctypes.data


def test_an_unaligned_source_is_copied_even_so(device):
    source = aligned(65)[1:]
    shared = buffers.to_host(buffers.put(source, device, copy=False))
    assert shared.ctypes.data != source.ctypes.data
    np.testing.assert_array_equal(shared, source)


# -- deleted and poisoned -------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        buffers.to_host,
        buffers.is_ready,
        buffers.to_dlpack,
        lambda b: buffers.block_until_ready([b]),
        lambda b: buffers.copy_to_device(b, client.cpu_device()),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_every_use_of_a_deleted_buffer_says_so(use, dtype, device):
    buffer = buffers.put(np.ones((4, 2), dtype), device)
    assert not buffers.is_deleted(buffer)
    buffers.delete(buffer)
    assert buffers.is_deleted(buffer)
    with pytest.raises(
        DeletedArrayError, match=r"deleted or donated: its b?f\d+\[4,2\]"
    ):
        use(buffer)


def test_deleting_twice_is_harmless(device):
    buffer = buffers.put(np.ones(4), device)
    buffers.delete(buffer)
    buffers.delete(buffer)


def test_a_view_outlives_its_buffer(device):
    buffer = buffers.put(np.arange(4), device)
    view = buffers.to_host(buffer)
    buffers.delete(buffer)
    assert view.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "use", [buffers.to_host, lambda b: buffers.block_until_ready([b])]
)
def test_a_poisoned_buffer_tells_what_went_wrong(use, poisoned):
    assert buffers.is_ready(poisoned)
    with pytest.raises(DeviceError, match="the disk is on fire"):
        use(poisoned)


def test_poison_spreads_to_what_is_computed_from_it(poisoned, device):
    program = compiler.compile_module(add(), device, outputs=[((4,), F32)])
    with pytest.raises(DeviceError, match="the disk is on fire"):
        buffers.block_until_ready(program.execute([poisoned, poisoned]))


def test_waiting_for_several_buffers(device):
    program = compiler.compile_module(square(64), device, outputs=[((64, 64), F32)])
    eye = buffers.put(np.eye(64, dtype=F32), device)
    results = [program.execute([eye])[0] for _ in range(5)]
    buffers.block_until_ready(results)
    assert all(map(buffers.is_ready, results))
    buffers.block_until_ready([])


# -- devices --------------------------------------------------------------------------


def test_a_buffer_knows_its_device(device):
    assert buffers.device_of(buffers.put(np.ones(3), device)) is device


def test_copying_to_the_same_device_is_free_unless_a_copy_is_wanted(device):
    buffer = buffers.put(np.arange(3), device)
    assert buffers.copy_to_device(buffer, device) is buffer
    copy = buffers.copy_to_device(buffer, device, always=True)
    buffers.delete(buffer)
    assert buffers.to_host(copy).tolist() == [0, 1, 2]


def test_copying_between_devices():
    code = """
import numpy as np, ml_dtypes
from covector.runtime import buffers, client
first, second = client.local_devices(backend="cpu")
for dtype in (np.float32, ml_dtypes.bfloat16, ml_dtypes.int4, bool):
    buffer = buffers.put(np.array([0, 1, 1], dtype), first)
    copy = buffers.copy_to_device(buffer, second)
    assert buffers.device_of(copy) is second
    buffers.delete(buffer)
    assert buffers.to_host(copy).tolist() == [0, 1, 1]
print("done")
"""
    assert output_of(code, COVECTOR_NUM_CPU_DEVICES="2") == "done"


# -- without jax ----------------------------------------------------------------------


def test_nothing_here_imports_jax():
    code = """
import sys, numpy as np, ml_dtypes
from covector.runtime import buffers, client, compiler
device = client.default_device()
for dtype in (np.float32, ml_dtypes.bfloat16, ml_dtypes.int4):
    buffer = buffers.put(np.ones(4, dtype), device)
    buffers.to_host(buffer)
    buffers.copy_to_device(buffer, device, always=True)
class Tensor:
    def __dlpack__(self): return buffers.to_dlpack(buffers.put(np.ones(4), device))
    def __dlpack_device__(self): return buffers.dlpack_device(device)
buffers._import_dlpack(Tensor(), device)
print([m for m in sys.modules if m == "jax" or m.startswith("jax.")])
"""
    assert output_of(code) == "[]"


def test_the_guard_is_lifted_when_the_last_thread_leaves(monkeypatch):
    loaded = [m for m in sys.modules if m == "jax" or m.startswith(("jax.", "jax._"))]
    for module in loaded:
        monkeypatch.delitem(sys.modules, module)
    guard = buffers._NoJaxImport()
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with guard:
            inside.set()
            leave.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    with guard:
        pass
    assert sys.modules["jax.core"] is None
    leave.set()
    thread.join()
    assert "jax.core" not in sys.modules


def test_the_guard_leaves_an_imported_jax_alone(monkeypatch):
    core = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "jax._src.cloud_tpu_init", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "jax.core", core)
    with buffers.no_jax_import:
        assert sys.modules["jax.core"] is core


def test_the_guard_hides_what_only_goes_by_the_name_of_jax(monkeypatch):
    stand_in = SimpleNamespace()
    monkeypatch.delitem(sys.modules, "jax._src.cloud_tpu_init", raising=False)
    monkeypatch.setitem(sys.modules, "jax.core", stand_in)
    with buffers.no_jax_import:
        assert sys.modules["jax.core"] is None
    assert sys.modules["jax.core"] is stand_in


def test_threads_may_read_and_write_at_once(device):
    wrong = []

    def work(number):
        wanted = np.full(100, number, ml_dtypes.bfloat16)
        found = [buffers.to_host(buffers.put(wanted, device)) for _ in range(100)]
        wrong.extend(f for f in found if f.tobytes() != wanted.tobytes())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
