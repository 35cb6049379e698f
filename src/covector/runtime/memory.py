"""How this process gives memory back: glibc is told to keep large blocks.

By default glibc maps every block above a threshold (at most 32 MiB) from the kernel and unmaps it
when freed, so each large result of a program page-faults through fresh zero pages. Keeping the
blocks in the heap makes such a program several times faster; the price is that the process
retains its largest footprint. ``COVECTOR_KEEP_MEMORY=0`` in the environment keeps glibc's policy.
"""

import ctypes
import functools
import os
import sys

# The parameter numbers of mallopt(3), from glibc's malloc.h.
_TRIM_THRESHOLD = -1
_MMAP_MAX = -4
_ARENA_MAX = -8

# mallopt takes a C int, so this is the largest trim threshold there is.
_NEVER_TRIM = 2**31 - 1


@functools.cache
def keep_memory() -> bool:
    """Apply the policy once; says whether the C library accepted it.

    It concerns the whole process and only blocks allocated later, so the CPU client calls it
    before it is created. Nothing happens on a C library other than glibc.
    """
    if os.environ.get("COVECTOR_KEEP_MEMORY", "1") == "0" or sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    settings = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _NEVER_TRIM), (_ARENA_MAX, 1))
    return all([mallopt(name, value) == 1 for name, value in settings])
