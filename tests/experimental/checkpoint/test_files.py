"""Checkpoints in files: what is saved comes back, anywhere, or not at all."""

import hashlib
import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.types import ArrayType
from covector.errors import (
    CheckpointError,
    DTypeError,
)
from covector.experimental import checkpoint
from covector.experimental.checkpoint.manifest import read_manifest
from covector.experimental.checkpoint.reading import Reader
from covector.sharding import SingleDeviceSharding
from tests.meshes import mesh, named, numbers


@pytest.fixture
def there(tmp_path):
    return tmp_path / "step_1"


def round_trip(there, tree, like=None, **options):
    checkpoint.save(there, tree)
    return checkpoint.restore(there, like, **options)


def same(x, y):
    """Equal to the last bit, NaN included."""
    assert x.shape == y.shape and x.dtype == y.dtype
    assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def data_of(there):
    (folder,) = there.glob("data-*")
    return folder


# -- over meshes -----------------------------------------------------------------------

SHARDINGS = {
    "1": lambda: named("x", on="1"),
    "2": lambda: named("x", on="2"),
    "4": lambda: named(None, "x", on="4"),
    "8": lambda: named("x", on="8"),
    "8 copies": lambda: named(on="8"),
    "2x4": lambda: named("x", "y"),
    "4x2": lambda: named("y", "x"),
    "2x4 rows": lambda: named(("x", "y")),
    "2x4 partly copied": lambda: named(None, "y"),
    "one": lambda: SingleDeviceSharding(cv.devices()[3]),
    "anywhere": lambda: None,
}


@pytest.mark.parametrize("target", SHARDINGS)
@pytest.mark.parametrize("source", SHARDINGS)
def test_an_array_goes_from_any_mesh_to_any_other(there, source, target):
    mesh("8")
    values = numbers(8, 16)
    sharding = SHARDINGS[target]()
    x = round_trip(
        there, cv.device_put(values, SHARDINGS[source]()), shardings=sharding
    )
    same(x, values)
    assert sharding is None or x.sharding is sharding
    assert x.committed == (sharding is not None)
    if sharding is not None:
        for shard in x.addressable_shards:
            same(shard.data, values[shard.index])


@pytest.mark.parametrize("source", SHARDINGS)
def test_each_element_is_written_once(there, source):
    mesh("8")
    checkpoint.save(there, cv.device_put(numbers(8, 16), SHARDINGS[source]()))
    (entry,) = read_manifest(there).entries
    seen = np.zeros((8, 16), int)
    for part in entry.parts:
        block = tuple(
            slice(a, a + n) for a, n in zip(part.start, part.shape, strict=True)
        )
        seen[block] += 1
    assert (seen == 1).all()
    assert (data_of(there) / "parts-0.bin").stat().st_size == 8 * 16 * 4


def test_each_part_is_read_once_and_no_more_than_it(there, monkeypatch):
    mesh("2x4")
    checkpoint.save(there, cv.device_put(numbers(8, 16), named("x", on="8")))
    blocks = []
    block = Reader.block
    monkeypatch.setattr(
        Reader,
        "block",
        lambda self, entry, *where: blocks.append(where) or block(self, entry, *where),
    )
    checkpoint.restore(there, shardings=named(None, "y"))
    assert blocks == [((0, 4 * k), (8, 4)) for k in range(4)]


def test_a_block_is_read_without_the_parts_beside_it(there):
    mesh("8")
    values = numbers(8, 16)
    checkpoint.save(there, cv.device_put(values, named("x", on="8")))
    (entry,) = read_manifest(there).entries
    stored = data_of(there) / "parts-0.bin"
    with stored.open("r+b") as file:
        file.truncate(entry.parts[-1].offset)  # the last row is not there
        file.seek(entry.parts[-2].offset)
        file.write(b"damaged")
    reader = Reader(data_of(there))
    same(reader.block(entry, (0, 3), (2, 9)), values[:2, 3:12])
    with pytest.raises(CheckpointError, match="are not those that were saved"):
        reader.block(entry, (5, 0), (2, 16))
    with pytest.raises(CheckpointError, match="a part of the checkpoint ends at"):
        reader.block(entry, (7, 0), (1, 16))


def test_a_like_says_where_arrays_are_to_be(there):
    mesh("2x4")
    tree = {"a": numbers(8), "b": numbers(4, 4), "c": cnp.ones(2)}
    tree["a"], tree["b"] = cnp.asarray(tree["a"]), cnp.asarray(tree["b"])
    like = {
        "a": cv.ShapeDtypeStruct((8,), "float32", sharding=named("y")),
        "b": cv.device_put(np.zeros((4, 4), np.float32), named("x", "y")),
        "c": cnp.zeros(2),
    }
    found = round_trip(there, tree, like)
    assert found["a"].sharding is named("y")
    assert found["b"].sharding is named("x", "y")
    assert not found["c"].committed
    for name, x in tree.items():
        same(found[name], x)
    with cv.set_mesh(mesh("2x4")):
        shardings = {"a": P(), "b": None, "c": named("y", on="2x4").flat_devices[0]}
        found = checkpoint.restore(there, like, shardings=shardings)
    assert found["a"].sharding is named()
    assert found["b"].sharding is named("x", "y")
    assert found["c"].committed


