"""Checkpoints that two processes write, and read, together."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import covector as cv
from covector.errors import CheckpointNotFound
from covector.experimental import checkpoint
from tests.distributed.starting import LAUNCH, PATIENCE, environment, output, succeeded
from tests.meshes import named

PROGRAMS = Path(__file__).parent / "checkpoint_programs.py"
VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def there(tmp_path):
    return tmp_path / "step_1"


def launch(program, directory):
    words = ["-n", "2", str(PROGRAMS), program, str(directory)]
    return subprocess.run(
        [sys.executable, "-c", *LAUNCH, *words],
        env=environment(2, COVECTOR_PEER_TIMEOUT="20"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_two_processes_write_each_part_once(there):
    assert succeeded(launch("save", there))
    manifest = json.loads((there / "manifest.json").read_text())
    files = {
        entry["path"]: sorted(part["file"] for part in entry["parts"])
        for entry in manifest["leaves"]
        if "parts" in entry
    }
    zero, one = "parts-0.bin", "parts-1.bin"
    assert files == {
        "['rows']": [zero, one],
        "['tiles']": [zero, zero, one, one],
        "['copies']": [zero],
        "['own']": [zero],
        "['numpy']": [zero],
    }
    found = checkpoint.restore(there)
    for name in ("rows", "tiles", "copies"):
        assert np.array_equal(found[name], VALUES)
    assert found["own"].tolist() == [2.0] * 3 and found["n"] == 2


def test_what_two_processes_saved_goes_over_eight_devices(there):
    assert succeeded(launch("save", there))
    found = checkpoint.restore(there)
    sharding = named("y", "x")
    like = cv.ShapeDtypeStruct((8, 4), "float32", sharding=sharding)
    tiles = checkpoint.restore(there, found | {"tiles": like})["tiles"]
    assert tiles.sharding is sharding
    assert np.array_equal(tiles, VALUES)


def test_each_process_reads_what_it_is_to_have(there):
    checkpoint.save(there, cv.device_put(VALUES, named(("x", "y"))))
    done = launch("read", there)
    assert succeeded(done)
    for rank in (0, 1):
        blocks = [((4 * rank, 2 * k), (4, 2)) for k in range(2)]
        assert output(done, rank) == str(blocks)


def test_processes_that_save_different_trees_are_told_where(there):
    done = launch("differ", there)
    assert succeeded(done)
    for rank in (0, 1):
        assert "line 2: ['n']: 0" in output(done, rank)
        assert "line 2: ['n']: 1" in output(done, rank)
    with pytest.raises(CheckpointNotFound):
        checkpoint.restore(there)


def test_a_process_that_dies_leaves_the_old_checkpoint(there):
    done = launch("die", there)
    assert done.returncode != 0
    assert "PeerLost" in output(done, 0)
    assert len(list(there.glob("data-*"))) == 2
    assert checkpoint.restore(there)["n"] == 1


def test_processes_that_save_to_different_places_have_no_checkpoint(there):
    done = launch("separate_folders", there)
    assert done.returncode != 0
    words = "does not see {}, which process 0 made. All processes have to save to the"
    assert words.format(there / "1/data-1") in output(done, 1)
    assert not list(there.glob("*/manifest.json"))
