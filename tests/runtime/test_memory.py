"""The memory policy: in force before the first client or large operation, and off by
its variable.
"""

import platform
from pathlib import Path

import pytest

from tests.runtime.programs import output_of

# Maps of the kernel that large NumPy blocks come from: with the policy there are none.
COUNT_LARGE_MAPS = """
import numpy as np
from covector.runtime import client, memory
client.cpu_device()
blocks = [np.ones(16 << 20, np.uint8) for _ in range(8)]
sizes = []
for line in open("/proc/self/maps"):
    start, end = (int(x, 16) for x in line.split()[0].split("-"))
    if "[heap]" in line:
        sizes.append(end - start)
print(memory.keep_memory(), sum(sizes) > 100 << 20)
"""

glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the policy is one of glibc"
)


@glibc
def test_large_blocks_come_from_the_heap():
    assert output_of(COUNT_LARGE_MAPS) == "True True"


@glibc
def test_the_switch_leaves_them_to_the_kernel():
    assert output_of(COUNT_LARGE_MAPS, COVECTOR_KEEP_MEMORY="0") == "False False"


LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# Whether the heap has grown, and asks for large pages: hg.
HEAP = """
import numpy as np
def heap():
    inside, size, advised = False, 0, False
    for line in open("/proc/self/smaps"):
        first, *rest = line.split()
        if not first.endswith(":"):
            inside = rest[-1] == "[heap]"
        elif inside and first == "Size:":
            size += int(rest[0]) << 10
        elif inside and first == "VmFlags:":
            advised |= "hg" in rest
    return size > 1 << 30, advised
"""


@glibc
@pytest.mark.skipif(
    not LARGE_PAGES.exists() or "[never]" in LARGE_PAGES.read_text(encoding="utf-8"),
    reason="the kernel has no large pages",
)
def test_the_heap_is_of_large_pages_and_keeps_what_was_in_use():
    code = f"""
{HEAP}
import covector.numpy as cnp
from covector.runtime import memory
x = cnp.asarray(np.ones(1 << 20, np.float32)) + 1
print(*heap(), memory.heap().kept < 1 << 28)
"""
    assert output_of(code) == "True True True"


@glibc
def test_where_address_space_is_limited_the_heap_does_not_grow_beforehand():
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 35, resource.RLIM_INFINITY))
{HEAP}
from covector.runtime import client
client.cpu_device()
print(*heap())
"""
    assert output_of(code) == "False False"


@glibc
def test_to_ask_whether_memory_is_kept_does_not_make_it_so():
    code = """
from covector.runtime import client, memory
before = memory.keeps_memory()
client.cpu_device()
print(before, memory.keeps_memory(), memory.heap().in_use > 0)
"""
    assert output_of(code) == "False True True"


@glibc
@pytest.mark.parametrize("large", ["x + x", "cnp.std(x)"])
def test_large_operations_in_numpy_keep_their_memory(large):
    """There, too, each block would be mapped, and its pages faulted in, again."""
    code = f"""
import numpy as np
import covector.numpy as cnp
from covector.runtime import memory
x = cnp.asarray(np.ones(8, np.float32))
x + x, cnp.std(x)
before = memory.keeps_memory()
x = cnp.asarray(np.ones(100_000, np.float32))
{large}
print(before, memory.keeps_memory())
"""
    assert output_of(code) == "False True"
