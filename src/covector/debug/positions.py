"""Positions: the steps, lanes and shard of what is traced now, as values.

A compiled program has no Python frame that could tell in which step it is. So the
number of a step is a value of the program: while the debugger takes part, each loop
gives it to its step. Lanes and shards are known from the traces that are in force.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from covector.core.convert import as_array
from covector.core.source import wraps
from covector.core.trace import current
from covector.debug.stops import Position
from covector.operations.collectives import AxisIndex
from covector.programs.control_flow.observer import Observer
from covector.programs.spmd.manual import ManualTrace
from covector.transforms.batch import BatchTrace, BatchTracer


class Steps(Observer):
    """Gives the steps of loops their number."""

    def __init__(self) -> None:
        #: of the loops that are being traced, the outermost first
        self.numbers: list[Any] = []

    def position(self) -> Position:
        """The position, of values that are being traced."""
        lanes: list[Any] = []
        axes: list[Any] = []
        trace: Any = current.trace
        while trace is not None:
            if isinstance(trace, BatchTrace):
                rows = as_array(np.arange(trace.size, dtype=np.int32))
                lanes.append(BatchTracer(trace, rows, 0))
            elif isinstance(trace, ManualTrace):
                axes += trace.manual_axes
            trace = trace.parent
        shard: dict[str, Any] = {str(a): AxisIndex(a)() for a in axes}
        return Position(tuple(self.numbers), tuple(lanes[::-1]), shard)

    def scan(self, step: Any, xs: Any, length: int) -> tuple[Any, Any]:
        @wraps(step)
        def numbered(carry: Any, row: Any) -> Any:
            number, x = row
            return self._inside(number, step, carry, x)

        return numbered, (as_array(np.arange(length, dtype=np.int32)), xs)

    def run_while(
        self, loop: Any, test: Any, step: Any, init: Any, checkpoints: int
    ) -> Any:
        @wraps(test)
        def tested(carry: Any) -> Any:
            number, inner = carry
            return self._inside(number, test, inner)

        @wraps(step)
        def numbered(carry: Any) -> Any:
            number, inner = carry
            return number + 1, self._inside(number, step, inner)

        zero = as_array(np.int32(0))
        deeper = replace(loop, depth=loop.depth + 1)
        return deeper.run_while(tested, numbered, (zero, init), checkpoints)[1]

    def _inside(self, number: Any, fun: Any, *args: Any) -> Any:
        self.numbers.append(number)
        try:
            return fun(*args)
        finally:
            self.numbers.pop()
