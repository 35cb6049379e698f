"""``Work``: what one run of an operation costs, as its rule ``work`` gives it.

``analysis.cost`` adds it up over a program. An operation that copies its operands, or
that costs nothing, names its rule: ``work = moves``.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.core.types import ArrayType


class Work(NamedTuple):
    """The cost of one run of an operation, as XLA counts (decision 28).

    flops            operations on single elements, whatever their type
    transcendentals  of exponentials, sines and their like, which are counted apart
    read, written    bytes of memory; None for all operands, and for all results
    program          what computes it, if that is counted: its flops are added
    """

    flops: int = 0
    transcendentals: int = 0
    read: int | None = None
    written: int | None = None
    program: Any = None

    def times(self, n: int) -> "Work":
        """Of ``n`` elements, what this is of one."""
        return Work(self.flops * n, self.transcendentals * n)


def moves(op: Any, types: Sequence[ArrayType], outs: Any) -> Work:
    """The work of an operation that copies all its operands to its results."""
    return Work()


def costs_nothing(op: Any, types: Sequence[ArrayType], outs: Any) -> Work:
    """The work of an operation whose results are its operands."""
    return Work(read=0, written=0)
