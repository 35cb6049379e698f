"""``memory.report``: every live array, counted once, with its line and its holders."""

import functools
import gc
import json
import types
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import memory
from covector.core.recording import recorder
from tests import meshes


class Model:
    def __init__(self, width):
        self.layers = [{"w": cnp.ones((width, 3))}]


class Slotted:
    __slots__ = ("weight",)


@cv.tree_util.register_dataclass
@dataclass
class State:
    mean: cv.Array


def of(shape, **asked):
    """What the report says of the one array of this shape."""
    (found,) = [x for x in memory.report(**asked).arrays if x.shape == shape]
    return found


def held(shape):
    return of(shape, holders=True).holders


# -- what is listed --------------------------------------------------------------------


def test_an_array_is_listed_with_type_bytes_device_and_line():
    with memory.record_lines():
        x = cnp.ones((811, 3))
    found = of(x.shape)
    assert (found.type, found.bytes, found.nbytes) == ("f32[811,3]", 9732, 9732)
    assert found.dtype == "float32"
    assert found.device == str(cv.devices()[0])
    name = "test_an_array_is_listed_with_type_bytes_device_and_line"
    assert found.line.function == name
    assert found.line.file == __file__


def test_results_of_compiled_functions_have_the_line_of_the_call():
    double = cv.jit(lambda x: x * 2)
    with memory.record_lines():
        x = cnp.ones(813)
        y = double(x)
        z = double(x)
    lines = [recorder.line_of(a).number for a in (x, y, z)]
    assert lines == [lines[0], lines[0] + 1, lines[0] + 2]


def test_a_key_and_a_wide_float_are_measured_as_they_are_stored():
    keys = cv.random.split(cv.random.key(0), 817)
    narrow = cnp.ones(819, "bfloat16")
    assert of(keys.shape).bytes == 817 * 8
    assert of(narrow.shape).bytes == 819 * 2


def test_deleted_and_donated_arrays_are_counted_and_hold_nothing():
    before = memory.report().deleted
    x, y = cnp.ones(821), cnp.ones(823)
    x.delete()
    z = cv.jit(lambda y: y + 1, donate_argnums=0)(y)
    after = memory.report()
    assert after.deleted == before + 2
    shapes = [a.shape for a in after.arrays]
    assert x.shape not in shapes
    assert shapes.count(z.shape) == 1


def test_numbers_that_only_the_library_holds_are_listed_on_request(with_all_objects):
    x = cnp.ones(827) * 3.4567
    assert x.shape == (827,)
    few = with_all_objects(memory.report)
    all_ = with_all_objects(lambda: memory.report(internals=True))
    assert len(all_.arrays) > len(few.arrays)


# -- shared memory ---------------------------------------------------------------------


def test_memory_that_two_arrays_share_is_counted_once():
    x = cv.jit(lambda x: x + 1)(cnp.ones(829))
    before = memory.report().total_bytes
    y = cv.device_put(x, cv.devices()[0])
    report = memory.report()
    assert y.shape == x.shape
    assert report.total_bytes == before
    shared = [a.note for a in report.arrays if a.shape == (829,)]
    assert sorted(shared) == ["", "shares its memory"]


def test_values_in_numpy_and_on_the_device_are_two_copies():
    x = cnp.ones(100_003)
    cv.jit(lambda x: x + 1)(x)
    found = of(x.shape)
    assert (found.bytes, found.nbytes, found.note) == (800_024, 400_012, "2 copies")


def test_a_view_holds_all_that_it_looks_into():
    rows = cv.lax.scan(lambda c, x: (c, x), 0.0, cnp.ones((3, 839)))[1]
    x = cv.core.array.from_host(rows.host()[0])
    del rows
    found = of(x.shape)
    assert found.bytes == 3 * found.nbytes
    assert found.note == "a view into 10.1 KB"


# -- who holds it ----------------------------------------------------------------------


@pytest.fixture
def training():
    """A module made now: ``gc`` hides what was there before the tests began."""
    module = types.ModuleType("training")
    exec("history = []\nclass Model:\n    cache = {}\n", vars(module))
    return module


def test_a_leak_in_a_list_of_a_module_is_found(training):
    training.history.append(cnp.ones(853))
    assert held((853,)) == ("training: history[0]",)


def test_a_leak_in_an_attribute_of_a_class_is_found(training):
    training.Model.cache["grads"] = (cnp.ones(857),)
    assert held((857,)) == ("Model.cache['grads'][0]",)


def test_a_leak_in_a_closure_is_found():
    def make():
        hidden = State(cnp.ones(859))
        return lambda x: x + hidden.mean

    step = make()
    line = make.__code__.co_firstlineno + 2
    words = f"hidden.mean, closure of <lambda> (test_report.py:{line})"
    assert held((859,)) == (words,)
    assert step


def test_a_local_variable_of_a_running_function_is_a_holder():
    model = Model(863)
    names = held((863, 3))
    assert names[0].startswith("model.layers[0]['w'], local of test_a_local_variable")
    assert model


