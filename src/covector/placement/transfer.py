"""Transfers from devices to the host, synchronisation, and the list of live arrays."""

import functools
import gc
import sys
from collections import Counter
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from covector import tree
from covector.core import dtypes
from covector.core.annotations import PyTree
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.sharding.transfer import guard
from covector.core.trace import Tracer
from covector.runtime import buffers, client

Tree = TypeVar("Tree")

_Cache = type(functools.lru_cache(lambda: None))


def device_get(x: PyTree) -> PyTree:
    """``x``, an array or a tree of them, as NumPy arrays, which cannot be written to.

    It waits for values that are still computed. To write, copy: ``np.array(...)``. A
    traced array has no values: it cannot be used inside ``jit``.

    Random keys, for which NumPy has no elements, stay what they are.

    Args:
      x: an array, or a tree of them.

    Returns:
      The same tree, of NumPy arrays.

    Raises:
      TracerArrayConversionError: an array is traced.

    >>> import covector as cv
    >>> device_get([cv.numpy.arange(2)])[0].tolist()
    [0, 1]

    See also: ``device_put``, ``block_until_ready``.
    """

    def on_host(leaf: Any) -> Any:
        known = isinstance(leaf, Array) and not dtypes.is_key(leaf.dtype)
        return np.asarray(leaf) if known else leaf

    with guard:
        return tree.map(on_host, x)


def block_until_ready(x: Tree) -> Tree:
    """``x``, once every array in it has been computed; what went wrong is raised here.

    Use it to measure times: operations and compiled functions return before their
    results are computed.

    Args:
      x: a tree of arrays; other leaves are passed on.

    >>> import covector as cv
    >>> float(block_until_ready(cv.jit(lambda x: x + 1)(1.0)))
    2.0

    See also: ``covector.effects_barrier`` for callbacks and prints.
    """
    pending = []
    for leaf in tree.leaves(x):
        if type(leaf) is ConcreteArray and leaf._buffer is not None:
            pending.append(leaf._buffer)
        elif not isinstance(leaf, Tracer) and hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    buffers.block_until_ready(pending)
    return x


def copy_to_host_async(x: Tree) -> Tree:
    """Start copying the arrays in ``x`` to the host, where they are not there yet."""
    for leaf in tree.leaves(x):
        if isinstance(leaf, ConcreteArray):
            leaf.copy_to_host_async()
    return x


def default_backend() -> str:
    """The platform on which programs run by default: "cpu" or "gpu".

    Returns:
      Its name.

    >>> default_backend() in ("cpu", "gpu")
    True

    See also: ``devices``, ``covector.default_device``.
    """
    return client.default_platform()


def live_arrays(platform: str | None = None) -> list[Array]:
    """The arrays that are in use, on devices of a platform: by default, where programs
    run. Small arrays are in the memory of the host until a program needs them, and
    count for the device where it would run.

    What only the library holds is not listed: the numbers in programs and caches, such
    as the 3.5 of ``x * 3.5``. It looks at every object of the process, which takes some
    milliseconds. Arrays that were there at a call of ``gc.freeze`` are hidden from it.

    >>> import covector as cv
    >>> x = cv.numpy.ones((7, 11))
    >>> any(array is x for array in live_arrays())
    True
    """
    wanted = client.default_platform() if platform is None else platform
    found = [x for x in known_arrays() if not x.is_deleted()]
    return [x for x in found if x.platform() == wanted]


def known_arrays(internals: bool = False) -> list[ConcreteArray]:
    """The arrays of this process, on any platform, those that were deleted included;
    with ``internals`` also those that only the library holds.
    """
    objects = gc.get_objects()
    found = [x for x in objects if type(x) is ConcreteArray]
    if not internals:
        of_library = _references_of_library(objects)
        del objects
        # One to which nothing refers but ``found`` and the loop.
        found.append(ConcreteArray.__new__(ConcreteArray))
        count = [sys.getrefcount(x) - of_library[id(x)] for x in found]
        found = [x for x, n in zip(found, count, strict=True) if n > count[-1]]
    # One that another thread is just making has no placement yet.
    return [x for x in found if hasattr(x, "placement")]


def _references_of_library(objects: list[Any]) -> Counter[int]:
    """The number of references to each array, by its identity, from programs, caches
    and modules of covector.
    """
    containers: dict[int, Any] = {}  # equations may share a list of inputs
    for x in objects:
        if type(x) is Equation:
            held = [getattr(x, "inputs", ())]
        elif type(x) is Jaxpr:
            held = [getattr(x, "outputs", ())]
        elif type(x) is _Cache and _is_of_library(x.__module__):
            values = gc.get_referents(x)
            held = [values, *[v for v in values if type(v) is tuple]]
        elif type(x) is ModuleType and _is_of_library(x.__name__):
            held = [list(vars(x).values())]
        else:
            continue
        containers.update({id(h): h for h in held})
    return Counter(
        [id(v) for h in containers.values() for v in h if type(v) is ConcreteArray]
    )


def _is_of_library(module: Any) -> bool:
    return isinstance(module, str) and module.startswith("covector.")
