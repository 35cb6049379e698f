"""LAPACK on CPUs: the kernels of jaxlib, made known to XLA when first needed.

The kernels are custom calls around the LAPACK that SciPy carries, which jaxlib
requires. Until they are bound to it, a program that calls one would crash: so whoever
writes such a call into a program, or loads one, calls ``prepare`` before.
"""

import ctypes
import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from jaxlib import xla_client as xc

#: how the names of the kernels begin that are LAPACK, and the name of one that is not
PREFIX = "lapack_"
PERTURBED = "tridiagonal_solve_perturbed_ffi"

#: routines half of whose work is products of a matrix and a vector: OpenBLAS divides
#: these as well, thousands in one factorization, and its threads wait by spinning
_OF_VECTORS = frozenset({"geqrf", "geqp3", "orgqr/ungqr", "ormqr/unmqr", "gesdd"})
#: from how long sides on it does, and up to how long the shorter sides of all matrices
#: are for which threads cost more than they bring
_THREADED, _WORTH_THREADS = 32, 512


def is_called_by(executable: bytes) -> bool:
    """Whether a serialized executable calls one of the kernels."""
    return PREFIX.encode() in executable or PERTURBED.encode() in executable


@functools.cache
def prepare() -> None:
    """Register the kernels and bind them to SciPy's LAPACK, which takes 0.2 s once."""
    kernels = importlib.import_module("jaxlib.lapack")
    for name, kernel, version in kernels.registrations()["cpu"]:
        xc.register_custom_call_target(
            name, kernel, platform="cpu", api_version=version
        )
    for name in kernels.batch_partitionable_targets():
        xc.register_custom_call_as_batch_partitionable(name)
    kernels._lapack.initialize()


# -- threads ---------------------------------------------------------------------------


class _Threads(NamedTuple):
    """The functions of a BLAS that tell and say how many threads it has."""

    get: Callable[[], int]
    set: Callable[[int], None]


class _Running:
    """How many programs run for which BLAS has one thread, and how many it had."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may come in between
        self.programs = 0
        self.usual = 1


_running = _Running()


def wants_one_thread(calls: Iterable[tuple[str, Sequence[int]]]) -> bool:
    """Whether a program that calls these routines for matrices of these sizes is faster
    without threads of BLAS.
    """
    sizes = [size for _, size in calls if size]
    divided = [size for name, size in calls if name in _OF_VECTORS and size]
    threaded = any([max(size) > _THREADED for size in divided])
    return threaded and all([min(size) <= _WORTH_THREADS for size in sizes])


def with_one_thread(launch: Callable[..., Any]) -> Callable[..., Any]:
    """``launch`` of a program that is done when it returns, during which SciPy's BLAS
    has one thread; as it is where that cannot be said.
    """
    threads = _threads()
    if threads is None:
        return launch

    def launch_with_one_thread(buffers: Sequence[Any], **options: Any) -> Any:
        with _running.lock:
            if not _running.programs:
                _running.usual = threads.get()
                threads.set(1)
            _running.programs += 1
        try:
            return launch(buffers, **options)
        finally:
            with _running.lock:
                _running.programs -= 1
                if not _running.programs:
                    threads.set(_running.usual)

    return launch_with_one_thread


@functools.cache
def _threads() -> _Threads | None:
    """Of the OpenBLAS that the kernels are bound to; None if it is another BLAS."""
    prepare()
    interface = sys.modules.get("scipy.linalg.cython_lapack")
    file = getattr(interface, "__file__", None)
    if file is None:
        return None
    # The names are searched for in what the module is linked with, too.
    library = ctypes.CDLL(file)
    for prefix in ("scipy_openblas", "openblas"):
        found = [f"{prefix}_{verb}_num_threads" for verb in ("get", "set")]
        if all([hasattr(library, name) for name in found]):
            get, set_ = [getattr(library, name) for name in found]
            set_.argtypes, set_.restype = [ctypes.c_int], None
            return _Threads(get, set_)
    return None
