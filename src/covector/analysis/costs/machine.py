"""``machine_limits``: how fast this machine reads memory and computes, measured once.

    bytes_per_s             b + s·c of arrays that no cache holds
    cached                  the same of smaller arrays, again and again
    flops_per_s             products of large matrices, by dtype
    elementwise_per_s       sums and products of small arrays, many in one kernel
    transcendentals_per_s   square roots, the fastest of those that count as such

What was measured is kept for the process, and as JSON in the user's folder for caches,
under the kind of device and the versions that it was measured with. A file that is
damaged, or of something else, is measured anew and replaced; where none can be written,
nothing is.
"""

import contextlib
import datetime
import functools
import hashlib
import importlib.metadata
import json
import math
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from covector import numpy as cnp
from covector import options
from covector.core import dtypes
from covector.dispatch.inspection import ensure_compile_time_eval
from covector.dispatch.jit import jit
from covector.errors import DeviceError
from covector.lax import fori_loop, optimization_barrier
from covector.placement.device_put import device_put
from covector.runtime import client
from covector.runtime.cache_folder import user_cache, write_in_one_step

__all__ = ["MachineLimits", "machine_limits"]

#: of what is measured: with another number, files of before are not read
_VERSION = 3
#: the dtypes of which products are measured
_DTYPES = ("float32", "float64", "bfloat16")
#: seconds for the runs of one program, and how long one is long enough
_BUDGET, _LONG = 0.12, 0.004
#: operations of one kernel on each element
_CHAIN = 32
#: elements of three arrays that a cache may hold: 200 kB, 3 MB and 25 MB of float32
_CACHED = tuple([2**k for k in (14, 18, 21)])


@dataclass(frozen=True)
class MachineLimits:
    """The limits of a device, in bytes and operations for each second.

    name         the processor, and how many of its cores are used
    flops_per_s  by the name of the dtype
    measured_on  the day, as 2026-11-23; or where the numbers are from
    cached       numbers of bytes that caches hold, each with the bytes for each second
                 where no more are touched
    """

    name: str
    platform: str
    bytes_per_s: float
    flops_per_s: Mapping[str, float]
    elementwise_per_s: float
    transcendentals_per_s: float
    measured_on: str
    cached: tuple[tuple[int, float], ...] = ()

    def bandwidth(self, size: float) -> float:
        """The bytes for each second where so many are touched."""
        rates = [rate for most, rate in self.cached if size <= most]
        return max([self.bytes_per_s, *rates])

    def flops_in(self, dtype: str) -> float:
        """The FLOPs for each second in a dtype; of others, the most of all."""
        return self.flops_per_s.get(dtype, max(self.flops_per_s.values()))


#: what is known in this process, by key; and where files are, if not in the user's
#: folder for caches
known: dict[str, MachineLimits] = {}
folder: Path | None = None
#: threads that measure at the same time would be half as fast
_one_at_a_time = threading.RLock()


def machine_limits(device: Any = None, *, measure: bool = False) -> MachineLimits:
    """The memory bandwidth and the FLOP rates of a device, as measured on this machine.

    They are measured on the first call, which takes at most two seconds (on a GPU, and
    the time to compile for it), and kept for this process and, in the user's folder for
    caches, for others. What else runs on the machine meanwhile makes them smaller.

    Args:
      device: default: the one that programs run on.
      measure: measure again; of each limit the larger one is kept.

    Raises:
      DeviceError: a device of another process, or one without memory for the arrays.

    >>> limits = machine_limits()
    >>> limits.bytes_per_s > 0 and limits.flops_in("float32") > 0
    True
    """
    device = client.default_device() if device is None else device
    if not client.is_local(device):
        raise DeviceError(
            f"machine_limits measures devices of this process, but {device} is one of "
            f"process {device.process_index}: call it there."
        )
    key = key_of(device)
    with _one_at_a_time:
        found = known.get(key) or _read(key)
        if measure or found is None:
            new = measured(device)
            found = new if found is None else _larger(new, found)
            _write(key, found)
        known[key] = found
        return found


def _larger(new: MachineLimits, old: MachineLimits) -> MachineLimits:
    """Of each limit the larger one: what was reached once can be reached."""
    rates = {
        f.name: max(getattr(new, f.name), getattr(old, f.name))
        for f in fields(new)
        if f.type is float
    }
    by_dtype = {
        dtype: max(rate, old.flops_per_s.get(dtype, 0.0))
        for dtype, rate in new.flops_per_s.items()
    }
    before = dict(old.cached)
    cached = tuple([(n, max(rate, before.get(n, 0.0))) for n, rate in new.cached])
    return replace(new, flops_per_s=by_dtype, cached=cached, **rates)


def key_of(device: Any) -> str:
    """All that the limits of a device depend on, as far as it can be told."""
    facts = {
        "version": _VERSION,
        "device": _name(device),
        "jaxlib": importlib.metadata.version("jaxlib"),
        "runtime": device.client.platform_version,
    }
    return json.dumps(facts)


def _name(device: Any) -> str:
    if client.device_platform(device) != "cpu":
        return device.device_kind
    count = client.cores()
    return f"{_processor()}, {count} core{'s' if count > 1 else ''}"