def test_slots_caches_generators_and_programs_are_holders():
    slotted = Slotted()
    slotted.weight = cnp.ones(877)

    @functools.lru_cache
    def table(n):
        return cnp.ones(n)

    def produce():
        current = cnp.ones(883)
        yield 1
        yield current

    def make():
        weights = cnp.ones(40_009)
        return lambda x: x * weights

    table(881)
    producer = produce()
    next(producer)
    scaled = cv.jit(make())
    scaled(1.0)
    report = memory.report(holders=True)
    found = {x.shape: " ".join(x.holders) for x in report.arrays}
    assert "slotted.weight, local of" in found[877,]
    assert "the cache of" in found[881,]
    assert "current, local of" in found[883,]
    assert "captured by jit(<lambda>)" in found[40_009,]


def test_a_variable_that_an_exception_keeps_is_a_holder():
    def fails():
        batch = {"x": cnp.ones(971)}
        raise ValueError(len(batch))

    try:
        fails()
    except ValueError as error:
        kept = error
    line = fails.__code__.co_firstlineno + 2
    words = f"batch['x'], local of fails (test_report.py:{line}), which has ended"
    assert held((971,)) == (words,)
    del kept
    gc.collect()
    assert (971,) not in [x.shape for x in memory.report().arrays]


def test_objects_that_all_refer_to_each_other_are_searched_once():
    nodes = [[i] for i in range(60)]
    for node in nodes:
        node.extend(nodes)
    nodes[-1].append(cnp.ones(947))
    assert held((947,))[0].startswith("node[61], local of test_objects_that_all")


def test_an_object_that_stands_for_another_is_not_asked():
    class Proxy:
        @property
        def __class__(self):
            raise RuntimeError("nothing is behind it")

        def __getattr__(self, name):
            raise RuntimeError("nothing is behind it")

    proxy = Proxy()
    proxy.__dict__["kept"] = cnp.ones(953)
    assert held((953,))[0].startswith("proxy.kept, local of test_an_object_that")


def test_a_variable_that_was_looked_at_can_still_be_deleted_and_read():
    x = cnp.ones(967)
    variables = locals()
    assert held((967,))
    assert variables["x"] is x  # what the function asked for itself is not emptied


# -- the report itself -----------------------------------------------------------------


def test_a_report_keeps_no_array_alive():
    x = cnp.ones(887)
    seen = weakref.ref(x)
    with memory.record_lines():
        report = memory.report(holders=True)
        earlier = memory.snapshot()
    assert held((887,))
    del x
    gc.collect()
    assert seen() is None
    assert report.arrays
    assert earlier.arrays


def test_a_reports_data_is_json_and_its_tables_are_text_and_html():
    x = cnp.ones(9_000_007)  # among the largest, whatever other tests hold
    report = memory.report(holders=True)
    data = json.loads(json.dumps(report.to_dict()))
    assert data["total_bytes"] == report.total_bytes
    assert sum(g["bytes"] for g in data["types"]) == report.total_bytes
    (row,) = [a for a in data["arrays"] if a["shape"] == [9_000_007]]
    assert row["type"] == str(x.type)
    assert "f32[9000007]" in str(report)
    assert "COVECTOR_RECORD_LINES=1" in str(report)
    assert "<td>f32[9000007]</td>" in report._repr_html_()


def test_a_report_is_shown_without_rich_as_plain_text(monkeypatch, capsys):
    x = cnp.ones(9_000_011)
    report = memory.report()
    report.show()
    assert f"{x.type}" in capsys.readouterr().out
    monkeypatch.setitem(__import__("sys").modules, "rich.console", None)
    report.show()
    assert capsys.readouterr().out == f"{report}\n"


def test_recording_is_off_again_after_the_block_and_after_an_error():
    original = cv.core.array.ConcreteArray.__init__
    with pytest.raises(ValueError, match="mine"), memory.record_lines():
        assert cv.core.array.ConcreteArray.__init__ is not original
        raise ValueError("mine")
    assert cv.core.array.ConcreteArray.__init__ is original
    assert recorder.line_of(cnp.ones(3)) is None


def test_arrays_of_numpy_that_come_in_are_recorded_as_well():
    with memory.record_lines():
        x = cnp.asarray(np.ones(919))
    assert of(x.shape).line is not None


def test_a_sharded_array_holds_a_shard_on_each_device_and_a_replicated_one_a_copy():
    sharded = meshes.put(np.ones((16, 932), np.float32), "x", "y")
    replicated = meshes.put(np.ones((3, 941), np.float32))
    step = cv.jit(lambda x: x + 1, donate_argnums=0)
    with memory.track() as tracking:
        moved = step(meshes.put(np.ones((8, 1600), np.float32), "x"))
    report = memory.report()
    found = {x.shape: x for x in report.arrays}
    assert (found[16, 932].bytes, found[16, 932].blocks) == (16 * 932 * 4, 8)
    assert (found[3, 941].bytes, found[3, 941].blocks) == (8 * 3 * 941 * 4, 8)
    assert found[3, 941].note == "8 copies"
    assert "NamedSharding" in found[16, 932].device
    kept = sum(use.kept for use in tracking.lines())
    assert kept == pytest.approx(moved.nbytes * 4, abs=100)  # and the number 1
    assert sharded.shape != replicated.shape


def test_an_estimate_of_a_sharded_program_is_of_one_device():
    x = meshes.put(np.ones((16, 800), np.float32), "x", "y")
    needs = memory.estimate(lambda x: cnp.tanh(x) * 2)(x)
    assert needs.devices == 8
    assert needs.argument_bytes == needs.result_bytes == 16 * 800 * 4 // 8
    assert "on each of 8 devices" in str(needs)
