"""Multi-process runs: one program, run by many processes over the devices of all.

    covector launch -n 4 train.py    on this machine, to try it
    srun python train.py             on a cluster, whose scheduler says who is who

>>> import covector as cv
>>> cv.distributed.is_initialized()
False

After ``initialize``, ``devices()`` are those of all processes and ``local_devices()``
those of this one. Every process has to run the same programs in the same order, on
arrays of the same types; what would wait for ever is an error instead.
"""

from covector import namespaces
from covector.distributed.initialization import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
__dir__ = namespaces.completions(globals())
