"""Checkpoints that are damaged, or made to do harm: one error, and no value."""

import json
import tracemalloc

import numpy as np
import pytest

import covector.numpy as cnp
from covector.errors import ArgumentError, CheckpointError
from covector.experimental import checkpoint
from covector.experimental.checkpoint import manifest
from covector.experimental.checkpoint.contents import CHUNK
from tests.anomalies import damaged_checkpoints


@pytest.fixture
def there(tmp_path):
    checkpoint.save(tmp_path / "step_1", {"w": cnp.arange(4.0), "n": 1})
    return tmp_path / "step_1"


def change(there, edit):
    """A manifest made by somebody who knows about digests."""
    path = there / manifest.NAME
    data = json.loads(path.read_text())
    content = {name: data[name] for name in ("number", "tree", "leaves")}
    edit(content)
    path.write_text(manifest.sealed(json.dumps(content)[1:]))


def error_of(there):
    with pytest.raises(CheckpointError) as caught:
        checkpoint.restore(there)
    return str(caught.value)


def part(content):
    return content["leaves"][1]["parts"][0]


@pytest.mark.parametrize(
    "file",
    ["/etc/passwd", "../../secret", "parts-0.bin/../../../secret", "secret", "..", ""],
)
def test_a_manifest_cannot_name_a_file_outside_of_its_folder(there, file):
    (there.parent / "secret").write_bytes(bytes(16))
    change(there, lambda content: part(content).update(file=file))
    assert error_of(there) == (
        f"{there}/manifest.json is damaged: a part of ['w'] is at byte 0 of {file!r}."
    )


@pytest.mark.parametrize("number", ["1/../../other", "../1", "1", 0, -1, 1.0, True])
def test_the_number_of_a_manifest_cannot_lead_elsewhere(there, number):
    change(there, lambda content: content.update(number=number))
    assert error_of(there) == (
        f"{there}/manifest.json is damaged: its number is none, {number!r}."
    )


def test_links_are_not_followed(there):
    (stored,) = there.glob("data-1/parts-0.bin")
    stored.rename(there.parent / "moved")
    stored.symlink_to(there.parent / "moved")
    assert error_of(there) == f"{stored} cannot be read: it is a link."


def test_a_manifest_that_lacks_parts_gives_no_uninitialised_memory(there):
    change(there, lambda content: content["leaves"][1].update(parts=[]))
    assert error_of(there).endswith("is damaged: ['w'] has no parts.")


PARTS = {
    "too short": ([2], [[0]], "parts of ['w'] are missing, or there twice"),
    "twice": ([2], [[0], [0]], "parts of ['w'] are missing, or there twice"),
    "outside": ([2], [[0], [4]], "the part of ['w'] at (4,) is out of place"),
    "shifted": ([2], [[0], [1]], "the part of ['w'] at (1,) is out of place"),
    "uneven": ([3], [[0]], "a part of ['w'] has the shape (3,), of f32[4]"),
}


@pytest.mark.parametrize(("shape", "starts", "words"), PARTS.values(), ids=PARTS)
def test_parts_that_do_not_cover_their_array_are_refused(there, shape, starts, words):
    def edit(content):
        one = part(content) | {"shape": shape}
        parts = [one | {"start": start} for start in starts]
        content["leaves"][1]["parts"] = parts

    change(there, edit)
    assert error_of(there) == f"{there}/manifest.json is damaged: {words}."


@pytest.mark.parametrize("byte", [0, CHUNK - 1, CHUNK, 3 * CHUNK - 1])
def test_a_flipped_bit_in_the_data_is_noticed(tmp_path, byte):
    there = tmp_path / "step"
    checkpoint.save(there, {"w": np.zeros(3 * CHUNK, np.uint8)})
    stored = there / "data-1" / "parts-0.bin"
    content = bytearray(stored.read_bytes())
    content[byte] ^= 16
    stored.write_bytes(content)
    begin = byte // CHUNK * CHUNK
    assert error_of(there) == (
        f"{stored} is damaged: its bytes from {begin} on are not those that were saved."
    )


@pytest.mark.parametrize("old", ['"float32"', '"shape": [4]', '"value": 1'])
def test_a_change_in_the_manifest_is_noticed(there, old):
    path = there / manifest.NAME
    text = path.read_text()
    new = {'"float32"': '"int32"', '"shape": [4]': '"shape": [3]'}.get(
        old, '"value": 3'
    )
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new))
    assert error_of(there) == (
        f"{path} is damaged: its content is not the one that its digest is of."
    )


@pytest.mark.parametrize("opening", ["[", '{"list": ['])
def test_a_manifest_nested_very_deeply_is_damaged(there, opening):
    path = there / manifest.NAME
    path.write_text(manifest.sealed('"number": 1, "tree": ' + opening * 100_000))
    assert error_of(there) == f"{path} is damaged: it is nested too deeply."


def test_a_tree_nested_too_deeply_to_be_restored_is_not_saved(tmp_path):
    tree = 1
    for _ in range(5000):
        tree = [tree]
    with pytest.raises(ArgumentError, match="nested deeper than Python's recursion"):
        checkpoint.save(tmp_path / "deep", tree)
    assert not (tmp_path / "deep").exists()


def test_memory_is_taken_only_for_what_is_in_the_files(there):
    def edit(content):
        leaf = content["leaves"][1]
        leaf["shape"] = part(content)["shape"] = [2**30]
        part(content)["digests"] = ["0" * 64] * (2**32 // CHUNK)

    change(there, edit)
    tracemalloc.start()
    try:
        assert "but a part of the checkpoint ends at byte 4294967296" in error_of(there)
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()


def test_a_damaged_checkpoint_can_be_replaced(there):
    (there / manifest.NAME).write_text("{")
    checkpoint.save(there, {"w": cnp.ones(2)}, overwrite=True)
    assert checkpoint.restore(there)["w"].tolist() == [1, 1]
    assert [path.name for path in there.glob("data-*")] == ["data-2"]


def test_four_hundred_damaged_checkpoints_end_in_an_error_or_in_right_values():
    assert damaged_checkpoints.failures(seed=20_000, rounds=400) == []
