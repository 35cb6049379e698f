"""Programs that ``test_checkpoint.py`` runs in two processes of two devices each."""

import os
import sys

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import P
from covector.errors import CovectorError
from covector.experimental import checkpoint
from covector.experimental.checkpoint import files, reading
from covector.sharding import NamedSharding

VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)


def over(*entries):
    return NamedSharding(cv.make_mesh((2, 2), ("x", "y")), P(*entries))


def array(*entries):
    sharding = over(*entries)
    return cv.make_array_from_callback((8, 4), sharding, lambda index: VALUES[index])


def tree(n):
    arrays = {"rows": array("x"), "tiles": array("x", "y"), "copies": array()}
    return arrays | {"own": cnp.ones(3) * n, "numpy": np.arange(3.0), "n": n}


def save(directory):
    checkpoint.save(directory, tree(1))
    saving = checkpoint.save(directory, tree(2), overwrite=True, wait=False)
    saving.wait()


def read(directory):
    blocks = []
    block = reading.Reader.block
    reading.Reader.block = lambda self, entry, *where: (
        blocks.append(where) or block(self, entry, *where)
    )
    found = checkpoint.restore(directory, shardings=over("x", "y"))
    for shard in found.addressable_shards:
        assert np.array_equal(np.asarray(shard.data), VALUES[shard.index])
    sys.stdout.write(f"{blocks}\n")


def differ(directory):
    try:
        checkpoint.save(directory, {"n": cv.process_index(), "same": 1})
    except CovectorError as error:
        sys.stdout.write(f"{error}\n")


def die(directory):
    checkpoint.save(directory, tree(1))
    if cv.process_index() == 1:
        files.write = lambda *_: os._exit(7)
    checkpoint.save(directory, tree(2), overwrite=True)


def separate_folders(directory):
    checkpoint.save(f"{directory}/{cv.process_index()}", tree(1))


if __name__ == "__main__":
    cv.distributed.initialize()
    globals()[sys.argv[1]](sys.argv[2])
