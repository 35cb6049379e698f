"""``memory.snapshot`` and ``memory.statistics``."""

import gc
import json

import pytest

import covector as cv
import covector.numpy as cnp
from covector import memory
from covector.errors import ArgumentError


@pytest.fixture(autouse=True)
def no_garbage():
    """What other tests have left may not go in the midst of one."""
    gc.collect()


def test_what_grew_is_told_with_number_bytes_and_line():
    earlier = memory.snapshot()
    with memory.record_lines():
        history = [cnp.ones((1000, 1000)) for _ in range(3)]
    change = memory.snapshot() - earlier
    assert str(change).splitlines()[0] == "grew by 3 arrays, 12.0 MB"
    assert change.grown[0].type == "f32[1000,1000]"
    assert "test_snapshots.py" in change.grown[0].line
    assert not change.shrunk
    assert len(history) == 3


def test_what_shrank_is_told_too():
    x = cnp.ones(1009)
    earlier = memory.snapshot()
    del x
    change = memory.snapshot().compare(earlier)
    assert (change.arrays, change.bytes) == (-1, -4036)
    assert str(change).startswith("shrank by 1 array, 4.0 KB")


def test_an_array_that_is_replaced_by_one_of_the_same_line_is_no_change():
    def step():
        return cnp.ones(1013)

    with memory.record_lines():
        x = step()
        earlier = memory.snapshot()
        x = step()
        later = memory.snapshot()
    assert str(later - earlier) == "no array came, and none went"
    assert x.shape == (1013,)


def test_a_snapshot_is_compared_with_snapshots_only():
    with pytest.raises(ArgumentError, match="with an earlier one, but got a int"):
        memory.snapshot() - 3  # type: ignore[operator]


def test_snapshots_and_differences_are_json():
    earlier = memory.snapshot()
    x = cnp.ones(1019)
    change = json.loads(json.dumps((memory.snapshot() - earlier).to_dict()))
    assert change["bytes"] == x.nbytes
    assert json.dumps(earlier.to_dict())
    assert "live array" in str(earlier)


def test_memory_that_is_freed_is_kept_by_the_heap_or_given_back():
    memory.statistics()
    x = cnp.ones(20_000_000)
    during = memory.statistics().process
    del x
    after = memory.statistics().process
    if during.heap_kept is None:
        pytest.skip("the allocator does not tell")
    kept = after.heap_kept - during.heap_kept
    given_back = during.heap_mapped - after.heap_mapped
    assert kept + given_back > 70_000_000
    assert "freed and kept" in str(memory.statistics())


def test_statistics_have_a_row_for_each_device_that_tells():
    found = memory.statistics()
    assert [d.device for d in found.devices] == [str(d) for d in cv.local_devices()]
    assert json.dumps(found.to_dict())
