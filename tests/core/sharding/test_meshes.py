"""Meshes, specs and shardings as values: what they say, and what they refuse."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import covector as cv
from covector import P, options
from covector.core.sharding.shardings import Tiles
from covector.core.sharding.spec import SubAxis
from covector.core.sharding.spec_from_tiles import with_tiles
from covector.errors import DeviceError, SettingError, ShardingError
from covector.experimental.mesh_utils import (
    create_device_mesh,
    create_hybrid_device_mesh,
)
from covector.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
    make_single_device_sharding,
    use_abstract_mesh,
    use_mesh,
)
from tests.meshes import mesh, named

# -- meshes ----------------------------------------------------------------------------


def test_a_mesh_names_the_axes_of_a_grid_of_devices():
    m = mesh()
    assert dict(m.shape) == {"x": 2, "y": 4} and list(m.shape) == ["x", "y"]
    assert (m.axis_names, m.axis_sizes, m.size) == (("x", "y"), (2, 4), 8)
    assert m.devices.shape == (2, 4) and m.devices[1, 0] is cv.devices()[4]
    assert m.device_ids.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert m.local_devices == cv.devices() and m.local_mesh is m
    assert not m.empty and not m.is_multi_process
    assert repr(m) == "Mesh('x': 2, 'y': 4)"


def test_equal_meshes_are_one_object():
    again = Mesh(create_device_mesh((2, 4)), ("x", "y"))
    assert again is mesh() and hash(again) == hash(mesh())
    assert mesh().update(axis_names=("a", "b")).axis_names == ("a", "b")
    assert mesh().update(axis_names=("a", "b")) is not mesh()
    assert copy.deepcopy(mesh()) is pickle.loads(pickle.dumps(mesh())) is mesh()
    assert Mesh(cv.devices()[:2], "x").axis_names == ("x",)


def test_types_of_axes_are_kept():
    both = AbstractMesh((2, 4), ("x", "y"), (AxisType.Auto, AxisType.Manual))
    assert both is not mesh().abstract_mesh
    assert both.axis_types == (AxisType.Auto, AxisType.Manual)
    assert (both.auto_axes, both.explicit_axes, both.manual_axes) == (
        ("x",),
        (),
        ("y",),
    )
    assert mesh().are_all_axes_auto and not both.are_all_axes_explicit
    assert "axis_types=(Auto, Manual)" in repr(both)


EXPLICIT = AxisType.Explicit


@pytest.mark.parametrize(
    "make",
    [
        lambda: cv.make_mesh((2, 4), ("x", "y"), (AxisType.Auto, EXPLICIT)),
        lambda: cv.make_mesh((2,), ("x",), axis_types=EXPLICIT),
        lambda: Mesh(mesh().devices, ("x", "y"), (EXPLICIT, EXPLICIT)),
        lambda: AbstractMesh((2,), ("x",), EXPLICIT),
        lambda: mesh().update(axis_types=EXPLICIT),
    ],
)
def test_an_explicit_axis_is_refused_in_words_and_not_taken_for_an_auto_one(make):
    with pytest.raises(ShardingError, match="no axis can be Explicit") as info:
        make()
    assert "Leave axis_types out" in str(info.value)


@pytest.mark.parametrize("name", ["auto_axes", "explicit_axes"])
def test_what_switches_between_kinds_of_axes_is_missing_in_words(name):
    with pytest.raises(AttributeError, match="types of arrays do not say shardings"):
        getattr(cv.sharding, name)


@pytest.mark.parametrize("name", ["unreduced", "reduced"])
def test_a_spec_of_shards_yet_to_be_summed_is_refused_in_words(name):
    with pytest.raises(ShardingError, match=f"{name}=.*psum"):
        P("x", **{name: {"y"}})
    assert P("x", **{name: ()}) == P("x")


@pytest.mark.parametrize("make", [AbstractMesh, cv.make_mesh])
def test_names_of_axes_before_their_sizes_are_refused_in_words(make):
    with pytest.raises(ShardingError, match="sizes of the axes first and then"):
        make(("x", "y"), (2, 4))


def test_an_abstract_mesh_has_no_devices():
    abstract = AbstractMesh((2, 4), ("x", "y"))
    assert abstract is mesh().abstract_mesh is abstract.abstract_mesh
    assert dict(abstract.shape) == {"x": 2, "y": 4} and abstract.size == 8
    assert pickle.loads(pickle.dumps(abstract)) is abstract
    with pytest.raises(ShardingError, match="one name for each size"):
        AbstractMesh((2, 4), ("x",))


def test_a_mesh_is_in_force_for_a_block():
    m = mesh()
    assert get_mesh().empty and get_abstract_mesh().empty
    for make in (cv.set_mesh, use_mesh, lambda m: m):
        with make(m):
            assert get_mesh() is m and get_abstract_mesh() is m.abstract_mesh
            assert options.current().mesh is m
            with cv.set_mesh(None):
                assert get_mesh().empty
            assert get_mesh() is m
        assert get_mesh().empty
    with use_abstract_mesh(m.abstract_mesh):
        assert get_mesh().empty and get_abstract_mesh() is m.abstract_mesh


def test_a_mesh_set_without_a_block_stays():
    block = cv.set_mesh(mesh())
    assert get_mesh() is mesh()
    block.__exit__()
    assert get_mesh().empty


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: cv.make_mesh((3, 5), ("x", "y")),
            r"needs 15 devices for the shape \(3, 5\), but there are 8. .*"
            r"COVECTOR_NUM_CPU_DEVICES=8 .* config.update\('num_cpu_devices', 8\)",
        ),
        (lambda: create_device_mesh((3,)), "needs 3 devices .* but got 8"),
        (lambda: cv.make_mesh((2, 0), ("x", "y")), r"positive sizes, but got \(2, 0\)"),
        (lambda: cv.make_mesh((2, 4), ("x",)), "one name for each size"),
        (lambda: cv.make_mesh((2, 4), ("x", "x")), "'x' occurs more than once"),
        (lambda: Mesh(mesh().devices, ("x",)), r"of shape \(2, 4\) and the names"),
        (lambda: Mesh(np.array([]), ("x",)), "at least one device"),
        (lambda: Mesh([cv.devices()[0]] * 2, ("x",)), "cpu:0 more than once"),
        (lambda: Mesh([0, 1], ("x",)), "needs devices, .* but got 0 of type int"),
        (
            lambda: Mesh(cv.devices(), "x", (AxisType.Auto,) * 2),
            "one AxisType for each of the axes",
        ),
        (lambda: cv.set_mesh("x"), "needs a Mesh, .* but got 'x' of type str"),
    ],
)
def test_words_of_refused_meshes(make, words):
    mesh()
    with pytest.raises(ShardingError, match=words):
        make()


def test_words_of_refused_counts_of_devices():
    mesh()
    with pytest.raises(SettingError, match=r"whole number from 1 to \d+, but got 0"):
        cv.config.update("num_cpu_devices", 0)
    with pytest.raises(DeviceError, match=r"too late: .* in use as 8 device"):
        cv.config.update("num_cpu_devices", 4)


# -- specs -----------------------------------------------------------------------------


def test_specs_are_values_and_leaves():
    assert P is PartitionSpec and repr(P("x", None)) == "P('x', None)"
    assert P(("x",), ()) == P("x", None) != P("x")
    assert hash(P("x")) == hash(P(("x",)))
    assert {P("x"): 1}[P("x")] == 1 and P("x") != ("x",)
    assert cv.tree.leaves({"a": P("x"), "b": P()}) == [P("x"), P()]
    assert pickle.loads(pickle.dumps(P("x", P.UNCONSTRAINED))) == P(
        "x", P.UNCONSTRAINED
    )
    assert repr(P(("x", "y"), P.UNCONSTRAINED)) == "P(('x', 'y'), P.UNCONSTRAINED)"


def test_specs_are_sequences():
    spec = P("x", None, ("y", "z"))
    assert len(spec) == 3 and list(spec) == ["x", None, ("y", "z")]
    assert spec[0] == "x" and spec[-1] == ("y", "z")
    assert (spec.index(None), spec.count(None)) == (1, 1)
    x, y = P("x"), P("y")
    assert x + y == x + ("y",) == ("x",) + y == P("x", "y")  # noqa: RUF005
    assert spec.update(partitions=("a",)) == P("a") and spec.update() is spec
    with pytest.raises(AttributeError, match="constant"):
        spec.partitions = ()
    with pytest.raises(ShardingError, match=r"but got the spec P\('x'\)"):
        P(P("x"))


# -- shardings -------------------------------------------------------------------------


def test_a_sharding_says_which_device_has_which_elements():
    s = named("y", None)
    assert isinstance(s, Sharding) and s.shard_shape((8, 3)) == (2, 3)
    found = s.devices_indices_map((8, 3))
    assert list(found) == cv.devices()
    assert found[cv.devices()[5]] == (slice(2, 4), slice(None))
    assert s.addressable_devices_indices_map((8, 3)) == found
    assert s.device_set == s.addressable_devices == set(cv.devices())
    assert (s.num_devices, s.is_fully_replicated) == (8, False)
    assert s.is_fully_addressable and s.has_addressable_devices
    assert s.replicated_axes == {"x"} and s.mesh is mesh() and s.spec == P("y", None)
    assert named(("y", "x")).devices_indices_map((8,))[cv.devices()[4]] == (
        slice(1, 2),
    )
    assert named().is_fully_replicated and named("x", on="1").is_fully_replicated
    assert named().shard_shape(()) == ()


def test_equal_shardings_are_one_object():
    assert named("x") is named("x") and named("x") != named("x", None)
    assert named("x").is_equivalent_to(named("x", None), 2)
    assert not named("x").is_equivalent_to(named("y"), 1)
    assert named("x").update(spec=P("y")) is named("y")
    assert pickle.loads(pickle.dumps(named("x"))) is copy.copy(named("x")) is named("x")
    assert repr(named("x")) == "NamedSharding(Mesh('x': 2, 'y': 4), P('x'))"


def test_update_of_a_sharding_refuses_a_word_it_does_not_know():
    with pytest.raises(TypeError, match="unexpected keyword argument 'specs'"):
        named("x").update(specs=P("y"))


def test_one_device_is_a_sharding_as_well():
    first, second, *_ = cv.devices()
    s = SingleDeviceSharding(first)
    assert s is make_single_device_sharding(first) is pickle.loads(pickle.dumps(s))
    assert s.is_fully_replicated and s.num_devices == 1 and s.device_set == {first}
    assert s.is_equivalent_to(named("x", on="1"), 1)
    assert not s.is_equivalent_to(SingleDeviceSharding(second), 1)
    assert repr(s) == "SingleDeviceSharding(cpu:0)"
    with pytest.raises(ShardingError, match="needs a device"):
        SingleDeviceSharding("cpu")


def test_kinds_of_memory():
    s = named("x")
    there = s.with_memory_kind("pinned_host")
    assert there.memory_kind == "pinned_host" and there is not s
    assert not there.is_equivalent_to(s, 1) and there.spec == s.spec
    assert there.with_memory_kind(s.memory_kind) is s
    assert "memory_kind='pinned_host'" in repr(there)
    assert SingleDeviceSharding(cv.devices()[0]).with_memory_kind("pinned_host")
    with pytest.raises(ShardingError, match="no memory of the kind 'attic', only '"):
        s.with_memory_kind("attic")


def test_shardings_over_abstract_meshes_have_no_devices():
    s = NamedSharding(AbstractMesh((2,), ("x",)), P("x"))
    assert s.num_devices == 2 and s.shard_shape((4,)) == (2,) and not s.device_set
    with pytest.raises(ShardingError, match="has no devices"):
        cv.device_put(np.arange(4), s)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: named("xx"), r"names the axis 'xx', but .* Did you mean 'x'\?"),
        (lambda: named("x", "x"), "names the axis 'x' twice"),
        (lambda: named(("x", "y"), "y"), "names the axis 'y' twice"),
        (
            lambda: named("x").shard_shape((3, 4)),
            r"axis 0 of an array of shape \(3, 4\) into 2 shards, but its length 3 .* "
            r"Pad the axis by 1, to 4",
        ),
        (
            lambda: named("x", None).shard_shape((4,)),
            r"has 2 entries, but here is an array of shape \(4,\)",
        ),
        (lambda: NamedSharding(mesh(), ("x",)), r"needs a PartitionSpec, .*\('x',\)"),
        (lambda: NamedSharding("x", P()), "needs a Mesh, .* but got 'x'"),
    ],
)
def test_words_of_refused_shardings(make, words):
    mesh()
    with pytest.raises(ShardingError, match=words):
        make()


@pytest.mark.parametrize(
    "spec",
    [
        P(),
        P("x"),
        P(None, "y"),
        P(("y", "x")),
        P("y", "x"),
        P(SubAxis("y", 1, 2)),
        P(SubAxis("y", 2, 2), "x"),
        P(("x", SubAxis("y", 1, 2)), SubAxis("y", 2, 2)),
    ],
    ids=str,
)
def test_a_sharding_is_found_from_what_it_does(spec):
    s = NamedSharding(mesh(), spec)
    assert with_tiles(mesh(), s.tiles(2)) is s


def test_a_division_that_no_spec_says_is_not_found():
    indices = ((1,), (0,)) * 4
    assert with_tiles(mesh(), Tiles((2,), indices)) is None


def test_devices_of_one_process_are_a_block_of_a_hybrid_mesh():
    of = [(1, 4), (0, 1), (1, 5), (0, 0), (1, 6), (0, 2), (1, 7), (0, 3)]
    devices = [SimpleNamespace(process_index=p, id=i) for p, i in of]
    grid = create_hybrid_device_mesh((2, 2), (1, 2), devices, process_is_granule=True)
    assert [[d.id for d in row] for row in grid] == [[1, 0, 4, 5], [2, 3, 6, 7]]
    as_given = create_hybrid_device_mesh(
        (4,), (2,), devices, process_is_granule=True, should_sort_granules_by_key=False
    )
    assert [d.id for d in as_given] == [4, 5, 6, 7, 1, 0, 2, 3]
    slices = [SimpleNamespace(slice_index=i % 2, id=i) for i in range(4)]
    grid = create_hybrid_device_mesh((2,), (2,), slices)
    assert [d.id for d in grid] == [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2,), (1, 1)), r"two shapes of one length, but got \(2,\) and \(1, 1\)"),
        (((2,), (3,)), "needs 3 blocks of devices .* but got 2"),
        (((3,), (2,)), "needs 3 devices .* but got 2"),
    ],
)
def test_shapes_that_fit_no_hybrid_mesh_are_errors_in_words(shapes, message):
    devices = [SimpleNamespace(process_index=i // 2) for i in range(4)]
    with pytest.raises(ShardingError, match=message):
        create_hybrid_device_mesh(*shapes, devices, process_is_granule=True)
    with pytest.raises(ShardingError, match=r"belong to none.*granule=True"):
        create_hybrid_device_mesh((4,), (1,), devices)
