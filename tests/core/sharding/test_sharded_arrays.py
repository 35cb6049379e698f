"""Arrays over several devices: what they know, and where they go."""

import copy
import itertools
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.errors import (
    ArgumentError,
    AxisError,
    DeletedArrayError,
    DeviceError,
    DLPackError,
    ShardingError,
    TreeMismatch,
    TypeMismatch,
)
from covector.placement.device_put import resharded
from covector.sharding import Mesh, NamedSharding, SingleDeviceSharding
from tests.meshes import mesh, named, numbers, put

X = numbers(8, 8)
DTYPES = ["bool", "int4", "int8", "uint64", "float16", "bfloat16", "float8_e4m3fn"]
DTYPES += ["float64", "complex64"]


# -- what an array knows ---------------------------------------------------------------


def test_facts_of_an_array_over_a_mesh():
    x = put(X, "x", "y")
    assert x.sharding is x.device is named("x", "y") and x.committed
    assert x.devices() == set(cv.devices()) and x.platform() == "cpu"
    assert x.is_fully_addressable and not x.is_fully_replicated
    assert x.is_ready() and x.block_until_ready() is x and not x.is_deleted()
    assert x.on_device_size_in_bytes() == X.nbytes
    assert np.array_equal(x, X) and x.tolist() == X.tolist()
    assert str(x) == str(X) and repr(x) == repr(cnp.asarray(X))
    assert put(X).is_fully_replicated


def test_an_array_on_one_device_has_a_sharding():
    x = cnp.asarray(X)
    assert x.sharding == SingleDeviceSharding(cv.devices()[0]) and not x.committed
    assert x.device is cv.devices()[0]
    y = cv.device_put(X, cv.devices()[3])
    assert y.sharding == SingleDeviceSharding(cv.devices()[3]) and y.committed


def test_shards():
    x = put(X, "y")
    shards = x.addressable_shards
    assert [s.device for s in shards] == cv.devices()
    assert [s.replica_id for s in shards] == [0] * 4 + [1] * 4
    for s in shards:
        assert np.array_equal(s.data, X[s.index]) and s.data.devices() == {s.device}
    assert len(x.global_shards) == 8
    assert np.array_equal(x.addressable_data(5), X[2:4])
    with pytest.raises(AxisError, match=r"addressable_data\(9\) .* has 8 shards here"):
        x.addressable_data(9)


