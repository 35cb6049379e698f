"""Budgets of memory, as ``vmap``, ``checkpoint`` and ``grad`` ask for them.

It is imported when the first budget is given.
"""

from collections.abc import Callable
from typing import Any

from covector.core.annotations import MemorySize
from covector.core.sizes import bytes_of
from covector.programs.remat.chunks import ChunkedFunction


def in_chunks(fun: Callable[..., Any], memory: MemorySize, who: str) -> ChunkedFunction:
    """``fun`` over batches in chunks, for ``vmap(fun, memory=)``."""
    return ChunkedFunction(fun, bytes_of(memory, f"the memory of {who}"), who)
