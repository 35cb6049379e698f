"""The allocator's policy: glibc keeps large freed blocks.

By default glibc maps every block above a threshold (at most 32 MiB) from the kernel and
unmaps it when it is freed, so each large result of a program faults in fresh zero
pages. Kept in the heap, blocks are reused, and such a program runs several times
faster; the price is that the process holds on to its largest footprint.

``COVECTOR_KEEP_MEMORY=0`` in the environment leaves glibc's own policy in place.
"""

import ctypes
import functools
import sys

from covector import variables

# The parameters of mallopt(3), numbered as in glibc's malloc.h.
_TRIM_THRESHOLD = -1
_MMAP_MAX = -4
_ARENA_MAX = -8

# mallopt takes a C int, so no trim threshold is larger.
_NEVER_TRIM = 2**31 - 1


@functools.cache
def keep_memory() -> bool:
    """Apply the policy, once; False where it is switched off or there is no glibc.

    It holds for the whole process, for blocks allocated from now on: the CPU client
    calls this before it is made.
    """
    if not variables.KEEP_MEMORY.read() or sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    settings = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _NEVER_TRIM), (_ARENA_MAX, 1))
    return all([mallopt(name, value) == 1 for name, value in settings])
