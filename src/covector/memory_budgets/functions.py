"""Functions within budgets of memory, as ``vmap``, ``checkpoint`` and ``grad`` ask.

Imported when the first budget is given.
"""

from collections.abc import Callable
from typing import Any

from covector.core.annotations import MemorySize
from covector.core.jaxpr import Jaxpr
from covector.core.sizes import bytes_of
from covector.dispatch.arguments import JitSpec
from covector.dispatch.checkpoint import run_as
from covector.dispatch.jit import PjitFunction
from covector.memory_budgets.chunked_function import ChunkedFunction
from covector.memory_budgets.within_memory import WithinMemory


def in_chunks(fun: Callable[..., Any], memory: MemorySize, who: str) -> ChunkedFunction:
    """``fun`` over batches in chunks, for ``vmap(fun, memory=)``."""
    return ChunkedFunction(fun, _limit(memory, who), who)


def within_memory(memory: MemorySize, who: str) -> Callable[[Jaxpr], WithinMemory]:
    """The operation that runs a program, for ``checkpoint(fun, memory=)``."""
    limit = _limit(memory, who)
    return lambda jaxpr: jaxpr.memo(WithinMemory, limit, who)


def gradient_within(
    fun: Callable[..., Any],
    memory: MemorySize,
    who: str,
    gradient_of: Callable[[Callable[..., Any]], Callable[..., Any]],
    jitted: bool,
) -> Callable[..., Any]:
    """``gradient_of(fun)`` within a budget, for ``grad(fun, memory=)``: one program,
    since the budget is that of values and gradients together.
    """
    kept = run_as(fun, within_memory(memory, who), who)
    gradient = gradient_of(kept)
    return PjitFunction(gradient, JitSpec(), who) if jitted else gradient


def _limit(memory: MemorySize, who: str) -> int:
    return bytes_of(memory, f"the memory of {who}")