def test_a_restored_array_computes_and_can_be_donated(there):
    mesh("2x4")
    x = round_trip(there, cnp.arange(8.0), shardings=named("y"))
    total = cv.jit(lambda x: (x * 2).sum())(x)
    assert float(total) == 56.0
    doubled = cv.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert doubled.tolist() == [2.0 * k for k in range(8)]
    assert checkpoint.restore(there).tolist() == [float(k) for k in range(8)]


# -- element types ---------------------------------------------------------------------


ON_DEVICES = [dtype for dtype in dtypes.NUMBERS if "float6" not in dtype.name]


@pytest.mark.parametrize(
    ("dtype", "sharded"),
    [
        *[(dtype, False) for dtype in dtypes.NUMBERS],
        *[(dtype, True) for dtype in ON_DEVICES],
    ],
    ids=str,
)
def test_every_element_type_comes_back_bit_for_bit(there, dtype, sharded):
    mesh("4")
    values = np.linspace(0, 3, 8).astype(dtype)
    if np.dtype(dtype).itemsize > 1 and dtypes.is_inexact(dtype):
        values[1:4] = np.nan, -0.0, np.inf
    with cv.enable_x64(True):
        x = cv.device_put(values, named("x", on="4") if sharded else None)
        found = round_trip(there, [x], shardings=x.placement)[0]
        same(found, x)
        assert found.type is x.type


