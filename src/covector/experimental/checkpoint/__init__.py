"""Checkpoints: trees of arrays in files, from any devices to any others.

    save(directory, tree)          every process writes the parts that its devices hold,
                                   each part once
    restore(directory, like)       every process reads what its devices are to hold

A checkpoint is a directory::

    manifest.json                  the tree, the type of each array, where its parts are
    data-3/parts-0.bin             the parts that process 0 wrote, one after another
    data-3/parts-1.bin             …

The invariant: what ``manifest.json`` names is whole. It is put in place by one rename,
by one process, after all have written; until then the directory holds the checkpoint
that it held before, or none. All that is read is compared with digests, and checked for
being what a ``save`` writes. The room is ``contents`` (trees as JSON), ``manifest``,
``files`` (the directory), ``reading`` (blocks of arrays), ``saving`` and ``restoring``.

>>> import tempfile
>>> import covector as cv
>>> from covector.experimental import checkpoint
>>> with tempfile.TemporaryDirectory() as directory:
...     checkpoint.save(f"{directory}/step_1", {"w": cv.numpy.arange(3), "step": 1})
...     restored = checkpoint.restore(f"{directory}/step_1")
>>> restored["w"].tolist(), restored["step"]
([0, 1, 2], 1)
"""

from covector import namespaces
from covector.experimental.checkpoint.restoring import restore
from covector.experimental.checkpoint.saving import Saving, save

__all__ = ["Saving", "restore", "save"]
__dir__ = namespaces.completions(globals())