@functools.cache
def _processor() -> str:
    """The name of the CPU."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


# -- measurements ----------------------------------------------------------------------


def measured(device: Any) -> MachineLimits:
    """The limits of a device, measured now."""
    with _undisturbed():
        on_cpu = client.device_platform(device) == "cpu"
        # On others programs take longer to compile, and small ones say nothing.
        sizes = [512 << k for k in range(6)] if on_cpu else [4096, 8192]
        flops = {d: _best_rate(_product(d), sizes, device) for d in _DTYPES}
        small = [2**k for k in (16, 20)]
        return MachineLimits(
            name=_name(device),
            platform=client.device_platform(device),
            bytes_per_s=_best_rate(_triad, [2**k for k in (24, 26, 28)], device),
            flops_per_s=flops,
            elementwise_per_s=_best_rate(_sums_and_products, small, device),
            transcendentals_per_s=_best_rate(_square_roots, small, device),
            measured_on=datetime.date.today().isoformat(),
            cached=tuple([(12 * n, _best_rate(_triad, [n], device)) for n in _CACHED]),
        )


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Programs run here at once, compiled, whatever is being traced around, and
    whichever options are in force.
    """
    defaults = {f.name: f.default for f in fields(options.Options)}
    changes = defaults | {"enable_x64": True}
    with ensure_compile_time_eval(), options.override(**changes):
        yield


#: what to run, on which arrays, and how much that is; of a size
_Trial = Callable[[int], tuple[Callable[..., Any], list[Any], int]]


def _triad(n: int) -> tuple[Callable[..., Any], list[Any], int]:
    times = 4 if n > max(_CACHED) else _CHAIN

    # In one program, so that no memory is new to the process. Past a barrier, for
    # otherwise a loop makes several steps in one pass over its arrays.
    def triads(b: Any, c: Any) -> Any:
        return fori_loop(0, times, lambda _, x: b + 3 * optimization_barrier(x), c)

    arrays = [cnp.full(n, value, dtypes.float32) for value in (1, 2)]
    the_copy_of_c = 2 * 4 * n
    return triads, arrays, the_copy_of_c + times * 3 * 4 * n


def _product(dtype: str) -> _Trial:
    def trial(n: int) -> tuple[Callable[..., Any], list[Any], int]:
        # Products of zeros would be as fast, but processors clock by what they do.
        x = cnp.full((n, n), 1.25, dtype)
        return lambda x, y: x @ y, [x, x], 2 * n**3

    return trial


def _sums_and_products(n: int) -> tuple[Callable[..., Any], list[Any], int]:
    def chain(x: Any, y: Any) -> Any:
        for _ in range(_CHAIN):
            x = x * y + y
        return x

    arrays = [cnp.full(n, value, dtypes.float32) for value in (1, 0.5)]
    return chain, arrays, 2 * _CHAIN * n


def _square_roots(n: int) -> tuple[Callable[..., Any], list[Any], int]:
    def chain(x: Any) -> Any:
        for _ in range(_CHAIN):
            x = cnp.sqrt(x)
        return x

    return chain, [cnp.full(n, 0.5, dtypes.float32)], _CHAIN * n


def _best_rate(trial: _Trial, sizes: Iterable[int], device: Any) -> float:
    """The work done in a second, at the size at which that is most.

    Sizes grow until one run takes long enough, or memory is short.
    """
    best = 0.0
    for size in sizes:
        try:
            fun, arrays, amount = trial(size)
            seconds = _seconds(fun, device_put(arrays, device))
        except (DeviceError, MemoryError):
            if best:
                break
            raise
        best = max(best, amount / seconds)
        if seconds >= _LONG:
            break
    return best


def _seconds(fun: Callable[..., Any], arrays: Any) -> float:
    """The least time that a compiled function takes, of up to ten runs."""
    compiled = jit(fun)
    compiled(*arrays).block_until_ready()
    best, end = math.inf, time.perf_counter() + _BUDGET
    for _ in range(10):
        start = time.perf_counter()
        compiled(*arrays).block_until_ready()
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            break
    return best


# -- files -----------------------------------------------------------------------------


def _path(key: str) -> Path | None:
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    there = folder or user_cache()
    return there and there / f"machine-limits-{digest}.json"


def _read(key: str) -> MachineLimits | None:
    """The entry of a file for this key; None where it is not as it must be."""
    path = _path(key)
    if path is None:
        return None
    try:
        found = json.loads(path.read_text())
        given = found["limits"]
        cached = tuple([(size, rate) for size, rate in given["cached"]])
        limits = MachineLimits(**(given | {"cached": cached}))
        return limits if found["key"] == key and _is_valid(limits) else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_valid(limits: MachineLimits) -> bool:
    texts = (limits.name, limits.platform, limits.measured_on)
    by_dtype = limits.flops_per_s
    if not isinstance(by_dtype, dict) or set(by_dtype) != set(_DTYPES):
        return False
    numbers = [getattr(limits, f.name) for f in fields(limits) if f.type is float]
    numbers += [*by_dtype.values(), *[rate for _, rate in limits.cached]]
    if [size for size, _ in limits.cached] != [12 * n for n in _CACHED]:
        return False
    return all([isinstance(text, str) for text in texts]) and all(
        [type(n) is float and 0 < n < math.inf for n in numbers]
    )


def _write(key: str, limits: MachineLimits) -> None:
    content = json.dumps({"key": key, "limits": asdict(limits)}, indent=1)
    path = _path(key)
    if path is not None:
        write_in_one_step(path, content.encode())