@pytest.mark.parametrize("shape", [(), (0,), (0, 4), (4, 0), (1,), (3, 1, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4"])
def test_every_shape_comes_back(there, shape, dtype):
    x = cnp.ones(shape, dtype)
    same(round_trip(there, x), x)
    copies = named(on="8")
    again = checkpoint.restore(there, shardings=copies)
    same(again, x)
    assert again.sharding is copies


def test_an_array_without_elements_can_be_divided(there):
    x = cv.device_put(np.zeros((0, 8), np.float32), named(None, "y"))
    found = round_trip(there, x, shardings=named(None, ("x", "y")))
    assert found.shape == (0, 8)
    assert found.addressable_shards[0].data.shape == (0, 1)


@pytest.mark.parametrize("weak", [False, True])
def test_weakness_is_kept(there, weak):
    x = ConcreteArray(ArrayType((2,), np.float32, weak), np.ones(2, np.float32))
    assert round_trip(there, x).weak_type is weak


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg"])
def test_random_keys_come_back_as_keys(there, implementation):
    keys = cv.random.split(cv.random.key(7, impl=implementation), 8)
    found = round_trip(there, keys)
    assert found.dtype is keys.dtype
    same(cv.random.key_data(found), cv.random.key_data(keys))


def test_random_keys_over_a_mesh_give_the_same_numbers(there):
    keys = cv.random.split(cv.random.key(3), 8)
    draw = cv.vmap(lambda key: cv.random.uniform(key, (2,)))
    checkpoint.save(there, cv.device_put(keys, named("x", on="4")))
    like = cv.ShapeDtypeStruct((8,), keys.dtype, sharding=named("x", on="8"))
    found = checkpoint.restore(there, like)
    assert found.sharding is named("x", on="8")
    same(draw(found), draw(keys))


def test_float0_comes_back(there):
    x = cv.device_put(cv.grad(lambda n: 1.0 * n, allow_int=True)(3))
    found = round_trip(there, x)
    assert found.dtype == x.dtype == dtypes.float0


def test_like_converts_floats_to_floats(there):
    x = cnp.asarray([1.0, 1e-3, np.nan])
    checkpoint.save(there, {"w": x})
    for dtype in ("bfloat16", "float16", "float8_e4m3fn"):
        found = checkpoint.restore(there, {"w": cv.ShapeDtypeStruct((3,), dtype)})
        same(found["w"], x.astype(dtype))
    sharding = named("x", on="1")
    like = {"w": cv.ShapeDtypeStruct((3,), "bfloat16", sharding=sharding)}
    same(checkpoint.restore(there, like)["w"], x.astype("bfloat16"))


def test_like_widens_integers(there):
    checkpoint.save(there, cnp.asarray([-3, 7], "int4"))
    found = checkpoint.restore(there, cv.ShapeDtypeStruct((2,), "int16"))
    assert found.tolist() == [-3, 7] and found.dtype == np.int16


def test_64_bits_are_not_lost_without_a_word(there):
    with cv.enable_x64(True):
        checkpoint.save(there, {"w": cnp.asarray([1 / 3], "float64")})
    with pytest.raises(DTypeError) as caught:
        checkpoint.restore(there)
    assert str(caught.value) == (
        "restore: ['w'] was saved as f64[1], and enable_x64 is off. Switch it on, with "
        "covector.enable_x64(True):, or say with like= that f32[1] is wanted."
    )
    found = checkpoint.restore(there, {"w": cv.ShapeDtypeStruct((1,), "float32")})
    assert found["w"].dtype == np.float32
    with cv.enable_x64(True):
        assert checkpoint.restore(there)["w"].tolist() == [1 / 3]


# -- trees -----------------------------------------------------------------------------


@cv.tree_util.register_dataclass
@dataclass
class Layer:
    weight: object
    bias: object


class Moments(NamedTuple):
    mean: object
    count: object


def a_tree():
    return {
        "layers": [Layer(cnp.ones((2, 3)), None), Layer(cnp.zeros(3), cnp.ones(()))],
        "optimizer": Moments({"w": cnp.arange(4)}, 7),
        "empty": ((), [], {}, None),
        "values": ("name", True, 0.1, -0.0, float("inf"), 1 - 2j, 10**30),
        "numbers": {2: np.arange(3.0), 10: np.float32(0.1)},
    }


def test_without_like_a_tree_is_dicts_lists_and_tuples(there):
    tree = a_tree()
    found = round_trip(there, tree)
    assert found["layers"][0].keys() == {"weight", "bias"}
    assert found["layers"][0]["bias"] is None
    same(found["layers"][1]["bias"], cnp.ones(()))
    assert found["optimizer"]["count"] == 7
    assert found["optimizer"]["mean"]["w"].tolist() == [0, 1, 2, 3]
    assert found["empty"] == ((), [], {}, None)
    assert repr(found["values"]) == repr(tree["values"])
    assert list(found["numbers"]) == [2, 10]


def test_with_like_a_tree_is_of_its_classes(there):
    tree = a_tree()
    found = round_trip(there, tree, like=tree)
    assert cv.tree_util.tree_structure(found) == cv.tree_util.tree_structure(tree)
    pairs = zip(*map(cv.tree_util.tree_leaves, (found, tree)), strict=True)
    for ours, theirs in pairs:
        assert type(ours) is type(theirs)
        assert repr(ours) == repr(theirs)


def test_numpy_arrays_stay_what_they_are(there):
    tree = [np.arange(3.0), np.float64(0.1), np.asfortranarray(np.eye(3)[:, :2])]
    found = round_trip(there, tree)
    assert [type(x) for x in found] == [np.ndarray, np.float64, np.ndarray]
    for ours, theirs in zip(found, tree, strict=True):
        assert ours.dtype == theirs.dtype == np.float64
        assert np.array_equal(ours, theirs)
    found[0][0] = 5.0  # it is the caller's own
    assert checkpoint.restore(there)[0][0] == 0.0


def test_numpy_arrays_and_arrays_become_each_other(there):
    checkpoint.save(there, [np.float32([1, 2]), cnp.asarray([3, 4])])
    like = [cv.ShapeDtypeStruct((2,), "float32"), np.zeros(2, np.int32)]
    first, second = checkpoint.restore(there, like)
    assert isinstance(first, cv.Array) and first.tolist() == [1, 2]
    assert type(second) is np.ndarray and second.tolist() == [3, 4]


@pytest.mark.parametrize("leaf", [None, 3, "a", True, 2.5], ids=repr)
def test_a_leaf_alone_is_a_tree(there, leaf):
    found = round_trip(there, leaf), checkpoint.restore(there, leaf)
    assert list(map(repr, found)) == [repr(leaf)] * 2


def test_a_tree_without_leaves(there):
    assert round_trip(there, {"a": []}) == {"a": []}


def test_the_order_of_a_dict_does_not_matter(there):
    tree = cv.tree_util.tree_map(cnp.asarray, {"b": 1.0, "a": 2.0})
    assert list(map(float, round_trip(there, tree).values())) == [2.0, 1.0]


def test_the_manifest_says_it_all_in_json(there):
    checkpoint.save(there, {"w": cnp.ones((2, 3), "bfloat16"), "n": 1})
    manifest = json.loads((there / "manifest.json").read_text())
    assert manifest["tree"] == {"dict": [["n", 0], ["w", 1]]}
    assert manifest["leaves"][1] == {
        "path": "['w']",
        "kind": "array",
        "shape": [2, 3],
        "dtype": "bfloat16",
        "weak": False,
        "parts": [
            {
                "file": "parts-0.bin",
                "offset": 0,
                "start": [0, 0],
                "shape": [2, 3],
                "digests": [hashlib.sha256(b"\x80\x3f" * 6).hexdigest()],
            }
        ],
    }
    stored = np.fromfile(data_of(there) / "parts-0.bin", np.uint16)
    assert stored.tolist() == [0x3F80] * 6


def test_two_thousand_small_arrays_are_one_file(there):
    tree = [cnp.full((3,), k) for k in range(2000)]
    found = round_trip(there, tree)
    assert [int(x[2]) for x in found] == list(range(2000))
    names = {path.name for path in data_of(there).iterdir()}
    assert names == {"parts-0.bin"}
