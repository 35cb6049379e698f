"""Concrete arrays: the same whether their values are on the host or on a device."""

import copy
import pickle

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core import dtypes
from covector.core.array import ConcreteArray, from_buffer, from_host
from covector.core.sharding.shardings import SingleDeviceSharding
from covector.core.types import ArrayType
from covector.errors import ArgumentError, AxisError, DeletedArrayError, DeviceError
from covector.runtime import buffers, client

VALUES = np.float32([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
F32 = ArrayType((2, 3), dtypes.float32)


def on_host():
    return ConcreteArray(F32, VALUES.copy())


def on_device():
    return ConcreteArray(F32, None, buffers.put(VALUES, client.default_device()))


def on_both():
    x = on_device()
    x.host()
    return x


def chosen():
    return on_host().to_device(client.default_device())


MAKERS = [on_host, on_device, on_both, chosen]
each_maker = pytest.mark.parametrize("make", MAKERS)


# -- two representations of one value --------------------------------------------------


@each_maker
def test_the_values_are_the_same_on_the_host_and_on_the_device(make):
    np.testing.assert_array_equal(make().host(), VALUES)
    buffer = make().buffer(client.default_device())
    np.testing.assert_array_equal(buffers.to_host(buffer), VALUES)


@each_maker
def test_a_representation_is_made_once_and_kept(make):
    x = make()
    assert x.host() is x.host()
    device = client.default_device()
    assert x.buffer(device) is x.buffer(device)


@each_maker
def test_which_representation_there_is_cannot_be_seen(make):
    x = make()
    assert repr(x) == repr(on_host())
    assert x.type is F32
    assert x.devices() == {client.default_device()}
    assert x.device is client.default_device()
    assert x.platform() == "cpu"
    assert x.is_ready()
    assert not x.is_deleted()
    assert x.is_fully_addressable
    assert x.is_fully_replicated


@each_maker
def test_only_an_array_that_was_put_somewhere_is_committed(make):
    assert make().committed == (make is chosen)


@each_maker
def test_small_values_on_the_cpu_are_at_hand_on_the_host(make):
    assert make().on_host()
    assert not make().is_sharded


def test_an_array_goes_to_the_default_device_of_its_block_until_it_is_on_one():
    other = client.devices()[-1]
    x, committed = on_host(), on_device()
    with cv.default_device(other):
        assert x.device is other
        assert committed.device is client.default_device() or len(client.devices()) == 1
    assert x.device is client.default_device()


# -- elsewhere -------------------------------------------------------------------------


@each_maker
def test_to_device_gives_the_same_values_and_commits_them(make):
    x, device = make(), client.default_device()
    for where in (device, SingleDeviceSharding(device)):
        moved = x.to_device(where)
        np.testing.assert_array_equal(moved.host(), VALUES)
        assert moved.committed
        assert moved.type is x.type
        assert moved.device is device
    assert x.to_device(None) is x


def test_what_is_no_device_is_refused():
    with pytest.raises(DeviceError, match="to_device"):
        on_host().to_device("gpu:7")


@each_maker
def test_copies_have_memory_of_their_own(make):
    x = make()
    for other in (x.copy(), x.clone(), copy.copy(x), copy.deepcopy(x)):
        assert other is not x
        np.testing.assert_array_equal(other.host(), VALUES)
        assert not np.shares_memory(other.host(), x.host())
        assert other.type is x.type
        assert other.committed == x.committed


@each_maker
def test_a_pickled_array_has_its_values_and_its_type(make):
    other = pickle.loads(pickle.dumps(make()))
    np.testing.assert_array_equal(other.host(), VALUES)
    assert other.type is F32
    assert not other.committed


def test_a_weak_array_stays_weak_where_it_goes():
    weak = cv.numpy.asarray(2.0)
    assert weak.weak_type
    device = client.default_device()
    for other in (
        weak.copy(),
        weak.to_device(device),
        pickle.loads(pickle.dumps(weak)),
    ):
        assert other.type is weak.type


# -- shards ----------------------------------------------------------------------------


@each_maker
def test_an_array_on_one_device_is_its_only_shard(make):
    x = make()
    (shard,) = x.addressable_shards
    assert shard.data is x
    assert shard.device is client.default_device()
    assert x.addressable_data(0) is x.addressable_data(-1) is x
    with pytest.raises(AxisError, match=r"addressable_data\(1\) .* which has 1 shard"):
        x.addressable_data(1)


# -- given up --------------------------------------------------------------------------


@each_maker
@pytest.mark.parametrize("give_up", [ConcreteArray.delete, ConcreteArray.forget])
def test_an_array_that_was_given_up_has_no_values_but_a_type(make, give_up):
    x = make()
    give_up(x)
    assert x.is_deleted()
    assert not x.on_host()
    assert (x.shape, x.dtype) == ((2, 3), "float32")
    device = client.default_device()
    for use in (
        x.host,
        x.is_ready,
        x.block_until_ready,
        x.copy,
        lambda: x.buffer(device),
        lambda: x.buffer_over(SingleDeviceSharding(device)),
        lambda: x.to_device(device),
        lambda: x.global_shards,
    ):
        with pytest.raises(DeletedArrayError, match=r"f32\[2,3\] was used after"):
            use()


def test_an_array_whose_buffer_another_gave_up_says_so():
    x = on_device()
    other = ConcreteArray(F32, None, x.buffer(client.default_device()))
    x.delete()
    assert other.is_deleted()
    for use in (other.host, other.copy, lambda: other + 1, lambda: cv.numpy.sin(other)):
        with pytest.raises(DeletedArrayError, match="was used after it was del"):
            use()


@each_maker
def test_to_give_up_an_array_twice_is_harmless(make):
    x = make()
    x.delete()
    x.delete()
    assert x.is_deleted()


@each_maker
def test_a_copy_outlives_its_original(make):
    x = make()
    other = x.copy()
    x.delete()
    np.testing.assert_array_equal(other.host(), VALUES)


# -- made of what there is -------------------------------------------------------------


def test_an_array_of_host_values_has_their_type():
    x = from_host(VALUES)
    assert x.type is F32
    assert x.host() is VALUES
    assert from_host(VALUES, weak=True).weak_type


def test_an_equal_dtype_object_becomes_the_one_that_is_known():
    other = pickle.loads(pickle.dumps(np.dtype(np.float32).newbyteorder("=")))
    x = from_host(VALUES.astype(other))
    assert x.host().dtype is x.dtype is dtypes.float32


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4"])
def test_an_array_of_a_buffer_has_its_type_and_is_committed_to_its_device(dtype):
    values = VALUES.astype(dtypes.as_dtype(dtype))
    x = from_buffer(buffers.put(values, client.default_device()))
    assert x.type is F32.with_dtype(dtype)
    assert x.committed
    assert x.device is client.default_device()
    np.testing.assert_array_equal(x.host(), values)


def test_waiting_gives_the_array_itself():
    for make in MAKERS:
        x = make()
        assert x.block_until_ready() is x


def test_the_class_of_arrays_says_what_makes_them():
    for made in (lambda: cv.Array([1, 2]), lambda: cnp.ndarray(shape=(2,))):
        with pytest.raises(ArgumentError, match=r"with covector\.numpy\.array\(x\)"):
            made()
