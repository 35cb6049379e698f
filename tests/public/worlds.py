"""The libraries that a function is asked of: covector, JAX, and NumPy with SciPy.

A function has one name in all of them: ``numpy.add.reduce``, ``lax.sort``,
``scipy.special.erf``; ``Array.sum`` for what arrays have, ``at.add`` for updates,
``operator.matmul`` for what Python writes with signs.
"""

import contextlib
import importlib
import operator
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from typing import Any

import numpy as np

from tests.public.draws import Function, Key, Scalar


@dataclass(frozen=True)
class World:
    """A library: where its names are, and how it takes an operand."""

    root: str

    @cached_property
    def numpy(self) -> Any:
        """Its namespace of NumPy's functions."""
        return importlib.import_module(self._module("numpy"))

    def _module(self, name: str) -> str:
        return f"{self.root}.{name}" if self.root else name

    @cache  # noqa: B019  worlds live as long as the process
    def function(self, name: str) -> Callable[..., Any] | None:
        """The function of that name, or None where the library has none."""
        space, _, member = name.partition(".")
        if space == "Array":
            return self._member(member)
        if space == "at":
            return _update_on_host(member) if not self.root else _update(member)
        if space == "operator":
            return getattr(operator, member)
        if not self.root and space not in ("numpy", "scipy"):
            return None
        return self._find(name.split("."))

    def _find(self, path: list[str]) -> Any:
        """The longest beginning of the path is a module, the rest are attributes."""
        for cut in range(len(path) - 1, 0, -1):
            try:
                module = importlib.import_module(self._module(".".join(path[:cut])))
            except ImportError:
                continue
            return reduce(lambda x, n: getattr(x, n, None), path[cut:], module)
        return None

    def _member(self, name: str) -> Callable[..., Any]:
        def member(x: Any, *args: Any, **kwargs: Any) -> Any:
            found = getattr(x, name)
            return found(*args, **kwargs) if callable(found) else found

        return member

    def operand(self, value: Any) -> Any:
        """An operand as this library takes it."""
        if isinstance(value, Scalar):
            return value.value
        if isinstance(value, Function):
            return value.make(self.numpy)
        if isinstance(value, Key):
            random = importlib.import_module(self._module("random"))
            key = random.key(value.seed)
            return random.split(key, value.shape) if value.shape else key
        return self.numpy.asarray(value) if self.root else _known(value)

    @contextlib.contextmanager
    def bits(self, x64: bool) -> Iterator[None]:
        """Whether there are numbers of 64 bits; peers may warn as they like."""
        with contextlib.ExitStack() as stack:
            if self.root:
                enable = importlib.import_module(self.root).enable_x64
                stack.enter_context(enable(x64))
            if self.root != "covector":
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                stack.enter_context(np.errstate(all="ignore"))
            yield


def _known(value: np.ndarray) -> np.ndarray:
    """Numbers that NumPy does not have, bfloat16 for instance, as wider ones."""
    return value.astype(np.float32) if value.dtype.kind == "V" else value


def _update(name: str) -> Callable[..., Any]:
    def update(x: Any, index: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x.at[index], name)(*args, **kwargs)

    return update


UFUNCS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "mul": np.multiply,
    "divide": np.divide, "power": np.power, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def _update_on_host(name: str) -> Callable[..., Any] | None:
    """What an update means: that of NumPy, in place, of a copy in the common dtype."""

    def update(x: np.ndarray, index: Any, value: Any, **_: Any) -> Any:
        common = np.result_type(x, value)
        out = x.astype(common) if name in UFUNCS else x.copy()
        if name == "set":
            out[index] = value
        else:
            UFUNCS[name].at(out, index, value)
        return out.astype(x.dtype)

    if name == "get":
        return lambda x, index: x[index]
    return update if name == "set" or name in UFUNCS else None


COVECTOR, JAX, NUMPY = World("covector"), World("jax"), World("")
