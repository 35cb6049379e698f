"""Checkpoints that are interrupted, replaced, and written in the background."""

import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import (
    CheckpointError,
    CheckpointNotFound,
)
from covector.experimental import checkpoint
from covector.experimental.checkpoint import files
from tests.meshes import mesh, named, numbers


@pytest.fixture
def there(tmp_path):
    return tmp_path / "step_1"


def data_of(there):
    (folder,) = there.glob("data-*")
    return folder


# -- what happens when something happens -----------------------------------------------


class Crash(BaseException):
    """The process ends here."""


def crash(*_, **__):
    raise Crash


MOMENTS = {
    "in the parts": ("write", crash),
    "before the manifest": ("_whole", crash),
    "before the rename": ("os.replace", crash),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_crash_leaves_the_old_checkpoint(there, monkeypatch, moment):
    checkpoint.save(there, {"w": cnp.zeros(4)})
    name, instead = MOMENTS[moment]
    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(f"covector.experimental.checkpoint.files.{name}", instead)
        checkpoint.save(there, {"w": cnp.ones(4)}, overwrite=True)
    assert checkpoint.restore(there)["w"].tolist() == [0.0] * 4
    checkpoint.save(there, {"w": cnp.ones(4)}, overwrite=True)
    assert checkpoint.restore(there)["w"].tolist() == [1.0] * 4
    assert data_of(there).name == "data-2"


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_first_save_that_crashed_is_no_checkpoint(there, monkeypatch, moment):
    name, instead = MOMENTS[moment]
    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(f"covector.experimental.checkpoint.files.{name}", instead)
        checkpoint.save(there, {"w": cnp.ones(4)})
    with pytest.raises(CheckpointNotFound) as caught:
        checkpoint.restore(there)
    assert str(caught.value) == (
        f"the checkpoint at {there} is unfinished: the program that wrote it ended "
        "before it was whole, or has not finished yet. Restore another one."
    )
    checkpoint.save(there, {"w": cnp.ones(4)})
    assert checkpoint.restore(there)["w"].tolist() == [1.0] * 4


def test_a_crash_after_the_rename_leaves_the_new_checkpoint(there, monkeypatch):
    checkpoint.save(there, cnp.zeros(4))
    rmtree = shutil.rmtree

    def crash_at_the_old(path, **options):
        if path.name == "data-1":
            raise Crash
        rmtree(path, **options)

    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(files.shutil, "rmtree", crash_at_the_old)
        checkpoint.save(there, cnp.ones(4), overwrite=True)
    assert checkpoint.restore(there).tolist() == [1.0] * 4
    checkpoint.save(there, cnp.ones(4) * 2, overwrite=True)
    assert data_of(there).name == "data-3"


KILLED = """
import os, sys
import covector.numpy as cnp
from covector.experimental import checkpoint
from covector.experimental.checkpoint import files
files._whole = lambda *_: os._exit(9)
checkpoint.save(sys.argv[1], cnp.ones(4), overwrite=True)
"""


def test_a_process_that_is_killed_leaves_the_old_checkpoint(there):
    checkpoint.save(there, cnp.zeros(4))
    done = subprocess.run([sys.executable, "-c", KILLED, str(there)], check=False)
    assert done.returncode == 9
    assert len(list(there.glob("data-*"))) == 2
    assert checkpoint.restore(there).tolist() == [0.0] * 4


def test_a_checkpoint_that_is_not_whole_is_not_committed(there, monkeypatch):
    mesh("2")
    x = cv.device_put(np.arange(8.0), named("x", on="2"))
    write = files.write
    monkeypatch.setattr(files, "write", lambda at, pieces: write(at, list(pieces)[1:]))
    with pytest.raises(CheckpointError) as caught:
        checkpoint.save(there, {"w": x})
    assert str(caught.value) == (
        "save: of the 8 elements of ['w'] the processes wrote 4, so there is no "
        "checkpoint."
    )
    with pytest.raises(CheckpointNotFound):
        checkpoint.restore(there)


def test_what_is_replaced_leaves_nothing_behind(there):
    for k in range(3):
        checkpoint.save(there, cnp.full(4, k), overwrite=True)
    assert {path.name for path in there.iterdir()} == {"manifest.json", "data-3"}
    assert checkpoint.restore(there).tolist() == [2] * 4


FULL = """
import resource, sys
import covector.numpy as cnp
from covector.errors import CheckpointError
from covector.experimental import checkpoint
for limit in (0, 39_999):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for wait in (True, False):
        try:
            x = cnp.ones(10_000)
            checkpoint.save(sys.argv[1], x, overwrite=True, wait=wait).wait()
        except CheckpointError as error:
            print(error)
"""


def test_a_full_disk_leaves_the_old_checkpoint_and_one_error(there):
    """There is no room for anything, or for the last byte."""
    checkpoint.save(there, cnp.zeros(4))
    before = sorted(there.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(there)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert " ".join(done.stdout.split()) == " ".join(
        4
        * [
            f"save: {there} could not be written: File too large. The checkpoint that "
            "was there before is there still."
        ]
    )
    assert sorted(there.rglob("*")) == before
    assert checkpoint.restore(there).tolist() == [0.0] * 4


SAVER = """
import sys
import numpy as np
from covector.experimental import checkpoint
for k in range(1, 10_000):
    tree = {name: np.full(20_000, k) for name in "abcd"} | {"k": k}
    checkpoint.save(sys.argv[1], tree, overwrite=True, wait=k % 2 == 1)
    print(k, flush=True)
"""


def test_a_saver_that_is_killed_at_any_moment_leaves_a_whole_checkpoint(there):
    chance = random.Random(8)
    last = 0
    for _ in range(3):
        saver = subprocess.Popen(
            [sys.executable, "-c", SAVER, str(there)], stdout=subprocess.PIPE, text=True
        )
        with saver:
            saver.stdout.readline()
            time.sleep(0.2 * chance.random())
            saver.kill()
            done = len(saver.stdout.read().split()) + 1
        found = checkpoint.restore(there)
        last = found["k"]
        assert last >= done - 1  # the last one may have been under way
        assert all((found[name] == last).all() for name in "abcd")


# -- in the background -----------------------------------------------------------------


def test_a_save_in_the_background(there):
    tree = {"w": cv.device_put(numbers(8, 16), named("x", "y"))}
    saving = checkpoint.save(there, tree, wait=False)
    saving.wait()
    assert saving.done()
    saving.wait()
    assert np.array_equal(checkpoint.restore(there)["w"], tree["w"])


def test_arrays_may_be_donated_while_they_are_saved(there, monkeypatch):
    x = cnp.arange(1000.0) + 1
    commit = files.commit
    begun = []
    monkeypatch.setattr(files, "commit", lambda *a: (begun.append(1), commit(*a)))
    saving = checkpoint.save(there, [x], wait=False)
    y = cv.jit(lambda x: x * 0, donate_argnums=0)(x)
    y.block_until_ready()
    saving.wait()
    assert begun == [1]
    assert checkpoint.restore(there)[0].tolist() == [float(k + 1) for k in range(1000)]


def test_a_save_waits_for_the_one_before(there):
    for k in range(4):
        checkpoint.save(there, cnp.full(3, k), overwrite=True, wait=False)
    checkpoint.save(there, cnp.full(3, 4), overwrite=True)
    assert checkpoint.restore(there).tolist() == [4] * 3


def test_what_goes_wrong_in_the_background_is_raised_by_wait(there, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", full)
        saving = checkpoint.save(there, cnp.ones(3), wait=False)
        with pytest.raises(CheckpointError, match="No space left on device"):
            saving.wait()
    checkpoint.save(there, cnp.ones(3))
    assert checkpoint.restore(there).tolist() == [1.0] * 3


ENDING = """
import sys
import covector.numpy as cnp
from covector.experimental import checkpoint
checkpoint.save(sys.argv[1], cnp.ones(4), wait=False)
"""


def test_a_program_that_ends_finishes_what_it_saves(there):
    subprocess.run([sys.executable, "-c", ENDING, str(there)], check=True)
    assert checkpoint.restore(there).tolist() == [1.0] * 4
