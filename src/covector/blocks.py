"""Blocks: values that are in force within a ``with``, per thread or asyncio task.

A ``Blocks`` is a context variable, so that tasks that wait for each other inside of
their blocks do not meet, and what a thread or task begins with is what started it. The
blocks that are open are a chain, innermost first; each is closed by its owner, in
whatever order: generators that take turns may close an outer block before an inner one.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple


class Block(NamedTuple):
    """An open block."""

    #: what holds inside
    value: Any
    #: who closes it, and what that one changed
    owner: Any
    change: Any
    outer: "Block | None"


class Blocks:
    """The open blocks of one kind.

    Args:
      name: for messages of Python about the context variable.
      value_of: what holds inside of a block, from what holds around it (None outside of
        all blocks) and from its change.
    """

    def __init__(self, name: str, value_of: Callable[[Any, Any], Any]) -> None:
        #: the innermost block; None outside of all
        self.innermost: ContextVar[Block | None] = ContextVar(name, default=None)
        self._value_of = value_of

    def open(self, owner: Any, change: Any) -> None:
        """Begin a block; nothing has begun where this raises, interrupts included."""
        outer = self.innermost.get()
        block = self._inside(outer, owner, change)
        try:
            self.innermost.set(block)
        except BaseException:
            self.close(owner)
            raise

    def close(self, owner: Any) -> None:
        """End the innermost block of this owner, if one is open here."""
        inner = []
        block = self.innermost.get()
        while block is not None and block.owner is not owner:
            inner.append(block)
            block = block.outer
        if block is None:
            return
        left = block.outer
        for kept in reversed(inner):
            left = self._inside(left, kept.owner, kept.change)
        self.innermost.set(left)

    def _inside(self, outer: Block | None, owner: Any, change: Any) -> Block:
        around = None if outer is None else outer.value
        return Block(self._value_of(around, change), owner, change, outer)
