"""Threads: values that a pass hands from one equation of a program to the next.

    y = scan[body] x      →     s2 y = scan[body with s in its carry] s1 x

Tokens are one, which order effects; the first failure of a check is another. The pass
rewrites what stands in a program. How values go through the programs that an operation
carries, that operation knows: its rule ``threaded(thread)`` says it for every thread.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from covector.core.annotations import Value
from covector.core.effects import Effect
from covector.core.jaxpr import Jaxpr
from covector.core.types import ArrayType
from covector.core.varying import Axes
from covector.lowering.tokens import TOKEN, with_token


class Thread(Protocol):
    """Values that are passed on through programs."""

    #: ``join(stacked)``: the values, of those that the devices have along a leading
    #: axis; None where they are the same on all devices
    join: Callable[[Sequence[Value]], Sequence[Value]] | None

    @property
    def types(self) -> Sequence[ArrayType]:
        """The types of the values."""
        ...

    def on_devices(self, axes: Axes) -> "Thread":
        """The thread in a program where types say what varies over these axes."""
        ...

    def concerns(self, jaxpr: Jaxpr) -> bool:
        """Whether the values may change in a program."""
        ...

    def through(self, jaxpr: Jaxpr, index: int = 0) -> Jaxpr:
        """The program that takes the values at this index of its inputs, and gives them
        as its first outputs.
        """
        ...


class TokenThread:
    """The token of lasting effects (``lowering/tokens.py``)."""

    types = (TOKEN,)
    join = None

    def on_devices(self, axes: Axes) -> "TokenThread":
        return self

    def concerns(self, jaxpr: Jaxpr) -> bool:
        return Effect.LASTS in jaxpr.effects

    def through(self, jaxpr: Jaxpr, index: int = 0) -> Jaxpr:
        return jaxpr.memo(with_token, index)


TOKENS = TokenThread()
