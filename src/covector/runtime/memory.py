"""The host's allocator, and what is said when there is no memory left.

The policy: glibc keeps large freed blocks, in large pages.

By default glibc maps every block above a threshold (at most 32 MiB) from the kernel and
unmaps it when it is freed, so each large result of a program faults in fresh zero
pages. Kept in the heap, blocks are reused, and such a program runs several times
faster; the price is that the process holds on to its largest footprint. Threads have
heaps of their own, of 64 MB at most. One for all would keep their large blocks too, but
what the compiler leaves in it takes calls of hundreds of arrays twice as long.

Linux gives pages of 2 MB to those who ask, as NumPy does for its arrays. The first 2 GB
of the heap are of such pages, of which a processor knows the places of more memory:
``x[i]`` of 4 million numbers takes 0.65 of the time, ``sin`` of 16 million 0.8. Pages
that were touched stay small, so the heap grows before there is anything in it: in
address space alone, and not where that is limited.

``COVECTOR_KEEP_MEMORY=0`` in the environment leaves glibc's own policy in place.
"""

import ctypes
import functools
import importlib
import mmap
import sys
from pathlib import Path
from typing import NamedTuple

from covector import variables
from covector.errors import OutOfMemory

# The parameters of mallopt(3), numbered as in glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD = -1, -2
_MMAP_MAX = -4

# mallopt takes a C int, so no trim threshold is larger.
_NEVER_TRIM = 2**31 - 1
#: bytes by which the heap grows, and which it keeps at its end: what is free there is
#: to stay below the threshold
_GROWTH = 2**31 - 2**27


#: bytes from which a block is large: glibc may give it back as soon as it is freed
LARGE = 1 << 16


@functools.cache
def keep_memory() -> bool:
    """Apply the policy, once; False where it is switched off or there is no glibc.

    It holds for the whole process, for blocks allocated from now on: the CPU client
    calls this before it is made, and so do the first large operations in NumPy.
    """
    if not variables.KEEP_MEMORY.read() or sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    settings = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _NEVER_TRIM))
    kept = all([mallopt(name, value) == 1 for name, value in settings])
    if kept and not _is_short():
        _grow()
        mallopt(_TOP_PAD, _GROWTH)
    return kept


def _is_short() -> bool:
    """Whether address space, or what may be promised, is limited."""
    try:
        limits = Path("/proc/self/limits").read_text(encoding="utf-8").splitlines()
        policy = Path("/proc/sys/vm/overcommit_memory").read_text(encoding="utf-8")
    except OSError:
        return True
    ours = [x for x in limits if x.startswith(("Max address space", "Max data size"))]
    return policy.strip() == "2" or any(
        [x.split()[-3] != "unlimited" for x in ours]  # the soft one
    )


def _grow() -> None:
    """Let the heap grow, and ask for large pages there."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    block = libc.malloc(_GROWTH)
    if block is not None:
        start = -(-block // mmap.PAGESIZE) * mmap.PAGESIZE
        libc.madvise(start, block + _GROWTH - start, mmap.MADV_HUGEPAGE)
        libc.free(block)


def keeps_memory() -> bool:
    """Whether the policy was applied, and holds."""
    return bool(keep_memory.cache_info().currsize) and keep_memory()


class Heap(NamedTuple):
    """The bytes that glibc's allocator holds: ``mallinfo2(3)``."""

    #: taken from the system, and in use by somebody
    in_use: int
    #: freed, and kept for the next blocks
    kept: int
    #: in blocks that are mapped by themselves, which count to neither
    mapped: int


#: the fields of struct mallinfo2, all of them size_t
_FIELDS = (
    "arena",
    "ordblks",
    "smblks",
    "hblks",
    "hblkhd",
    "usmblks",
    "fsmblks",
    "uordblks",
    "fordblks",
    "keepcost",
)


class _MallInfo(ctypes.Structure):
    _fields_ = tuple([(name, ctypes.c_size_t) for name in _FIELDS])


def heap() -> Heap | None:
    """The bytes that the allocator of the process holds; None if it does not tell."""
    if sys.platform != "linux":
        return None
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2  # from glibc 2.33
    except (AttributeError, OSError):
        return None
    mallinfo2.restype = _MallInfo
    found = mallinfo2()
    kept = max(found.fordblks - _untouched(), 0)
    return Heap(found.uordblks, kept, found.hblkhd)


def _untouched() -> int:
    """The bytes of the heap that are address space alone."""
    try:
        lines = Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    size, inside = 0, False
    for line in lines:
        first, *rest = line.split()
        if not first.endswith(":"):
            inside = rest[-1] == "[heap]"
        elif inside and first in ("Size:", "Rss:"):
            size += int(rest[0]) * (1024 if first == "Size:" else -1024)
    return size


# -- when there is none left -----------------------------------------------------------


class _LateBinding:
    #: the module that describes what holds memory, imported when that is asked for
    describes: str | None = None


def bind_description(module: str) -> None:
    """``module`` is one whose ``describe(program)`` gives lines for messages."""
    _LateBinding.describes = module


#: how messages begin
_HEAD = "out of memory: "


def is_shortage(failure: Exception) -> bool:
    """Whether something failed for want of memory."""
    return isinstance(failure, MemoryError) or "RESOURCE_EXHAUSTED" in str(failure)


def out_of_memory(failure: Exception, program: object = None) -> OutOfMemory:
    """The error for a failure for want of memory: what holds the memory, and ways out.

    Args:
      failure: of jaxlib or NumPy, with what was wanted in its words; or the error that
        was made of it, to which the program is added.
      program: the compiled program that failed.
    """
    words = str(failure) or "an allocation failed"
    if isinstance(failure, OutOfMemory):
        if program is None:
            return failure
        words = words.partition("\n")[0].removeprefix(_HEAD)
    lines = [_HEAD + words]
    try:
        if _LateBinding.describes is not None:
            module = importlib.import_module(_LateBinding.describes)
            lines += module.describe(program)
    except Exception:  # noqa: BLE001  memory is short: whatever else fails, this is said
        lines.append("(what holds it could not be listed, for want of memory)")
    return OutOfMemory("\n".join(lines))
