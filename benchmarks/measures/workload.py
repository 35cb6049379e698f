"""What most measures share: a program on given arrays, as the setup of every peer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from benchmarks.measure import Measure, Setup

Program: TypeAlias = Callable[[Any], Callable[..., Any]]
"""From a peer's module to a function of arrays."""

Inputs: TypeAlias = Callable[[], Sequence[np.ndarray]]
"""Made when a worker asks, so that only rows that run take memory."""


def workload(  # noqa: PLR0913  a call reads like a line of a table
    name: str,
    program: Program,
    inputs: Inputs,
    *,
    wrt: int | tuple[int, ...] | None = None,
    eager: bool = False,
    compiled: bool = False,
    others: Mapping[str, Program] | None = None,
    setups: Mapping[str, Setup] | None = None,
    **facts: Any,
) -> Measure:
    """A row about ``program`` on ``inputs``.

    Args:
      name: the row's name.
      program: for covector and JAX, which share it.
      inputs: NumPy arrays; each peer gets them as arrays of its own.
      wrt: time the gradient with respect to these arguments, not the value.
      eager: covector and JAX do not jit it.
      compiled: PyTorch's program also runs through ``torch.compile``.
      others: the programs of further peers, by name.
      setups: of peers that take neither NumPy arrays nor tensors.
      facts: further fields of ``Measure``.
    """
    of_peers = dict(setups or {})
    for peer, other in (others or {}).items():
        if peer == "torch":
            of_peers[peer] = on_tensors(other, inputs, wrt, compiled=False)
            if compiled:
                of_peers["compiled"] = on_tensors(other, inputs, wrt, compiled=True)
        else:
            of_peers[peer] = on_numpy(other, inputs)
    return Measure(name, on_arrays(program, inputs, wrt, eager), of_peers, **facts)


def everywhere(
    name: str,
    formula: Program,
    inputs: Inputs,
    peers: Sequence[str] = ("numpy", "torch"),
    **facts: Any,
) -> Measure:
    """A row whose program reads the same in NumPy, PyTorch and ``covector.numpy``."""
    others = dict.fromkeys(peers, formula)
    return workload(name, lambda cv: formula(cv.numpy), inputs, others=others, **facts)


def on_arrays(
    program: Program, inputs: Inputs, wrt: int | tuple[int, ...] | None, eager: bool
) -> Setup:
    def setup(cv: Any) -> Callable[[], Any]:
        fun, args = program(cv), cv.device_put(tuple(inputs()))
        if wrt is not None:
            fun = cv.grad(fun, wrt)
        if not eager:
            fun = cv.jit(fun)
        return lambda: fun(*args)

    return setup


def on_numpy(program: Program, inputs: Inputs) -> Setup:
    def setup(module: Any) -> Callable[[], Any]:
        fun, args = program(module), inputs()
        return lambda: fun(*args)

    return setup


def on_tensors(
    program: Program,
    inputs: Inputs,
    wrt: int | tuple[int, ...] | None,
    *,
    compiled: bool,
) -> Setup:
    def setup(torch: Any) -> Callable[[], Any]:
        fun, args = program(torch), [torch.from_numpy(x) for x in inputs()]
        if compiled:
            fun = torch.compile(fun)
        if wrt is not None:
            fun = slopes(torch, fun, wrt)
        return lambda: fun(*args)

    return setup


def slopes(
    torch: Any, loss: Callable[..., Any], wrt: int | tuple[int, ...]
) -> Callable[..., Any]:
    """The gradient of ``loss`` in PyTorch, as ``cv.grad(loss, wrt)`` returns it."""
    several = (wrt,) if isinstance(wrt, int) else wrt

    def gradient(*args: Any) -> Any:
        held = [
            a.detach().requires_grad_() if i in several else a
            for i, a in enumerate(args)
        ]
        found = torch.autograd.grad(loss(*held), [held[i] for i in several])
        return found[0] if isinstance(wrt, int) else found

    return gradient


# -- inputs ----------------------------------------------------------------------------


def normal(*shapes: tuple[int, ...], scale: float = 1.0) -> Inputs:
    """Normally distributed float32 arrays of these shapes."""

    def make() -> list[np.ndarray]:
        generator = np.random.default_rng(0)
        scaled = np.float32(scale)
        return [generator.standard_normal(s, np.float32) * scaled for s in shapes]

    return make


def positive(*shapes: tuple[int, ...], low: float = 0.5, high: float = 5.0) -> Inputs:
    """float32 arrays of numbers between ``low`` and ``high``."""

    def make() -> list[np.ndarray]:
        generator = np.random.default_rng(0)
        return [
            (low + (high - low) * generator.random(s, np.float32)).astype(np.float32)
            for s in shapes
        ]

    return make


def integers(
    below: int, *shapes: tuple[int, ...], low: int = 0, dtype: Any = np.int32
) -> Inputs:
    """Integers from ``low`` on, and less than ``below``."""

    def make() -> list[np.ndarray]:
        generator = np.random.default_rng(1)
        return [generator.integers(low, below, s).astype(dtype) for s in shapes]

    return make


def both(*parts: Inputs) -> Inputs:
    """The arrays of all ``parts``, one after the other."""
    return lambda: [array for part in parts for array in part()]