def test_shards_are_read_where_they_are():
    x = put(X, "x")
    assert (x.addressable_data(0) + 1).devices() == {cv.devices()[0]}
    assert float(cnp.sum(x.addressable_data(7))) == pytest.approx(
        float(X[4:].sum()), rel=1e-4
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_there_and_comes_back(dtype):
    with cv.enable_x64():
        values = (X > 0).astype(dtype)
        for entries in ((), ("x",), ("y", "x"), (("x", "y"),)):
            x = put(values, *entries)
            assert x.dtype == values.dtype and np.array_equal(np.asarray(x), values)


def test_zero_size_and_scalars():
    empty = put(np.zeros((0, 8), np.float32), "x", "y")
    assert np.asarray(empty).shape == (0, 8) and (empty + 1).shape == (0, 8)
    assert empty.addressable_data(3).shape == (0, 2)
    scalar = put(np.float32(3))
    assert float(scalar) == 3.0 and int(scalar) == 3 and scalar.item() == 3.0
    assert bool(scalar) and f"{scalar:.1f}" == "3.0"


def test_random_keys():
    keys = cv.random.split(cv.random.key(0), 8)
    there = cv.device_put(keys, named("x"))
    assert there.sharding is named("x") and there.dtype == keys.dtype
    draw = cv.vmap(lambda k: cv.random.uniform(k, (2,)))
    assert np.array_equal(draw(there), draw(keys))


def test_copies_pickles_and_deletion():
    x = put(X, "x")
    for y in (x.copy(), copy.copy(x), copy.deepcopy(x), x.clone()):
        assert y.sharding is x.sharding and np.array_equal(y, X)
    assert np.array_equal(pickle.loads(pickle.dumps(x)), X)
    y, view = x.copy(), x.addressable_data(0)
    x.delete()
    assert x.is_deleted() and np.array_equal(y, X)
    del view
    with pytest.raises(DeletedArrayError):
        np.asarray(x)
    with pytest.raises(DeletedArrayError):
        x.addressable_shards  # noqa: B018
    with pytest.raises(DeletedArrayError):
        x + 1


def test_other_libraries_get_arrays_on_one_device():
    x = put(X, "x")
    for call in (lambda: np.from_dlpack(x), x.__dlpack_device__):
        with pytest.raises(DLPackError, match=r"over 8: .* covector.device_put\(x"):
            call()
    with pytest.raises(
        DLPackError, match="unsafe_buffer_pointer needs an array on one"
    ):
        x.unsafe_buffer_pointer()
    assert np.array_equal(np.from_dlpack(x.addressable_data(0)), X[:4])
    here = cv.device_put(X, named("x", on="1"))
    assert np.array_equal(np.from_dlpack(here), X)


def test_live_arrays_are_found_with_a_division():
    x = put(numbers(8, 24, seed=3), "x", "y")
    found = [a for a in cv.live_arrays() if a.shape == (8, 24)]
    assert any(np.array_equal(a, x) for a in found)
    assert any(a.sharding.shard_shape((8, 24)) == (4, 6) for a in found)


# -- from one placement to another -----------------------------------------------------


def _placements():
    devices = cv.devices()
    back = Mesh(np.array(devices)[::-1].reshape(4, 2), ("a", "b"))
    some = Mesh(np.array(devices)[2:6], ("z",))
    pair = Mesh(np.array(devices)[5:7], ("z",))
    return [
        SingleDeviceSharding(devices[0]),
        SingleDeviceSharding(devices[6]),
        SingleDeviceSharding(devices[1], memory_kind="pinned_host"),
        named(),
        named("x"),
        named(("y", "x")),
        named("x", "y"),
        named(None, "y").with_memory_kind("unpinned_host"),
        NamedSharding(back, P("a")),
        NamedSharding(back, P("b", "a")),
        NamedSharding(some, P(None, "z")),
        NamedSharding(pair, P("z")),
        NamedSharding(pair, P()),
    ]


def test_from_every_placement_to_every_other():
    mesh()
    for source, target in itertools.product(_placements(), _placements()):
        x = cv.device_put(X, source)
        y = cv.device_put(x, target)
        assert y.sharding is target and np.array_equal(y, X), (source, target)
        assert np.array_equal(x, X)
        for shard in y.addressable_shards:
            assert np.array_equal(shard.data, X[shard.index])
        assert x.to_device(target).sharding is target


def test_what_is_there_already_shares_memory_unless_asked_not_to():
    x = put(X, "x")
    assert cv.device_put(x, named("x"))._buffer is x._buffer
    other = cv.device_put(x, named("x"), may_alias=False)
    x.delete()
    assert np.array_equal(other, X)
    assert cv.device_put(cnp.asarray(X), may_alias=False) is not None


def test_a_donated_array_is_given_up():
    x = put(X, "x")
    y = cv.device_put(x, named("y"), donate=True)
    assert x.is_deleted() and np.array_equal(y, X)
    with pytest.raises(ArgumentError, match="donate=True and may_alias=True"):
        cv.device_put(y, named(), donate=True, may_alias=True)


def test_trees_of_places():
    tree = {"a": X, "b": [X, 1.0], "c": None}
    put_ = cv.device_put(tree, {"a": named("x"), "b": cv.devices()[3], "c": None})
    assert put_["a"].sharding is named("x")
    assert [b.devices() for b in put_["b"]] == [{cv.devices()[3]}] * 2
    free = cv.device_put({"a": X, "b": X}, {"a": named("x"), "b": None})["b"]
    assert not free.committed
    with pytest.raises(TreeMismatch, match="device must be a prefix of x"):
        cv.device_put([X, X], [named("x")])


def test_a_spec_is_for_the_mesh_in_force():
    with cv.set_mesh(mesh()):
        assert cv.device_put(X, P("x")).sharding is named("x")
        assert cnp.zeros((4, 8), device=P(None, "y")).sharding is named(None, "y")
        assert cnp.ones(8, out_sharding=P("x")).sharding is named("x")
    with pytest.raises(
        ShardingError, match=r"no mesh is in force, .*covector.set_mesh\(mesh\):"
    ):
        cv.device_put(X, P("x"))


def test_words_of_refused_places():
    mesh()
    with pytest.raises(
        DeviceError, match="a Sharding, or a PartitionSpec, but got 'x'"
    ):
        cv.device_put(X, "x")
    with pytest.raises(ShardingError, match="length 7 is not a multiple of 2"):
        cv.device_put(X[:7], named("x"))
    with pytest.raises(
        ShardingError, match="UNCONSTRAINED is for with_sharding_constr"
    ):
        cv.device_put(X, named("x", P.UNCONSTRAINED))


def test_a_compiled_program_moves_shards_between_devices():
    x = put(X, "x", "y")
    for entries in ((), ("y",), ("y", "x"), (None, ("x", "y"))):
        y = resharded(x, named(*entries))
        assert y.sharding is named(*entries) and np.array_equal(y, X)


def test_threads_may_use_different_meshes():
    seen = {}

    def work(name):
        with cv.set_mesh(mesh(name)):
            seen[name] = cv.device_put(X, P("x")).sharding.num_devices

    threads = [threading.Thread(target=work, args=(n,)) for n in ("2", "4", "8")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == {"2": 2, "4": 4, "8": 8}


# -- from shards -----------------------------------------------------------------------


def test_an_array_from_a_function_of_the_index():
    asked = []

    def part(index):
        asked.append(index)
        return X[index]

    x = cv.make_array_from_callback(X.shape, named("x"), part)
    assert np.array_equal(x, X) and x.sharding is named("x")
    assert asked == [(slice(0, 4), slice(0, 8)), (slice(4, 8), slice(0, 8))]
    low = cv.make_array_from_callback((8, 8), named("y"), part, dtype="bfloat16")
    assert low.dtype == ml_dtypes.bfloat16
    whole = cv.make_array_from_callback((), named(), lambda index: 3.0)
    assert float(whole) == 3.0 and whole.dtype == np.float32
    with pytest.raises(
        TypeMismatch, match=r"shards of type f32\[4,8\], but one is f32\[8"
    ):
        cv.make_array_from_callback((8, 8), named("x"), lambda index: X)


def test_an_array_from_arrays_on_their_devices():
    x = put(X, "y")
    shards = [s.data for s in x.addressable_shards]
    make = cv.make_array_from_single_device_arrays
    assert np.array_equal(make(X.shape, named("y"), shards[::-1]), X)
    assert np.array_equal(make(X.shape, named("y"), shards, dtype=np.float32), X)
    with pytest.raises(ShardingError, match="one array on each of the 8 devices"):
        make(X.shape, named("y"), shards[1:])
    with pytest.raises(ShardingError, match="on one device each, but got"):
        make(X.shape, named("y"), [x])
    with pytest.raises(
        TypeMismatch, match=r"shards of type f32\[4,8\], but one is f32\[2"
    ):
        make(X.shape, named("x"), shards)
    with pytest.raises(TypeMismatch, match="got dtype=bf16, but shards of type f32"):
        make(X.shape, named("y"), shards, dtype="bfloat16")


def test_an_array_of_what_this_process_has():
    x = cv.make_array_from_process_local_data(named("x"), X)
    assert x.sharding is named("x") and np.array_equal(x, X)
    with pytest.raises(TypeMismatch, match=r"must be \(8, 8\), but is \(16, 8\)"):
        cv.make_array_from_process_local_data(named("x"), X, (16, 8))


def test_device_get_brings_values_together():
    found = cv.device_get({"x": put(X, "x")})["x"]
    assert type(found) is np.ndarray and np.array_equal(found, X)
    assert cv.copy_to_host_async(put(X, "x")).shape == X.shape
    assert cv.block_until_ready([put(X, "x")])[0].is_ready()


def test_reshard_is_device_put_by_another_name():
    tree = cv.reshard({"a": X, "b": put(X, "x")}, named("y"))
    assert {x.sharding for x in tree.values()} == {named("y")}
    assert cv.jit(lambda x: cv.reshard(x + 1, named("x")))(X).sharding is named("x")


# -- arrays like others ----------------------------------------------------------------

LIKE = {
    "zeros_like": cnp.zeros_like,
    "ones_like": cnp.ones_like,
    "empty_like": cnp.empty_like,
    "full_like": lambda x, **kw: cnp.full_like(x, 2, **kw),
    "lax.full_like": lambda x, **kw: lax.full_like(x, 2, **kw),
}


@pytest.mark.parametrize("name", LIKE)
def test_an_array_like_another_is_where_that_one_is(name):
    like, last = LIKE[name], cv.devices()[-1]
    x = put(numbers(8, 4), "x", None)
    assert like(x).sharding is x.sharding
    assert like(x, dtype="int32").sharding is x.sharding
    assert len(like(x).addressable_shards) == 8
    other = like(x, shape=(3, 4))  # not divisible as x is
    assert other.sharding == NamedSharding(x.sharding.mesh, P())
    y = cv.device_put(numbers(3), last)
    assert like(y).device is like(y, shape=(7,)).device is last
    assert not like(cnp.ones(3)).committed
    for target in (x.sharding, SingleDeviceSharding(last), None):
        struct = cv.ShapeDtypeStruct((8, 4), "float32", sharding=target)
        made = like(struct)
        assert made.committed == (target is not None) and made.shape == (8, 4)
        assert target is None or made.sharding is target
    abstract = NamedSharding(x.sharding.mesh.abstract_mesh, P("x"))
    struct = cv.ShapeDtypeStruct((8, 4), "float32", sharding=abstract)
    assert not like(struct).committed
    assert float(like(x).sum()) == float(like(numbers(8, 4)).sum())
    assert cv.jit(lambda x: like(x) + x)(x).sharding.is_equivalent_to(x.sharding, 2)


def test_the_place_that_is_named_goes_before_that_of_the_array_it_is_like():
    x, first = put(numbers(8, 4), "x"), cv.devices()[0]
    assert cnp.zeros_like(x, device=first).device is first
    assert cnp.full_like(x, 1, out_sharding=named("y")).sharding is named("y")


@pytest.mark.parametrize("spec", [P("i", None), P(None, "i"), P(None, None), P("i")])
def test_a_mesh_of_one_device_keeps_the_spec_that_was_given(spec):
    sharding = NamedSharding(Mesh(np.array(cv.devices()[:1]), ("i",)), spec)
    x = cv.device_put(cnp.ones((2, 2)), sharding)
    results = [
        x,
        x + 1,
        cv.jit(lambda x: x * 2)(x),
        cv.jit(lambda x: x * 2)(x),  # the quickest call
        cv.jit(lambda x: x, out_shardings=sharding)(cnp.ones((2, 2))),
        cv.lax.fori_loop(0, 2, lambda _, x: x + 1, x),
        cv.lax.scan(lambda c, _: (c + 1, None), x, None, 2)[0],
        cv.lax.scan(lambda c, row: (c, row * 2), 0, x)[1],
    ]
    for result in results:
        assert result.sharding.spec == spec
        assert result.sharding.mesh is sharding.mesh
    assert cv.jit(lambda x: x.sum(0))(x).sharding.spec == P()
