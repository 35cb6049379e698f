"""What a reader must know to judge a timing: the machine, the versions, the date."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("covector", "jax", "jaxlib", "numpy", "scipy", "torch", "numba", "autograd")


def description() -> dict[str, str]:
    """Facts by name, in the order in which to print them."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "memory": f"{memory_gib():.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "load before the run": f"{os.getloadavg()[0]:.2f}",
        "Python": platform.python_version(),
        **{name: installed(name) for name in PACKAGES},
    }


def limits() -> Any:
    """How fast this machine reads memory and computes, as covector measures it."""
    from covector.analysis import machine_limits  # noqa: PLC0415  starts a runtime

    return machine_limits(measure=True)


def rates(found: Any) -> dict[str, str]:
    """The limits, for the list of facts."""
    cached = [
        f"{rate / 1e9:.0f} within {size / 1e6:.2g} MB" for size, rate in found.cached
    ]
    flops = [
        f"{rate / 1e9:.0f} in {dtype}" for dtype, rate in found.flops_per_s.items()
    ]
    return {
        "memory, GB/s": ", ".join([f"{found.bytes_per_s / 1e9:.0f}", *cached]),
        "GFLOP/s": ", ".join(flops),
    }


def processor() -> str:
    """The processor's own name where the system tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def memory_gib() -> float:
    """Physical memory in GiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def installed(package: str) -> str:
    """The version of a distribution; "not installed" without one."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
